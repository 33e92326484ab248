"""Errors that a server reports, wherever it puts them."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpt5_messages._json import mapping, text_at, type_of
from gpt5_messages._text import whole_characters

from .error_forms import is_error, read_error
from .events import ResponseFailure


_VALUE_CHARACTERS = 200
_ERROR_STATUSES = range(400, 600)
_PROTOCOLS = {
    "chat_completions": "Chat Completions",
    "anthropic_messages": "Anthropic Messages",
    "gemini": "Gemini's generateContent",
    "ollama": "Ollama's own API",
}
# Source: https://docs.anthropic.com/en/api/messages-streaming, read 2026-11-22.
_ANTHROPIC_EVENTS = frozenset(
    {
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    }
)


def error_details(holder: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the details of the `error` in a response or an event, in whatever form it is; None if there is none."""
    error = holder.get("error")
    return ({**mapping(error), **read_error(error)} or {"message": _text(error)}) if error else None


def outer_details(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the details of a failure that stand beside a response, or in one that failed but not under `error`; None if there are none."""
    if type_of(event) != "response.failed":
        return error_details(event)
    told = event_details({**mapping(event.get("response")), **event})
    return told if told.get("message") else None


def event_details(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the details of an error event, which are inside `error` on the wire and beside it in the documentation."""
    # Beside it, `type` is that of the event and not of the error, so it must not become a code.
    return {**(error_details(event) or {}), **read_error({**event, "type": None})}


def to_failure(details: Mapping[str, Any], *, fallback: str) -> ResponseFailure:
    """Turn an error's details into a value, even if their types are not those of the API."""
    return ResponseFailure(
        code=_text(details.get("code")) or _text(details.get("type")),
        message=_text(details.get("message")) or fallback,
        param=_text(details.get("param")),
    )


def error_failure(event: Mapping[str, Any]) -> ResponseFailure:
    """Return the failure that an error event reports, with the status and headers that it would have as an answer of HTTP."""
    failure = to_failure(event_details(event), fallback="the stream reported an error")
    status = event.get("status", event.get("status_code"))
    told = {**mapping(mapping(event.get("error")).get("headers")), **mapping(event.get("headers"))}
    headers = {
        name.lower(): str(value)
        for name, value in told.items()
        if isinstance(value, str | int | float)
    }
    is_status = type(status) is int and status in _ERROR_STATUSES
    return replace(failure, status=status if is_status else None, headers=headers)


def untyped_failure(event: Mapping[str, Any]) -> ResponseFailure | None:
    """Read an event that is not one of the Responses API; None if it is not a failure either."""
    if type_of(event).startswith("response."):
        return None
    if is_error(event):
        return error_failure(event)
    if (code := find_protocol(event)) is not None:
        message = f"The server answers in {_PROTOCOLS[code]}, not in the Responses API. Check the base URL."
        return ResponseFailure(code=code, message=message)
    return None


def find_protocol(answer: Mapping[str, Any]) -> str | None:
    """Return the other protocol that an answer, or an event of a stream, belongs to, as the code of a failure; None if it belongs to no known one.

    Example:
        >>> find_protocol({"type": "message_start", "message": {}})
        'anthropic_messages'
    """
    kind = text_at(answer, "object")
    if kind.startswith("chat.completion") or isinstance(answer.get("choices"), list):
        return "chat_completions"
    if type_of(answer) in _ANTHROPIC_EVENTS:
        return "anthropic_messages"
    if type_of(answer) == "message" and "stop_reason" in answer:
        return "anthropic_messages"
    if isinstance(answer.get("candidates"), list) or "promptFeedback" in answer:
        return "gemini"
    if isinstance(answer.get("done"), bool) and ("message" in answer or "response" in answer):
        return "ollama"
    return None


def protocol_name(code: str | None) -> str | None:
    """Return the name of the protocol that a failure's code stands for; None for any other code.

    Example:
        >>> protocol_name("anthropic_messages")
        'Anthropic Messages'
    """
    return _PROTOCOLS.get(code or "")


def _text(value: object) -> str | None:
    """Return a text whole, the start of any other value's JSON, and None for nothing."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return whole_characters(value)
    return json.dumps(whole_characters(value), ensure_ascii=False, default=repr)[:_VALUE_CHARACTERS]
