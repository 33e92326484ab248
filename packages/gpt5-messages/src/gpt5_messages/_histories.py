"""Histories as the libraries write them, their messages brought to the one shape that the rest of this package reads.

That shape is the one of chat completions, which Dify has too: `role`, `content`, `tool_calls`, `tool_call_id`, `opaque_body`. Beside it go
around: items of the Responses API, as the official client and openai-agents keep them; a whole `Completion`; a tool result that is
`call_id, content, error`; messages of langchain, whose kind is their `type`; messages of pydantic-ai, which are lists of parts.

Source: histories written by openai-agents 0.24, pydantic-ai-slim 2.68 and langchain-openai 1.7.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from stream_text import MessageError, read_member

from ._items import MessageItem, OtherItem, ReasoningItem, ToolCallItem, ToolOutputItem
from ._media import are_own_parts, is_media
from ._messages import read_role
from ._values import Completion, Item


_LANGCHAIN_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_ITEM_VALUES = MessageItem | ReasoningItem | ToolCallItem | ToolOutputItem | OtherItem
_FIELDS = ("role", "content", "tool_calls", "opaque_body")


@dataclass(frozen=True, slots=True)
class Entry:
    """A message, or an item that goes out as it is.

    Attributes:
        field: Where it stands, such as `messages[1]`.
        message: In the one shape; None for an item.
        item: An item of the Responses API; None for a message.
    """

    field: str
    message: object = None
    item: Item | None = None


def iter_entries(messages: object) -> Iterator[Entry]:
    """Yield what a history holds, every message in the one shape.

    Raises:
        MessageError: If they are no list, or one cannot be read; `field` says which.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        kind = type(cast("object", messages)).__name__
        raise MessageError(f"messages: expected a list of messages, got {kind}", field="messages")
    for index, value in enumerate(cast("Iterable[object]", messages)):
        field = f"messages[{index}]"
        if (item := _read_item(value)) is not None:
            yield Entry(field, item=item)
        elif isinstance(value, Completion):
            yield Entry(field, _from_completion(value))
        elif read_member(value, "role") is not None:
            yield Entry(field, _from_result(value) if _is_own_result(value) else value)
        elif (parts := read_member(value, "parts")) is not None:
            yield from (Entry(field, message) for message in _from_parts(parts, field))
        elif (role := _langchain_role(value)) is not None:
            yield Entry(field, _from_langchain(value, role))
        elif read_member(value, "call_id") is not None:
            yield Entry(field, _from_result(value))
        elif any(_has(value, name) for name in _FIELDS):
            yield Entry(field, value)
        else:
            raise MessageError(
                f"{field}: expected a message with role and content, got {type(value).__name__}",
                field=field,
            )


def _has(value: object, name: str) -> bool:
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


def _read_item(value: object) -> Item | None:
    """Return an item of the Responses API, whether it is a mapping, one of this package's values or one of the official client's."""
    if isinstance(value, _ITEM_VALUES):
        return value.to_wire()
    kind = read_member(value, "type")
    if not isinstance(kind, str) or _langchain_role(value) is not None:
        return None
    if kind == "message" and not are_own_parts(read_member(value, "content")):
        return None
    if kind != "message" and (_has(value, "role") or _has(value, "tool_calls")):
        return None
    if isinstance(value, Mapping):
        return cast("Item", value)
    dump = getattr(value, "model_dump", None)
    return cast("Item", dump(mode="json", exclude_unset=True)) if callable(dump) else None


def _from_completion(completion: Completion) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": completion.text,
        "tool_calls": completion.tool_calls,
        "opaque_body": completion.opaque_body,
    }


def _from_result(result: object) -> dict[str, Any]:
    content = read_member(result, "content") or read_member(result, "error") or ""
    call_id = read_member(result, "call_id", "tool_call_id")
    return {"role": "tool", "content": content, "tool_call_id": call_id}


