"""How long a try of a tool call may take, and how often a call is tried."""

import asyncio
import contextvars
import json
import logging
import math
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted import LIMIT, Script, as_tool, ask, no_thread_runs, until, use

from agent_driver import Agent, adrive, agent_tool, drive
from agent_loop import AgentRun, Budgets, ShowText, TimeBudget, ToolCallEnded
from agent_tooling import Context, DeclarationError, Tool, ToolError, tool
from run_log import RunFile, RunLog, list_runs


FAILED = "tool invoke error: failed to execute tool"
GIVEN_UP = "tool invoke error: {} did not answer within 0.15 seconds; it may still be going on"


def results(events):
    return {e.call.call_id: e.result for e in events if isinstance(e, ToolCallEnded)}


def shown(events):
    return "".join(event.text for event in events if isinstance(event, ShowText))


def make_failing(*errors, **options):
    """Return a tool that raises these errors, one in each try, and then answers; and the numbers of its tries."""
    tries: list[int] = []

    @tool(name="work", **options)
    def work(context: Context, number: int = 0) -> str:
        """Work."""
        tries.append(context.attempt)
        if len(tries) <= len(errors):
            raise errors[len(tries) - 1]
        return f"done {number}"

    return work, tries


def play_work(play, run, work, **settings):
    """Play a run that calls the tool once, and return the result."""
    return results(play(run, Script(ask(use("work")), "So."), [work], **settings))["c1"]


def test_a_tool_that_takes_too_long_is_given_up_and_told_by_name(play, run, released):
    @tool(timeout=LIMIT)
    def slow() -> str:
        """Be slow."""
        released.wait(600)
        return "late"

    events = play(run, Script(ask(use("slow")), "Without it."), [slow])
    told = results(events)["c1"]
    assert (told.error, told.content) == (GIVEN_UP.format("slow"),) * 2
    assert told.is_unfinished
    assert isinstance(told.cause, TimeoutError)
    assert "Not finished in time, so missing here: slow." in shown(events)
    assert (events[-1].reason, events[-1].answer) == ("answered", "Without it.")


def test_an_async_tool_that_takes_too_long_is_cancelled(play, run, clock):
    cancelled = threading.Event()

    async def slow() -> str:
        """Be slow."""
        try:
            clock.move(LIMIT)
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    told = results(play(run, Script(ask(use("slow")), "So."), [slow], tool_timeout=LIMIT))["c1"]
    assert told.is_unfinished
    assert told.error.startswith("tool invoke error: slow did not answer within 0.15 seconds; it ")
    assert cancelled.wait(60)


@pytest.mark.parametrize(
    ("patience", "rest"), [(0.0, "it was cancelled"), (600.0, "it may still be going on")]
)
async def test_only_a_task_that_does_not_end_may_go_on(run, patience, rest):
    async def slow() -> None:
        """Be slow."""
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            await asyncio.sleep(patience)

    model = Script(ask(use("slow")), "So.")
    events = [event async for event in adrive(run, model, [slow], tool_timeout=LIMIT)]
    told = results(events)["c1"]
    assert told.error == f"tool invoke error: slow did not answer within 0.15 seconds; {rest}"
    assert told.is_unfinished


@pytest.mark.parametrize("is_late", [False, True])
def test_what_a_function_without_async_hands_on_is_cancelled_too(play, run, clock, is_late):
    cancelled = threading.Event()

    async def wait() -> None:
        try:
            clock.move(LIMIT)
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def slow(context: Context) -> object:
        """Be slow, at last in a coroutine."""
        if is_late:
            clock.move(LIMIT)
            until(context.is_cancelled)
        return wait()

    events = play(run, Script(ask(use("slow")), "So."), [slow], tool_timeout=LIMIT)
    assert results(events)["c1"].is_unfinished
    assert is_late or cancelled.wait(60)


def test_what_a_tool_says_after_it_was_given_up_is_dropped(play, run, released):
    ended = threading.Event()

    @tool(timeout=LIMIT)
    def slow() -> str:
        """Be slow."""
        released.wait(600)
        ended.set()
        return "late"

    def let_go():
        released.set()
        assert ended.wait(60)
        time.sleep(0.05)
        return ask(use("quick", call_id="c2"))

    def quick() -> str:
        """Be quick."""
        return "done"

    model = Script(ask(use("slow")), let_go, "So.")
    events = play(run, model, [slow, quick])
    ends = [event.result for event in events if isinstance(event, ToolCallEnded)]
    assert [end.content for end in ends] == [GIVEN_UP.format("slow"), "done"]
    assert "late" not in str(model.requests[-1].messages)


