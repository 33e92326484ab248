"""One output item while it is being streamed."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpt5_messages._completion.events import BlockKind, StreamEvent
from gpt5_messages._completion.values import Item, argument_text
from gpt5_messages._json import iter_mappings, text_or_none, type_of
from gpt5_messages._kinds import CALL_ARGUMENTS
from gpt5_messages._text import whole_characters

from .blocks import Block, BlockLog


# For each type of item the places of its texts: the block's kind, the list, the part's type and key.
_PARTS: dict[str, tuple[tuple[BlockKind, str, str, str], ...]] = {
    "message": (
        ("text", "content", "output_text", "text"),
        ("refusal", "content", "refusal", "refusal"),
    ),
    "reasoning": (
        ("summary_text", "summary", "summary_text", "text"),
        ("reasoning_text", "content", "reasoning_text", "text"),
    ),
}
_ITEM_TYPES: dict[BlockKind, str] = {
    "tool_use": "function_call",
    **{kind: item_type for item_type, parts in _PARTS.items() for kind, *_ in parts},
}


class OpenItem:
    """One output item, collected from its events. An empty field never replaces text that was streamed.

    Args:
        output_index: Its index in the response's `output`.
        log: The log that all blocks of the stream share.

    Attributes:
        done: The whole item, once it has arrived.
        item_id: The first id that it came with.
    """

    def __init__(self, *, output_index: int, log: BlockLog) -> None:
        self.output_index = output_index
        self.done: Item | None = None
        self.item_id: str | None = None
        self._log = log
        self._added: Mapping[str, Any] = {}
        self._blocks: dict[tuple[BlockKind, int], Block] = {}
        self._latest: dict[BlockKind, Block] = {}
        self._is_call_whole = False
        self._early_arguments: list[str] = []  # pieces that came before the call's name

    @property
    def item_type(self) -> str:
        """The item's type, as far as known."""
        kind = next(iter(self._blocks), ("tool_use", 0))[0]
        is_known = self._blocks or self._early_arguments
        return type_of(self._added) or (_ITEM_TYPES[kind] if is_known else "")

    @property
    def is_over(self) -> bool:
        """Whether no more of it can be streamed."""
        return self.done is not None or self._is_call_whole

    def may_be(self, item: Item) -> bool:
        """Return whether this may be that item, as far as known."""
        may_be_call = self._added.get("call_id") in (None, item.get("call_id"))
        return may_be_call and self.may_be_of(type_of(item))

    def may_be_of(self, item_type: str) -> bool:
        """Return whether this may be of that type, as far as known."""
        if not self._added and self.item_type in CALL_ARGUMENTS and item_type in CALL_ARGUMENTS:
            return True
        return not item_type or self.item_type in ("", item_type)

    def is_other(self, item: Item, *, is_new: bool) -> bool:
        """Return whether an item that is announced or whole is certainly not this one."""
        calls = {text_or_none(known.get("call_id")) for known in (self._added, item)} - {None, ""}
        if len(calls) > 1 or not self.may_be_of(type_of(item)):
            return True
        if self.done is None or (self.item_id and self.item_id == item.get("id")):
            return False
        # This one has ended. The same again, under another id, is a repeat and no new item.
        return is_new or _content(item) != _content(self.done)

    def add(self, item: Item) -> list[StreamEvent]:
        """Take the item as announced; only a tool call gets its block already."""
        if self._added:
            return []
        self._added = item
        return self._open_call(item)

    def finish(self, item: Item) -> tuple[list[StreamEvent], Item]:
        """Take the whole item: fill every gap from it, close its blocks, and return it with its empty fields filled."""
        # `_open_call` again: some servers say a call's id or name only at its end.
        events = [*self.add(item), *self._open_call(item), *self._fill_all(item), *self.stop_all()]
        self.done = self.complete(item)
        return events, self.done

    def open_part(self, kind: BlockKind, part_index: int) -> list[StreamEvent]:
        """Begin a part's block unless it has begun."""
        if (kind, part_index) in self._blocks or self.done is not None:
            return []
        phase = text_or_none(self._added.get("phase"))
        block = Block(kind, self._log, phase=phase)
        self._blocks[kind, part_index] = self._latest[kind] = block
        return [block.start]

    def grow_part(self, kind: BlockKind, part_index: int, delta: object) -> list[StreamEvent]:
        """Add a delta to a part, opening its block if the server never did."""
        if not isinstance(delta, str) or not delta or self.done is not None:
            return []
        return [*self.open_part(kind, part_index), *self._blocks[kind, part_index].grow(delta)]

    def fill_part(self, kind: BlockKind, part_index: int, full: object) -> list[StreamEvent]:
        """Add the part of a part's whole text that its deltas did not have, even if they had another index."""
        if not isinstance(full, str) or not full:
            return []
        block, latest = self._blocks.get((kind, part_index)), self._latest.get(kind)
        if block is None and latest is not None and latest.may_be_whole(full):
            block = latest
        if block is not None:
            return block.fill(full)
        events = self.open_part(kind, part_index)
        return [*events, *self._blocks[kind, part_index].fill(full)] if events else []

    def stop_part(self, kind: BlockKind, part_index: int) -> list[StreamEvent]:
        """Close a part's block."""
        block = self._blocks.get((kind, part_index))
        return block.stop() if block else []

    def grow_call(self, delta: object) -> list[StreamEvent]:
        """Add a piece of tool arguments, held back as long as the call's name is not known."""
        block = self._blocks.get(("tool_use", 0))
        if not isinstance(delta, str):
            return []
        if block is None:
            self._early_arguments.append(delta)
            return []
        return block.grow(delta)

    def fill_call(self, full: object) -> list[StreamEvent]:
        """Add the part of the whole arguments that their deltas did not have."""
        block, text = self._blocks.get(("tool_use", 0)), argument_text(full)
        if not text:
            return []
        self._is_call_whole = True
        if block is None:
            self._early_arguments = [text]
            return []
        return block.fill(text)

    def stop_all(self) -> list[StreamEvent]:
        """Close every block that is open."""
        return [event for block in self._blocks.values() for event in block.stop()]

    def to_item(self, *, is_completed: bool) -> Item:
        """Return the whole item, or one made from the events so far: incomplete, unless it is a call with all its arguments in a completed response."""
        if self.done is not None:
            return self.done
        status = "completed" if is_completed and self._is_call_whole else "incomplete"
        return self.complete({**self._added, "status": status})

    def complete(self, item: Item) -> Item:
        """Return an item with its empty fields filled from earlier events."""
        before = self.done or ({} if item else {**self._added, "status": "completed"})
        whole = {**item, **{key: value for key, value in before.items() if not item.get(key)}}
        item_type = type_of(whole) or self.item_type
        if item_type and not type_of(whole):
            role = {"role": "assistant"} if item_type == "message" else {}
            whole = {**role, **whole, "type": item_type}
        arguments_key = CALL_ARGUMENTS.get(item_type, "")
        arguments = argument_text(whole.get(arguments_key)) or self._call_text()
        if arguments_key and arguments:
            whole[arguments_key] = arguments
        for kind, key, part_type, text_key in _PARTS.get(item_type, ()):
            parts = list(iter_mappings(whole.get(key)))
            length = sum(map(len, _part_texts(parts, part_type, text_key)))
            blocks = self._of_kind(kind) if kind != "reasoning_text" else []
            texts = [block.text for block in blocks]
            if length < sum(map(len, texts)):
                whole[key] = _with_texts(parts, part_type, text_key, texts)
        return whole

    def _call_text(self) -> str:
        block = self._blocks.get(("tool_use", 0))
        return block.text if block else "".join(self._early_arguments)

    def _of_kind(self, kind: BlockKind) -> list[Block]:
        """List the blocks of one kind in the order of their parts."""
        return [self._blocks[key] for key in sorted(self._blocks) if key[0] == kind]

    def _open_call(self, item: Item) -> list[StreamEvent]:
        """Begin the block of a tool call as soon as its id and name are known."""
        call_id, name = text_or_none(item.get("call_id")), text_or_none(item.get("name"))
        if type_of(item) not in CALL_ARGUMENTS or not call_id or not name:
            return []
        if ("tool_use", 0) in self._blocks:
            return []
        block = Block("tool_use", self._log, call_id=call_id, name=name)
        self._blocks["tool_use", 0] = block
        early, self._early_arguments = "".join(self._early_arguments), []
        return [block.start, *block.grow(early)]

    def _fill_all(self, item: Item) -> list[StreamEvent]:
        arguments_key = CALL_ARGUMENTS.get(type_of(item))
        if arguments_key:
            return self.fill_call(item.get(arguments_key))
        return [
            event
            for kind, key, part_type, text_key in _PARTS.get(type_of(item), ())
            for event in self._fill_kind(
                kind, _part_texts(iter_mappings(item.get(key)), part_type, text_key)
            )
        ]

    def _fill_kind(self, kind: BlockKind, texts: list[str]) -> list[StreamEvent]:
        """Add the part of the whole texts of a kind that was not streamed.

        Only the texts are compared, because servers count their parts in different ways.
        """
        blocks = self._of_kind(kind)
        streamed = "".join(block.streamed for block in blocks)
        if not texts or not "".join(texts).startswith(streamed):
            return []
        events: list[StreamEvent] = []
        free_index = max((index for of, index in self._blocks if of == kind), default=-1) + 1
        known, end = len(streamed), 0
        for text in texts:
            start, end = end, end + len(text)
            is_begun = start < known or (blocks and not blocks[-1].streamed and start == known)
            if is_begun and known < end and blocks[-1].is_open:
                events += blocks[-1].extend(text[known - start :])
            elif end > known:
                # As in a stream, where a part ends before the next begins.
                events += [*self.stop_all(), *self.open_part(kind, free_index)]
                events += self._blocks[kind, free_index].extend(text[max(known - start, 0) :])
                free_index += 1
        return events


def _content(item: Item) -> Item:
    return {key: value for key, value in item.items() if key not in ("id", "status")}


def _part_texts(parts: Iterable[Item], part_type: str, key: str) -> list[str]:
    texts = (part.get(key) for part in parts if type_of(part) in (part_type, ""))
    return [whole_characters(text) for text in texts if isinstance(text, str) and text]


def _with_texts(parts: list[Item], part_type: str, key: str, texts: list[str]) -> list[Item]:
    """Return parts with their empty texts filled from the stream, or with new parts if none is of this type."""
    filled = list(parts)
    mine = [index for index, part in enumerate(parts) if type_of(part) in (part_type, "")]
    for index, text in zip(mine, texts, strict=False):
        if not _part_texts(parts[index : index + 1], part_type, key):
            filled[index] = {**parts[index], key: text}
    return filled if mine else [*parts, *({"type": part_type, key: text} for text in texts)]
