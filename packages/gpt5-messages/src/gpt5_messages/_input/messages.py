"""Readers for the messages of a conversation, whose shape depends on their platform."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from gpt5_messages._media import kind_of, word
from gpt5_messages._members import wrong_kind
from stream_text import read_member, read_written_call

from .parts import CALL_KINDS, RESULT_KINDS


# Names in other libraries, and in chat completions from before there were tools.
_ALIASES = {"ai": "assistant", "model": "assistant", "human": "user", "function": "tool"}
_ROLES = ("system", "developer", "assistant", "tool")


def read_calls(message: object, *, field: str) -> list[dict[str, Any]]:
    """Read the tool calls of a message as items; a missing id or name is empty.

    Raises:
        MessageError: If one of them is not a tool call.
    """
    calls = read_member(message, "tool_calls") or ()
    if not isinstance(calls, (list, tuple)):
        raise wrong_kind(f"{field}.tool_calls", "a list", calls)
    if calls:
        return [
            _read_call(call, f"{field}.tool_calls[{index}]")
            for index, call in enumerate(cast("Sequence[object]", calls))
        ]
    if (legacy := read_member(message, "function_call")) is not None:
        return [_read_call(legacy, f"{field}.function_call")]
    return [
        _read_call(part, place)
        for part, place in _iter_parts(read_member(message, "content"), field)
        if kind_of(part) in CALL_KINDS
    ]


def iter_results(content: object, field: str) -> Iterator[tuple[object, object]]:
    """Yield the call id and the content of each tool result among the parts of content, as in Anthropic's messages."""
    for part, place in _iter_parts(content, field):
        if kind_of(part) in RESULT_KINDS:
            call_id = read_member(part, "tool_use_id")
            if not isinstance(call_id, str):
                raise wrong_kind(f"{place}.tool_use_id", "the id of a call", call_id)
            yield call_id, read_member(part, "content")


def read_content(message: object) -> object:
    """Read the content of a message, followed by its refusal, its speech and the images beside the content."""
    content, refusal, audio, images = (
        read_member(message, name) for name in ("content", "refusal", "audio", "images")
    )
    spoken = None if audio is None else read_member(audio, "transcript") or {"type": "audio"}
    beside = cast("Sequence[object]", images) if isinstance(images, (list, tuple)) else ()
    further = [*(part for part in (refusal, spoken) if part), *map(_to_part, beside)]
    if not further:
        return content
    is_list = isinstance(content, (list, tuple))
    said = cast("Sequence[object]", content) if is_list else (content,) if content else ()
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


def read_role(message: object) -> str:
    """Read the role, even as the text of an enum's member, such as `Role.USER`; a missing or unknown role counts as the user's."""
    role = (word(read_member(message, "role")) or "").rpartition(".")[2]
    role = _ALIASES.get(role, role)
    return role if role in _ROLES else "user"


def _read_call(value: object, place: str) -> dict[str, Any]:
    call = read_written_call(value, field=place)
    names = {"call_id": call.call_id.strip(), "name": call.name.strip()}
    if call.type == "custom":
        return {"type": "custom_tool_call", **names, "input": call.arguments}
    return {"type": "function_call", **names, "arguments": call.arguments or "{}"}


def _iter_parts(content: object, field: str) -> Iterator[tuple[object, str]]:
    if isinstance(content, (list, tuple)):
        for index, part in enumerate(cast("Sequence[object]", content)):
            if not isinstance(part, str):
                yield part, f"{field}.content[{index}]"
