"""What a server calls an error, wherever it puts it."""

import json
from collections.abc import Mapping
from typing import Any

from ._events import ResponseFailure
from ._json import mapping, text_or_none, type_of
from ._text import whole_characters


_VALUE_CHARACTERS = 200
_CHAT_COMPLETIONS = (
    "The server streams Chat Completions, not responses of the Responses API. Check the base URL."
)


def error_details(holder: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the details of the `error` in a response or an event, which may be a bare text; None where there is none."""
    error = holder.get("error")
    return (mapping(error) or {"message": _text(error)}) if error else None


def to_failure(details: Mapping[str, Any], *, fallback: str) -> ResponseFailure:
    """Turn an error's details into a value, also where the types are not what the API says."""
    return ResponseFailure(
        code=_text(details.get("code")) or _text(details.get("type")),
        message=_text(details.get("message")) or fallback,
        param=_text(details.get("param")),
    )


def untyped_failure(event: Mapping[str, Any]) -> ResponseFailure | None:
    """Read an event that is none of the Responses API's; None if it is no failure either."""
    if type_of(event).startswith("response."):
        return None
    if details := error_details(event):
        return to_failure(details, fallback="the stream reported an error")
    kind = text_or_none(event.get("object")) or ""
    if kind == "error" or event.get("status") == "error":
        return to_failure(event, fallback="the stream reported an error")
    if kind.startswith("chat.completion") or isinstance(event.get("choices"), list):
        return ResponseFailure(code="chat_completions", message=_CHAT_COMPLETIONS)
    return None


def _text(value: object) -> str | None:
    """Return a text whole, the start of any other value's JSON, and None for nothing."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return whole_characters(value)
    return json.dumps(whole_characters(value), ensure_ascii=False, default=repr)[:_VALUE_CHARACTERS]
