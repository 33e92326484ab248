"""Runs that end before their answer: cancelled, out of time, or left by whoever watched."""

import asyncio
import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest
from scripted import Script, ask, no_thread_runs, until, use

from agent_driver import adrive, drive
from agent_loop import (
    AgentRun,
    ModelDelta,
    ModelDone,
    ModelFailure,
    ShowText,
    TimeBudget,
    ToolCallEnded,
)
from agent_tooling import Tool


SOON = TimeBudget(run_seconds=60.3, closing_seconds=60, call_seconds=60)
"""Little time for tools, and much for the answer after them."""

BRIEF = TimeBudget(run_seconds=0.6, closing_seconds=0.3, call_seconds=0.5)

BEGUN = threading.Event()
"""Set a little after something has begun, and after what else it waits for."""

BEFORE: list[threading.Event] = []
"""What comes before that."""

TELLERS: list[threading.Thread] = []
"""Those that set it."""

AT_BEGIN: list[Callable[[], object]] = []
"""What something that begins calls."""

OVER = threading.Event()
"""Set at the end of a test: for this wait those for whom nobody else waits."""

LONG = 600.0
FAR_LESS = 60.0


@pytest.fixture(autouse=True)
def nothing_has_begun():
    BEGUN.clear()
    OVER.clear()
    yield
    OVER.set()
    for each in BEFORE:
        each.set()
    # Else they told the next test that something has begun.
    until(no_thread_runs)
    for each in TELLERS:
        each.join()
    for each in (BEFORE, AT_BEGIN, TELLERS):
        each.clear()


def begin() -> None:
    for act in AT_BEGIN:
        act()

    def tell() -> None:
        for each in BEFORE:
            each.wait(LONG)
        OVER.wait(0.05)
        BEGUN.set()

    TELLERS.append(threading.Thread(target=tell))
    TELLERS[-1].start()


def come_before(kind: type) -> Callable[[object], None]:
    """Return what looks at events, for the first of which of this kind `BEGUN` waits."""
    is_seen = threading.Event()
    BEFORE.append(is_seen)
    return lambda event: is_seen.set() if isinstance(event, kind) else None


def slow() -> str:
    """Be slow."""
    begin()
    OVER.wait(LONG)
    return "late"


async def aslow() -> str:
    """Be slow."""
    begin()
    await asyncio.sleep(LONG)
    return "late"


def quick() -> str:
    """Be quick."""
    return "done"


