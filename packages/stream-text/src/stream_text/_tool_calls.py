"""Tool calls assembled from the pieces in which they stream in."""

import json
from typing import NamedTuple

from ._errors import InvalidJsonError
from ._json import parse_json


class MergedToolCall(NamedTuple):
    """A tool call, merged from all its pieces.

    Attributes:
        call_id: The id of the call.
        name: The name of the tool.
        arguments: The arguments as text, JSON if the model wrote it well.
    """

    call_id: str
    name: str
    arguments: str


class ToolCallDelta(NamedTuple):
    """The part of a call that a piece adds.

    Attributes:
        number: Which call of the answer, from 0.
        call_id: The id of the call when it comes for the first time, else None.
        name: The name of the tool when it comes for the first time, else None.
        arguments: The next piece of the arguments.
    """

    number: int
    call_id: str | None
    name: str | None
    arguments: str


class _Draft:
    """A tool call that is still growing."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.call_id = ""
        self.name = ""
        # Joined once, so that many small pieces cost no more than a few large ones.
        self._pieces: list[str] = []
        self._emitted: list[str] = []  # the pieces that were no repeat
        self._emitted_characters = 0

    def extend(self, *, call_id: str, name: str, arguments: str) -> ToolCallDelta | None:
        new_id = call_id if not self.call_id else ""
        new_name = name if not self.name else ""
        self.call_id = self.call_id or call_id
        self.name = self.name or name
        new_arguments = self._extend_arguments(arguments)
        if not (new_id or new_name or new_arguments):
            return None
        return ToolCallDelta(self.number, new_id or None, new_name or None, new_arguments)

    def _extend_arguments(self, piece: str) -> str:
        if not piece:
            return ""
        self._pieces.append(piece)
        if self._is_repeat(piece):
            return ""
        self._emitted.append(piece)
        self._emitted_characters += len(piece)
        return piece

    def _is_repeat(self, piece: str) -> bool:
        """Return whether a piece repeats arguments that are complete already: some servers send pieces, then the whole."""
        # Compared by length first, so that the pieces are joined now and then, not for every piece.
        return (
            len(piece) == self._emitted_characters
            and piece == "".join(self._emitted)
            and _is_json_object(piece)
        )

    @property
    def call(self) -> MergedToolCall:
        arguments = _without_repeats("".join(self._pieces))
        return MergedToolCall(self.call_id, self.name, arguments)


class ToolCallMerger:
    """The tool calls of an answer, merged from pieces by id, by index, or else in the order they come.

    A piece belongs to the call with its id; without an id, to the latest call with its index, because some gateways use an
    index again for the next call; without either, to the latest call. A second name without id and index begins another call.
    Blank space around ids and names does not count. Arguments that come again as a whole are left out; broken ones are never
    repaired.

    Example:
        >>> merger = ToolCallMerger()
        >>> merger.add(call_id="c1", name="add", arguments='{"a": ')
        ToolCallDelta(number=0, call_id='c1', name='add', arguments='{"a": ')
        >>> merger.add(arguments="1}")
        ToolCallDelta(number=0, call_id=None, name=None, arguments='1}')
        >>> merger.calls
        (MergedToolCall(call_id='c1', name='add', arguments='{"a": 1}'),)
    """

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._by_id: dict[str, _Draft] = {}
        self._by_index: dict[int, _Draft] = {}  # the latest
        self._has_calls = False
        self._unnamed: set[int] = set()

    def add(
        self,
        *,
        call_id: str | None = None,
        index: int | None = None,
        name: str = "",
        arguments: str = "",
    ) -> ToolCallDelta | None:
        """Take the next piece; return what it adds, None if it adds nothing.

        The deltas of a call put together give its arguments, except if a server sends them again in several pieces: those have
        already been returned when they turn out to be a repeat.
        """
        call_id, name = (call_id or "").strip(), name.strip()
        draft = self._find(call_id, index, name)
        is_new = draft is None
        if draft is None:
            draft = _Draft(len(self._drafts))
            self._drafts.append(draft)
        if call_id:
            self._by_id[call_id] = draft
        if index is not None:
            self._by_index[index] = draft
        delta = draft.extend(call_id=call_id, name=name, arguments=arguments)
        self._has_calls = self._has_calls or bool(draft.call_id and draft.name)
        (self._unnamed.discard if draft.name else self._unnamed.add)(draft.number)
        # A call that has begun is reported even if its first piece is empty: its index is taken.
        return ToolCallDelta(draft.number, None, None, "") if is_new and delta is None else delta

    @property
    def has_calls(self) -> bool:
        """Whether there is a call with id and name by now."""
        return self._has_calls

    @property
    def has_unnamed(self) -> bool:
        """Whether there is a call without the name of its tool."""
        return bool(self._unnamed)

    @property
    def calls(self) -> tuple[MergedToolCall, ...]:
        """The calls that have an id and a name, in the order they began; a call that lacks either can't be run and answered."""
        return tuple(draft.call for draft in self._drafts if draft.call_id and draft.name)

    @property
    def broken_calls(self) -> tuple[MergedToolCall, ...]:
        """The calls that have content but lack an id or a name, so that they can be reported."""
        drafts = (draft.call for draft in self._drafts if not (draft.call_id and draft.name))
        return tuple(call for call in drafts if any(call))

    def _find(self, call_id: str, index: int | None, name: str) -> _Draft | None:
        if call_id:
            if call_id in self._by_id:
                return self._by_id[call_id]
            # Some servers send the id only after the first pieces of the call at this index.
            unnamed = None if index is None else self._by_index.get(index)
            return unnamed if unnamed and not unnamed.call_id else None
        if index is not None:
            return self._by_index.get(index)
        latest = self._drafts[-1] if self._drafts else None
        return None if latest and latest.name and name else latest


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(parse_json(text), dict)
    except InvalidJsonError:
        return False


def _without_repeats(arguments: str) -> str:
    """Return arguments without repetition, where they were sent in pieces and then whole."""
    if not arguments.startswith("{"):
        return arguments
    try:
        _, end = json.JSONDecoder().raw_decode(arguments)
    except (ValueError, RecursionError):
        return arguments
    once = arguments[:end]
    return once if once * (len(arguments) // end) == arguments else arguments