def test_a_tool_that_yields_is_closed_once_it_is_given_up(play, run):
    closed = threading.Event()

    def endless():
        """Talk."""
        try:
            while True:
                yield "x"
                time.sleep(0.01)
        finally:
            closed.set()

    endless = Tool.from_function(endless, timeout=LIMIT)
    assert results(play(run, Script(ask(use("endless")), "So."), [endless]))["c1"].is_unfinished
    assert closed.wait(60)


def test_a_tool_that_hangs_leaves_its_place_to_others(play, run, released):
    @tool(timeout=LIMIT)
    def slow() -> None:
        """Be slow."""
        released.wait(600)

    def quick() -> str:
        """Be quick."""
        return "done"

    calls = [use("slow"), use("quick", call_id="c2")]
    events = play(run, Script(ask(*calls), "So."), [slow, quick], max_parallel_tools=1)
    assert results(events)["c2"].content == "done"


def test_as_many_hanging_tools_as_there_are_places_are_tried_again_and_end(
    play, run, released, clock
):
    tries = []

    def slow(context: Context, number: int) -> None:
        """Be slow."""
        tries.append(number)
        if number == 7:
            until(lambda: len(tries) == 8 * context.attempt)
            clock.move(LIMIT)
        released.wait(600)

    calls = [use("slow", f'{{"number": {n}}}', f"c{n}") for n in range(8)]
    events = play(run, Script(ask(*calls), "So."), [slow], tool_timeout=LIMIT, tool_retries=1)
    assert sorted(tries) == sorted([*range(8), *range(8)])
    assert [end.is_unfinished for end in results(events).values()] == [True] * 8
    assert events[-1].answer == "So."


def test_waiting_for_a_place_does_not_count(play, run, clock):
    @tool(timeout=math.inf)
    def slow() -> str:
        """Take longer than the other may."""
        clock.move(2 * LIMIT)
        time.sleep(0.05)
        return "slow"

    def quick() -> str:
        """Be quick."""
        return "quick"

    calls = [use("slow"), *(use("quick", call_id=call_id) for call_id in ("c2", "c3"))]
    settings = {"tool_timeout": LIMIT, "max_parallel_tools": 1}
    events = play(run, Script(ask(*calls), "So."), [slow, quick], **settings)
    assert [end.content for end in results(events).values()] == ["slow", "quick", "quick"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_that_ends_in_time_is_as_it_was(play, run, is_async):
    def work(number: int) -> int:
        """Work."""
        return number

    async def awork(number: int) -> int:
        """Work."""
        return number

    work = Tool.from_function(awork if is_async else work, name="work")
    model = Script(ask(use("work", '{"number": 4}')), "So.")
    assert results(play(run, model, [work], tool_timeout=5))["c1"].content == "4"


def test_a_tool_without_a_limit_has_none_whatever_the_others_have(play, run):
    @tool(timeout=math.inf)
    def work() -> str:
        """Work."""
        time.sleep(0.1)
        return "done"

    assert play_work(play, run, work, tool_timeout=0.01).content == "done"


def test_a_tool_that_raises_a_timeout_has_failed_and_does_not_go_on(play, run):
    work, _ = make_failing(TimeoutError("the server"))
    told = play_work(play, run, work, tool_timeout=5)
    assert (told.error, told.is_unfinished) == (FAILED, False)


def test_a_call_that_failed_is_tried_again_and_the_model_reads_the_last_try(play, run, caplog):
    work, tries = make_failing(OSError("gone"), ValueError("odd"), retries=2)
    again = ask(use("work", call_id="c2"))
    events = play(run, Script(ask(use("work")), again, "So."), [work])
    assert [end.content for end in results(events).values()] == ["done 0", "done 0"]
    assert tries == [1, 2, 3, 1]
    assert [record.name for record in caplog.records] == ["agent_driver"] * 2
    text = f"tool work, try 2, which is followed by another: {FAILED}"
    assert caplog.records[1].getMessage() == text
    assert str(caplog.records[1].exc_info[1]) == "odd"


def test_a_call_that_fails_in_its_last_try_has_failed_once_and_for_all(play, run, caplog):
    work, tries = make_failing(*[OSError(f"gone {n}") for n in range(9)])
    again = ask(use("work", call_id="c2"))
    events = play(run, Script(ask(use("work")), again, "So."), [work], tool_retries=1)
    told = results(events)
    assert str(told["c1"].cause) == "gone 1"
    assert "repeated failure" in told["c2"].error
    assert tries == [1, 2]
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.WARNING] * 2


