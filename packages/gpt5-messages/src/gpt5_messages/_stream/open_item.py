"""One output item while it is being streamed."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpt5_messages._completion.events import BlockKind, StreamEvent
from gpt5_messages._completion.values import Item, argument_text
from gpt5_messages._json import iter_mappings, text_at, text_or_none, type_of
from gpt5_messages._kinds import CALL_ARGUMENTS
from gpt5_messages._text import whole_characters
from stream_text import InvalidJsonError, canonical_arguments, parse_json

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


type Deed = tuple[str, str]
"""The tool of a call and its arguments, the same however their JSON is written."""


def deed_of(item: Item) -> Deed | None:
    """Return what a call does; None for anything else."""
    key, name = CALL_ARGUMENTS.get(type_of(item)), text_at(item, "name")
    return (name, canonical_arguments(argument_text(item.get(key)))) if key and name else None


class OpenItem:
    """One output item, collected from its events. An empty field never replaces text that was streamed.

    Args:
        output_index: Its index in the response's `output`.
        log: The log that all blocks of the stream share.
        owners: The first item with each call id.

    Attributes:
        done: The whole item, once it has arrived.
        told: The same as the server sent it, which may lack something.
        is_repeat: Whether it is a call that has come before, in another item.
        ids: The ids that it came with, in their order.
    """

    def __init__(self, *, output_index: int, log: BlockLog, owners: "dict[str, OpenItem]") -> None:
        self.output_index = output_index
        self.done: Item | None = None
        self.told: Item | None = None
        self.is_repeat = False
        self.ids: dict[str, None] = {}
        self._log = log
        self._owners = owners
        self._added: Mapping[str, Any] = {}
        self._blocks: dict[tuple[BlockKind, int], Block] = {}
        self._latest: dict[BlockKind, Block] = {}
        self._is_call_whole = False
        self._has_thoughts = False  # whether a text of it was streamed as reasoning
        self._early_arguments: list[str] = []  # pieces that came before the call's name

    @property
    def item_type(self) -> str:
        """The item's type, as far as known."""
        kind = next(iter(self._blocks), ("tool_use", 0))[0]
        is_known = self._blocks or self._early_arguments
        return type_of(self._added) or (_ITEM_TYPES[kind] if is_known else "")

    @property
    def item_id(self) -> str | None:
        """The first id that it came with."""
        return next(iter(self.ids), None)

    @property
    def is_announced(self) -> bool:
        """Whether the server has told of it, and not only sent its texts."""
        return bool(self._added)

    @property
    def call_id(self) -> str:
        """The server's id of the call; empty if it has none."""
        return text_at(self._added, "call_id") or text_at(self.done or {}, "call_id")

    def is_missing_in(self, whole: str) -> bool:
        """Return whether it was streamed, at least its text, while the response that says `whole` leaves it out."""
        if said := self._text_of("text", "refusal"):
            return said not in whole
        is_call = bool(self.call_text()) and self._may_be_whole()
        return self.is_over or is_call or bool(self._text_of("reasoning_text", "summary_text"))

    @property
    def is_over(self) -> bool:
        """Whether no more of it can be streamed."""
        return self.done is not None or self._is_call_whole

    def may_be(self, item: Item) -> bool:
        """Return whether this may be that item, as far as known."""
        may_be_call = self._added.get("call_id") in (None, "", item.get("call_id"))
        return may_be_call and self.may_be_of(type_of(item))

    @property
    def deed(self) -> Deed | None:
        """What a whole call does; None for anything else."""
        name = self.call_name if self.is_over else ""
        return (name, canonical_arguments(self.call_text())) if name else None

    def may_be_of(self, item_type: str) -> bool:
        """Return whether this may be of that type, as far as known."""
        if not self._added and self.item_type in CALL_ARGUMENTS and item_type in CALL_ARGUMENTS:
            return True
        return not item_type or self.item_type in ("", item_type)

    def takes(self, item_type: str) -> bool:
        """Return whether texts of such items may be its own.

        Some servers announce an item as reasoning and stream its thoughts like an answer.
        """
        is_mislabelled = self._is_reasoning and not self._has_thoughts and self.done is None
        return self.may_be_of(item_type) or (item_type == "message" and is_mislabelled)

    @property
    def _is_reasoning(self) -> bool:
        return self._added.get("type") == "reasoning"

    def is_other(self, item: Item, *, is_new: bool) -> bool:
        """Return whether an item that is announced or whole is certainly not this one."""
        calls = {text_or_none(known.get("call_id")) for known in (self._added, item)} - {None, ""}
        own_id, item_id = self.item_id, item.get("id")
        is_renamed = not is_new and own_id and own_id == item_id  # only its call, in the end
        if (len(calls) > 1 and not is_renamed) or not self.may_be_of(type_of(item)):
            return True
        if self.done is None:  # A second announcement is that of another item.
            return bool(is_new and self.is_announced and own_id and item_id) and own_id != item_id
        if own_id and own_id == item_id:
            return False
        # This one has ended. The same again, under another id, is a repeat and no new item.
        return is_new or content_of(item) not in map(content_of, (self.told or {}, self.done))

    def add(self, item: Item) -> list[StreamEvent]:
        """Take the item as announced; only a tool call gets its block already."""
        if self._added:
            return []
        self._added = item
        events = self._open_call(item)
        is_whole = item.get("status") == "completed" and type_of(item) in CALL_ARGUMENTS
        return [*events, *self._fill_all(item)] if is_whole else events

    def finish(self, item: Item) -> tuple[list[StreamEvent], Item]:
        """Take the whole item: fill every gap from it, close its blocks, and return it with its empty fields filled."""
        # `_open_call` again: some servers say a call's id or name only at its end.
        events = [*self.add(item), *self._fill_all(item), *self._open_call(item, is_whole=True)]
        events += self.stop_all()
        self.told, self.done = item, self.complete(item)
        return events, self.done

    def settle(self) -> list[StreamEvent]:
        """Add what only its announcement has, and the call whose id another call has had, now that no more of the item will come."""
        if self.done is not None:
            return self._open_call(self.done, is_whole=True, is_last=True)
        announced = [block for block in self._blocks.values() if block.announced]
        return [
            *(event for block in announced for event in block.fill(block.announced)),
            *self._fill_all(self._added),
            *self._open_call(self._added, is_whole=True, is_last=True),
        ]

    def open_part(
        self, kind: BlockKind, part_index: int, announced: object = None
    ) -> list[StreamEvent]:
        """Begin a part's block unless it has begun."""
        kind = self._kind_of(kind)
        events = self._open_part(kind, part_index)
        if isinstance(announced, str) and events:
            self._blocks[kind, part_index].announced = announced
        return events

    def _kind_of(self, kind: BlockKind) -> BlockKind:
        """Return the kind of a text: a text of reasoning is no answer, whatever its event is called."""
        if kind in ("text", "refusal") and self._is_reasoning:
            return "reasoning_text"
        self._has_thoughts |= kind in ("reasoning_text", "summary_text")
        return kind

    def grow_part(self, kind: BlockKind, part_index: int, delta: object) -> list[StreamEvent]:
        """Add a delta to a part, opening its block if the server never did."""
        if not isinstance(delta, str) or not delta or self.done is not None:
            return []
        if (block := self._blocks.get((kind, part_index))) is not None:
            return block.grow(delta)
        kind = self._kind_of(kind)
        return [*self._open_part(kind, part_index), *self._blocks[kind, part_index].grow(delta)]

    def fill_part(self, kind: BlockKind, part_index: int, full: object) -> list[StreamEvent]:
        """Add the part of a part's whole text that its deltas did not have, even if they had another index."""
        if not isinstance(full, str) or not full:
            return []
        kind = self._kind_of(kind)
        block, latest = self._blocks.get((kind, part_index)), self._latest.get(kind)
        if block is None and latest is not None and latest.may_be_whole(full):
            block = latest
        if block is not None:
            return block.fill(full)
        events = self._open_part(kind, part_index)
        return [*events, *self._blocks[kind, part_index].fill(full)] if events else []

    def stop_part(self, kind: BlockKind, part_index: int) -> list[StreamEvent]:
        """Close a part's block."""
        block = self._blocks.get((self._kind_of(kind), part_index))
        return block.stop() if block else []

    def grow_call(self, delta: object) -> list[StreamEvent]:
        """Add a piece of tool arguments, held back as long as the call's name is not known."""
        block = self._blocks.get(("tool_use", 0))
        if not isinstance(delta, str) or self._is_call_whole:
            return []
        if block is None:
            self._early_arguments.append(delta)
            return []
        return block.grow(delta)

    def fill_call(self, full: object) -> list[StreamEvent]:
        """Add the part of the whole arguments that their deltas did not have."""
        block, text = self._blocks.get(("tool_use", 0)), argument_text(full)
        if not text or (text == "{}" and not text.startswith(self.call_text())):
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
        """Return the whole item, or one made from the events so far.

        That one is incomplete, unless it is a call with all its arguments in a completed response.
        """
        if self.done is not None:
            return self.done
        is_whole = is_completed and (self._is_call_whole or self._may_be_whole())
        status = "completed" if is_whole else "incomplete"
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
        arguments = argument_text(whole.get(arguments_key))
        if arguments in ("", "{}"):  # which never replace what was streamed
            arguments = self.call_text() or arguments
        if arguments_key and arguments:
            whole[arguments_key] = arguments
        if block := self._blocks.get(("tool_use", 0)):
            whole["call_id"] = block.start.call_id  # by which the call is known since it began
        for kind, key, part_type, text_key in _PARTS.get(item_type, ()):
            parts = list(iter_mappings(whole.get(key)))
            length = sum(map(len, _part_texts(parts, part_type, text_key)))
            is_told = kind == "reasoning_text" and (
                whole.get("encrypted_content") or text_at(whole, key)
            )
            texts = [] if is_told else [block.text for block in self._of_kind(kind)]
            if length < sum(map(len, texts)):
                filled = _with_texts(parts, part_type, text_key, texts)
                if _is_left_of("".join(_part_texts(filled, part_type, text_key)), "".join(texts)):
                    filled = [{"type": part_type, text_key: text} for text in texts]
                whole[key] = filled
        return whole

    def _open_part(self, kind: BlockKind, part_index: int) -> list[StreamEvent]:
        if (kind, part_index) in self._blocks or self.done is not None:
            return []
        phase = text_or_none(self._added.get("phase"))
        block = Block(kind, self._log, phase=phase)
        self._blocks[kind, part_index] = self._latest[kind] = block
        return [block.start]

    @property
    def call_name(self) -> str:
        """The tool of a call, as far as known."""
        block = self._blocks.get(("tool_use", 0))
        return (block.start.name if block else None) or text_at(self._added, "name")

    def call_text(self) -> str:
        """Return the arguments of a call, as far as they have come."""
        block = self._blocks.get(("tool_use", 0))
        return block.text if block else "".join(self._early_arguments)

    def _may_be_whole(self) -> bool:
        """Return whether this is a call that may end here: some servers never say that its arguments are whole."""
        try:
            parse_json(self.call_text().strip() or "{}")
        except InvalidJsonError:
            return self.item_type == "custom_tool_call"  # of which any text may be the input
        return self.item_type in CALL_ARGUMENTS

    def _of_kind(self, kind: BlockKind) -> list[Block]:
        """List the blocks of one kind in the order of their parts."""
        return [self._blocks[key] for key in sorted(self._blocks) if key[0] == kind]

    def _text_of(self, *kinds: BlockKind) -> str:
        return "".join(block.text for kind in kinds for block in self._of_kind(kind))

    def _open_call(
        self, item: Item, *, is_whole: bool = False, is_last: bool = False
    ) -> list[StreamEvent]:
        """Begin the block of a tool call as soon as its id and name are known, or its arguments, too, if its id is not its own.

        Args:
            item: The call.
            is_whole: Whether its arguments are known.
            is_last: Whether those of all others are.
        """
        name, call_id = text_at(item, "name"), text_at(item, "call_id")
        is_call = type_of(item) in CALL_ARGUMENTS and bool(name)
        if not is_call or ("tool_use", 0) in self._blocks:
            return []
        owner = self._owners.setdefault(call_id.strip(), self) if call_id.strip() else None
        if owner is not self:
            if not is_whole or not (owner is None or owner.is_over or is_last):
                return []
            ids = self._log.call_ids
            if owner is not None:
                ids.take(call_id, owner.call_name, owner.call_text())
            known = ids.take(call_id, name, self.call_text())
            self.is_repeat = known is None
            if known is None:
                return []
            call_id = known
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
                events += [*self.stop_all(), *self._open_part(kind, free_index)]
                events += self._blocks[kind, free_index].extend(text[max(known - start, 0) :])
                free_index += 1
        return events


