"""One output item while it is being streamed, and the blocks in it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ._events import BlockDelta, BlockKind, BlockStart, BlockStop, StreamEvent
from ._json import iter_mappings, text_or_none, type_of
from ._text import SurrogateJoiner
from ._values import Item


_CALL_TYPES = {"function_call": "arguments", "custom_tool_call": "input"}
_MESSAGE_PARTS: dict[str, tuple[BlockKind, str]] = {
    "output_text": ("text", "text"),
    "refusal": ("refusal", "refusal"),
}


class _Block:
    """One block: opened by the first event that belongs to it, closed once."""

    def __init__(self, kind: BlockKind, index: int) -> None:
        self.kind: BlockKind = kind
        self.index = index
        self.pieces: list[str] = []
        self._joiner = SurrogateJoiner()
        self._is_open = True

    def grow(self, text: str) -> list[StreamEvent]:
        return self._delta(self._joiner.feed(text)) if self._is_open else []

    def fill(self, full: str) -> list[StreamEvent]:
        """Add what `full` has beyond what came so far; a text that disagrees changes nothing."""
        text = "".join(self.pieces)
        if len(full) > len(text) and full.startswith(text):
            return self.grow(full[len(text) :])
        return []

    def stop(self) -> list[StreamEvent]:
        if not self._is_open:
            return []
        rest = self._delta(self._joiner.flush())
        self._is_open = False
        return [*rest, BlockStop(index=self.index, kind=self.kind)]

    def _delta(self, text: str) -> list[StreamEvent]:
        if not text:
            return []
        self.pieces.append(text)
        return [BlockDelta(index=self.index, kind=self.kind, text=text)]


class OpenItem:
    """One output item, collected from its events.

    Args:
        output_index: Its index in the response's `output`.
        next_block: Gives out the next block index of the stream.
    """

    def __init__(self, *, output_index: int, next_block: Callable[[], int]) -> None:
        self.output_index = output_index
        self._next_block = next_block
        self._added: Mapping[str, Any] = {}
        self._done: Item | None = None
        self._blocks: dict[tuple[BlockKind, int], _Block] = {}
        self._early_arguments: list[str] = []  # pieces that came before the call's name

    @property
    def is_done(self) -> bool:
        """Whether the whole item has arrived."""
        return self._done is not None

    def is_of(self, item_type: object) -> bool:
        """Return whether this may be an item of that type, as far as is known."""
        return self._added.get("type", item_type) == item_type

    def add(self, item: Item) -> list[StreamEvent]:
        """Take the item as announced; only tool calls are worth a block already."""
        if self._added:
            return []
        self._added = item
        return self._open_call(item)

    def finish(self, item: Item) -> list[StreamEvent]:
        """Take the whole item: fill every gap from it, and close its blocks."""
        events = [*self.add(item), *self._open_call(item), *self._fill_all(item), *self.stop_all()]
        self._done = item
        return events

    def open_part(self, kind: BlockKind, part_index: int) -> list[StreamEvent]:
        """Begin a part's block unless it has begun."""
        if (kind, part_index) in self._blocks or self.is_done:
            return []
        block = self._blocks[kind, part_index] = _Block(kind, self._next_block())
        return [BlockStart(index=block.index, kind=kind)]

    def grow_part(self, kind: BlockKind, part_index: int, delta: object) -> list[StreamEvent]:
        """Add a delta to a part, opening its block if the server never did."""
        if not isinstance(delta, str) or not delta or self.is_done:
            return []
        return [*self.open_part(kind, part_index), *self._blocks[kind, part_index].grow(delta)]

    def fill_part(self, kind: BlockKind, part_index: int, full: object) -> list[StreamEvent]:
        """Add what the whole text of a part has beyond its deltas."""
        if not isinstance(full, str) or not full:
            return []
        events = self.open_part(kind, part_index)
        block = self._blocks.get((kind, part_index))
        return [*events, *(block.fill(full) if block else [])]

    def stop_part(self, kind: BlockKind, part_index: int) -> list[StreamEvent]:
        """Close a part's block."""
        block = self._blocks.get((kind, part_index))
        return block.stop() if block else []

    def grow_call(self, delta: object) -> list[StreamEvent]:
        """Add a piece of tool arguments, kept back while the call's name is not known."""
        block = self._blocks.get(("tool_use", 0))
        if not isinstance(delta, str):
            return []
        if block is None:
            self._early_arguments.append(delta)
            return []
        return block.grow(delta)

    def fill_call(self, full: object) -> list[StreamEvent]:
        """Add what the whole arguments have beyond their deltas."""
        block = self._blocks.get(("tool_use", 0))
        if not isinstance(full, str):
            return []
        if block is None:
            self._early_arguments = [full]
            return []
        return block.fill(full)

    def stop_all(self) -> list[StreamEvent]:
        """Close every block that is open."""
        return [event for block in self._blocks.values() for event in block.stop()]

    def shown_text(self) -> str:
        """Join the answer text that has come so far."""
        return "".join(text for _, text in self._texts("text"))

    def to_item(self) -> Item:
        """Return the whole item, or an incomplete one made of what has come so far."""
        if self._done is not None:
            return self._done
        item: dict[str, Any] = {**self._added, "status": "incomplete"}
        texts = {kind: self._texts(kind) for kind in ("text", "refusal", "summary_text")}
        content = [{"type": "output_text", "text": text} for _, text in texts["text"]]
        content += [{"type": "refusal", "refusal": text} for _, text in texts["refusal"]]
        if content:
            item = {"type": "message", "role": "assistant", **item, "content": content}
        if texts["summary_text"]:
            summary = [{"type": "summary_text", "text": text} for _, text in texts["summary_text"]]
            item = {"type": "reasoning", **item, "summary": summary}
        return item

    def _texts(self, kind: BlockKind) -> list[tuple[int, str]]:
        """List the texts of one kind with their part indexes, in order."""
        return sorted(
            (part_index, "".join(block.pieces))
            for (block_kind, part_index), block in self._blocks.items()
            if block_kind == kind
        )

    def _open_call(self, item: Item) -> list[StreamEvent]:
        """Begin the block of a tool call as soon as its id and name are known."""
        call_id, name = text_or_none(item.get("call_id")), text_or_none(item.get("name"))
        if type_of(item) not in _CALL_TYPES or not call_id or not name:
            return []
        if ("tool_use", 0) in self._blocks:
            return []
        block = self._blocks["tool_use", 0] = _Block("tool_use", self._next_block())
        start = BlockStart(index=block.index, kind="tool_use", call_id=call_id, name=name)
        early, self._early_arguments = "".join(self._early_arguments), []
        return [start, *block.grow(early)]

    def _fill_all(self, item: Item) -> list[StreamEvent]:
        arguments_key = _CALL_TYPES.get(type_of(item))
        if arguments_key:
            return self.fill_call(item.get(arguments_key))
        return [
            event
            for kind, part_index, full in _iter_parts(item)
            for event in self.fill_part(kind, part_index, full)
        ]


def _iter_parts(item: Item) -> Iterator[tuple[BlockKind, int, object]]:
    """Yield kind, index and full text of each part of a whole message or reasoning item."""
    if type_of(item) == "message":
        for index, part in enumerate(iter_mappings(item.get("content"))):
            kind, key = _MESSAGE_PARTS.get(type_of(part), (None, ""))
            if kind is not None:
                yield kind, index, part.get(key)
    elif type_of(item) == "reasoning":
        for index, part in enumerate(iter_mappings(item.get("summary"))):
            yield "summary_text", index, part.get("text")
        for index, part in enumerate(iter_mappings(item.get("content"))):
            yield "reasoning_text", index, part.get("text")
