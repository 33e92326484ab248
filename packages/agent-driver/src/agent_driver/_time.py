"""The clock of a drive: time limits and cancelling."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import iscoroutinefunction
from typing import Any, Protocol, override

from agent_loop import (
    AgentRun,
    CallModel,
    CallWatch,
    Failure,
    ModelFailure,
    TimeBudget,
    TimePassed,
    TimeShort,
)


# Our choice: what is cancelled may be a function, which cannot wake anybody. Four looks a second
# cost next to nothing and leave time to end within the second that is promised.
_POLL_SECONDS = 0.25
_TOLERANCE_SECONDS = 0.001  # Some event loops round to this.

CANCELLED = Failure(message="The run was cancelled.", reason="cancelled")
TIMED_OUT = Failure(message="The time of the agent was up before it was done.", reason="time_limit")
LATE = Failure(message="The time of the run was up before the agent was done.", reason="time_limit")


class Settable(Protocol):
    """An event that somebody sets: of `threading`, of `asyncio` or of one's own."""

    def is_set(self) -> bool:
        """Return whether it is set."""
        ...


type Cancelled = Callable[[], bool] | Settable | None
"""An event that is set, or a function that returns true, once the run is cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockState:
    """The state of a run's clock, from which the clock of a step continues elsewhere. All times are in seconds; None is for any time.

    Attributes:
        now: How long the drive has taken.
        run_seconds: How long the run has lasted, and behind it the runs above it, the next one first.
        has_budget: Whether the run has a time budget.
        budget_seconds: How long the run may take by that.
        closing_seconds: How much of that is kept for the closing call.
        tool_seconds: How long tools may still run.
        end: How long until the run is ended from outside, and with what failure.
    """

    now: float
    run_seconds: tuple[float, ...]
    has_budget: bool = False
    budget_seconds: float | None = None
    closing_seconds: float | None = None
    tool_seconds: float | None = None
    end: tuple[float, Failure] | None = None


class Clock:
    """A clock that knows the time limits of a run and whether it is cancelled.

    Args:
        budget: How long the run and its calls may take; None for as long as they like.
        cancelled: What says that the run is cancelled.
        earlier_seconds: How long the run had lasted when it was put by; the time of a person's decision does not count.
        read: Returns the time, in seconds since whenever.

    Attributes:
        read: As given.
        told: What says that the run is cancelled, which can only be asked again and again; None where nobody does.
    """

    def __init__(
        self,
        budget: TimeBudget | None,
        cancelled: Cancelled,
        *,
        earlier_seconds: float = 0.0,
        read: Callable[[], float] = time.monotonic,
    ) -> None:
        self.read = read
        told: Any = getattr(cancelled, "is_set", cancelled)
        self.told: Callable[[], bool] | None = told
        self._budget = budget
        self._earlier_seconds = earlier_seconds
        self._started = read()

    @property
    def run_seconds(self) -> float:
        """How long the run has lasted, including the time before it was saved."""
        return self._earlier_seconds + self.now

    @property
    def is_watched(self) -> bool:
        """Whether a time limit or a cancel could end a wait."""
        return self._budget is not None or self.told is not None or self.end is not None

    @property
    def end(self) -> tuple[float, Failure] | None:
        """How long until the run is ended from outside, in seconds from 0 on, and with what failure; None if only somebody who says so ends it."""
        return None

    @property
    def is_cancelled(self) -> bool:
        """Whether the run is cancelled."""
        return self._is_told or self._ended is not None

    @property
    def failure(self) -> Failure:
        """The failure with which a cancelled run ends."""
        return CANCELLED if self._is_told else self._ended or CANCELLED

    @property
    def _is_told(self) -> bool:
        return self.told is not None and self.told()

    @property
    def _ended(self) -> Failure | None:
        """The failure with which the run is ended from outside, once it is."""
        end = self.end
        return None if end is None or end[0] > 0 else end[1]

    def cancel(self, _: CallModel) -> Failure:
        """Answer in place of the model when the run is cancelled."""
        return self.failure

    @property
    def now(self) -> float:
        """Seconds since the drive began."""
        return self.read() - self._started

    @property
    def chain(self) -> "tuple[Clock, ...]":
        """This clock and those of the runs above."""
        return (self,)

    def advance(self, run_seconds: float) -> None:
        """Continue from a time of the run, as a record has it; an earlier one changes nothing."""
        self._started -= max(run_seconds - self.run_seconds, 0.0)

    def tell(self, run: AgentRun) -> None:
        """Tell a run what time it is."""
        run.feed(TimePassed(seconds=self.run_seconds))
        # The platform's limit is of this drive alone, so the time before a snapshot does not count.
        if self._budget is not None and self._budget.is_short(self.now):
            run.feed(TimeShort())

    def fit(self, received: object) -> object:
        """Return the input for the run; a failure gets whether there is time to make the call again."""
        if self._budget is None or not isinstance(received, ModelFailure):
            return received
        return self._budget.fit(received, self.now)

    def seconds_for_tools(self, run: AgentRun) -> float | None:
        """Return how long tools may still run, by the time limit and the budget; None if unlimited."""
        now = self.now
        # A budget of seconds counts the whole run, a time budget this drive.
        lefts = [run.budgets.seconds_left(self.run_seconds)]
        if self._budget is not None:
            budget = self._budget
            left = budget.seconds_for_tools if run.has_closing_call else budget.seconds_left
            lefts.append(left(now))
        return min((left for left in lefts if left is not None), default=None)

    def for_agent(
        self,
        run: AgentRun,
        *,
        is_over: Callable[[], bool] | None = None,
        seconds: float | None = None,
    ) -> "AgentClock":
        """Return the clock of an agent that is called by a run as a tool.

        Args:
            run: The run.
            is_over: Returns whether nobody waits for the agent any more; None where it is cancelled then anyway.
            seconds: How long the agent may take itself; None for as long as the run has time for tools.
        """
        budget, lefts = self._budget, (self.seconds_for_tools(run), seconds)
        left = min((left for left in lefts if left is not None), default=None)
        if budget is not None and left is not None:
            # As of a run's own time: a third of what there is, at most what its caller keeps.
            closing = min(budget.closing_seconds, left / 3)
            budget = replace(budget, run_seconds=left, closing_seconds=closing)
        return AgentClock(self, run, budget, is_over=is_over, seconds=seconds)

    def watch(self, call: CallModel, run: AgentRun) -> "Watch":
        """Return a watch for a model call that begins now."""
        if self._budget is None:
            return Watch(self, run, None)
        return Watch(self, run, CallWatch(self._budget, now=self.now, is_closing=call.is_closing))

    def may_retry(self, run: AgentRun) -> bool:
        """Return whether the open model call of a run would be made once more if it failed now."""
        return run.may_retry

    def patience(self, seconds: float | None) -> float | None:
        """Return how long to wait at a time, so that the end of the run is noticed soon; None for as long as it takes."""
        end, poll = self.end, None if self.told is None else _POLL_SECONDS
        limits = (seconds, poll, None if end is None else end[0])
        least = _finite(min((limit for limit in limits if limit is not None), default=None))
        # What is less than its loop can tell from nothing would not pass while the loop's time stands still.
        return None if least is None else max(least, _TOLERANCE_SECONDS)

    def save(self, run: AgentRun) -> ClockState:
        """Return what the clock of a step continues from."""
        budget, end = self._budget, self.end
        return ClockState(
            now=self.now,
            run_seconds=tuple(clock.run_seconds for clock in self.chain),
            has_budget=budget is not None,
            budget_seconds=budget and _finite(budget.run_seconds),
            closing_seconds=budget and budget.closing_seconds,
            tool_seconds=_finite(self.seconds_for_tools(run)),
            end=None if end is None or end[0] == math.inf else end,
        )


class AgentClock(Clock):
    """The clock of an agent, whose run ends when its caller is cancelled or has no more time for tools.

    Args:
        caller: The clock of the run that calls it.
        run: That run.
        budget: How long the agent and its calls may take.
        is_over: Returns whether nobody waits for it any more; None where it is cancelled then anyway.
        seconds: How long the agent may take itself.
    """

    def __init__(
        self,
        caller: Clock,
        run: AgentRun,
        budget: TimeBudget | None,
        *,
        is_over: Callable[[], bool] | None,
        seconds: float | None,
    ) -> None:
        tellers = tuple(told for told in (is_over, caller.told) if told is not None)
        cancelled = (lambda: any(told() for told in tellers)) if tellers else None
        super().__init__(budget, cancelled, read=caller.read)
        self._caller = caller
        self._caller_run = run
        self._seconds = seconds

    @property
    @override
    def chain(self) -> tuple[Clock, ...]:
        return (self, *self._caller.chain)

    @property
    @override
    def end(self) -> tuple[float, Failure] | None:
        """The first of three: the caller's own end, when that has no more time for tools, and when the agent has taken as long as it may."""
        ends: list[tuple[float, Failure]] = []
        if (above := self._caller.end) is not None:
            ends.append(above)
        if (left := self._caller.seconds_for_tools(self._caller_run)) is not None:
            ends.append((find_left(left), LATE))
        if self._seconds is not None:
            ends.append((find_left(self._seconds - self.now), TIMED_OUT))
        return min(ends, key=lambda end: end[0], default=None)