def test_a_tool_that_times_out_is_tried_again_only_where_retries_says_so(
    play, run, released, clock
):
    tries = []

    def slow(context: Context) -> str:
        """Be slow at first."""
        tries.append(context.attempt)
        if len(tries) == 1:
            clock.move(LIMIT)
            released.wait(600)
        return "done"

    model = Script(ask(use("slow")), ask(use("slow", call_id="c2")), "So.")
    told = results(play(run, model, [slow], tool_timeout=LIMIT))
    assert told["c1"].is_unfinished
    assert "repeated failure" in told["c2"].error  # It may be going on still.
    assert tries == [1]

    tries.clear()
    released.clear()
    run = AgentRun([], maximum_iterations=3)
    model = Script(ask(use("slow")), "So.")
    events = play(run, model, [slow], tool_timeout=LIMIT, tool_retries=1)
    assert (results(events)["c1"].content, tries) == ("done", [1, 2])
    assert "missing here" not in shown(events)


def test_what_a_tool_says_for_itself_wins(play, run):
    work, tries = make_failing(*[OSError()] * 9, retries=0)
    assert play_work(play, run, work, tool_retries=3).error == FAILED
    assert tries == [1]


@pytest.mark.parametrize(
    "error", [ToolError("no such thing"), DeclarationError("a", "b"), SystemExit(3)]
)
def test_what_would_not_pass_is_not_tried_again(play, run, error):
    work, tries = make_failing(error, retries=2)
    told = play_work(play, run, work)
    assert told.error in {FAILED, "no such thing"}
    assert told.cause is error
    assert tries == [1]


def test_tries_run_with_the_context_variables_of_whoever_plays_the_run(play, run, released, clock):
    user = contextvars.ContextVar("user", default="nobody")
    seen = []

    def work(context: Context) -> str:
        """Work."""
        seen.append(user.get())
        if context.attempt == 1:
            clock.move(LIMIT)
            released.wait(600)
        elif context.attempt == 2:
            raise OSError
        return "done"

    user.set("Ann")
    assert play_work(play, run, work, tool_timeout=LIMIT, tool_retries=2).content == "done"
    assert seen == ["Ann"] * 3


@pytest.mark.parametrize("error", [None, ValueError("the disk is full")])
def test_no_try_depends_on_how_its_failure_is_logged(play, run, clock, error):
    class Slow(logging.Handler):
        def emit(self, _: logging.LogRecord) -> None:
            clock.move(2 * LIMIT)
            time.sleep(0.05)
            if error is not None:
                raise error

    logger, slow = logging.getLogger("agent_driver"), Slow()
    work, tries = make_failing(OSError(), timeout=LIMIT, retries=5)
    logger.addHandler(slow)
    try:
        assert play_work(play, run, work).content == "done 0"
    finally:
        logger.removeHandler(slow)
    assert tries == [1, 2]  # What has ended is not given up while it is logged.


