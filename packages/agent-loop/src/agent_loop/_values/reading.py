"""Reading inputs of other types by their fields, as a model's client or a tool's caller passes them in."""

from collections.abc import Iterable
from typing import Any, cast

from stream_text import MessageError, is_list, is_object, read_member, read_written_call

from .inputs import Input, ModelDelta, ToolCallFragment, ToolResult
from .messages import Message
from .numbers import is_whole
from .usage import Usage


# A platform's own message may have none. `developer` is what newer APIs call the system.
_ROLES = ("system", "developer", "user", "assistant", "tool")
_EXPECTED_ROLES = f"{', '.join(_ROLES[:-1])} or {_ROLES[-1]}"
_TEXT = ("text", "content")
_ANSWER = (
    *_TEXT,
    "tool_calls",
    "usage",
    "finish_reason",
    "phase",
    "opaque_body",
    "files",
    "hosted_calls",
)


def read_messages(messages: object) -> tuple[Any, ...]:
    """Return the messages that a run begins with, unchanged; each has to be a record of some kind, whose role is known if it has one.

    Raises:
        MessageError: If it is not a list of messages, or one of them is not a message.
    """
    is_one = isinstance(messages, str | bytes) or is_object(messages)
    if is_one or not isinstance(messages, Iterable):
        raise _wrong_type("messages", "a list of messages", messages)
    read = tuple(cast("Iterable[Any]", messages))
    for index, message in enumerate(read):
        # A conversation may have very many, and nearly all are such.
        if type(message) is Message and message.role in _ROLES:
            continue
        if not _is_record(message):
            raise _wrong_type(f"messages[{index}]", "a message", message)
        role = read_role(message)
        if isinstance(role, str) and role not in _ROLES:
            place = f"messages[{index}].role"
            raise MessageError(f"{place}: expected {_EXPECTED_ROLES}, got {role!r}", field=place)
    return read


def _is_record(value: object) -> bool:
    return value is not None and not isinstance(value, str | bytes | int | float | list | tuple)


def read_user_message(message: object) -> Message:
    """Return what somebody says to a run under way: a text, or a user message of any form.

    Raises:
        MessageError: If it is neither, or says nothing.
    """
    content: Any = message
    if not isinstance(message, str):
        expected = "a text or a user message"
        if not _is_record(message):
            raise _wrong_type("message", expected, message)
        if (role := read_role(message)) != "user":
            told = f"message.role: expected user, got {role!r}"
            raise MessageError(told, field="message.role")
        content = read_member(message, "content")
    place = "message" if isinstance(message, str) else "message.content"
    if is_list(content):
        content = tuple(content)
    elif not isinstance(content, str):
        raise _wrong_type(place, "a text or a list of parts", content)
    if not _says_something(content):
        raise MessageError(f"{place}: expected one that is not empty", field=place)
    return Message(role="user", content=content)


def _says_something(content: str | tuple[Any, ...]) -> bool:
    """Return whether content has a text that is not blank, or a part that is none."""
    if isinstance(content, str):
        return bool(content.strip())
    texts = (
        read_member(part, "text") if str(read_member(part, "type")).endswith("text") else None
        for part in content
    )
    return any(not isinstance(text, str) or text.strip() for text in texts)


def read_role(message: object) -> object:
    """Return the role of a message; None if it has none."""
    role = message.role if type(message) is Message else read_member(message, "role")
    return role if type(role) is str else getattr(role, "value", role)


def read_input(value: object) -> Input:
    """Read a piece of an answer, a whole answer or a tool's result from anything that has its fields; `AgentRun.feed` does the same.

    Args:
        value: Anything; one of this package's inputs is returned as it is.

    Raises:
        MessageError: If it has none of these fields, or one of them is of another type.
    """
    # The union behind the alias, since `isinstance` takes no alias.
    if isinstance(value, Input.__value__):
        return cast("Input", value)
    # Checked first, because results have a `content`, and so may whole answers.
    if read_member(value, "call_id") is not None:
        return _read_result(value)
    if all(read_member(value, name) is None for name in _ANSWER):
        raise _wrong_type("received", "a piece of an answer or a tool result", value)
    return _read_delta(value)


def _read_result(value: object) -> ToolResult:
    content: Any = read_member(value, "content")
    if is_list(content):
        content = tuple(content)
    elif not isinstance(content, str | None):
        raise _wrong_type("content", "a text or a list of parts", content)
    return ToolResult(
        call_id=_read_text(value, "call_id") or "",
        content=content or "",
        error=_read_text(value, "error"),
        is_unfinished=bool(read_member(value, "is_unfinished")),
        is_pinned=bool(read_member(value, "is_pinned")),
    )


def _read_delta(value: object) -> ModelDelta:
    calls, files = _read_list(value, "tool_calls"), _read_list(value, "files")
    usage = read_member(value, "usage")
    return ModelDelta(
        text=next((text for name in _TEXT if (text := _read_text(value, name))), ""),
        tool_calls=tuple(
            _read_fragment(call, f"tool_calls[{index}]") for index, call in enumerate(calls)
        ),
        opaque_body=read_member(value, "opaque_body"),
        usage=None if usage is None else Usage.read(usage),
        finish_reason=_read_text(value, "finish_reason"),
        phase=_read_text(value, "phase"),
        files=files,
        hosted_calls=_read_count(value, "hosted_calls"),
    )


def _read_fragment(value: object, field: str) -> ToolCallFragment:
    call = read_written_call(value, field=field)
    return ToolCallFragment(
        call_id=call.call_id, name=call.name, arguments=call.arguments, index=call.index
    )


def _read_list(value: object, name: str) -> tuple[Any, ...]:
    items: Any = read_member(value, name) or ()
    if not is_list(items):
        raise _wrong_type(name, "a list", items)
    return tuple(items)


def _read_count(value: object, name: str) -> int:
    count: Any = read_member(value, name) or 0
    if is_list(count):  # The calls themselves, as a whole answer has them.
        count = sum(read_member(call, "type") != "mcp_list_tools" for call in count)
    if not is_whole(count, least=0):
        raise _wrong_type(name, "calls or their number, at least 0", count)
    return count


def _read_text(value: object, name: str) -> str | None:
    text: Any = read_member(value, name)
    if not isinstance(text, str | None):
        raise _wrong_type(name, "a text", text)
    return text


def _wrong_type(field: str, expected: str, value: object) -> MessageError:
    return MessageError(f"{field}: expected {expected}, got {type(value).__name__}", field=field)
