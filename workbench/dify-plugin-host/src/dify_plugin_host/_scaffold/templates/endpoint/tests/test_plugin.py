"""The plugin, called as Dify calls it."""

import pytest

from dify_plugin_host.testing import DifyPlugin


def post(dify_plugin: DifyPlugin, body: str, token: str = "right") -> tuple[int, str]:
    """Send a request to the endpoint whose token is "right"; return status and text of the answer."""
    head = f"POST /count-words HTTP/1.1\r\nHost: dify\r\nAuthorization: Bearer {token}\r\n\r\n"
    data = {"settings": {"token": "right"}, "raw_http_request": f"{head}{body}".encode().hex()}
    [answer] = dify_plugin.call("endpoint", "invoke_endpoint", data)
    return answer["status"], bytes.fromhex(answer["result"]).decode()


def test_words_are_counted(dify_plugin: DifyPlugin) -> None:
    assert post(dify_plugin, '{"text": "one two"}') == (200, '{"words":2}')


def test_a_token_is_needed(dify_plugin: DifyPlugin) -> None:
    status, text = post(dify_plugin, '{"text": "one two"}', token="wrong")
    assert status == 401
    assert "expected the header 'Authorization" in text


@pytest.mark.parametrize("body", ["", "one two", '["one two"]', '{"text": 5}'])
def test_other_content_is_refused(dify_plugin: DifyPlugin, body: str) -> None:
    assert post(dify_plugin, body) == (400, 'expected JSON such as {"text": "some words"}')
