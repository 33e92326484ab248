"""The items of a request's input: what kinds there are, and that none makes the server fetch something.

Source: `types/responses/response_input_item_param.py` of openai 3.51.0.
"""

from collections.abc import Sequence
from typing import Any, Final, cast

from agent_server._http.documents import MAX_REASON
from agent_server.executor import JsonObject

from .refusals import refuse


_ROLES: Final = frozenset({"user", "assistant", "system", "developer"})
_TEXTS: Final = {"input_text": "text", "output_text": "text", "refusal": "refusal"}
_FILES: Final = {"input_image": "image_url", "input_file": "file_data"}
# What an earlier response put out, sent back by a client that keeps the conversation itself.
_PUT_OUT: Final = frozenset(
    {"reasoning", "mcp_call", "mcp_approval_request", "image_generation_call"}
)


def read_input(value: Any) -> Sequence[JsonObject]:
    """Return the items of an input, a text as a message of the user.

    Raises:
        ProblemError: If it is none, or has an item that is not taken.
    """
    if isinstance(value, str):
        return [_build_message(value)]
    if not isinstance(value, list) or not value:
        raise refuse("input", "expected a text, or a list of items", code="invalid_type")
    return [_read_item(item, f"input[{n}]") for n, item in enumerate(cast("list[Any]", value))]


def _build_message(text: str) -> JsonObject:
    content = [{"type": "input_text", "text": text}]
    return {"type": "message", "role": "user", "content": content}


def _read_item(value: Any, at: str) -> JsonObject:
    if not isinstance(value, dict):
        raise refuse(at, "expected an object", code="invalid_type")
    item: JsonObject = {"type": "message", **cast("JsonObject", value)}
    match item["type"]:
        case "message":
            if str(item.get("role")) not in _ROLES:
                raise refuse(f"{at}.role", "expected user, assistant, system or developer")
            _check_content(item.get("content"), f"{at}.content")
        case "function_call":
            for name in ("call_id", "name", "arguments"):
                _check(item, name, str, at)
        case "function_call_output":
            _check(item, "call_id", str, at)
            _check_content(item.get("output"), f"{at}.output")
        case "mcp_approval_response":
            _check(item, "approval_request_id", str, at)
            _check(item, "approve", bool, at)
            if len(str(item.get("reason") or "")) > MAX_REASON:
                raise refuse(f"{at}.reason", f"expected at most {MAX_REASON} characters")
        case str() as kind if kind in _PUT_OUT:
            pass
        case _:
            message = "expected a kind of item that agents take"
            raise refuse(f"{at}.type", message, code="unsupported_value")
    return item


def _check(item: JsonObject, name: str, kind: type, at: str) -> None:
    if not isinstance(item.get(name), kind):
        expected = "true or false" if kind is bool else "a text"
        raise refuse(f"{at}.{name}", f"expected {expected}", code="invalid_type")


def _check_content(value: Any, at: str) -> None:
    if isinstance(value, str):
        return
    if not isinstance(value, list):
        raise refuse(at, "expected a text, or a list of parts", code="invalid_type")
    for index, part in enumerate(cast("list[Any]", value)):
        _check_part(part, f"{at}[{index}]")


def _check_part(value: Any, at: str) -> None:
    part = cast("JsonObject", value) if isinstance(value, dict) else {}
    kind = str(part.get("type"))
    if kind in _TEXTS:
        _check(part, _TEXTS[kind], str, at)
    elif kind in _FILES:
        # The server fetches nothing that a client names, and keeps no files.
        for name in ("file_id", "file_url"):
            if part.get(name) is not None:
                message = f"is not supported: expected a data URL in `{_FILES[kind]}`"
                raise refuse(f"{at}.{name}", message, code="unsupported_parameter")
        url = part.get(_FILES[kind])
        if not (isinstance(url, str) and url[:5].lower() == "data:"):
            raise refuse(f"{at}.{_FILES[kind]}", "expected a data URL")
    else:
        expected = ", ".join(sorted({*_TEXTS, *_FILES}))
        raise refuse(f"{at}.type", f"expected one of {expected}", code="unsupported_value")
