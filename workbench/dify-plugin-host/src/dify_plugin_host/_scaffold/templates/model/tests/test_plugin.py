"""The plugin, called as Dify calls it."""

import pytest

from dify_plugin_host.testing import DifyPlugin, PluginInvokeError


def test_an_answer_comes_in_pieces_and_with_its_price(dify_plugin: DifyPlugin) -> None:
    answer = dify_plugin.model("gpt-4.1-mini").invoke("hello", temperature=0.2)
    assert answer.text == "You said: hello"
    assert len(answer) == 3
    assert answer.finish_reason == "stop"
    assert float(answer.usage["total_price"]) == pytest.approx(0.0012)


def test_what_the_server_refuses_has_a_name_that_dify_knows(dify_plugin: DifyPlugin) -> None:
    with pytest.raises(PluginInvokeError) as caught:
        dify_plugin.model("gpt-4.1-mini").invoke("busy")
    assert caught.value.error_type == "InvokeRateLimitError"
    assert "slow down" in caught.value.message


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("fail", "out of order"),
        ("break", "the answer ended before it was complete"),
        ("babble", "expected a piece of an answer"),
    ],
)
def test_an_answer_that_is_not_complete_fails(
    dify_plugin: DifyPlugin, question: str, told: str
) -> None:
    with pytest.raises(PluginInvokeError, match=told):
        dify_plugin.model("gpt-4.1-mini").invoke(question)


def test_credentials_are_tried(dify_plugin: DifyPlugin, server: str) -> None:
    dify_plugin.validate(api_key=" right\n", base_url=server)
    for key, told in (
        ("wrong", "401: wrong key"),
        ("ri\u200bght", "api_key: expected the key alone"),
    ):
        with pytest.raises(PluginInvokeError, match=told) as caught:
            dify_plugin.validate(api_key=key, base_url=server)
        assert caught.value.error_type == "CredentialsValidateFailedError"
