"""Readers for the messages of a conversation, whose shape depends on their platform."""

from collections.abc import Iterator
from typing import Any

from gpt5_messages._media import kind_of, word
from gpt5_messages._members import wrong_kind
from stream_text import MessageError, is_list, read_member, read_written_call

from .parts import CALL_KINDS, RESULT_KINDS, written_data


# Names in other libraries, and in chat completions from before there were tools.
_ALIASES = {"ai": "assistant", "model": "assistant", "human": "user", "function": "tool"}
_ROLES = ("user", "assistant", "system", "developer", "tool")
_MAX_SHOWN = 40  # characters of a role that is none


def read_calls(message: object, *, field: str) -> list[dict[str, Any]]:
    """Read the tool calls of a message as items; a missing id or name is empty.

    Raises:
        MessageError: If one of them is not a tool call.
    """
    calls = read_member(message, "tool_calls", "toolCalls") or ()
    if not is_list(calls):
        raise wrong_kind(f"{field}.tool_calls", "a list", calls)
    if calls:
        return [
            _read_call(call, f"{field}.tool_calls[{index}]") for index, call in enumerate(calls)
        ]
    if (legacy := read_member(message, "function_call")) is not None:
        return [_read_call(legacy, f"{field}.function_call")]
    return [
        _read_call(part, place)
        for part, place in _iter_parts(read_member(message, "content"), field)
        if kind_of(part) in CALL_KINDS
    ]


def iter_results(content: object, field: str, role: str) -> Iterator[tuple[object, object]]:
    """Yield the call id and the content of each tool result among the parts of content, as in messages of Anthropic and of the AI SDK."""
    for part, place in _iter_parts(content, field):
        kind = kind_of(part)
        if kind == "tool-result" and role != "assistant":  # else its provider's own tool answered
            yield read_member(part, "toolCallId"), _read_output(part, f"{place}.output")
        elif kind in RESULT_KINDS - {"tool-result"}:
            call_id = read_member(part, "tool_use_id")
            if not isinstance(call_id, str):
                raise wrong_kind(f"{place}.tool_use_id", "the id of a call", call_id)
            yield call_id, read_member(part, "content")


def _read_output(part: object, place: str) -> object:
    """Return what a tool has answered in a part of the AI SDK."""
    output = read_member(part, "output")
    value = read_member(output, "value")
    match kind_of(output):
        case "content":
            return value
        case "text" | "json" | "error-text" | "error-json":
            return written_data(value)
        case "execution-denied":
            return read_member(output, "reason") or "The call was denied."
        case _:
            raise wrong_kind(place, "an output with type and value", output)


def read_content(message: object) -> object:
    """Read the content of a message, followed by its refusal, its speech and the images beside the content."""
    content, refusal, audio, images = (
        read_member(message, name) for name in ("content", "refusal", "audio", "images")
    )
    spoken = None if audio is None else read_member(audio, "transcript") or {"type": "audio"}
    beside = map(_to_part, images if is_list(images) else ())
    further = [*(part for part in (refusal, spoken) if part), *beside]
    if not further:
        return content
    said = content if is_list(content) else (content,) if content else ()
    return [*said, *further]


def _to_part(image: object) -> object:
    """Return an image as a part, even if it is only a link or base64, as in Ollama, or has no type, as in agno."""
    if isinstance(image, str | bytes):
        is_address = isinstance(image, str) and ":" in image
        return {"type": "image", "url" if is_address else "base64": image}
    if kind_of(image) is not None:
        return image
    members = {name: read_member(image, name) for name in ("url", "mime_type", "detail")}
    return {"type": "image", "base64": read_member(image, "content"), **members}


def read_role(message: object, *, field: str) -> str:
    """Read the role, even as the text of an enum's member, such as `Role.USER`.

    Raises:
        MessageError: If it is none, or missing.
    """
    given = read_member(message, "role")
    role = (word(given) or "").rpartition(".")[2]
    role = _ALIASES.get(role, role)
    if role in _ROLES:
        return role
    place, expected = f"{field}.role", f"one of {', '.join(_ROLES)}"
    if not role:
        raise wrong_kind(place, expected, given)
    shown = role[:_MAX_SHOWN]
    raise MessageError(f"{place}: expected {expected}, got {shown!r}", field=place)


def _read_call(value: object, place: str) -> dict[str, Any]:
    call = read_written_call(value, field=place)
    names = {"call_id": call.call_id.strip(), "name": call.name.strip()}
    if call.type == "custom":
        return {"type": "custom_tool_call", **names, "input": call.arguments}
    return {"type": "function_call", **names, "arguments": call.arguments or "{}"}


def _iter_parts(content: object, field: str) -> Iterator[tuple[object, str]]:
    if is_list(content):
        for index, part in enumerate(content):
            if not isinstance(part, str):
                yield part, f"{field}.content[{index}]"
