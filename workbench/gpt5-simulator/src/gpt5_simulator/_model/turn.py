"""The turn of a model in one response, and its two sources: a script or your own object."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, Protocol, get_args

from gpt5_simulator._arguments import entries_of, validate_kind
from gpt5_simulator._errors import ApiError
from gpt5_simulator._request import ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """A reasoning item.

    Attributes:
        summary: Summary parts; they are sent only to a request that asks for summaries.
        text: The reasoning itself, as servers of open models send it, whatever the request asks for; OpenAI's never do.
        tokens: Reasoning tokens to bill; None derives them from the effort.
    """

    summary: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A message with one text part.

    Attributes:
        text: The visible text.
        annotations: Its annotations, such as `{"type": "url_citation", "url": …, "title": …, "start_index": 5, "end_index": 9}`, in the
            order of the text. Indexes count characters.
        phase: The phase of the message; None derives it from the items that follow in the turn. Models without phases never send it.
    """

    text: str
    annotations: Sequence[Mapping[str, Any]] = ()
    phase: Literal["commentary", "final_answer"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A message that refuses to answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCall:
    """A call of a function tool.

    Attributes:
        name: The tool's name.
        arguments: An object, or the text to send as it is (broken JSON included).
        call_id: The call id; None makes one.
        namespace: The namespace of the tool, or the one in which tool search has found it.
    """

    name: str
    arguments: Mapping[str, Any] | str
    call_id: str | None = None
    namespace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomToolCall:
    """A call of a custom tool, which takes free text.

    Attributes:
        name: The tool's name.
        input: The text.
        call_id: The call id; None makes one.
    """

    name: str
    input: str
    call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputItem:
    """An output item of any type, such as that of a hosted tool.

    Attributes:
        item: The item as it goes over the wire, such as `{"type": "web_search_call", "action": {…}}`. Its id, its status and the usual
            fields of its type are filled in if they are missing; fields that the request does not `include` are left out.
    """

    item: Mapping[str, Any]


type TurnItem = Reasoning | Text | Refusal | FunctionCall | CustomToolCall | OutputItem
"""One output item of a response."""

type Turn = Sequence[TurnItem]
"""The output items of one response, in order."""


class Model(Protocol):
    """A model that answers requests; any object with this method can be the simulator's model."""

    def respond(self, request: ModelRequest) -> Turn:
        """Return the output items of one response, in order.

        It runs in a worker thread, for several requests at once, and may block.

        Raises:
            ApiError: If the answer should be that error.
        """
        ...


_ITEMS: tuple[type, ...] = get_args(TurnItem.__value__)


def _read_turn(where: str, turn: Turn) -> tuple[TurnItem, ...]:
    items = tuple(entries_of(where, turn))
    for index, item in enumerate(items):
        wanted = "an item of a turn, such as Text(text='Hello')"
        validate_kind(f"{where}[{index}]", item, _ITEMS, wanted)
    return items


class ScriptedModel:
    """A script of turns, one for each request, whatever it asks.

    Args:
        turns: The turns; each is a sequence of items.
        repeat: Whether to start again after the last one; otherwise further requests get a 500.

    Raises:
        TypeError: If a turn is not a list of items.
    """

    def __init__(self, turns: Iterable[Turn] = (), *, repeat: bool = False) -> None:
        self._turns = deque(
            _read_turn(f"turns[{index}]", turn)
            for index, turn in enumerate(entries_of("turns", turns))
        )
        self._repeat = repeat
        self._lock = Lock()  # `respond` runs in several threads

    @property
    def unused(self) -> int:
        """How many turns have not been used; 0 for a script that repeats."""
        with self._lock:
            return 0 if self._repeat else len(self._turns)

    def add(self, turn: Turn) -> None:
        """Append a turn to the script.

        Raises:
            TypeError: If it is no list of items.
        """
        read = _read_turn("turn", turn)
        with self._lock:
            self._turns.append(read)

    def respond(self, request: ModelRequest) -> Turn:
        """Return the next turn.

        Raises:
            ApiError: If the script has no more turns (status 500).
        """
        del request  # a script does not listen
        with self._lock:
            if not self._turns:
                raise ApiError(
                    "The script has no more turns.", status=500, error_type="server_error"
                )
            turn = self._turns.popleft()
            if self._repeat:
                self._turns.append(turn)
        return turn


class ScriptableModel:
    """A model that a script can replace while the server runs.

    Args:
        model: What answers until the script's first turn is added; a `ScriptedModel` is itself the script.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._script = model if isinstance(model, ScriptedModel) else None

    @property
    def unused(self) -> int:
        """How many turns of the script have not been used."""
        return 0 if self._script is None else self._script.unused

    def add(self, turn: Turn) -> None:
        """Append a turn to the script.

        Raises:
            TypeError: If it is no list of items.
        """
        script = self._script or ScriptedModel()
        script.add(turn)
        self._model = self._script = script

    def respond(self, request: ModelRequest) -> Turn:
        """Return the script's next turn, or what the model says if there is no script.

        Raises:
            ApiError: If the model refuses, or the script has no more turns.
        """
        return self._model.respond(request)
