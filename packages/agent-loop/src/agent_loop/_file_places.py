"""Moves images and files to where providers accept them: user messages and tool results."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from stream_text import read_member

from ._values.messages import Message, Role


_STAYS = "(what follows below)"
_NOTES: Mapping[Role, str] = {
    "assistant": "This came with the assistant's message above:",
    "system": "This belongs to the system message above:",
}


def with_files_moved(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with the images and files of system and assistant messages moved into the user message that follows.

    A sentence there says where they come from. Files of an assistant message come after the results of its calls. If
    the next message is the user's, they come first in it, because some providers refuse two user messages in a row;
    otherwise they become a message of their own.
    """
    placed: list[Message] = []
    moved: list[Any] = []
    for message in messages:
        files = [part for part in _parts(message) if not _is_text(part)]
        if moved and message.role == "user":
            placed.append(replace(message, content=(*moved, *_parts(message))))
            moved = []
        elif message.role not in _NOTES or not files:
            placed += [*_flushed(moved, message), message]
        else:
            placed += [*_flushed(moved, message), *_without_files(message)]
            moved += [_text(_NOTES[message.role]), *files]
    return [*placed, *_to_user_message(moved)]


def _flushed(moved: list[Any], following: Message) -> list[Message]:
    """Return the moved files as a message to put before an answer, after the results of the calls before it."""
    if following.role != "assistant":
        return []
    flushed = _to_user_message(moved)
    moved.clear()
    return flushed


def _to_user_message(parts: Iterable[Any]) -> list[Message]:
    content = tuple(parts)
    return [Message(role="user", content=content)] if content else []


def _without_files(message: Message) -> list[Message]:
    rest = [part for part in _parts(message) if _is_text(part)]
    if all(read_member(part, "opaque_body") is None for part in rest):
        # Some providers read no text in parts.
        text = "\n".join(part if isinstance(part, str) else part["text"] for part in rest)
        if not text and message.role == "system":
            return []
        has_content = bool(text or message.tool_calls or message.opaque_body is not None)
        return [replace(message, content=text if has_content else _STAYS)]
    return [replace(message, content=tuple(rest))]


def _parts(message: Message) -> tuple[Any, ...]:
    content = message.content
    if isinstance(content, str):
        return (_text(content),) if content else ()
    return tuple(content)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _is_text(part: object) -> bool:
    return isinstance(part, str) or str(read_member(part, "type")).endswith("text")
