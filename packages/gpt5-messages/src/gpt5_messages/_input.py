"""A conversation, turned into the input items of a Responses request."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from stream_text import strip_think

from ._json import iter_mappings
from ._messages import member, read_calls, read_role, read_text
from ._read import read_tool_call
from ._replay import replayable_items
from ._turns import History, Turn, call_key
from ._values import Item


OPAQUE_KEY = "responses_output"
"""The key inside `opaque_body` under which a response's output items travel."""

type Recall = Callable[[Turn], Sequence[Item] | None]

_OUTPUT_TYPES = {"function": "function_call_output", "custom": "custom_tool_call_output"}


def build_input(
    messages: Iterable[object], *, recall: Recall | None = None
) -> list[dict[str, Any]]:
    """Turn messages into input items.

    An assistant message goes back as the output items of the response that it came from, if they can be had: from `opaque_body`
    on the message or on one of its content parts (`{"responses_output": [items]}`), or else from `recall`. Otherwise it is rebuilt
    from its text, without `<think>` blocks, and its tool calls. A call that no tool message answers is left out, and so is a tool message without a `tool_call_id`.

    Args:
        messages: Objects or mappings with `role`, `content`, `tool_calls`, `tool_call_id`, `opaque_body`. Content is a text or a
            list of parts; of a part that is not text only its kind is told.
        recall: Returns the items of the response that made the calls of this turn, or None; such as `ItemStore.recall`.
    """
    history = list(messages)
    answered = {
        call_id
        for message in history
        if read_role(message) == "tool"
        and isinstance(call_id := member(message, "tool_call_id"), str)
    }
    items: list[dict[str, Any]] = []
    before = History()
    custom_calls: set[str] = set()
    for message in history:
        match read_role(message):
            case "assistant":
                added = _assistant_items(message, answered, recall, before)
                custom_calls |= _custom_call_ids(added)
            case "tool":
                added = _tool_output(message, custom_calls)
            case role:
                added = _text_item(message, role)
        items += added
        if recall is not None:
            before.add(message)
    return items


def carried_items(message: object) -> list[Item] | None:
    """Return the output items that travel with a message, on itself or on a content part; None if there are none."""
    content = member(message, "content")
    parts = cast("Sequence[object]", content) if isinstance(content, (list, tuple)) else ()
    for carrier in (message, *parts):
        opaque = member(carrier, "opaque_body")
        if isinstance(opaque, Mapping):
            items = list(iter_mappings(cast("Mapping[str, Any]", opaque).get(OPAQUE_KEY)))
            if items:
                return items
    return None


def _assistant_items(
    message: object, answered: set[str], recall: Recall | None, before: History
) -> list[dict[str, Any]]:
    calls = read_calls(message)
    text = read_text(member(message, "content"))
    known = carried_items(message)
    if known is None and recall is not None and calls:
        known = recall(before.turn(map(call_key, calls), text))
    if known is not None and _made_calls(known, calls):
        return replayable_items(known, answered=answered)
    answer = strip_think(text)
    said: list[dict[str, Any]] = [{"role": "assistant", "content": answer}] if answer else []
    return [*said, *(call for call in calls if call["call_id"] in answered)]


def _made_calls(items: Iterable[Item], calls: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether these items made these calls: a platform may have edited a message."""
    made = {call_key(call) for item in items if (call := read_tool_call(item))}
    return all(call_key(call) in made for call in calls)


def _custom_call_ids(items: Iterable[Item]) -> set[str]:
    calls = (read_tool_call(item) for item in items)
    return {call.call_id for call in calls if call and call.type == "custom"}


def _tool_output(message: object, custom_calls: set[str]) -> list[dict[str, Any]]:
    """Return what a tool answered; nothing where it answers no call."""
    call_id = member(message, "tool_call_id")
    if not isinstance(call_id, str) or not call_id:
        return []
    kind = "custom" if call_id in custom_calls else "function"
    output = read_text(member(message, "content"))
    return [{"type": _OUTPUT_TYPES[kind], "call_id": call_id, "output": output}]


def _text_item(message: object, role: str) -> list[dict[str, Any]]:
    text = read_text(member(message, "content"))
    return [{"role": role, "content": [{"type": "input_text", "text": text}]}] if text else []
