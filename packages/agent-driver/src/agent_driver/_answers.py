"""What a model's callable gives back, as inputs of a run."""

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from inspect import isawaitable
from typing import Any, cast

from agent_loop import (
    CallModel,
    CompactedWindow,
    Event,
    Failure,
    MessageError,
    ModelDelta,
    ModelDone,
    ModelFailure,
    RunTools,
    ToolResult,
)


_log = logging.getLogger("agent_driver")
_ENDS = ModelDone | ModelFailure | Failure | CompactedWindow


class AsyncModelError(TypeError):
    """A model that has to be awaited, where nobody awaits."""

    def __init__(self) -> None:
        super().__init__("model: expected one that is not async; use adrive, which awaits it")


def to_input(received: object) -> Any:
    """Return what came as the run takes it: a text is a piece of the answer."""
    return ModelDelta(text=received) if isinstance(received, str) else received


def is_end(received: object) -> bool:
    """Return whether a model's answer is over with this."""
    return isinstance(received, _ENDS)


def asked_by(events: Sequence[Event]) -> CallModel | RunTools | None:
    """Return the event that asks for something: the last, if any does."""
    last = events[-1] if events else None
    return last if isinstance(last, CallModel | RunTools) else None


def is_decision(received: object) -> bool:
    """Return whether the run decides by this what comes next, so that it has to know the time."""
    return isinstance(received, _ENDS | ToolResult)


def is_whole(answer: object) -> bool:
    """Return whether this is a whole answer, and no stream of pieces of one.

    Of a record that could be iterated over, such as a model of pydantic's or a named tuple, its fields tell.
    """
    if isinstance(answer, str | bytes | Mapping):
        return True
    is_iterable = hasattr(answer, "__iter__") or hasattr(answer, "__aiter__")
    is_stream = hasattr(answer, "__next__") or hasattr(answer, "__anext__")
    has_fields = hasattr(answer, "text") or hasattr(answer, "tool_calls")
    return not is_iterable or (has_fields and not is_stream)


def to_failure(error: BaseException) -> ModelFailure:
    """Return what a run takes in the place of an error of the model's client, which goes to the log whole.

    An error that says of itself that it is transient (`is_transient`) lets the call be made once more.
    """
    _log.warning("the model call failed", exc_info=error)
    is_transient = getattr(error, "is_transient", False) is True
    told = ""
    with suppress(Exception):  # What is raised here would pass for the end of the answer.
        told = str(error)
    return ModelFailure(message=told or type(error).__name__, is_transient=is_transient)


def name_piece(error: MessageError, index: int) -> MessageError:
    """Return an error that says which piece of a model's answer cannot be read."""
    place = f"answer[{index}]"
    field = place if error.field == "received" else f"{place}.{error.field}"
    return MessageError(str(error).replace(error.field, field, 1), field=field)


def close(answer: object) -> None:
    """Let go of an answer, as far as that can be done while somebody else may be reading it."""
    closer = cast("Any", getattr(answer, "close", None))
    if callable(closer):
        try:
            closer()
        except Exception:  # noqa: BLE001 - such as a generator's that is being read; it ends with its next piece
            _log.debug("an answer could not be closed", exc_info=True)


def find_compactor(model: object, call: CallModel) -> Callable[[CallModel], Any] | None:
    """Return what makes a conversation shorter by the model's API, where that is asked for and the model can: its `compact`."""
    compact = getattr(model, "compact", None) if call.is_compaction else None
    return cast("Callable[[CallModel], Any]", compact) if callable(compact) else None


def log_no_compaction(error: BaseException) -> None:
    """Log why the model's API has not made a conversation shorter; a summary will."""
    _log.warning("the model's API could not compact the conversation", exc_info=error)


def ask_model(model: Callable[[CallModel], Any], call: CallModel) -> Any:
    """Call a model, or what makes its conversations shorter where that is asked for; where that fails, the model is asked for a summary."""
    if compact := find_compactor(model, call):
        try:
            return compact(call)
        except Exception as error:  # noqa: BLE001 - such as a gateway's that lacks it
            log_no_compaction(error)
    return model(call)


class Asked:
    """A model's answer, asked for with the first piece of it, so that whoever waits for a piece waits for the model too.

    Args:
        model: What calls the model.
        call: The request.
    """

    def __init__(self, model: Callable[[CallModel], Any], call: CallModel) -> None:
        self._model = model
        self._call = call
        self._answer: Any = None
        self._is_closed = False

    def __iter__(self) -> Generator[object]:
        self._answer = answer = ask_model(self._model, self._call)
        try:
            if _is_async(answer):
                raise AsyncModelError
            if not self._is_closed:
                yield from (answer,) if is_whole(answer) else answer
        finally:
            close(answer)

    def close(self) -> None:
        """Let go of the answer, also from another thread."""
        self._is_closed = True
        close(self._answer)


def _is_async(answer: object) -> bool:
    return isawaitable(answer) or (hasattr(answer, "__aiter__") and not hasattr(answer, "__iter__"))
