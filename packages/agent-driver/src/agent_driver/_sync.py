"""Driving a run with a model and tools that block."""

import asyncio
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from agent_loop import (
    AgentRun,
    CallModel,
    CallWatch,
    Event,
    ModelDone,
    RunTools,
    TimeBudget,
)
from agent_tooling import ToolOutput

from ._answers import Asked, asked_by, is_decision, is_end, to_failure, to_input
from ._threads import END, Threads, read_in_thread
from ._time import CANCELLED, POLL_SECONDS, Cancelled, Clock, cancel
from ._tool_calls import Job, ToolCalls, Tools, broken, give_up


type Model = Callable[[CallModel], Any]
"""Called with a request, it returns an iterable of pieces of the answer, or the whole answer."""


def drive(  # noqa: PLR0913 - the keyword-only settings of one drive
    run: AgentRun,
    model: Model,
    tools: Tools = (),
    *,
    cancelled: Cancelled = None,
    time_budget: TimeBudget | None = None,
    max_parallel_tools: int = 8,
    result_characters: int = 200_000,
) -> Generator[Event]:
    """Play a run to its end, and yield every event as it happens.

    The tools of a round run at once, each in a thread of its own. Whoever holds the generator may stop at any event and close it: the model's answer is let
    go of, and so are tools that still run. What the model's client raises ends the run with its text, and goes to the log `agent_driver` whole; so
    does what tools raise, of which the model reads only that they failed.

    Args:
        run: A run that has not started. Where it offers no tools, it offers these.
        model: What calls the model: with a `CallModel`, it returns an iterable of what `AgentRun.feed` takes, or the whole answer.
        tools: What the model may call.
        cancelled: An event, or a function that returns true, once nobody wants the run any more. It ends within a second: a tool that cannot be stopped is
            abandoned, and told.
        time_budget: How long the run and its calls may take.
        max_parallel_tools: How many tools run at the same time, at least 1.
        result_characters: How much of one result the model reads.

    Raises:
        LocalProtocolError: If the run has started already.
        DeclarationError: If a function among the tools cannot be made a tool.
        ValueError: If two tools have one name, or `max_parallel_tools` is under 1.
        MessageError: If what the model's client gives cannot be read.
    """
    if max_parallel_tools < 1:
        raise ValueError(f"max_parallel_tools must be at least 1, not {max_parallel_tools!r}")
    calls = ToolCalls(tools, result_characters=result_characters)
    if calls.tools and not run.tools:
        run.offer(calls.tools.values())
    return _drive(run, model, calls, Clock(time_budget, cancelled), max_parallel_tools)


def _drive(
    run: AgentRun, model: Model, calls: ToolCalls, clock: Clock, most: int
) -> Generator[Event]:
    events = run.start()
    yield from events
    action = asked_by(events)
    while action is not None:
        if isinstance(action, CallModel):
            inputs = _iter_answer(model, action, clock, run)
        else:
            inputs = _iter_results(
                calls, action, clock, most, has_closing_call=run.has_closing_call
            )
        action = None
        with closing(inputs):
            for received in inputs:
                if is_decision(received):
                    clock.tell(run)
                events = run.feed(received)
                yield from events
                action = asked_by(events)
                if run.state == "finished":  # with a result, say, that came with the cancel
                    break


def _iter_answer(model: Model, call: CallModel, clock: Clock, run: AgentRun) -> Generator[Any]:
    """Call the model and yield what the run is fed with: pieces of the answer, then how it ended."""
    asked = Asked(model if _sleep(call.wait_seconds, clock) else cancel, call)
    source = _read_watched(asked, clock, clock.watch(call), run) if clock.is_watched else asked
    try:
        with closing(asked):
            for received in source:
                yield to_input(received)
                if is_end(received):
                    return
    except Exception as error:  # noqa: BLE001 - whatever the model's client raises
        yield to_failure(error)
    else:
        yield ModelDone()


def _read_watched(
    pieces: Iterable[object], clock: Clock, watch: CallWatch | None, run: AgentRun
) -> Iterator[object]:
    """Yield what a thread reads, and wait for it no longer than the run may take and is wanted."""
    queue: SimpleQueue[object] = SimpleQueue()
    stop = read_in_thread(pieces, queue.put)
    try:
        while not clock.is_cancelled:
            left = POLL_SECONDS
            if watch is not None:
                left = min(left, watch.seconds_left(now=clock.now, may_retry=run.may_retry))
            try:
                piece = queue.get(timeout=left)
            except Empty:
                if watch is not None and left < POLL_SECONDS:
                    yield watch.give_up(now=clock.now)
                continue
            if piece is END:
                return
            yield piece
        yield CANCELLED
    finally:
        stop()


def _sleep(seconds: float, clock: Clock) -> bool:
    """Wait before a call; return whether the run is wanted still."""
    end = clock.now + seconds
    while not clock.is_cancelled:
        left = end - clock.now
        if left <= 0:
            return True
        time.sleep(min(left, POLL_SECONDS))
    return False


def _iter_results(
    calls: ToolCalls, request: RunTools, clock: Clock, most: int, *, has_closing_call: bool
) -> Generator[Any]:
    """Run the tools of a round and yield their results as they come."""
    sorted_ = calls.sort(request.calls)
    yield from sorted_.answered
    threads = Threads(most, "agent-driver-tool")
    done: SimpleQueue[tuple[Job, ToolOutput]] = SimpleQueue()
    for job in sorted_.jobs:
        threads.start(partial(_invoke, job, done))
    waiting = {job.call.call_id: job for job in sorted_.jobs}
    try:
        while waiting and not clock.is_cancelled:
            left = clock.seconds_for_tools(has_closing_call=has_closing_call)
            if left == 0:
                yield from map(give_up, waiting.values())
                break
            timeout = min(POLL_SECONDS, left or POLL_SECONDS) if clock.is_watched else None
            try:
                job, output = done.get(timeout=timeout)
            except Empty:
                continue
            del waiting[job.call.call_id]
            yield calls.settle(job, output)
    finally:
        threads.abandon()
    if clock.is_cancelled:
        yield CANCELLED
    else:
        yield from (calls.recall(job) or give_up(job) for job in sorted_.repeats)


def _invoke(job: Job, done: SimpleQueue[tuple[Job, ToolOutput]]) -> None:
    tool = job.tool
    try:
        output = asyncio.run(tool.ainvoke(job.args)) if tool.is_async else tool.invoke(job.args)
    except BaseException as error:  # noqa: BLE001 - such as `SystemExit`, which ends no more than this thread
        output = broken(error)
    done.put((job, output))