class StepClock(Clock):
    """The clock of a step that is made elsewhere than its run is played.

    Args:
        state: What the run's clock has said when it asked for the step.
        budget: The time budget of the outermost run, in case the run has one.
        may_retry: Whether the run would have made the model call once more if it had failed then.
        read: Returns the time.
    """

    def __init__(
        self,
        state: ClockState,
        budget: TimeBudget | None,
        *,
        may_retry: bool,
        read: Callable[[], float],
    ) -> None:
        own = None
        closing = state.closing_seconds  # There where the run has a budget.
        if budget is not None and closing is not None:
            seconds = math.inf if state.budget_seconds is None else state.budget_seconds
            own = replace(budget, run_seconds=seconds, closing_seconds=closing)
        seconds, *above = state.run_seconds
        super().__init__(own, None, earlier_seconds=seconds - state.now, read=read)
        self.advance(seconds)
        self._above = tuple(Clock(None, None, earlier_seconds=other, read=read) for other in above)
        self._state = state
        self._may_retry = may_retry

    @property
    @override
    def chain(self) -> tuple[Clock, ...]:
        return (self, *self._above)

    @property
    @override
    def end(self) -> tuple[float, Failure] | None:
        if self._state.end is None:
            return None
        seconds, failure = self._state.end
        return find_left(seconds - self._taken), failure

    @override
    def seconds_for_tools(self, run: AgentRun) -> float | None:
        left = self._state.tool_seconds
        return None if left is None else max(0.0, left - self._taken)

    @override
    def may_retry(self, run: AgentRun) -> bool:
        return self._may_retry and run.may_retry

    @property
    def _taken(self) -> float:
        """How long the step has taken."""
        return self.now - self._state.now


