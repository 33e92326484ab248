"""The model calls of a run: made, watched, given up in time."""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing

import gevent
from dify_plugin.core.runtime import Session
from dify_plugin.entities.model.message import PromptMessage

from agent_loop import (
    CallModel,
    CallWatch,
    Failure,
    ModelDelta,
    ModelDone,
    ModelFailure,
    read_model_failure,
)
from stream_text import KnownSecrets, redact_log_data

from ._clock import Clock
from ._errors import RequestTooLargeError
from ._model import Model
from ._plugin_log import log_model_failure
from ._prompts import to_prompt


type _Received = ModelDelta | ModelDone | ModelFailure | Failure


class _LateError(Exception):
    """A delta that did not come in time."""


class ModelCalls:
    """What calls the model.

    Args:
        session: The session to call it through.
        model: The model.
        clock: The run's time.
        known: Secrets that are taken out of what an error says.
    """

    def __init__(
        self, session: Session, model: Model, *, clock: Clock, known: KnownSecrets
    ) -> None:
        self._session = session
        self._model = model
        self._clock = clock
        self._known = known
        self._prompts: list[PromptMessage] = []

    def iter_answer(
        self, request: CallModel, *, may_retry: Callable[[], bool]
    ) -> Iterator[_Received]:
        """Call the model and iterate over what comes of it: deltas, then how it ended.

        Args:
            request: The call; its messages begin with those of the call before.
            may_retry: Whether the call would be made once more if it failed now.
        """
        time.sleep(request.wait_seconds)
        clock = self._clock
        watch = CallWatch(clock.budget, now=clock.now, is_closing=request.is_closing)
        try:
            with closing(self._open(request)) as deltas:
                while True:
                    left = watch.seconds_left(now=clock.now, may_retry=may_retry())
                    delta = _wait_for_next(deltas, left)
                    if delta is None:
                        yield watch.end(now=clock.now) or ModelDone()
                        return
                    watch.take(delta, now=clock.now)
                    yield delta
        except _LateError:
            yield watch.give_up(now=clock.now)
        except RequestTooLargeError as error:
            yield self._to_size_failure(error, request)
        except Exception as error:  # noqa: BLE001 - the SDK raises plain exceptions
            yield self._to_failure(error)

    def _open(self, request: CallModel) -> Generator[ModelDelta]:
        known = len(self._prompts)
        self._prompts += [to_prompt(message) for message in request.messages[known:]]
        # The SDK counts seconds of silence, for the whole of a call. The watch is more exact and comes first.
        self._session.max_invocation_timeout = int(self._clock.seconds_left) + 2
        return self._model.stream(
            self._session,
            prompts=self._prompts,
            tools=list(request.tools),
            tool_choice=request.tool_choice,
        )

    def _to_size_failure(
        self, error: RequestTooLargeError, request: CallModel
    ) -> Failure | ModelFailure:
        """Return the end of a run that has grown too large; what is too large from the beginning on is the caller's fault."""
        if request.round == 1:
            return self._to_failure(error)
        return Failure(
            message=f"The run cannot go on: its next request to the model has {error.size_bytes:,} bytes, "
            f"and Dify's plugin daemon takes {error.limit_bytes:,} at most.",
            reason="size_limit",
        )

    def _to_failure(self, error: Exception) -> ModelFailure:
        text = str(error) or type(error).__name__
        log_model_failure(text, self._known)
        failure = read_model_failure(
            text, redact=lambda said: redact_log_data(said, known=self._known)
        )
        return self._clock.budget.fit(failure, self._clock.now)


def _wait_for_next(deltas: Iterator[ModelDelta], seconds: float) -> ModelDelta | None:
    """Return the next delta; None at the end.

    Raises:
        _LateError: If it does not come in time. Nothing can come afterwards.
    """
    if not seconds:
        raise _LateError
    try:
        # The SDK waits for as long as it likes. Its threads are greenlets, which can be woken.
        with gevent.Timeout(seconds):
            return next(deltas, None)
    except gevent.Timeout:
        raise _LateError from None