def content_of(item: Item) -> Item:
    """Return what an item says, without what only names it."""
    return {key: value for key, value in item.items() if key not in ("id", "status")}


def _part_texts(parts: Iterable[Item], part_type: str, key: str) -> list[str]:
    texts = (part.get(key) for part in parts if _is_of(part, part_type))
    return [whole_characters(text) for text in texts if isinstance(text, str) and text]


def _is_of(part: Item, part_type: str) -> bool:
    """Return whether a part is of a type; of reasoning each is, whatever its own: LocalAI and LiteLLM call it an answer's."""
    return type_of(part) in (part_type, "") or part_type == "reasoning_text"


def _is_left_of(text: str, streamed: str) -> bool:
    """Return whether a text is only the beginning or the end of what was streamed, and the rest does not repeat it.

    Some servers have such a text in their last event.
    """
    is_edge = text != streamed and (streamed.startswith(text) or streamed.endswith(text))
    return is_edge and bool(streamed.replace(text, ""))


def _with_texts(parts: list[Item], part_type: str, key: str, texts: list[str]) -> list[Item]:
    """Return parts with their empty texts filled from the stream, or with new parts if none is of this type."""
    filled = list(parts)
    mine = [index for index, part in enumerate(parts) if _is_of(part, part_type)]
    for index, text in zip(mine, texts, strict=False):
        if not _part_texts(parts[index : index + 1], part_type, key):
            filled[index] = {**parts[index], key: text}
    return filled if mine else [*parts, *({"type": part_type, key: text} for text in texts)]
