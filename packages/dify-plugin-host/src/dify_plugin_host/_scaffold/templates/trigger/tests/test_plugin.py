"""The plugin, called as Dify calls it."""

import hashlib
import hmac
import json
from typing import Any

import pytest

from dify_plugin_host.testing import DifyPlugin, PluginInvokeError


MESSAGE = {"type": "message", "sender": "Ada", "text": "hello"}


def call(
    dify_plugin: DifyPlugin, action: str, body: str, signature: str, **fields: Any
) -> dict[str, Any]:
    """Hand over a request to a subscription whose secret is "secret"; return the answer."""
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


def dispatch(dify_plugin: DifyPlugin, body: str, secret: str = "secret") -> dict[str, Any]:
    """Send a body that is signed with a secret."""
    signature = hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    return call(dify_plugin, "dispatch_trigger_event", body, signature)


def test_a_message_is_an_event(dify_plugin: DifyPlugin) -> None:
    answer = dispatch(dify_plugin, json.dumps(MESSAGE))
    assert (answer["events"], answer["payload"]) == (["message"], MESSAGE)
    assert bytes.fromhex(answer["response"]).startswith(b"HTTP/1.1 204")


def test_what_is_not_signed_is_refused(dify_plugin: DifyPlugin) -> None:
    with pytest.raises(PluginInvokeError, match="TriggerValidationError: expected the header"):
        dispatch(dify_plugin, json.dumps(MESSAGE), secret="guessed")


@pytest.mark.parametrize("body", ["", "hello", '{"type": "message"}'])
def test_what_is_no_message_is_refused(dify_plugin: DifyPlugin, body: str) -> None:
    with pytest.raises(PluginInvokeError, match="TriggerDispatchError: expected JSON with type"):
        dispatch(dify_plugin, body)


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
