"""Driving a run with a model and tools that block."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from agent_loop import (
    AgentEvent,
    AgentRun,
    CallModel,
    Event,
    MessageError,
    ModelDone,
    RefusedAgentError,
    RunTools,
    TimeBudget,
    ToolResult,
)
from agent_tooling import ToolOutput

from ._agent_calls import AgentCall, refuse_agent
from ._agents import Agent
from ._answers import (
    Asked,
    AsyncModelError,
    asked_by,
    is_decision,
    is_end,
    name_piece,
    to_failure,
    to_input,
)
from ._approval import Decisions
from ._async import acall_agent
from ._running import LAST_SECONDS, Heard, Running
from ._setup import Setup, prepare
from ._threads import END, Raised, Threads, read_in_thread
from ._time import Cancelled, Clock, Watch
from ._tool_calls import Job, Tools, broken


if TYPE_CHECKING:
    from run_log import RunFeed


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
    tool_search: int | None = None,
    log: "RunFeed | None" = None,
    snapshot_key: bytes | None = None,
    snapshot_seconds: float = 86_400.0,
    resume: object = None,
    decisions: Decisions | None = None,
) -> Generator[Event]:
    """Play a run to its end, and yield every event as it happens.

    The tools of a round run at once, each in a thread of its own. Whoever holds the generator may stop at any event and close it: the model's answer is let
    go of, and so are tools that still run. What the model's client raises ends the run with its text, and goes to the log `agent_driver` whole; so
    does what tools raise, of which the model reads only that they failed. What is no `Exception`, such as `SystemExit`, ends a tool alone, and leaves through
    the generator where the model's client raises it.

    Args:
        run: A run that has not started. Where it offers no tools, it offers these.
        model: What calls the model: with a `CallModel`, it returns an iterable of what `AgentRun.feed` takes, or the whole answer.
        tools: What the model may call.
        cancelled: An event, or a function that returns true, once nobody wants the run any more. It ends within a second: a tool that cannot be stopped is
            abandoned, and told.
        time_budget: How long the run and its calls may take.
        max_parallel_tools: How many tools run at the same time, at least 1.
        result_characters: How much of one result the model reads.
        tool_search: From how many tools on the model finds and calls them by the functions of a `ToolSearch`, at least 1; None for never. It then is given those, and besides them
            only what the run offers by itself, or the one tool that its tool choice names.
        log: Where the run is written; None for nowhere.
        snapshot_key: What snapshots are signed with, at least 16 bytes; needed where the run has approval rules. Where it stops for a person's leave, the last event is an
            `AskApproval` with a snapshot, and nothing follows.
        snapshot_seconds: How long a snapshot is good.
        resume: The snapshot of a run that goes on, in a new run in which a call means the same; see `AgentRun.resume`. Its messages do not matter.
        decisions: What a person has decided about its calls: true or false for all, or for each by its id, or a `Decision` with a reason.

    Raises:
        LocalProtocolError: If the run has started already.
        DeclarationError: If something among the tools is no tool and cannot be made one, or an approval rule names no tool, or a path that its tool cannot have.
        SnapshotError: If what is to be resumed cannot be, or a message of a run that stops for approval cannot be written as JSON.
        TypeError: If an argument is of a kind that cannot be it, or, with the first request, if the model is async.
        ValueError: If two tools have one name, `max_parallel_tools` or `tool_search` is under 1, the key is missing, or there is not one decision for each call that waits.
        MessageError: If what the model's client gives cannot be read; it names the piece, such as `answer[2].text`.
    """
    setup = prepare(
        run,
        model,
        tools,
        cancelled=cancelled,
        time_budget=time_budget,
        max_parallel_tools=max_parallel_tools,
        result_characters=result_characters,
        tool_search=tool_search,
        log=log,
        snapshot_key=snapshot_key,
        snapshot_seconds=snapshot_seconds,
        resume=resume,
        decisions=decisions,
    )
    return setup.follow(_drive(setup, model))


def _drive(setup: Setup, model: Model) -> Generator[Event]:
    run, clock = setup.run, setup.clock
    clock.tell(run)
    events = setup.start()
    yield from events
    action = asked_by(events)
    while action is not None:
        if isinstance(action, CallModel):
            inputs = _iter_answer(setup, model, action)
        else:
            inputs = _iter_results(setup, action)
        action = None
        with closing(inputs):
            for index, received in enumerate(inputs):
                if isinstance(received, AgentEvent):
                    yield received
                    continue
                if is_decision(received):
                    clock.tell(run)
                try:
                    events = setup.feed(received)
                except MessageError as error:
                    raise name_piece(error, index) from None
                yield from events
                action = asked_by(events)
                if run.state == "finished":  # with a result, say, that came with the cancel
                    break


def _iter_answer(setup: Setup, model: Model, call: CallModel) -> Generator[Any]:
    """Call the model and yield what the run is fed with: pieces of the answer, then how it ended."""
    clock = setup.clock
    asked = Asked(model if _sleep(call.wait_seconds, clock) else clock.cancel, call)
    watch = clock.watch(call, setup.run)
    pieces = _read_watched(asked, clock, watch) if clock.is_watched else iter(asked)
    try:
        with closing(asked), closing(pieces):
            for piece in pieces:
                received = to_input(piece)
                watch.take(received)
                yield received
                if is_end(received):
                    return
    except AsyncModelError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the model's client raises
        yield to_failure(error)
    else:
        yield watch.end() or ModelDone()


def _read_watched(pieces: Iterable[object], clock: Clock, watch: Watch) -> Generator[object]:
    """Yield what a thread reads, and wait for it no longer than the run may take and is wanted."""
    queue: SimpleQueue[object] = SimpleQueue()
    stop = read_in_thread(pieces, queue.put)
    try:
        while not clock.is_cancelled:
            left = watch.seconds_left
            if left == 0:
                yield watch.give_up()
            try:
                piece = queue.get(timeout=clock.patience(left))
            except Empty:
                continue
            if piece is END:
                return
            if isinstance(piece, Raised):
                raise piece.error
            yield piece
        yield clock.failure
    finally:
        stop()


def _sleep(seconds: float, clock: Clock) -> bool:
    """Wait before a call; return whether the run is wanted still."""
    end = clock.now + seconds
    while not clock.is_cancelled:
        left = end - clock.now
        if left <= 0:
            return True
        time.sleep(clock.patience(left) or 0)
    return False


def _iter_results(setup: Setup, request: RunTools) -> Generator[Any]:
    """Run the tools of a round and yield their results as they come, and what happens in agents among them."""
    clock = setup.clock
    sorted_ = setup.sort(request.calls)
    yield from sorted_.answered
    running = Running(setup, sorted_)
    threads = Threads(setup.max_parallel_tools, "agent-driver-tool")
    heard: SimpleQueue[Heard] = SimpleQueue()
    for job in running.due:
        threads.start(partial(_invoke, setup, job, heard.put, threads))
    results: list[ToolResult] = []
    try:
        while not (running.is_done or clock.is_cancelled):
            left = clock.seconds_for_tools(setup.run)
            if left == 0:
                break
            with suppress(Empty):
                yield running.take(heard.get(timeout=clock.patience(left)))
        is_cancelled, end = clock.is_cancelled, clock.now + LAST_SECONDS
        while running.has_agents and (left := end - clock.now) > 0:
            with suppress(Empty):
                taken = running.take(heard.get(timeout=left))
                if is_cancelled and isinstance(taken, ToolResult):
                    results.append(taken)
                else:
                    yield taken
    finally:
        threads.abandon()
    if is_cancelled:
        yield replace(clock.failure, results=tuple(results))
    else:
        yield from running.end()


def _invoke(setup: Setup, job: Job, put: Callable[[Heard], Any], threads: Threads) -> None:
    setup.begin(job)
    # The output has no name here: an error in it leads, by its traceback, to this frame, and from there back to the output, which would stay until the
    # garbage is collected.
    put((job, _call(setup, job, put, threads)))


def _call(setup: Setup, job: Job, put: Callable[[Heard], Any], threads: Threads) -> ToolOutput:
    agent: object = job.tool.function
    try:
        if isinstance(agent, Agent):
            return _call_agent(AgentCall(setup, job, agent, is_over=threads.is_abandoned), put)
        # Called where no event loop runs, a function may as well run one by itself, and return what is awaited or what is not.
        return job.tool.invoke(
            job.args,
            is_over=threads.is_abandoned,
            wait=lambda result: asyncio.run(_await(result, threads)),
        )
    except RefusedAgentError as error:
        return refuse_agent(error)
    except BaseException as error:  # noqa: BLE001 - such as `SystemExit`, which ends no more than this thread
        return broken(error)


def _call_agent(call: AgentCall, put: Callable[[Heard], Any]) -> ToolOutput:
    """Play an agent to its end."""
    if call.agent.is_async:
        return asyncio.run(acall_agent(call, put))
    with closing(call.setup.follow(_drive(call.setup, call.agent.model))) as events:
        for event in events:
            put(call.take(event))
    return call.read()


async def _await(result: Coroutine[Any, Any, None], threads: Threads) -> None:
    """Await the result of a tool, for as long as somebody waits for it."""
    task = asyncio.ensure_future(result)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        with suppress(RuntimeError):  # The tool has ended, and its loop with it.
            loop.call_soon_threadsafe(task.cancel)

    threads.on_abandon(stop)
    await task
