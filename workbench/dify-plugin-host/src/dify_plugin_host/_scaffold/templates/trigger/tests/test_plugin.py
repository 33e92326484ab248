"""The plugin, called as Dify calls it."""

import hashlib
import hmac
import json
from typing import Any

import pytest

from dify_plugin_host.testing import DifyPlugin


MESSAGE = {"type": "message", "sender": "Ada", "text": "hello"}


def call(
    dify_plugin: DifyPlugin, action: str, body: str, signature: str, **fields: Any
) -> dict[str, Any]:
    """Hand over a request to a subscription whose secret is "secret" if `fields` have no other; return the answer."""
    [provider] = dify_plugin.folder.providers("triggers")
    head = f"POST / HTTP/1.1\r\nHost: dify\r\nX-Signature: sha256={signature}\r\n\r\n"
    data = {
        "provider": provider["identity"]["name"],
        "credentials": {},
        "credential_type": "unauthorized",
        "subscription": {"endpoint": "http://dify/hook", "properties": {"secret": "secret"}},
        "raw_http_request": f"{head}{body}".encode().hex(),
    }
    [answer] = dify_plugin.call("trigger", action, data | fields)
    return answer


def dispatch(
    dify_plugin: DifyPlugin, body: str, secret: str = "secret", **fields: Any
) -> tuple[dict[str, Any], str]:
    """Send a body that is signed with a secret; return the answer for Dify and the one for the sender."""
    signature = hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    answer = call(dify_plugin, "dispatch_trigger_event", body, signature, **fields)
    return answer, bytes.fromhex(answer["response"]).decode()


def test_a_message_is_an_event(dify_plugin: DifyPlugin) -> None:
    answer, response = dispatch(dify_plugin, json.dumps(MESSAGE))
    assert (answer["events"], answer["payload"]) == (["message"], MESSAGE)
    assert response.startswith("HTTP/1.1 204")


def test_what_is_not_signed_is_refused(dify_plugin: DifyPlugin) -> None:
    answer, response = dispatch(dify_plugin, json.dumps(MESSAGE), secret="guessed")
    assert answer["events"] == []
    assert response.startswith("HTTP/1.1 401")
    assert "expected the header 'X-Signature'" in response


@pytest.mark.parametrize("properties", [{}, {"secret": ""}, {"secret": None}])
def test_a_subscription_without_a_secret_gets_nothing(
    dify_plugin: DifyPlugin, properties: dict[str, Any]
) -> None:
    subscription = {"endpoint": "http://dify/hook", "properties": properties}
    answer, _ = dispatch(dify_plugin, json.dumps(MESSAGE), secret="", subscription=subscription)
    assert answer["events"] == []


@pytest.mark.parametrize("body", ["", "hello", '{"type": "message"}'])
def test_what_is_no_message_is_refused(dify_plugin: DifyPlugin, body: str) -> None:
    answer, response = dispatch(dify_plugin, body)
    assert answer["events"] == []
    assert response.startswith("HTTP/1.1 400")
    assert "expected JSON with type 'message'" in response


@pytest.mark.parametrize(
    ("contains", "variables"),
    [
        ("hell", {"sender": "Ada", "text": "hello"}),
        (None, {"sender": "Ada", "text": "hello"}),
        ("bye", {}),
    ],
)
def test_a_node_gets_the_messages_that_it_wants(
    dify_plugin: DifyPlugin, contains: str | None, variables: dict[str, str]
) -> None:
    fields = {"event": "message", "parameters": {"contains": contains}, "payload": MESSAGE}
    answer = call(dify_plugin, "invoke_trigger_event", "", "", **fields)
    assert answer == {"variables": variables, "cancelled": not variables}
