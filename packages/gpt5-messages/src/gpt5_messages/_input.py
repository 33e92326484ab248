"""A conversation, turned into the input items of a Responses request."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

from stream_text import read_member, strip_think

from ._histories import Entry, iter_entries
from ._json import iter_mappings, text_or_none, type_of
from ._media import Part
from ._messages import read_calls, read_content, read_role
from ._parts import read_media, read_parts, read_text
from ._places import with_media_moved
from ._read import read_tool_call
from ._replay import replayable_items
from ._turns import History, Turn, call_key
from ._values import OPAQUE_KEY, Item


type Recall = Callable[[Turn], Sequence[Item] | None]

_OUTPUT_TYPES = {"function": "function_call_output", "custom": "custom_tool_call_output"}


def build_input(
    messages: Iterable[object], *, recall: Recall | None = None
) -> list[dict[str, Any]]:
    """Turn messages into input items.

    An assistant message goes back as the output items of the response that it came from, if they can be had: from `opaque_body`
    on the message or on one of its content parts (`{"responses_output": [items]}`), or else from `recall`. Otherwise it is rebuilt
    from its text, without `<think>` blocks, and its tool calls. A call that no tool message answers is left out, and so is a tool message without a `tool_call_id`.

    Images and files go out as they came, in order, in users' messages and tool results. Those of other messages move into a user message right
    behind, which says where they belong. A sentence stands for what the API takes nowhere: sound, video, SVG, a part without data.

    Args:
        messages: Objects or mappings with `role`, `content`, `tool_calls`, `tool_call_id`, `opaque_body`. Content is a text or a
            list of parts, in the shapes of Dify, chat completions, the Responses API, langchain, pydantic-ai and MCP. Also taken: a
            `Completion`, a tool result (`call_id`, `content`, `error`), items of the Responses API, and the messages of langchain and pydantic-ai.
        recall: Returns the items of the response that made the calls of this turn, or None; such as `ItemStore.recall`.

    Raises:
        MessageError: If something can't be read; `field` says where, such as `messages[1].content[0]`.
    """
    history = list(iter_entries(messages))
    builder = _InputBuilder(set(_iter_answered(history)), recall)
    for are_items, entries in groupby(history, key=lambda entry: entry.item is not None):
        if are_items:
            builder.add_items(list(entries))
        else:
            for entry in entries:
                builder.add_message(entry)
    return with_media_moved(builder.items)


def _iter_answered(history: Iterable[Entry]) -> Iterator[str]:
    """Yield the ids of all calls that have a result."""
    for entry in history:
        if entry.item is None:
            is_result = read_role(entry.message) == "tool"
            call_id = read_member(entry.message, "tool_call_id") if is_result else None
        else:
            is_result = type_of(entry.item) in _OUTPUT_TYPES.values()
            call_id = entry.item.get("call_id") if is_result else None
        if isinstance(call_id, str):
            yield call_id


class _InputBuilder:
    """The items of a conversation, message by message."""

    def __init__(self, answered: set[str], recall: Recall | None) -> None:
        self.items: list[dict[str, Any]] = []
        self._answered = answered
        self._recall = recall
        self._before = History()
        self._custom_calls: set[str] = set()

    def add_items(self, entries: list[Entry]) -> None:
        """Add items that are in the API's own shape already."""
        items = [entry.item for entry in entries if entry.item is not None]
        self._custom_calls |= _custom_call_ids(items)
        self.items += replayable_items(items, answered=self._answered)
        self._note(entries)

    def add_message(self, entry: Entry) -> None:
        """Add a message.

        Raises:
            MessageError: If a part of it can't be read.
        """
        message, field = entry.message, entry.field
        content = read_content(message)
        match read_role(message):
            case "assistant":
                added = self._answer(message, content, field)
                self._custom_calls |= _custom_call_ids(added)
            case "tool":
                added = self._tool_output(message, read_parts(content, field=field))
            case role:
                parts = read_parts(content, field=field)
                added = [{"role": role, "content": parts}] if parts else []
        self.items += added
        self._note([entry])

    def _note(self, entries: Iterable[Entry]) -> None:
        """Take in what the conversation shows, by which items are recalled."""
        if self._recall is not None:
            for entry in entries:
                self._before.add(entry)

    def _answer(self, message: object, content: object, field: str) -> list[dict[str, Any]]:
        text, calls = read_text(content, field=field), read_calls(message, field=field)
        shown = read_media(content, field=field)
        media = [{"role": "assistant", "content": shown}] if shown else []
        known = carried_items(message)
        if known is None and self._recall is not None and calls:
            known = self._recall(self._before.turn(map(call_key, calls), text))
        if known is not None and _made_calls(known, calls):
            return [*replayable_items(known, answered=self._answered), *media]
        answer = strip_think(text)
        said: list[dict[str, Any]] = [{"role": "assistant", "content": answer}] if answer else []
        return [*said, *media, *(call for call in calls if call["call_id"] in self._answered)]

    def _tool_output(self, message: object, parts: list[Part]) -> list[dict[str, Any]]:
        """Return what a tool answered; nothing where it answers no call."""
        call_id = text_or_none(read_member(message, "tool_call_id"))
        if not call_id:
            return []
        kind = "custom" if call_id in self._custom_calls else "function"
        has_media = any(part["type"] != "input_text" for part in parts)
        output = parts if has_media else "".join(part["text"] for part in parts)
        return [{"type": _OUTPUT_TYPES[kind], "call_id": call_id, "output": output}]


def carried_items(message: object) -> list[Item] | None:
    """Return the output items that travel with a message, on itself or on a content part; None if there are none."""
    content = read_member(message, "content")
    parts = cast("Sequence[object]", content) if isinstance(content, (list, tuple)) else ()
    for carrier in (message, *parts):
        opaque = read_member(carrier, "opaque_body")
        if isinstance(opaque, Mapping):
            items = list(iter_mappings(cast("Mapping[str, Any]", opaque).get(OPAQUE_KEY)))
            if items:
                return items
    return None


def _made_calls(items: Iterable[Item], calls: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether these items made these calls: a platform may have edited a message."""
    made = {call_key(call) for item in items if (call := read_tool_call(item))}
    return all(call_key(call) in made for call in calls)


def _custom_call_ids(items: Iterable[Item]) -> set[str]:
    calls = (read_tool_call(item) for item in items)
    return {call.call_id for call in calls if call and call.type == "custom"}
