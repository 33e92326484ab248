"""The items of a request's input, made anew: what kinds there are, and which members of each go on.

Source: `types/responses/response_input_item_param.py` of openai 3.51.0.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from agent_server._http.documents import MAX_REASON
from agent_server._http.parts import read_content
from agent_server._http.problems import refuse
from agent_server.executor import JsonObject
from stream_text import is_object


type _Read = Callable[[Any, str], Any]
"""A function that returns a member as it goes on, or raises with its place; None where there is none."""


def read_input(value: Any) -> list[JsonObject]:
    """Return the items of an input, a text as a message of the user. A list has its items replaced, since there may be very many.

    Raises:
        RequestRefusedError: If it is none, or has an item that is not taken.
    """
    if isinstance(value, str):
        content = [{"type": "input_text", "text": value}]
        return [{"type": "message", "role": "user", "content": content}]
    if not isinstance(value, list) or not value:
        raise refuse("input", "expected a text, or a list of items", code="invalid_type")
    items = cast("list[Any]", value)
    for n, item in enumerate(items):
        items[n] = read_item(item, f"input[{n}]")
    return items


def read_item(value: Any, at: str) -> JsonObject:
    """Return an item as it goes on.

    Raises:
        RequestRefusedError: If it is none that is taken.
    """
    if not is_object(value):
        raise refuse(at, "expected an object", code="invalid_type")
    kind = value.get("type")
    if kind is None:
        is_reference = "id" in value and {*value} <= {"id", "type"}
        kind = "item_reference" if is_reference else "message"
    if not isinstance(kind, str) or kind not in _ITEMS:
        message = "expected a kind of item that agents take"
        raise refuse(f"{at}.type", message, code="unsupported_value")
    item: JsonObject = {"type": kind}
    for name, read in _ITEMS[kind].items():
        one = read(value.get(name), f"{at}.{name}")
        if one is not None:
            item[name] = one
    return item


def _one_of(*texts: str) -> _Read:
    def read(value: Any, at: str) -> str:
        if value not in texts:
            raise refuse(at, f"expected {', '.join(texts[:-1])} or {texts[-1]}")
        return texts[texts.index(value)]  # One text for all items, of which there may be very many.

    return read


def _of_kind(kind: type, expected: str, *, is_optional: bool = False) -> _Read:
    def read(value: Any, at: str) -> Any:
        if not isinstance(value, kind) and not (is_optional and value is None):
            raise refuse(at, f"expected {expected}", code="invalid_type")
        return value

    return read


_text: Final = _of_kind(str, "a text")
_any_text: Final = _of_kind(str, "a text, or nothing", is_optional=True)


def _read_reason(value: Any, at: str) -> str | None:
    reason = _any_text(value, at)
    if len(reason or "") > MAX_REASON:
        raise refuse(at, f"expected at most {MAX_REASON} characters")
    return reason


def _read_thoughts(value: Any, at: str) -> list[JsonObject] | None:
    """Return the texts of a reasoning item, which no agent gets."""
    if value is None:
        return None
    thoughts: list[JsonObject] = []
    for n, one in enumerate(_of_kind(list, "a list")(value, at)):
        part = _of_kind(dict, "an object")(one, f"{at}[{n}]")
        kind = _one_of("summary_text", "reasoning_text")(part.get("type"), f"{at}[{n}].type")
        thoughts.append({"type": kind, "text": _text(part.get("text"), f"{at}[{n}].text")})
    return thoughts


def _read_error(value: Any, at: str) -> str | JsonObject | None:
    """Return the error of a call: a text, or its members that are texts beside its content."""
    if value is None or isinstance(value, str):
        return value
    error: JsonObject = _of_kind(dict, "a text or an object")(value, at)
    told: JsonObject = {
        name: _any_text(error.get(name), f"{at}.{name}") for name in ("type", "message")
    }
    if (content := error.get("content")) is not None:
        told["content"] = read_content(content, f"{at}.content")
    return {name: one for name, one in told.items() if one is not None}


_OWN: Final[Mapping[str, _Read]] = {"id": _any_text, "status": _any_text}
# A call of the agent's own, in a conversation that the client keeps.
_CALL: Final[Mapping[str, _Read]] = {
    "name": _any_text,
    "server_label": _any_text,
    "arguments": _any_text,
}
_ITEMS: Final[Mapping[str, Mapping[str, _Read]]] = {
    "message": {
        "role": _one_of("user", "assistant", "system", "developer"),
        "content": read_content,
        "phase": _any_text,
        **_OWN,
    },
    "function_call": {"call_id": _text, "name": _text, "arguments": _text, **_OWN},
    "function_call_output": {"call_id": _text, "output": read_content, **_OWN},
    "mcp_approval_response": {
        "approval_request_id": _text,
        "approve": _of_kind(bool, "true or false"),
        "reason": _read_reason,
        **_OWN,
    },
    "reasoning": {
        "summary": _read_thoughts,
        "content": _read_thoughts,
        "encrypted_content": _any_text,
        **_OWN,
    },
    "mcp_call": {
        **_CALL,
        "approval_request_id": _any_text,
        "output": _any_text,
        "error": _read_error,
        **_OWN,
    },
    "mcp_approval_request": {**_CALL, **_OWN},
    "item_reference": {"id": _text},
    "image_generation_call": {"result": _any_text, "output_format": _any_text, **_OWN},
}
"""What goes on of each kind of item; that which an earlier response put out is sent back by clients that keep the conversation themselves."""
