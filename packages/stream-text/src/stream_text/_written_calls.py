"""Tool calls as libraries write them: mappings or objects, recognised only by the names of their members."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from ._errors import MessageError
from ._shapes import is_object


_CALL_ID = ("call_id", "tool_call_id", "toolCallId", "id")  # Some have an id of their own besides.
_NAME = ("name", "tool_name", "toolName")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_HOLDERS = ("function", "custom")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCall:
    """A tool call, or a piece of one, as a library has written it; fields that it lacks are empty.

    Attributes:
        call_id: Pairs the call with its result.
        name: The name of the tool.
        arguments: The arguments as text, JSON if the model wrote it well; of a custom tool the raw input.
        index: Which call of an answer a piece belongs to.
        type: The kind of tool that is called.
    """

    call_id: str = ""
    name: str = ""
    arguments: str = ""
    index: int | None = None
    type: Literal["function", "custom"] = "function"


def read_member(value: object, *names: str) -> Any:
    """Return the member of a mapping or an object under the first of these names that is there and not None; else None."""
    members = value if is_object(value) else None
    for name in names:
        found = getattr(value, name, None) if members is None else members.get(name)
        if found is not None:
            return found
    return None


def read_written_call(value: object, *, field: str) -> WrittenCall:
    """Read a tool call in any of the shapes that libraries use.

    Those are `call_id, name, arguments`; the chat shape of OpenAI (`id`, and a `function` with `name` and `arguments`
    or a `custom` with `name` and `input`); and the shapes of libraries that say `tool_call_id`, `tool_name` (or
    `toolCallId`, `toolName`), `args`, `input` or `parameters`. Arguments that are an object become its JSON text.

    Args:
        value: A mapping or an object.
        field: Where it stands, such as `messages[1].tool_calls[0]`, for the error.

    Raises:
        MessageError: If it is neither, or one of its fields has a type that no shape has.
    """
    if not _is_record(value):
        raise MessageError(f"{field}: expected a tool call, got {_kind(value)}", field=field)
    held = read_member(value, *_HOLDERS)
    holder = value if held is None else held
    call_id, name = read_member(value, *_CALL_ID), read_member(holder, *_NAME)
    arguments, index = read_member(holder, *_ARGUMENTS), read_member(value, "index")
    return WrittenCall(
        call_id=_text(call_id, f"{field}.call_id"),
        name=_text(name, f"{field}.name"),
        arguments=_arguments(arguments, f"{field}.arguments"),
        index=_index(index, f"{field}.index"),
        type="custom" if _is_custom(value) else "function",
    )


def _is_custom(value: object) -> bool:
    kind = read_member(value, "type")
    is_said = isinstance(kind, str) and kind.startswith("custom")
    return is_said or read_member(value, "custom") is not None


def _is_record(value: object) -> bool:
    """Return whether a value may have fields of its own; texts and lists have methods with the names of some."""
    return value is not None and not isinstance(value, str | bytes | int | float | list | tuple)


def _text(value: object, field: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    raise MessageError(f"{field}: expected a text, got {_kind(value)}", field=field)


def _arguments(value: object, field: str) -> str:
    if not is_object(value):
        return _text(value, field)
    try:
        return json.dumps(dict(value), ensure_ascii=False) if value else ""
    except (TypeError, ValueError, RecursionError):
        message = f"{field}: expected JSON text or an object that can be written as JSON"
        raise MessageError(message, field=field) from None


def _index(value: object, field: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise MessageError(f"{field}: expected a whole number, got {_kind(value)}", field=field)


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