def _is_own_result(message: object) -> bool:
    """Return whether a message with a role is a tool result whose call is named as everywhere here, `call_id`, or that failed and has nothing but its `error`."""
    if read_role(message) != "tool":
        return False
    if read_member(message, "tool_call_id") is None:
        return read_member(message, "call_id") is not None
    return not read_member(message, "content") and read_member(message, "error") is not None


def _langchain_role(message: object) -> str | None:
    """Return the role of a message of langchain, or of a piece of one that was streamed."""
    kind = read_member(message, "type")
    if not isinstance(kind, str):
        return None
    return _LANGCHAIN_ROLES.get(kind.removesuffix("MessageChunk").lower())


def _from_langchain(message: object, role: str) -> dict[str, Any]:
    dumped = read_member(message, "data")
    held = cast("object", dumped) if isinstance(dumped, Mapping) else message
    names = ("content", "tool_calls", "tool_call_id")
    return {"role": role} | {name: read_member(held, name) for name in names}


def _from_parts(parts: object, field: str) -> Iterator[dict[str, Any]]:
    """Yield the messages that the parts of one message of pydantic-ai stand for: a request holds several, a response is one."""
    if not isinstance(parts, list | tuple):
        place = f"{field}.parts"
        raise MessageError(f"{place}: expected a list, got {type(parts).__name__}", field=place)
    said: list[object] = []
    answer: dict[str, Any] = {"role": "assistant", "content": said, "tool_calls": []}
    for index, part in enumerate(cast("Iterable[object]", parts)):
        place = f"{field}.parts[{index}]"
        match read_member(part, "part_kind"):
            case "text":
                # An answer's texts are one, however many parts it came in.
                before = said.pop() if said and isinstance(said[-1], str) else ""
                said.append(f"{before}{read_member(part, 'content') or ''}")
            case "file":
                said.append(read_member(part, "content"))
            case "tool-call":
                answer["tool_calls"].append(part)
            case str(kind):
                yield from _from_request_part(kind, part)
            case _:
                raise MessageError(f"{place}: expected a part with part_kind", field=place)
    if said or answer["tool_calls"]:
        yield answer


def _from_request_part(kind: str, part: object) -> Iterator[dict[str, Any]]:
    """Yield the message that a part of a request stands for; none for thoughts, and for what the provider's own tools did."""
    content = read_member(part, "content")
    match kind:
        case "system-prompt" | "user-prompt":
            yield {"role": kind.partition("-")[0], "content": content}
        case "tool-return" | "retry-prompt" if read_member(part, "tool_name"):
            call_id = read_member(part, "tool_call_id")
            yield {"role": "tool", "content": _returned(content), "tool_call_id": call_id}
        case "retry-prompt" | "retry-feedback":
            yield {"role": "user", "content": _written(content)}
        case _:
            pass


def _returned(content: object) -> str | list[object]:
    """Return what a tool gave back: images and files as they are, those inside other data right behind it, and everything else as text."""
    is_list = isinstance(content, list | tuple)
    given = cast("list[object]", content) if is_list else [content]
    told: list[object] = []
    for value in given:
        held: list[object] = []
        rest = _without_media(value, held)
        told += held if value in held else [_written(rest), *held]
    return told if any(map(is_media, told)) else _written(content)


def _without_media(value: object, held: list[object]) -> object:
    """Return data with a word in the place of each image or file in it; these are added to `held`."""
    if is_media(value):
        held.append(value)
        return f"(part {len(held)} after this)"
    match value:
        case list() | tuple():
            return [_without_media(inner, held) for inner in cast("list[object]", value)]
        case dict():
            members = cast("dict[str, object]", value).items()
            return {name: _without_media(inner, held) for name, inner in members}
        case _:
            return value


def _written(content: object) -> str:
    """Return any content as text, what is no text as JSON."""
    if isinstance(content, str):
        return content
    return "" if content is None else json.dumps(content, ensure_ascii=False, default=str)
