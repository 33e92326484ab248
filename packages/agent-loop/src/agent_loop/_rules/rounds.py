"""Beginning a round, and beginning again after its model call has failed."""

import re
from collections.abc import Iterator

from agent_loop._values.events import Event, RoundStarted
from agent_loop._values.inputs import ModelFailure
from agent_loop._values.models import FILTERED, FallbackModel

from .calls import break_answer, end_round, release_text
from .compaction import ask_in_round, find_next_cut, shrink_window
from .requests import can_repeat_call, hear_steered, open_round, take_over
from .spending import wait
from .state import RunContext


# A platform may put a whole page of HTML into the text of an error.
_MAX_CHARACTERS = 20_000  # of a message that are looked at
# No field says so, and each provider words it differently: "This model's maximum context length
# is 128000 tokens", "prompt is too long: 210000 tokens", "exceeds the context window".
_TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum context|(prompt|input|request) is too long|too many (input )?tokens"
)


def begin_round(run: RunContext, failure: ModelFailure | None = None) -> Iterator[Event]:
    """Begin a round, after a failure with the request that failed. The run may have to be compacted first."""
    run.state.is_retry = failure is not None
    open_round(run, run.state.round.number + 1)
    release_text(run)
    run.state.held_files.clear()
    yield RoundStarted(round=run.state.round.number, model=run.state.model)
    yield from hear_steered(run)
    yield from ask_in_round(run, failure.wait_seconds if failure else 0.0)


def may_retry(run: RunContext) -> bool:
    """Return whether the open call would be made once more if it failed now, for a passing reason and with time left."""
    return can_repeat_call(run) and not run.state.is_retry


def is_passed_on(run: RunContext) -> bool:
    """Return whether a content filter has removed the whole open answer and another model will be asked."""
    return run.state.round.answer.is_filtered and _find_fallback(run, FILTERED) is not None


def begin_again(run: RunContext, failure: ModelFailure, error: str) -> Iterator[Event] | None:
    """Return the events of making the open call again, with this model or another; None if it is not made again."""
    fallback = _find_fallback(run, failure)
    if fallback is None and not _is_passing(run, failure):
        if not _can_shorten(run, failure):
            return None
        shrink_window(run)
    return _begin_anew(run, failure, error, fallback)


def _begin_anew(
    run: RunContext, failure: ModelFailure, error: str, fallback: FallbackModel | None
) -> Iterator[Event]:
    """End the round that has failed, and begin another with the fallback model, if given, or else with the same one."""
    yield from break_answer(run, error, shows_rest=False)
    yield end_round(run, error)
    if fallback is None:
        wait(run, failure.wait_seconds)  # It will have passed when the call is made.
        yield from begin_round(run, failure)
    else:
        take_over(run, fallback)
        yield from begin_round(run)


def _is_passing(run: RunContext, failure: ModelFailure) -> bool:
    return failure.is_transient and failure.has_time and may_retry(run)


def _can_shorten(run: RunContext, failure: ModelFailure) -> bool:
    """Return whether a call has failed because its request was too long, and the run can be compacted."""
    says_too_long = _TOO_LONG.search(failure.message[:_MAX_CHARACTERS].lower()) is not None
    return failure.has_time and may_retry(run) and says_too_long and find_next_cut(run) is not None


def _find_fallback(run: RunContext, failure: ModelFailure) -> FallbackModel | None:
    """Return the model that takes over after a failure of the open call, if one does."""
    is_for_another = failure.may_pass_elsewhere or (failure.is_transient and not may_retry(run))
    may_call = can_repeat_call(run) and failure.has_time and is_for_another
    return run.state.fallback if may_call else None
