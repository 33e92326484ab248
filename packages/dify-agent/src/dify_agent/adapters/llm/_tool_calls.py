"""Putting tool calls together from the pieces in which plugins send them."""

import json
from dataclasses import dataclass

from ._chunks import ToolCallPiece


@dataclass(slots=True)
class _Call:
    number: int
    id: str | None
    name: str = ""
    arguments: str = ""

    def repeats(self, arguments: str) -> bool:
        """Say whether these are the arguments that are complete already: some plugins send pieces, then the whole."""
        return arguments == self.arguments and _is_json(arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDelta:
    """What a piece adds to a call.

    Attributes:
        number: Which call of the answer, from 0.
        id: The call's id when it comes for the first time, else None.
        name: The tool's name when it comes for the first time, else None.
        arguments: The next piece of the arguments.
    """

    number: int
    id: str | None
    name: str | None
    arguments: str


class ToolCallMerger:
    """Say which call each piece belongs to.

    A piece with an id belongs to the call with that id. One without belongs to the latest call, unless both have a name:
    a second name without an id is another call.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def add(self, piece: ToolCallPiece) -> CallDelta | None:
        """Take the next piece; None if it says nothing new."""
        call = self._find(piece)
        is_new = call is None
        if call is None:
            call = _Call(number=len(self._calls), id=piece.id)
            self._calls.append(call)
        name = None if call.name else piece.function.name or None
        arguments = "" if call.repeats(piece.function.arguments) else piece.function.arguments
        if not (is_new or name or arguments):
            return None
        call.name = call.name or piece.function.name
        call.arguments += arguments
        return CallDelta(
            number=call.number, id=call.id if is_new else None, name=name, arguments=arguments
        )

    @property
    def has_unnamed(self) -> bool:
        """Whether a call never got its tool's name, so that nobody can run it."""
        return any(not call.name for call in self._calls)

    def _find(self, piece: ToolCallPiece) -> _Call | None:
        if piece.id is not None:
            return next((call for call in self._calls if call.id == piece.id), None)
        latest = self._calls[-1] if self._calls else None
        return None if latest and latest.name and piece.function.name else latest


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
