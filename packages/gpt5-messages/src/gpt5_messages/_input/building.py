"""A conversation, turned into the input items of a Responses request."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

from gpt5_messages._completion.hosted import iter_images
from gpt5_messages._completion.marked_text import said_text
from gpt5_messages._completion.reading import read_tool_call
from gpt5_messages._completion.values import MADE_FOR_KEY, OPAQUE_KEY, Item, ToolCall
from gpt5_messages._json import iter_mappings, mapping, text_or_none, type_of
from gpt5_messages._kinds import CALL_OUTPUTS, CALL_TYPES, OUTPUT_TYPES
from gpt5_messages._media import Part
from gpt5_messages._members import wrong_kind
from stream_text import MessageError, is_object, read_member

from .compaction import compacts, is_compaction, without_compacted
from .histories import Entry, Reader, list_messages
from .kept import KeptInput, build_kept
from .parts import is_plain_text, read_media, read_parts, read_text
from .replay import pair_id, replayable_items
from .turns import History, Turn, call_key


type Recall = Callable[[Turn], Sequence[Item] | None]

_MEDIA = ("input_image", "input_file")
_SHOWN = "shown_media"  # the type of an assistant's images and files until they are moved
_PLACEHOLDER = "(what follows below)"
_NOTES = {
    "assistant": "This came with the assistant's message above:",
    "developer": "This belongs to the developer's message above:",
    "system": "This belongs to the system message above:",
}
# What a summary replaces is what a compaction item would.
_SUMMARIZED = {"type": "compaction", "encrypted_content": "-"}
_RESULT_NOTE = "This came with the result of {} above:"


def build_input(  # noqa: PLR0913 - settings, each with a default
    messages: Iterable[object],
    *,
    recall: Recall | None = None,
    lenient: bool = False,
    compacted: bool = True,
    made_for: str | None = None,
    made_by: str | None = None,
    history: History | None = None,
    kept: KeptInput | None = None,
) -> list[dict[str, Any]]:
    """Turn messages into input items.

    An assistant message goes back as the output items of the response that it came from, if they are available: from `opaque_body`
    on the message or on one of its content parts (`{"responses_output": [items]}`), or else from `recall`. Otherwise it is rebuilt
    from its text, without `<think>` blocks, and its tool calls. A call that no tool message answers is left out.

    Everything before a response with a compaction item is left out, as in `without_compacted`: the item replaces it.

    Calls without an id and results without one belong together in their order. Thoughts in other shapes than the API's own are left out, and so are the calls of other providers'
    own tools, the `name` of a speaker, and the `instructions` of pydantic-ai, which are settings of a request.

    Images and files go out as they came, in order, in users' messages and tool results. Those of other messages move into a user message right
    behind, which says where they belong. A sentence replaces parts that the API takes nowhere: sound, video, SVG, a part without data.

    Args:
        messages: Objects or mappings with `role`, `content`, `tool_calls`, `tool_call_id`, `opaque_body`. Content is a text or a
            list of parts, in the shapes of Dify, chat completions, the Responses API, langchain, pydantic-ai, Anthropic and MCP. Also taken: a
            `Completion`, a tool result (`call_id`, `content`, `error`), items of the Responses API, and the messages of langchain, pydantic-ai and Anthropic.
        recall: Returns the items of the response that made the calls of this turn, or None; such as `ItemStore.recall`.
        lenient: Whether to leave out, instead of refusing, parts that a platform may have broken: a result that names no call, an answered call without
            a name, an `opaque_body` that holds no items.
        compacted: Whether compaction items are used. Without them the whole conversation goes out, for a server that refuses the items it made.
        made_for: The caller of these requests: a compaction item that travels in a body with another `made_for`, or without one, is not used. None uses all.
        made_by: The mark of the connection and model that the input is for: open reasoning that they made goes back to them, and no other does. None for OpenAI, which
            gets none. See `mark_open_reasoning`.
        history: A new history that takes in the messages, for `ItemStore.remember`, which would otherwise read them again. Not beside `kept`.
        kept: What is kept of the conversation's last request, so that only new messages are read and built; what was recalled stays.

    Raises:
        MessageError: If a message can't be read; `field` says where, such as `messages[1].content[0]`.
    """

    def begin() -> _InputBuilder:
        builder = _InputBuilder(recall, lenient=lenient)
        builder.before = History() if history is None and recall else history
        builder.takes_compactions, builder.made_for, builder.made_by = compacted, made_for, made_by
        return builder

    settings = lenient, compacted, made_for, made_by
    return build_kept(kept, "messages", list_messages(messages), settings, begin)


def _answered_id(entry: Entry) -> str:
    """Return the id of the call that this is a result of; an empty text if it is not a result."""
    call_id = entry.call_id
    if entry.item is not None and type_of(entry.item) in OUTPUT_TYPES:
        call_id = pair_id(entry.item)
    return call_id.strip() if isinstance(call_id, str) else ""


class _InputBuilder:
    """The items of a conversation, message by message."""

    def __init__(self, recall: Recall | None, *, lenient: bool) -> None:
        self.items: list[dict[str, Any]] = []
        self.takes_compactions = True
        self.made_for: str | None = None
        self.made_by: str | None = None
        self.before: History | None = None
        self._results = Counter[str]()  # that are still to come
        self._answered: set[str] = set()
        self._left_out: set[str] = set()  # calls for want of a result
        self._reader = Reader()
        self._ends_in_items = False
        self._mover = _MediaMover()
        self._count_moved = 0  # items that the mover has taken
        self._recall = recall
        self._lenient = lenient
        self._made: dict[str, ToolCall] = {}
        self._own_ids: dict[str, str] = {}  # of calls to which a platform has given new ids
        self._callers: dict[str, object] = {}  # of calls that a program of the model makes

    def add(self, values: Sequence[object]) -> bool:
        """Take the next messages; return False if they belong to a row of items that was built without them, or answer what was left out.

        Raises:
            MessageError: If one can't be read.
        """
        entries = [entry for value in values for entry in self._reader.read(value)]
        results = Counter(map(_answered_id, entries))
        answered = results.keys() - {""}
        answered |= set(map(self._own_id, answered))
        is_row = self._ends_in_items and bool(entries) and entries[0].item is not None
        if is_row or not answered.isdisjoint(self._left_out):
            return False
        self._results, self._answered = results, answered
        # Items in a row are looked at together, since reasoning goes back only with the item that it led to.
        for self._ends_in_items, alike in groupby(
            entries, key=lambda entry: entry.item is not None
        ):
            if self._ends_in_items:
                self.add_items(list(alike))
            else:
                for entry in alike:
                    self.add_message(entry)
        return True

    def built(self) -> list[dict[str, Any]]:
        """Return the input so far."""
        self._mover.feed(self.items[self._count_moved :])
        self._count_moved = len(self.items)
        return self._mover.placed + self._mover.moved

    def _begin_again(self, items: list[dict[str, Any]]) -> None:
        """Put other items in the place of all so far."""
        self.items[:] = items  # in place, since it may be about to grow
        self._mover, self._count_moved = _MediaMover(), 0

    def add_items(self, entries: list[Entry]) -> None:
        """Add items that already have the API's own shape."""
        self.items += self._replay([entry.item for entry in entries if entry.item is not None])
        self._note(entries)

    def add_message(self, entry: Entry) -> None:
        """Add a message.

        Raises:
            MessageError: If a part of it can't be read.
        """
        match entry.role:
            case "assistant":
                self.items += self._answer(entry)
            case "tool":
                self.items += self._tool_output(entry)
            case role:
                if entry.replaces_earlier:
                    self._begin_again(without_compacted([*self.items, _SUMMARIZED])[:-1])
                parts = read_parts(entry.content, field=entry.field)
                self.items += [_message(role, parts)] if parts else []
        self._note([entry])

    def _note(self, entries: Iterable[Entry]) -> None:
        """Add entries to the history by which items are recalled, and drop their results, which answer no later call."""
        for entry in entries:
            call_id = _answered_id(entry)
            self._results[call_id] -= 1
            if not self._results[call_id]:
                self._answered -= {call_id, self._own_id(call_id)}
            if self.before is not None:
                self.before.add(entry)

    def _answer(self, entry: Entry) -> list[dict[str, Any]]:
        text = read_text(entry.content, field=entry.field)
        shown = read_media(entry.content, field=entry.field)
        calls, answered = entry.whole_calls, self._read_answered(entry)
        for call in calls:
            self._own_ids.pop(call["call_id"], None)
        own_ids: dict[str, str] = {}
        if not self._lenient:
            _validate_carried(entry.carrier, entry.field)
        known = self._carried(entry.carrier)
        if known is None and self._recall is not None and self.before is not None:
            known = self._recall(self.before.turn(map(call_key, calls), text))
            known = self._usable(known) if known else None
            own_ids = _own_ids(calls, known or ())
        made = [
            {**call, "call_id": own_ids.get(call["call_id"], call["call_id"])}
            for call in (*calls, *answered)
        ]
        # A platform may have edited the message since: then the items are not the ones of this text.
        if known is not None and _made_calls(known, made):
            self._own_ids |= own_ids
            self._answered |= {own for new, own in own_ids.items() if new in self._answered}
            replayed = self._replay(known)
            if compacts(replayed):
                # All that was built so far may be replaced, so it is built anew with these.
                replayed = without_compacted([*self.items, *replayed])
                self._begin_again([])
            return [*replayed, *_shown_media(_without_drawn(shown, replayed))]
        answer = said_text(text)
        said = [_message("assistant", answer)] if answer else []
        return [*said, *_shown_media(shown), *self._replay(answered)]

    def _own_id(self, call_id: str) -> str:
        return self._own_ids.get(call_id, call_id)

    def _carried(self, carrier: object) -> list[Item] | None:
        """Return the items that travel with a message, without compactions that must not be used."""
        items = carried_items(carrier)
        if items is None or not any(map(is_compaction, items)):
            return items
        is_ours = self.made_for is None or self.made_for in _iter_made_for(carrier)
        return self._usable(items, is_ours=is_ours)

    def _usable(self, items: Sequence[Item], *, is_ours: bool = True) -> list[Item]:
        takes = self.takes_compactions and is_ours
        return [item for item in items if takes or not is_compaction(item)]

    def _read_answered(self, entry: Entry) -> list[Item]:
        """Return the calls that were answered.

        Raises:
            MessageError: If one has no name.
        """
        answered = [call for call in entry.calls if call["call_id"] in self._answered]
        self._left_out |= {call["call_id"] for call in entry.calls} - self._answered
        for index, call in enumerate(entry.calls):
            if call["call_id"] in self._answered and not call["name"] and not self._lenient:
                place = f"{entry.field}.tool_calls[{index}].name"
                message = f"{place}: expected the name of the tool that has answered, got nothing"
                raise MessageError(message, field=place)
        return [call for call in answered if call["name"]]

    def _replay(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        """Return the items that may go back, and remember the calls among them."""
        made = [(call, item) for item in items if (call := read_tool_call(item))]
        self._made |= {call.call_id.strip(): call for call, _ in made}
        self._callers |= {call.call_id: item.get("caller") for call, item in made}
        # The same ids as the server writes them, with the blanks that platforms have stripped.
        own = {call.call_id for call, _ in made if call.call_id.strip() in self._answered}
        self._left_out |= {(pair_id(item) or "").strip() for item in items} - self._answered
        return replayable_items(items, answered=self._answered | own, made_by=self.made_by)

    def _tool_output(self, entry: Entry) -> list[dict[str, Any]]:
        """Return the output item of a tool's message.

        Raises:
            MessageError: If it can't be read, or does not say which call it answers.
        """
        parts = read_parts(entry.content, field=entry.field)
        call_id = self._own_id(_answered_id(entry))
        if not call_id:
            if self._lenient or (entry.call_id is None and not parts):
                return []
            place = f"{entry.field}.tool_call_id"
            raise wrong_kind(place, "the id of the call that this answers", entry.call_id)
        call = self._made.get(call_id)
        is_text = all(map(is_plain_text, parts))
        caller = self._callers.get(call.call_id) if call else None
        return [
            {
                "type": CALL_OUTPUTS[CALL_TYPES[call.type if call else "function"]],
                # As the call has it: platforms strip the blanks that some servers send around ids.
                "call_id": call.call_id if call else call_id,
                "output": "".join(part["text"] for part in parts) if is_text else parts,
                **({"caller": caller} if caller else {}),
            }
        ]


def carried_items(message: object) -> list[Item] | None:
    """Return the output items that travel with a message, on itself or on a content part; None if there are none."""
    held = (mapping(opaque).get(OPAQUE_KEY) for _, opaque in _iter_opaque(message))
    return next((items for value in held if (items := list(iter_mappings(value)))), None)


def _iter_made_for(message: object) -> Iterator[object]:
    """Yield the callers that the bodies of a message were made for."""
    yield from (read_member(opaque, MADE_FOR_KEY) for _, opaque in _iter_opaque(message))


def _iter_opaque(message: object) -> Iterator[tuple[str, object]]:
    """Yield the opaque bodies that travel with a message, each with its path in the message."""
    content = read_member(message, "content")
    parts = cast("Sequence[object]", content) if isinstance(content, (list, tuple)) else ()
    places = [("", message), *((f".content[{index}]", part) for index, part in enumerate(parts))]
    for place, carrier in places:
        if (opaque := read_member(carrier, "opaque_body")) is not None:
            yield f"{place}.opaque_body", opaque


def _validate_carried(message: object, field: str) -> None:
    """Refuse an opaque body that has our key and no items; other keys belong to others.

    Raises:
        MessageError: If it is not a mapping, or its items are not a list of mappings.
    """
    for place, opaque in _iter_opaque(message):
        if not is_object(opaque):
            raise wrong_kind(f"{field}{place}", "a mapping", opaque)
        items = opaque.get(OPAQUE_KEY, [])
        if not isinstance(items, (list, tuple)):
            raise wrong_kind(f"{field}{place}.{OPAQUE_KEY}", "a list of items", items)
        for index, item in enumerate(cast("Sequence[object]", items)):
            if not is_object(item):
                raise wrong_kind(f"{field}{place}.{OPAQUE_KEY}[{index}]", "an item", item)


def _own_ids(calls: Iterable[Mapping[str, Any]], items: Iterable[Item]) -> dict[str, str]:
    """Return the ids that calls have in the items of their response, where a platform has given them new ones; both are in the same order."""
    own = [call.call_id.strip() for item in items if (call := read_tool_call(item))]
    pairs = zip((call["call_id"] for call in calls), own, strict=False)
    return {new: call_id for new, call_id in pairs if new != call_id}


def _made_calls(items: Iterable[Item], calls: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether these items made these calls."""
    made = [call for item in items if (call := read_tool_call(item))]
    written = {(call.call_id, call.name, call.arguments) for call in made}
    # JSON has to be read only of those that have not come back as they were written, and few have not.
    rewritten = [
        call
        for call in calls
        if (call["call_id"], call["name"], call.get("arguments")) not in written
    ]
    return not rewritten or {call_key(call) for call in rewritten} <= {call_key(c) for c in made}


def _message(role: str, content: str | list[Part]) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def _shown_media(parts: list[Part]) -> list[dict[str, Any]]:
    return [{"type": _SHOWN, "role": "assistant", "content": parts}] if parts else []


def _without_drawn(parts: list[Part], items: list[dict[str, Any]]) -> list[Part]:
    """Return the parts of an answer without the images that the server drew and its items hold, whether as the same data or as links."""
    drawn = [image.data for image in iter_images(items)]
    rest: list[Part] = []
    for part in parts:
        url = str(part.get("image_url") or "")
        data = url.partition(",")[2] if url.startswith("data:") else ""
        if part["type"] == "input_image" and (data in drawn or (drawn and not data)):
            drawn.remove(data or drawn[0])
        else:
            rest.append(part)
    return rest


def move_result_media(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return a request's input with the images and files of tools' results in user messages behind all results of their round, for a server that takes only text from tools.

    Source: docs/contracts/openai-gpt5-responses.md, A53.
    """
    mover = _MediaMover(of_results=True)
    mover.feed(items)
    return [dict(item) for item in mover.placed + mover.moved]


class _MediaMover:
    """Items with the images and files of other messages moved into user messages right behind those.

    Only a user's message and a tool's output may have images and files, for some servers only the first. A call stays with its output: behind an assistant's message means behind its calls and their outputs.

    Source: docs/contracts/openai-gpt5-responses.md, A53.

    Attributes:
        placed: The items so far.
        moved: The messages that come behind them, or behind outputs that follow.
    """

    def __init__(self, *, of_results: bool = False) -> None:
        self.placed: list[dict[str, Any]] = []
        self.moved: list[dict[str, Any]] = []
        self._of_results = of_results
        self._open_calls: set[str] = set()
        self._names: dict[str | None, str] = {}

    def feed(self, items: Iterable[Item]) -> None:
        """Take the next items."""
        for item in items:
            kind, call_id = type_of(item), text_or_none(item.get("call_id"))
            place, note = "content", _NOTES.get(str(item.get("role")))
            if kind.endswith("_call"):
                self._open_calls |= {call_id} if call_id else set()
                self._names[call_id] = str(item.get("name") or kind)
            elif kind.endswith("_call_output"):
                self._open_calls -= {call_id}
                if self._of_results:
                    place = "output"
                    note = _RESULT_NOTE.format(self._names.get(call_id, "a tool"))
            elif self.moved and not self._open_calls:
                self.placed += self.moved
                self.moved = []
            self._place(item, place, note)

    def _place(self, item: Item, place: str, note: str | None) -> None:
        rest, media = _split_parts(item, place)
        if note is None or not media:
            self.placed.append(cast("dict[str, Any]", item))
            return
        if place == "output":
            self.placed.append({**item, "output": rest or _PLACEHOLDER})
        elif not rest and self.placed and type_of(self.placed[-1]) == "reasoning":
            # Reasoning is refused without the item that it led to, and nothing else is left of it.
            self.placed.append(_message("assistant", _PLACEHOLDER))
        elif rest:
            self.placed.append({**item, "content": rest})
        said = {"type": "input_text", "text": note}
        self.moved.append(_message("user", [said, *map(dict, media)]))


def _split_parts(item: Item, place: str) -> tuple[list[Item], list[Item]]:
    """Return the parts of a message or an output that may stay in it, and those that have to move."""
    parts = list(iter_mappings(item.get(place)))
    if type_of(item) == _SHOWN:
        return [], parts
    rest = [part for part in parts if type_of(part) not in _MEDIA]
    return rest, [part for part in parts if type_of(part) in _MEDIA]
