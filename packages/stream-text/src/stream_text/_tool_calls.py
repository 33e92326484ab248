"""Tool calls assembled from the pieces in which they stream in."""

import json
from typing import NamedTuple

from ._call_ids import CallIds
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
    """A tool call that is still growing.

    Attributes:
        before: The call with the same id, as long as this one may be the same again.
    """

    def __init__(self, number: int, before: "_Draft | None") -> None:
        self.number = number
        self.before = before
        self.call_id = ""
        self.name = ""
        # Joined once, so that many small pieces cost no more than a few large ones.
        self._pieces: list[str] = []
        self._emitted: list[str] = []  # the pieces that were no repeat
        self._emitted_characters = 0
        self._looked_characters = 0

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

    def is_whole(self) -> bool:
        """Return whether the arguments are a JSON object by now, at a cost that grows with their length alone."""
        if not (self._emitted and self._emitted[-1].rstrip().endswith("}")):
            return False
        if 0 < self._looked_characters < self._emitted_characters < 2 * self._looked_characters:
            return False
        self._looked_characters = self._emitted_characters
        return _is_json_object("".join(self._emitted))

    @property
    def call(self) -> MergedToolCall:
        arguments = _without_repeats("".join(self._pieces))
        return MergedToolCall(self.call_id, self.name, arguments)


class ToolCallMerger:
    """The tool calls of an answer, merged from pieces by id, by index, or else in the order they come.

    A piece belongs to the call with its id; without an id, to the latest call with its index, because some gateways use an
    index again for the next call; without either, to the latest call. A second name without id and index begins another call,
    and so does one with the id of a call that has another name, or all its arguments. The same call under one id counts once.
    Blank space around ids and names does not count. Arguments that come again as a whole are left out; broken ones are never
    repaired.

    Args:
        seed: As for `CallIds`, which gives an id to a call that has none of its own.

    Example:
        >>> merger = ToolCallMerger()
        >>> merger.add(call_id="c1", name="add", arguments='{"a": ')
        ToolCallDelta(number=0, call_id='c1', name='add', arguments='{"a": ')
        >>> merger.add(arguments="1}")
        ToolCallDelta(number=0, call_id=None, name=None, arguments='1}')
        >>> merger.calls
        (MergedToolCall(call_id='c1', name='add', arguments='{"a": 1}'),)
    """

    def __init__(self, *, seed: str = "") -> None:
        self._ids = CallIds(seed)
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

        The deltas of a call put together, with what `close` returns, give its arguments, except if a server sends them
        again in several pieces: those have already been returned when they turn out to be a repeat.
        """
        call_id, name = (call_id or "").strip(), name.strip()
        draft = self._find(call_id, index, name)
        before = draft if draft and call_id and _is_followed(draft, name, arguments) else None
        is_new = draft is None
        if draft is None or before is not None:
            draft = _Draft(len(self._drafts), before)
            self._drafts.append(draft)
        if before is not None and before.before is None:
            self._ids.take(*before.call)
        if call_id:
            self._by_id[call_id] = draft
        if index is not None:
            self._by_index[index] = draft
        delta = draft.extend(call_id=call_id, name=name, arguments=arguments)
        self._has_calls = self._has_calls or bool(draft.name)
        if draft.before is not None:
            return self._release(draft, draft.before, index)
        (self._unnamed.discard if draft.name else self._unnamed.add)(draft.number)
        # A call that has begun is reported even if its first piece is empty: its index is taken.
        return ToolCallDelta(draft.number, None, None, "") if is_new and delta is None else delta

    def _release(self, draft: _Draft, before: _Draft, index: int | None) -> ToolCallDelta | None:
        """Return all of a call that has the id of another, once it is certain that it is not the same; forget one that is."""
        if not draft.is_whole():
            return None
        delta = self._settle(draft)
        if delta is None and draft is self._drafts[-1]:
            self._drafts.pop()
            self._by_id[draft.call_id] = before
            if index is not None:
                self._by_index[index] = before
        return delta

    def _settle(self, draft: _Draft) -> ToolCallDelta | None:
        call = draft.call
        call_id = self._ids.take(*call)
        draft.before = None if call_id else draft.before
        return ToolCallDelta(draft.number, call_id, call.name, call.arguments) if call_id else None

    def close(self) -> list[ToolCallDelta]:
        """Return the calls that `add` has held back, because they have the id of another, now that no more of them will come."""
        held = (draft for draft in self._drafts if draft.before is not None)
        return [delta for draft in held if (delta := self._settle(draft))]

    @property
    def has_calls(self) -> bool:
        """Whether there is a call with a name by now."""
        return self._has_calls

    @property
    def has_unnamed(self) -> bool:
        """Whether there is a call without the name of its tool."""
        return bool(self._unnamed)

    @property
    def calls(self) -> tuple[MergedToolCall, ...]:
        """The calls that have a name, in the order they began, each once and under an id of its own; a call without a name can't be run."""
        ids = CallIds(self._ids.seed)
        named = (draft.call for draft in self._drafts if draft.name)
        taken = ((ids.take(*call), call) for call in named)
        calls = tuple(call._replace(call_id=call_id) for call_id, call in taken if call_id)
        self._ids.seed = ids.seed  # random if one was needed, and the same from now on
        return calls

    @property
    def broken_calls(self) -> tuple[MergedToolCall, ...]:
        """The calls that have content but lack a name, so that they can be reported."""
        drafts = (draft.call for draft in self._drafts if not draft.name)
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


def _is_followed(draft: _Draft, name: str, arguments: str) -> bool:
    """Return whether a piece with the id of a call begins another one."""
    is_other = bool(name and draft.name) and name != draft.name
    return is_other or (bool(name and arguments) and draft.is_whole())


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