class Silence:
    """A model that says one thing and then nothing, until it is closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def __call__(self, _):
        return self

    def __iter__(self):
        yield "So"
        begin()
        self.closed.wait(LONG)

    def close(self) -> None:
        self.closed.set()


def shown(events):
    return "".join(event.text for event in events if isinstance(event, ShowText))


def test_a_cancel_ends_the_run_while_the_model_is_silent(play, run):
    model, started = Silence(), time.monotonic()
    [*_, finished] = play(run, model, look=come_before(ShowText), cancelled=BEGUN)
    assert time.monotonic() - started < FAR_LESS
    assert finished.reason == "cancelled"
    assert finished.messages[-1].content == "So"
    assert model.closed.is_set()


@pytest.mark.parametrize("tool", [slow, aslow])
def test_a_cancel_ends_the_run_while_tools_run_and_names_them(play, run, tool):
    calls = [use(tool.__name__), use("quick", call_id="c2")]
    started = time.monotonic()
    look = come_before(ToolCallEnded)
    events = play(run, Script(ask(*calls)), [tool, quick], look, cancelled=BEGUN.is_set)
    assert time.monotonic() - started < FAR_LESS
    assert events[-1].reason == "cancelled"
    assert f"missing here: {tool.__name__}." in shown(events)


def test_a_generator_that_is_being_read_ends_with_its_next_piece(play, run):
    ended = threading.Event()

    def pieces():
        try:
            yield "So"
            begin()
            OVER.wait(LONG)
            yield "late"
        finally:
            ended.set()

    assert play(run, Script(pieces), cancelled=BEGUN)[-1].reason == "cancelled"
    OVER.set()
    assert ended.wait(FAR_LESS)


def test_a_cancel_ends_the_run_while_the_model_is_called(run):
    ended, closed = threading.Event(), []

    class Late:
        def __iter__(self):
            raise AssertionError("nobody wants it")

        def close(self) -> None:
            closed.append(True)
            ended.set()

    def model(_: object) -> Late:
        begin()
        OVER.wait(LONG)
        return Late()

    started = time.monotonic()
    [*_, finished] = drive(run, model, cancelled=BEGUN)
    assert time.monotonic() - started < FAR_LESS
    assert finished.reason == "cancelled"
    OVER.set()
    assert ended.wait(FAR_LESS)
    assert closed == [True]


def test_what_breaks_because_it_was_closed_is_told_to_nobody(play, run, caplog):
    ended = threading.Event()

    class Breaking(Silence):
        def __iter__(self):
            yield from super().__iter__()
            ended.set()
            raise OSError("closed")

    assert play(run, Breaking(), cancelled=BEGUN)[-1].reason == "cancelled"
    assert ended.wait(FAR_LESS)
    assert not caplog.records


@pytest.mark.parametrize("patience", [0.0, LONG])
async def test_a_cancel_ends_the_run_while_an_answer_is_awaited(run, patience):
    async def answer() -> str:
        begin()
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            await asyncio.sleep(patience)
        return "late"

    started = time.monotonic()
    events = [event async for event in adrive(run, lambda _: answer(), cancelled=BEGUN)]
    assert events[-1].reason == "cancelled"
    assert time.monotonic() - started < FAR_LESS


def test_a_cancel_that_comes_with_the_last_result_is_no_error(play):
    cancelled = asyncio.Event()

    def work() -> str:
        """Work."""
        cancelled.set()
        return "done"

    run = AgentRun([{"role": "user", "content": "?"}], maximum_iterations=1)
    [*_, finished] = play(run, Script(ask(use("work"))), [work], cancelled=cancelled)
    assert finished.reason in {"cancelled", "maximum_iterations"}


class Unclosable:
    """An answer whose connection breaks when it is closed."""

    def __iter__(self):
        yield "So"
        yield ModelDone()

    def close(self) -> None:
        raise OSError("closed already")


@pytest.mark.parametrize("settings", [{}, {"cancelled": threading.Event()}])
def test_an_answer_that_cannot_be_closed_is_an_answer(play, run, settings):
    assert play(run, lambda _: Unclosable(), **settings)[-1].answer == "So"


def test_an_answer_that_cannot_be_closed_does_not_keep_a_generator_open(run):
    events = drive(run, lambda _: Unclosable())
    while not isinstance(next(events), ShowText):
        pass
    events.close()
    assert run.state == "model"


async def test_what_a_tool_says_after_its_run_was_cancelled_is_nobodys_business(run):
    ended = threading.Event()

    def work() -> None:
        """Work."""
        begin()
        OVER.wait(LONG)
        ended.set()

    script = Script(ask(use("work")))
    events = [event async for event in adrive(run, script, [work], cancelled=BEGUN)]
    OVER.set()
    assert await asyncio.to_thread(ended.wait, FAR_LESS)
    await asyncio.sleep(0.05)
    assert events[-1].reason == "cancelled"


def test_calls_that_wait_for_others_are_not_told_after_a_cancel(play, run):
    calls = [use("slow", call_id=f"c{number}") for number in range(4)]
    events = play(run, Script(ask(*calls)), [slow], cancelled=BEGUN)
    assert events[-1].reason == "cancelled"
    assert len([event for event in events if isinstance(event, ToolCallEnded)]) == 4


def test_a_run_that_is_cancelled_before_it_starts_calls_no_model(play, run):
    model, cancelled = Script(), threading.Event()
    cancelled.set()
    assert play(run, model, cancelled=cancelled)[-1].reason == "cancelled"
    assert not model.requests


def test_a_cancel_ends_the_wait_before_a_call_is_made_again(play, run):
    failure = ModelFailure(message="busy", is_transient=True, wait_seconds=LONG)

    def fail():
        begin()
        return [failure]

    started = time.monotonic()
    assert play(run, Script(fail), cancelled=BEGUN)[-1].reason == "cancelled"
    assert time.monotonic() - started < FAR_LESS


@pytest.mark.parametrize("tool", [slow, aslow])
def test_tools_are_given_up_in_time_for_an_answer(play, run, clock, tool):
    AT_BEGIN.append(partial(clock.move, 0.4))
    model = Script(ask(use(tool.__name__)), "without it")
    events = play(run, model, [tool], time_budget=SOON)
    assert (events[-1].reason, events[-1].answer) == ("time_limit", "without it")
    assert model.requests[1].is_closing


def test_no_tool_is_begun_without_time_for_it(play, run, clock):
    made = []

    def work() -> None:
        """Work."""
        made.append(True)

    def model(call):
        if not call.is_closing:
            clock.move(0.35)  # beyond what is kept for tools
        yield "without it" if call.is_closing else {"tool_calls": [use("work")]}

    [*_, finished] = play(run, model, [work], time_budget=SOON)
    assert (finished.reason, finished.answer) == ("time_limit", "without it")
    assert not made


def test_a_run_that_begins_without_time_closes_at_once(play, run):
    model = Script("that is all")
    budget = TimeBudget(run_seconds=60, closing_seconds=60, call_seconds=60)
    assert play(run, model, [quick], time_budget=budget)[-1].reason == "time_limit"
    assert model.requests[0].is_closing


def test_a_model_that_never_pauses_is_given_up_in_time(play, run):
    def chatter():
        while True:
            yield "x"
            time.sleep(0.001)

    started = time.monotonic()
    [*_, finished] = play(run, lambda _: chatter(), time_budget=BRIEF)
    assert time.monotonic() - started < FAR_LESS
    assert finished.reason in {"time_limit", "error"}


def test_silence_is_counted_from_what_came_last(play, run, monkeypatch):
    now, may_go_on = [0.0], threading.Semaphore()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def steady():
        for piece in "1234":
            may_go_on.acquire()
            yield piece

    def look(event):
        if isinstance(event, ShowText):
            now[0] += 0.2
            may_go_on.release()

    patient = TimeBudget(run_seconds=9, closing_seconds=3, call_seconds=9, silence_seconds=0.3)
    events = play(run, lambda _: steady(), look=look, time_budget=patient)
    assert events[-1].answer == "1234"


def test_a_watched_answer_without_any_piece_is_asked_for_once_more(play, run):
    [*_, finished] = play(run, Script([], "4"), time_budget=TimeBudget())
    assert (finished.answer, finished.rounds) == ("4", 2)


@pytest.mark.usefixtures("clock")
def test_a_call_is_not_made_again_without_time_for_it(play, run):
    model = Script([ModelFailure(message="busy", is_transient=True, wait_seconds=LONG)], "4")
    [*_, finished] = play(run, model, time_budget=SOON)
    assert len(model.requests) == 1
    assert "busy" in finished.error


@pytest.fixture(params=["cancelled", "late"])
def short(request):
    """Return the settings of a run that ends in its tool."""
    if request.param == "cancelled":
        return {"cancelled": BEGUN}
    AT_BEGIN.append(partial(request.getfixturevalue("clock").move, 0.4))
    return {"time_budget": SOON}


def test_a_tool_that_yields_is_closed_once_nobody_waits(play, run, short):
    ended = threading.Event()

    def endless():
        """Talk."""
        begin()
        try:
            while True:
                yield "x"
                time.sleep(0.01)
        finally:
            ended.set()

    tools = [Tool.from_function(endless)]
    assert play(run, Script(ask(use("endless")), "without it"), tools, **short)
    assert ended.wait(FAR_LESS)


def test_an_asynchronous_tool_is_stopped_once_nobody_waits(play, run, short):
    stopped = threading.Event()

    async def work() -> None:
        """Work."""
        begin()
        try:
            await asyncio.sleep(LONG)
        finally:
            stopped.set()

    assert play(run, Script(ask(use("work")), "without it"), [work], **short)
    assert stopped.wait(FAR_LESS)


def test_a_model_that_is_silent_for_too_long_is_given_up(play, run, clock):
    def look(event):
        if isinstance(event, ShowText):
            clock.move(0.6)

    events = play(run, Silence(), look=look, time_budget=BRIEF)
    assert events[-1].reason in {"time_limit", "error"}
    assert "So" in shown(events)


def test_a_watched_answer_is_the_same_answer(play, run):
    model = Script(ask(use("quick")), ["It is ", ModelDelta(text="done")])
    events = play(run, model, [quick], time_budget=TimeBudget(), cancelled=lambda: False)
    assert events[-1].answer == "It is done"


def test_an_error_in_a_watched_answer_ends_the_run(play, run):
    def broken():
        yield "So"
        raise ConnectionError("the line broke")

    [*_, finished] = play(run, Script(broken), cancelled=lambda: False)
    assert "the line broke" in finished.error


@pytest.mark.parametrize("settings", [{}, {"cancelled": threading.Event()}])
def test_whoever_closes_the_generator_lets_go_of_the_model(run, settings):
    model = Silence()
    events = drive(run, model, **settings)
    while not isinstance(next(events), ShowText):
        pass
    events.close()
    assert model.closed.is_set()


def test_whoever_closes_the_generator_lets_go_of_tools_that_have_not_begun(run):
    made = []

    def work(number: int) -> None:
        """Work."""
        made.append(number)
        if number:
            OVER.wait(LONG)

    calls = [use("work", f'{{"number": {n}}}', f"c{n}") for n in range(6)]
    events = drive(run, Script(ask(*calls)), [work], max_parallel_tools=1)
    while not isinstance(next(events), ToolCallEnded):
        pass
    events.close()
    OVER.set()
    until(no_thread_runs)
    assert len(made) <= 2


async def test_a_cancelled_task_lets_go_of_everything(run):
    began, stopped = asyncio.Event(), []

    async def work() -> None:
        """Work."""
        began.set()
        try:
            await asyncio.sleep(LONG)
        finally:
            stopped.append("tool")

    async def follow() -> None:
        async for _ in adrive(run, Script(ask(use("work"))), [work]):
            pass

    task = asyncio.create_task(follow())
    await began.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert stopped == ["tool"]


@pytest.mark.parametrize("settings", [{}, {"cancelled": threading.Event()}])
async def test_an_asynchronous_model_is_awaited_and_closed(run, settings):
    closed = []

    async def pieces():
        try:
            yield "So"
            await asyncio.sleep(LONG)
        finally:
            closed.append(True)

    events = adrive(run, lambda _: pieces(), **settings)
    async for event in events:
        if isinstance(event, ShowText):
            break
    await events.aclose()
    assert closed == [True]


async def test_an_answer_may_be_awaited(run):
    async def answer(_):
        await asyncio.sleep(0)
        return {"text": "4"}

    events = [event async for event in adrive(run, answer)]
    assert events[-1].answer == "4"


async def test_an_asynchronous_iterable_needs_no_aclose(run):
    class Pieces:
        def __init__(self) -> None:
            self.left = ["4"]

        def __aiter__(self):
            return self

        async def __anext__(self) -> str:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    events = [event async for event in adrive(run, lambda _: Pieces())]
    assert events[-1].answer == "4"


FAILING = """
from agent_driver import drive
from agent_loop import AgentRun
from agent_tooling import ToolError

def look(x: str) -> str:
    raise ToolError("nothing there")

def model(call):
    if call.round == 1:
        return {"tool_calls": [{"call_id": "c1", "name": "look", "arguments": '{"x": "a"}'}]}
    raise RuntimeError("gone")

events = list(drive(AgentRun([{"role": "user", "content": "Hi"}], maximum_iterations=6), model, [look]))
assert "gone" in str(events[-1])
"""


def test_failures_print_nothing_where_nobody_has_set_up_logging():
    done = subprocess.run([sys.executable, "-c", FAILING], capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
