"""How long a run and its calls may take."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_loop import CallWatch, Failure, ModelDelta, ModelFailure, TimeBudget, Usage


EMPTY = ModelDelta()
BUDGET = TimeBudget(run_seconds=570, closing_seconds=120, call_seconds=235)
QUIET = TimeBudget(silence_seconds=200)


def watch(budget=BUDGET, *, now=0.0, is_closing=False):
    return CallWatch(budget, now=now, is_closing=is_closing)


def test_a_platform_that_says_nothing_has_its_default_limits():
    assert TimeBudget.within() == TimeBudget()


@pytest.mark.parametrize(
    ("limits", "run", "closing", "call"),
    [
        ({"run_limit_seconds": 600}, 570, 120, 235.2),
        ({"run_limit_seconds": 30}, 28.5, 9.5, 235.2),
        ({"run_limit_seconds": 3600}, 3570, 120, 235.2),
        ({"run_limit_seconds": 30, "run_seconds": 570}, 28.5, 9.5, 235.2),
        ({"run_limit_seconds": 600, "run_seconds": 60}, 60, 20, 235.2),
        ({"run_seconds": 1800, "closing_seconds": 0}, 1800, 0, 235.2),
        ({"call_limit_seconds": 600}, 570, 120, 595),
        ({"call_limit_seconds": 1}, 570, 120, 0.98),
    ],
)
def test_a_run_and_its_calls_end_before_the_platform_ends_them(limits, run, closing, call):
    budget = TimeBudget.within(**limits)
    assert (budget.run_seconds, budget.closing_seconds, budget.call_seconds) == (run, closing, call)


@given(
    st.floats(1, 1e6) | st.none(),
    st.floats(1, 1e6) | st.none(),
    st.floats(1, 3600) | st.none(),
    st.floats(0, 1e7),
)
def test_no_budget_exceeds_a_limit(run_limit, call_limit, run_seconds, now):
    budget = TimeBudget.within(
        run_limit_seconds=run_limit, call_limit_seconds=call_limit, run_seconds=run_seconds
    )
    assert 0 < budget.run_seconds < (run_limit or 10_000)
    assert 0 < budget.call_seconds < (call_limit or 240)
    assert 0 <= budget.seconds_for_tools(now) <= budget.seconds_left(now)
    assert budget.is_short(now) == (budget.seconds_for_tools(now) == 0)


def test_a_call_ends_before_the_daemon_ends_it():
    call = watch(now=100)
    assert call.seconds_left(now=300, may_retry=False) == 35
    assert call.seconds_left(now=400, may_retry=False) == 0
    assert call.give_up(now=335) == ModelFailure(
        message="it took over 235 seconds, and the platform would have ended it",
        is_transient=True,
    )


def test_a_call_that_can_be_made_again_leaves_room_for_that():
    call = watch(now=400)
    assert call.seconds_left(now=400, may_retry=True) == 110
    assert call.seconds_left(now=400, may_retry=False) == 170
    failure = call.give_up(now=510.5)
    assert failure == ModelFailure(
        message="it had said nothing that could be shown after 110 seconds, and the time of the run was short",
        is_transient=True,
    )


@pytest.mark.parametrize(("now", "is_closing"), [(400, True), (511, False)])
def test_the_closing_call_and_one_that_begins_late_may_take_all_that_is_left(now, is_closing):
    call = watch(now=now, is_closing=is_closing)
    assert call.seconds_left(now=now, may_retry=True) == 570 - now
    assert call.give_up(now=570) == Failure(
        message="The run reached its time limit of 570 seconds before the model was done.",
        reason="time_limit",
    )


def test_a_timer_that_fires_a_little_early_changes_no_reason():
    budget = replace(BUDGET, call_ending="the daemon would have ended it")
    assert watch(budget).give_up(now=234.99).message.endswith("the daemon would have ended it")


def test_a_silent_model_is_given_up():
    call = watch(TimeBudget(silence_seconds=100))
    call.take(ModelDelta(text="x"), now=10)
    assert call.seconds_left(now=50, may_retry=False) == 60
    failure = call.give_up(now=110)
    assert failure.message == "the model was silent for 100 seconds"


def test_a_minute_of_silence_means_death_once_a_keep_alive_was_seen():
    call = watch(QUIET)
    call.take(ModelDelta(text="x"), now=1)
    assert call.seconds_left(now=1, may_retry=False) == 200
    call.take(EMPTY, now=16)
    assert call.seconds_left(now=16, may_retry=False) == 60
    call.take(ModelDelta(text="y"), now=20)
    assert call.seconds_left(now=20, may_retry=False) == 60
    assert call.give_up(now=80) == ModelFailure(
        message="the model's plugin seems to have died: it was silent for 60 seconds, where it had sent keep-alives",
        is_transient=True,
    )


@pytest.mark.parametrize(
    ("delta", "is_keep_alive"),
    [
        (EMPTY, True),
        (ModelDelta(phase="commentary"), True),
        (ModelDelta(text=" "), False),
        (ModelDelta(finish_reason="stop"), False),
        (ModelDelta(usage=Usage(total_tokens=1)), False),
    ],
)
def test_a_keep_alive_is_a_delta_that_holds_nothing(delta, is_keep_alive):
    call = watch(QUIET)
    call.take(delta, now=0)
    assert call.seconds_left(now=0, may_retry=False) == (60 if is_keep_alive else 200)


def test_a_stream_that_ends_without_a_word_has_failed():
    call = watch()
    assert call.end(now=3) == ModelFailure(message="it ended without any answer", is_transient=True)
    call.take(EMPTY, now=4)
    assert call.end(now=5) is None


def test_a_failure_is_told_whether_there_is_time_for_another_try():
    failure = ModelFailure(message="x", is_transient=True, wait_seconds=30)
    assert BUDGET.fit(failure, 500).has_time
    assert not BUDGET.fit(failure, 501).has_time
    assert not TimeBudget(closing_seconds=0).fit(failure, 540).has_time


steps = st.lists(
    st.tuples(st.floats(0, 50), st.sampled_from([EMPTY, ModelDelta(text="x")])), max_size=20
)


@given(steps, st.booleans(), st.booleans(), st.floats(0, 569))
def test_no_call_outlasts_any_bound_and_each_end_has_a_reason(steps, is_closing, may_retry, start):
    call = watch(now=start, is_closing=is_closing)
    now = start
    for pause, delta in steps:
        left = call.seconds_left(now=now, may_retry=may_retry)
        assert 0 <= left <= min(570 - start, 235) + 1e-6
        now += min(pause, left)
        if pause >= left:
            break
        call.take(delta, now=now)
    assert now <= min(570, start + 235) + 1e-6
    assert call.give_up(now=now).message


def test_a_failure_that_has_no_time_gets_none():
    failure = ModelFailure(message="busy", is_transient=True, has_time=False)
    assert not BUDGET.fit(failure, 0).has_time