OUTCOMES = {"done": None, "fail": OSError("gone"), "refuse": ToolError("not so")}


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2), st.lists(st.sampled_from(list(OUTCOMES)), min_size=3, max_size=3)
        ),
        min_size=1,
        max_size=8,
    )
)
@settings(
    max_examples=settings.default.max_examples // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_call_comes_to_its_first_try_that_is_not_tried_again(play, plans):
    tries = dict.fromkeys(range(len(plans)), 0)

    def make(number, retries, outcomes):
        def work(context: Context) -> str:
            """Work."""
            tries[number] = context.attempt
            error = OUTCOMES[outcomes[context.attempt - 1]]
            if error is not None:
                raise error
            return "done"

        return Tool.from_function(work, name=f"work_{number}", retries=retries)

    tools = [make(number, *plan) for number, plan in enumerate(plans)]
    calls = [use(tool.name, call_id=tool.name) for tool in tools]
    run = AgentRun([], maximum_iterations=3)
    told = results(play(run, Script(ask(*calls), "So."), tools))
    for number, (retries, outcomes) in enumerate(plans):
        tried = [*outcomes[: retries + 1]]
        last = next((place for place, it in enumerate(tried) if it != "fail"), retries)
        error, result = OUTCOMES[tried[last]], told[f"work_{number}"]
        assert tries[number] == last + 1
        assert result.cause is error
        assert (result.content == "done") == (error is None)


def test_a_call_counts_once_however_often_it_is_tried(play):
    work, tries = make_failing(OSError(), OSError(), retries=2)
    run = AgentRun([], maximum_iterations=3, budgets=Budgets(max_tool_calls=5))
    events = play(run, Script(ask(use("work")), "So."), [work])
    assert [use.used for use in events[-1].budgets] == [1]
    assert len(tries) == 3


def test_each_pause_is_twice_as_long_as_the_one_before(play, run):
    work, _ = make_failing(*[OSError()] * 3, retries=3)
    began = time.monotonic()
    assert play_work(play, run, work).content == "done 0"
    assert time.monotonic() - began > 0.69  # 0.1, 0.2 and 0.4 s


@pytest.fixture
def long_pauses(monkeypatch):
    """Have ten minutes pass before a call is tried again."""
    for name in ("_FIRST_PAUSE_SECONDS", "_MAX_PAUSE_SECONDS"):
        monkeypatch.setattr(f"agent_driver._drive.tries.{name}", 600.0)


@pytest.mark.usefixtures("long_pauses")
def test_no_pause_outlives_the_time_for_tools(play, run):
    work, tries = make_failing(*[OSError()] * 9, retries=9)
    budget = TimeBudget(run_seconds=360, closing_seconds=60)
    began = time.monotonic()
    assert play_work(play, run, work, time_budget=budget).error == FAILED
    assert time.monotonic() - began < 60
    assert tries == [1]


@pytest.mark.usefixtures("long_pauses")
@pytest.mark.parametrize("delay", [0.0, 0.1])
def test_a_cancel_ends_a_pause(play, run, delay):
    cancelled, tries, failed = threading.Event(), [], []

    def work(context: Context) -> None:
        """Fail."""
        tries.append(context.attempt)
        failed.append(time.monotonic())
        threading.Timer(delay, cancelled.set).start() if delay else cancelled.set()
        raise OSError

    model = Script(ask(use("work")), "never")
    events = play(run, model, [work], tool_retries=9, cancelled=cancelled)
    assert time.monotonic() - failed[0] < 60
    assert events[-1].reason == "cancelled"
    assert tries == [1]
    until(no_thread_runs)


def test_a_cancel_that_cannot_be_told_breaks_the_drive_and_no_try(run):
    work, tries = make_failing(OSError(), retries=1)
    broken = threading.Event()

    def cancelled():
        if broken.is_set():
            raise ValueError("who knows")
        return False

    @tool(retries=1)
    def fail() -> None:
        """Fail."""
        broken.set()
        raise OSError

    with pytest.raises(ValueError, match="who knows"):
        list(drive(run, Script(ask(use("fail"))), [fail, work], cancelled=cancelled))
    assert tries == []


def test_each_try_stands_in_the_log(play, run, released, clock, tmp_path):
    @tool(timeout=LIMIT, retries=2)
    def work(context: Context) -> str:
        """Work."""
        if context.attempt == 1:
            clock.move(LIMIT)
            released.wait(600)
        if context.attempt == 2:
            raise OSError("gone")
        return "done"

    log = RunLog(tmp_path)
    play_work(play, run, work, log=log)
    [summary] = list_runs(tmp_path)
    file = RunFile(summary.path)
    records = [record for record in file.iter_records() if "call_id" in record]
    assert file.problems == ()
    kinds = [record["type"] for record in records]
    assert kinds == ["call", "bound", *["started", "retry"] * 2, "started", "result"]
    first, second = (record for record in records if record["type"] == "retry")
    assert (first["attempt"], first["outcome"], first["error"]) == (
        *(1, "unfinished"),
        GIVEN_UP.format("work"),
    )
    assert (second["attempt"], second["outcome"]) == (2, "failed")
    assert second["cause"] == {"kind": "OSError", "message": "gone"}
    assert records[-1]["outcome"] == "done"


def test_a_call_that_is_given_up_is_unfinished_in_the_log(play, run, released, tmp_path):
    def work() -> None:
        """Hang."""
        released.wait(600)

    log = RunLog(tmp_path)
    play_work(play, run, work, log=log, tool_timeout=LIMIT)
    [summary] = list_runs(tmp_path)
    [result] = [one for one in RunFile(summary.path).iter_records() if one["type"] == "result"]
    assert (result["outcome"], result["content"]) == ("unfinished", GIVEN_UP.format("work"))


LOOK = ask(use("look", json.dumps({"task": "Look."})))


def test_an_agent_ends_with_what_it_has_when_its_time_is_up(play, run, released, clock):
    def found() -> str:
        """Look."""
        return "something here"

    def model(request):
        if request.round == 1:
            yield from ask(use("found"))
        else:
            yield "It may be"
            clock.move(1)
            released.wait(600)

    agent = agent_tool("look", "Looks.", Agent(model, [found]), timeout=0.4)
    began = time.perf_counter()
    events = play(run, Script(LOOK, "So."), [agent], tool_retries=2)
    told = results(events)["c1"]
    assert time.perf_counter() - began < 60
    assert told.content.startswith("The time of the agent was up before it was done.")
    assert "something here" in told.content
    assert not told.is_unfinished
    assert told.artifact.reason == "time_limit"
    assert events[-1].answer == "So."


def test_an_agent_has_a_closing_call_within_its_time_where_the_run_has_a_time_budget(
    play, run, released, clock
):
    def wait() -> None:
        """Wait."""
        clock.move(0.7)  # of 0.9, a third of which is kept for the answer
        released.wait(600)

    def model(request):
        return "As far as I know." if request.is_closing else ask(use("wait"))

    agent = agent_tool("look", "Looks.", Agent(model, [wait]), timeout=0.9)
    budget = TimeBudget(run_seconds=60, closing_seconds=20)
    told = results(play(run, Script(LOOK, "So."), [agent], time_budget=budget))["c1"]
    assert told.content == "As far as I know."


def test_an_agent_that_fails_is_not_called_again(play, run):
    asked = []

    def model(_):
        asked.append(True)
        raise OSError

    agent = as_tool("look", "Looks.", model)
    events = play(run, Script(LOOK, "So."), [agent], tool_retries=2)
    assert results(events)["c1"].error
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("own", "tried"), [({}, 2), ({"tool_retries": 0}, 1), ({"tool_retries": 2}, 3)]
)
def test_the_tools_of_an_agent_are_tried_as_it_says_or_else_its_caller(play, run, own, tried):
    work, tries = make_failing(*[OSError()] * 9)
    agent = as_tool("look", "Looks.", Script(ask(use("work")), "Done."), [work], **own)
    told = results(play(run, Script(LOOK, "So."), [agent], tool_retries=1))["c1"]
    assert (told.content, tries) == ("Done.", [*range(1, tried + 1)])


