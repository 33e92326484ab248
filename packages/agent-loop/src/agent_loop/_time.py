"""Time limits of a run and its calls. No clock is read here: times are passed in, in seconds since the run began.

The platform ends a run, and each model call in it, without regard for what a person then reads. So each has a limit of its own below the platform's.
"""

from dataclasses import dataclass, replace
from typing import Self

from ._values.inputs import Failure, ModelDelta, ModelFailure


# The platform's own limits where an operator has set no others.
# Source: docs/evidence/dify-platform.md, P2 and P3.
_RUN_LIMIT_SECONDS = 600.0
_CALL_LIMIT_SECONDS = 240.0
_CLOSING_SECONDS = 120.0
_SILENCE_SECONDS = 900.0
_KEEP_ALIVE_SILENCE_SECONDS = 60.0
_TOLERANCE_SECONDS = 0.1  # Timers may fire a little early.


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBudget:
    """The time of a run.

    Attributes:
        run_seconds: How long the run may take in all.
        closing_seconds: How much of that is kept for the closing call.
        call_seconds: How long one model call may take in all.
        silence_seconds: How long a model may be silent.
        call_ending: What would end a longer call, as a clause for the sentence that says why it was given up.
    """

    run_seconds: float = 570.0
    closing_seconds: float = 120.0
    call_seconds: float = 235.2
    silence_seconds: float = _SILENCE_SECONDS
    call_ending: str = "the platform would have ended it"

    @classmethod
    def within(
        cls,
        *,
        run_limit_seconds: float | None = None,
        call_limit_seconds: float | None = None,
        run_seconds: float | None = None,
        closing_seconds: float | None = None,
        silence_seconds: float | None = None,
    ) -> Self:
        """Return a budget that ends before the platform's limits do.

        A run ends a twentieth of its limit before it, 30 s at most; a call a fiftieth, 5 s at most. A third of the run is kept for the closing
        call, 120 s at most. All are our choice.

        Args:
            run_limit_seconds: After this the platform ends a run; None if that is unknown, which means 600 unless `run_seconds` is given.
            call_limit_seconds: After this it ends a model call; None means 240.
            run_seconds: How long a run may take at most; less if the platform's limit is lower.
            closing_seconds: How much is kept for the closing call.
            silence_seconds: How long a model may be silent; None means 900.
        """
        if run_limit_seconds is None:
            run = run_seconds or _before(_RUN_LIMIT_SECONDS, part=20, most=30)
        else:
            run = _before(run_limit_seconds, part=20, most=30)
            run = min(run, run_seconds or run)
        closing = min(_CLOSING_SECONDS, run / 3) if closing_seconds is None else closing_seconds
        return cls(
            run_seconds=run,
            closing_seconds=closing,
            call_seconds=_before(call_limit_seconds or _CALL_LIMIT_SECONDS, part=50, most=5),
            silence_seconds=silence_seconds or _SILENCE_SECONDS,
        )

    def seconds_left(self, now: float) -> float:
        """Return how long the run may still take; never under 0."""
        return max(0.0, self.run_seconds - now)

    def seconds_for_tools(self, now: float) -> float:
        """Return how long it takes until nothing but the closing call fits; never under 0."""
        return max(0.0, self.seconds_left(now) - self.closing_seconds)

    def is_short(self, now: float) -> bool:
        """Return whether only the closing call fits."""
        return self.seconds_for_tools(now) == 0

    def fit(self, failure: ModelFailure, now: float) -> ModelFailure:
        """Return a failure that says whether there is time to make its call once more: a third of what is kept for the closing call."""
        left = self.seconds_left(now + failure.wait_seconds)
        has_time = left > 0 and left >= self.closing_seconds / 3
        return replace(failure, has_time=failure.has_time and has_time)

    def end_of_run(self) -> Failure:
        """Return the failure that ends a run whose time is up."""
        message = f"The run reached its time limit of {self.run_seconds:.4g} seconds before the model was done."
        return Failure(message=message, reason="time_limit")


def _before(limit: float, *, part: int, most: float) -> float:
    return limit - min(limit / part, most)


class CallWatch:
    """A watch over one model call: given what arrives and when, it says when to give the call up and with which failure.

    A model plugin that has died is silent, and the platform does not report it. A minute of silence means that it is
    dead only if keep-alives (empty deltas) came earlier in the same call.

    Args:
        budget: The time of the run.
        now: When the call begins.
        is_closing: Whether it is the closing call, which may take all that is left.
    """

    def __init__(self, budget: TimeBudget, *, now: float, is_closing: bool) -> None:
        self._budget = budget
        self._started = now
        self._heard = now
        self._has_heard = False
        # Until the platform's limit nothing reports a plugin that died; silence is the only sign.
        self._max_silence = budget.silence_seconds
        self._end = min(budget.run_seconds, now + budget.call_seconds)
        room = budget.run_seconds - budget.closing_seconds / 2
        # A call that could be made again must end while there is still room for that.
        self._room = self._end if is_closing or room <= now else min(room, self._end)

    def take(self, received: object, *, now: float) -> None:
        """Note that something has arrived."""
        if isinstance(received, ModelDelta) and received.is_empty:
            self._max_silence = min(self._max_silence, _KEEP_ALIVE_SILENCE_SECONDS)
        self._has_heard = True
        self._heard = now

    def seconds_left(self, *, now: float, may_retry: bool) -> float:
        """Return how long to wait for the next delta; never under 0.

        Args:
            now: The time.
            may_retry: Whether the call would be made once more if it failed now; then it has to leave half of the time
                that is kept for the closing call.
        """
        end = self._room if may_retry else self._end
        return max(0.0, min(end, self._heard + self._max_silence) - now)

    def give_up(self, *, now: float) -> Failure | ModelFailure:
        """Return the failure of a call whose time is up."""
        late = now + _TOLERANCE_SECONDS
        took, silent = now - self._started, now - self._heard
        # The first reason that holds is reported: at the end of the run nothing could be made again.
        if late >= self._budget.run_seconds:
            return self._budget.end_of_run()
        if late >= self._heard + self._max_silence:
            message = f"the model was silent for {silent:.0f} seconds"
            if self._max_silence < self._budget.silence_seconds:
                message = f"the model's plugin seems to have died: it was silent for {silent:.0f} seconds, where it had sent keep-alives"
        elif late >= self._end:
            message = f"it took over {took:.0f} seconds, and {self._budget.call_ending}"
        else:
            message = f"it had said nothing that could be shown after {took:.0f} seconds, and the time of the run was short"
        return self._budget.fit(ModelFailure(message=message, is_transient=True), now)

    def end(self, *, now: float) -> ModelFailure | None:
        """Return the failure of a call that has ended; None if it has not failed.

        The platform closes a stream without a word when the model's daemon goes away.
        """
        if self._has_heard:
            return None
        failure = ModelFailure(message="it ended without any answer", is_transient=True)
        return self._budget.fit(failure, now)