class Watch:
    """The time of one model call.

    Args:
        clock: The clock of the drive.
        run: The run that has asked for the call.
        watch: What knows the call's limits; None where it has none.
    """

    def __init__(self, clock: Clock, run: AgentRun, watch: CallWatch | None) -> None:
        self._clock = clock
        self._run = run
        self._watch = watch

    @property
    def seconds_left(self) -> float | None:
        """How long to wait for what comes next; None for as long as it takes."""
        if self._watch is None:
            return None
        return self._watch.seconds_left(
            now=self._clock.now, may_retry=self._clock.may_retry(self._run)
        )

    def take(self, received: object) -> None:
        """Take note of what has come."""
        if self._watch is not None:
            self._watch.take(received, now=self._clock.now)

    def give_up(self) -> Failure | ModelFailure | None:
        """Return the failure of a call whose time is up; None if it has no limits."""
        return None if self._watch is None else self._watch.give_up(now=self._clock.now)

    def end(self) -> ModelFailure | None:
        """Return the failure of a call that has ended; None if it has not failed."""
        return None if self._watch is None else self._watch.end(now=self._clock.now)


def can_say_so(cancelled: object) -> bool:
    """Return whether this can tell that a run is cancelled; an async function cannot, because its result is always true."""
    says = getattr(cancelled, "is_set", cancelled)
    return callable(says) and not iscoroutinefunction(says)


def find_left(seconds: float) -> float:
    """Return how long it is until an end: no time at all from a millisecond on, since a timer may fire as early as that."""
    return seconds if seconds >= _TOLERANCE_SECONDS else 0.0


def _finite(seconds: float | None) -> float | None:
    """Return a number of seconds that JSON and every timer can express; None for any number."""
    return None if seconds == math.inf else seconds