def test_an_agents_own_limit_for_its_tools_counts(play, run, released, clock):
    def slow() -> None:
        """Be slow."""
        clock.move(LIMIT)
        released.wait(600)

    model = Script(ask(use("slow")), "Done.")
    agent = as_tool("look", "Looks.", model, [slow], tool_timeout=LIMIT)
    told = results(play(run, Script(LOOK, "So."), [agent], tool_timeout=1e6))["c1"]
    assert told.content.endswith("Done.")
    assert model.requests[1].messages[-1].content == GIVEN_UP.format("slow")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"tool_timeout": "5"}, TypeError, "tool_timeout: expected a number of seconds or None"),
        ({"tool_timeout": True}, TypeError, "tool_timeout: expected a number of seconds or None"),
        ({"tool_timeout": 0}, ValueError, "tool_timeout must be over 0, not 0"),
        ({"tool_timeout": math.nan}, ValueError, "tool_timeout must be over 0, not nan"),
        ({"tool_retries": None}, TypeError, "tool_retries: expected a whole number, got NoneType"),
        ({"tool_retries": -1}, ValueError, "tool_retries must be at least 0, not -1"),
        ({"max_parallel_tools": 0}, ValueError, "max_parallel_tools must be at least 1, not 0"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_by_name(play, run, settings, error, message):
    with pytest.raises(error, match=message):
        play(run, Script("So."), **settings)
