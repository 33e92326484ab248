"""What is no `Exception` ends a drive cleanly, wherever it is raised: nothing runs on, nothing is left open."""

import asyncio
import signal
import subprocess
import sys
import threading

import pytest
from scripted import Script, ask, no_thread_runs, until, use

from agent_driver import adrive, drive
from agent_loop import ShowText, TimeBudget, ToolCallEnded


class GreenletExit(BaseException):
    """What ends a thread of gevent's."""


ENDINGS = [KeyboardInterrupt, SystemExit, GreenletExit, asyncio.CancelledError]


class Pieces:
    """An answer that ends in what it is given."""

    def __init__(self, error):
        self.error = error
        self.closed = 0

    def __iter__(self):
        yield "So"
        raise self.error

    def close(self):
        self.closed += 1


@pytest.mark.parametrize("error", ENDINGS)
@pytest.mark.parametrize(
    "settings", [{}, {"cancelled": threading.Event()}, {"time_budget": TimeBudget()}]
)
def test_what_a_model_raises_leaves_drive_and_nothing_open(run, error, settings):
    answer = Pieces(error)
    events, shown = drive(run, lambda _: answer, **settings), []
    with pytest.raises(error):
        shown.extend(event for event in events)
    assert answer.closed
    assert list(events) == []
    assert run.state == "model"
    until(no_thread_runs)


@pytest.mark.parametrize("error", ENDINGS)
@pytest.mark.parametrize(
    "settings", [{}, {"cancelled": threading.Event()}, {"time_budget": TimeBudget()}]
)
def test_what_a_model_without_async_raises_leaves_adrive_and_nothing_open(run, error, settings):
    answer = Pieces(error)

    async def main():
        async for _ in adrive(run, lambda _: answer, **settings):
            pass

    with pytest.raises(error):
        asyncio.run(main())
    assert answer.closed
    until(no_thread_runs)


@pytest.mark.parametrize("error", ENDINGS)
@pytest.mark.parametrize("settings", [{}, {"cancelled": threading.Event()}])
def test_what_an_asynchronous_model_raises_leaves_adrive_and_nothing_open(run, error, settings):
    closed, left = [], []

    async def pieces():
        try:
            yield "So"
            raise error
        finally:
            closed.append(True)

    async def main():
        events = adrive(run, lambda _: pieces(), **settings)
        try:
            async for _ in events:
                pass
        finally:
            left.extend(asyncio.all_tasks() - {asyncio.current_task()})
            assert [event async for event in events] == []

    with pytest.raises(error):
        asyncio.run(main())
    assert closed == [True]
    assert [task for task in left if not task.done()] == []
    until(no_thread_runs)


@pytest.mark.parametrize("error", ENDINGS)
def test_what_a_tool_raises_ends_its_thread_alone(play, run, error):
    def work(number: int) -> int:
        """Work."""
        if number:
            raise error
        return number

    calls = [use("work", f'{{"number": {number}}}', f"c{number}") for number in range(3)]
    events = play(run, Script(ask(*calls), "still here"), [work])
    failed = [
        event.result.error is not None for event in events if isinstance(event, ToolCallEnded)
    ]
    assert sorted(failed) == [False, True, True]
    assert events[-1].answer == "still here"
    until(no_thread_runs)


@pytest.mark.parametrize("error", ENDINGS)
def test_what_an_asynchronous_tool_raises_ends_it_alone_or_everything_cleanly(play, run, error):
    stopped = []

    async def work() -> None:
        """Work."""
        await asyncio.sleep(0.01)
        raise error

    async def other() -> None:
        """Work, too."""
        try:
            await asyncio.sleep(0.05)
        finally:
            stopped.append(True)

    calls = [use("work"), use("other", call_id="c2")]
    try:
        assert play(run, Script(ask(*calls), "still here"), [work, other])[-1].answer
    except KeyboardInterrupt:
        assert error is KeyboardInterrupt
    assert stopped == [True]
    until(no_thread_runs)


@pytest.mark.parametrize("error", ENDINGS)
@pytest.mark.parametrize("kind", [ShowText, ToolCallEnded])
def test_whoever_watches_may_be_interrupted_at_any_event(run, error, kind):
    made, closed = [], []

    def model(call):
        try:
            yield "So"
            yield from ask(*(use("work", call_id=f"c{n}") for n in range(2)))
        finally:
            closed.append(call.round)

    def work() -> None:
        """Work."""
        made.append(True)

    events = drive(run, model, [work])
    while not isinstance(next(events), kind):
        pass
    with pytest.raises(error):
        events.throw(error)
    assert closed == [1]
    assert list(events) == []
    until(no_thread_runs)


PROGRAM = """
import asyncio, os, signal, sys, threading, time
from agent_driver import adrive, drive
from agent_loop import AgentRun

def nudge():
    while True:
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGURG)

# Python overlooks a signal that comes just before it begins to wait, until the next one.
signal.signal(signal.SIGURG, lambda *_: None)
threading.Thread(target=nudge, daemon=True).start()

def slow() -> None:
    "Be slow."
    print("begun", flush=True)
    time.sleep(3600)

def model(call):
    if sys.argv[1] == "model":
        slow()
    yield {"tool_calls": [{"call_id": "c1", "name": "slow", "arguments": "{}"}]}

async def main():
    async for event in adrive(run, model, [slow]):
        pass

run = AgentRun([], maximum_iterations=3)
if sys.argv[2] == "drive":
    for event in drive(run, model, [slow]):
        pass
else:
    asyncio.run(main())
"""


@pytest.mark.parametrize("form", ["drive", "adrive"])
@pytest.mark.parametrize("place", ["model", "tool"])
def test_control_c_ends_the_process_at_once(form, place):
    command = [sys.executable, "-c", PROGRAM, place, form]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        try:
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=300)  # far less than the call would take
        finally:
            process.kill()
    assert process.returncode == -signal.SIGINT
    assert told.rstrip().endswith("KeyboardInterrupt")
    assert "Task was destroyed" not in told
