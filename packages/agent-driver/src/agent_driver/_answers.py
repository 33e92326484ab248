"""Reading what a model's function returns, as inputs of a run."""

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from inspect import isawaitable
from typing import Any

from agent_loop import (
    AgentWaiting,
    AnswerChecked,
    CallModel,
    CheckAnswer,
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


class ModelIsAsyncError(TypeError):
    """An async model in a blocking drive."""

    def __init__(self) -> None:
        super().__init__("model: expected one that is not async; use adrive, which awaits it")


def to_input(received: object) -> Any:
    """Return a piece as an input of the run: text becomes a `ModelDelta`."""
    return ModelDelta(text=received) if isinstance(received, str) else received


def is_end(received: object) -> bool:
    """Return whether this input ends a model's answer."""
    return isinstance(received, _ENDS)


def asked_by(events: Sequence[Event]) -> CallModel | RunTools | CheckAnswer | None:
    """Return the last event if it asks the driver for something, else None."""
    last = events[-1] if events else None
    return last if isinstance(last, CallModel | RunTools | CheckAnswer) else None


def is_decision(received: object) -> bool:
    """Return whether the run decides what comes next after this input, so that it has to know the time first."""
    return isinstance(received, _ENDS | ToolResult | AgentWaiting | AnswerChecked)


def is_whole(answer: object) -> bool:
    """Return whether this is a whole answer rather than a stream of pieces.

    Records that can be iterated over, such as pydantic models and named tuples, are recognised by their fields.
    """
    if isinstance(answer, str | bytes | Mapping):
        return True
    is_iterable = hasattr(answer, "__iter__") or hasattr(answer, "__aiter__")
    is_stream = hasattr(answer, "__next__") or hasattr(answer, "__anext__")
    has_fields = hasattr(answer, "text") or hasattr(answer, "tool_calls")
    return not is_iterable or (has_fields and not is_stream)


def to_failure(error: BaseException) -> ModelFailure:
    """Log an error of the model's client and return it as a `ModelFailure`.

    If the error has a true `is_transient`, the call may be made once more, and with a true `may_pass_elsewhere` by the fallback model.

    Raises:
        ModelIsAsyncError: If that is the error: the caller of `drive` has made a mistake.
    """
    if isinstance(error, ModelIsAsyncError):
        raise error
    _log.warning("the model call failed", exc_info=error)
    # By names and not by a type: clients of any provider may say so.
    names = ("is_transient", "may_pass_elsewhere")
    said: dict[str, Any] = {name: getattr(error, name, False) is True for name in names}
    message = read_text(error) or type(error).__name__
    return ModelFailure(message=message, cause=error, **said)


def read_text(error: BaseException) -> str:
    """Return the text of an error; none where it cannot be written."""
    # Whatever wrote it; what a model's client raises here would pass for the end of the answer.
    with suppress(Exception):
        return str(error)
    return ""


def name_piece(error: MessageError, index: int) -> MessageError:
    """Return the error with the piece of the answer that cannot be read in its field."""
    place = f"answer[{index}]"
    field = place if error.field == "received" else f"{place}.{error.field}"
    return MessageError(str(error).replace(error.field, field, 1), field=field)


def close(answer: object) -> None:
    """Close an answer or a session, if possible, although another thread may be reading it."""
    closer: Any = getattr(answer, "close", None)
    if callable(closer):
        try:
            closer()
        except Exception:  # noqa: BLE001 - such as a generator's that is being read; it ends with its next piece
            log_unclosed()


def log_unclosed() -> None:
    """Log the error that an answer or a session was not closed for."""
    _log.debug("an answer or a session could not be closed", exc_info=True)


def find_compactor(model: object, call: CallModel) -> Callable[[CallModel], Any] | None:
    """Return the model's `compact`, if compaction is requested and the model has it, else None."""
    compact: Any = getattr(model, "compact", None) if call.is_compaction else None
    return compact if callable(compact) else None


def log_no_compaction(error: BaseException) -> None:
    """Log why the model's API could not compact the conversation; a summary is used instead."""
    _log.warning("the model's API could not compact the conversation", exc_info=error)


def ask_model(model: Callable[[CallModel], Any], call: CallModel) -> Any:
    """Call the model, or its `compact` if compaction is requested; if that fails, ask the model for a summary."""
    if compact := find_compactor(model, call):
        try:
            return compact(call)
        except Exception as error:  # noqa: BLE001 - such as a gateway's that lacks it
            log_no_compaction(error)
    return model(call)


class Asked:
    """A model's answer. The model is called when the first piece is read, so that waiting for a piece includes waiting for the model.

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
                raise ModelIsAsyncError
            # Closed while the model was being called; its answer then goes unread.
            if not self._is_closed:
                yield from (answer,) if is_whole(answer) else answer
        finally:
            close(answer)

    def close(self) -> None:
        """Close the answer; safe to call from another thread."""
        # The flag first: an answer that comes in between is not read.
        self._is_closed = True
        close(self._answer)


def _is_async(answer: object) -> bool:
    return isawaitable(answer) or (hasattr(answer, "__aiter__") and not hasattr(answer, "__iter__"))
