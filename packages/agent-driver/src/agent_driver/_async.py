"""Driving a run with a model and tools that are awaited."""

import asyncio
import inspect
from asyncio import CancelledError
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from inspect import isawaitable
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
    asked_by,
    close,
    find_compactor,
    is_decision,
    is_end,
    is_whole,
    log_no_compaction,
    name_piece,
    to_failure,
    to_input,
)
from ._approval import Decisions
from ._running import LAST_SECONDS, Heard, Running
from ._setup import Setup, prepare
from ._threads import END, Raised, Threads, read_in_thread
from ._time import Cancelled, Clock, Watch
from ._tool_calls import Job, Tools, broken


type _Told = AgentEvent | tuple[Job, asyncio.Task[ToolOutput]]

_LAST_SECONDS = 0.25  # For an answer that is let go of.

if TYPE_CHECKING:
    from run_log import RunFeed


type AsyncModel = Callable[[CallModel], Any]
"""Called with a request, it returns an asynchronous iterable of pieces of the answer, or the whole answer, awaited or not."""


def adrive(  # noqa: PLR0913 - the keyword-only settings of one drive
    run: AgentRun,
    model: AsyncModel,
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
) -> AsyncGenerator[Event]:
    """Play a run to its end, and yield every event as it happens.

    As `drive`, in the running event loop: tools with `async` run as tasks, the others in threads, and so does a model whose answer is an ordinary iterable. When
    the task that reads the events is cancelled, or the generator is closed with `aclose`, everything that runs is let go of.

    Args:
        run: A run that has not started. Where it offers no tools, it offers these.
        model: What calls the model: with a `CallModel`, it returns an asynchronous iterable of what `AgentRun.feed` takes, or the whole answer.
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
        TypeError: If an argument is of a kind that cannot be it.
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
    return setup.afollow(_drive(setup, model))


async def _drive(setup: Setup, model: AsyncModel) -> AsyncGenerator[Event]:
    run, clock = setup.run, setup.clock
    clock.tell(run)
    events = setup.start()
    for event in events:
        yield event
    action = asked_by(events)
    while action is not None:
        if isinstance(action, CallModel):
            inputs = _iter_answer(setup, model, action)
        else:
            inputs = _iter_results(setup, action)
        action = None
        async with aclosing(inputs):
            index = -1
            async for received in inputs:
                index += 1
                if isinstance(received, AgentEvent):
                    yield received
                    continue
                if is_decision(received):
                    clock.tell(run)
                try:
                    events = setup.feed(received)
                except MessageError as error:
                    raise name_piece(error, index) from None
                for event in events:
                    yield event
                action = asked_by(events)
                if run.state == "finished":  # with a result, say, that came with the cancel
                    break


async def _iter_answer(setup: Setup, model: AsyncModel, call: CallModel) -> AsyncGenerator[Any]:
    """Call the model and yield what the run is fed with: pieces of the answer, then how it ended."""
    clock = setup.clock
    is_wanted = await _sleep(call.wait_seconds, clock)
    watch = clock.watch(call, setup.run)
    pieces = _ask(model if is_wanted else clock.cancel, call)
    if clock.is_watched:
        pieces = _read_watched(pieces, clock, watch)
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                received = to_input(piece)
                watch.take(received)
                yield received
                if is_end(received):
                    return
    except Exception as error:  # noqa: BLE001 - whatever the model's client raises
        yield to_failure(error)
    else:
        yield watch.end() or ModelDone()


async def _ask(model: AsyncModel, call: CallModel) -> AsyncGenerator[object]:
    """Call the model and yield what it says, in whatever form."""
    answer = await _ask_compactor(model, call)
    if answer is None:
        answer = model(call)
    if isawaitable(answer):
        answer = await answer
    if is_whole(answer):
        yield answer
        return
    if not hasattr(answer, "__aiter__"):
        answer = _read_in_thread(answer)
    pieces: AsyncIterator[object] = aiter(answer)
    try:
        async for piece in pieces:
            yield piece
    finally:
        aclose = getattr(pieces, "aclose", None)
        if aclose is not None:
            await aclose()


async def _ask_compactor(model: AsyncModel, call: CallModel) -> Any:
    """Return what the model's API has made of a conversation that is to be shorter; None where it can't."""
    compact = find_compactor(model, call)
    if compact is None:
        return None
    try:
        answer: Any = compact(call)
        return await answer if isawaitable(answer) else answer
    except Exception as error:  # noqa: BLE001 - such as a gateway's that lacks it
        log_no_compaction(error)
        return None


async def _read_in_thread(pieces: Iterable[object]) -> AsyncGenerator[object]:
    """Yield what a thread reads."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[object]()
    stop = read_in_thread(pieces, lambda piece: loop.call_soon_threadsafe(queue.put_nowait, piece))
    try:
        while (piece := await queue.get()) is not END:
            if isinstance(piece, Raised):
                raise piece.error
            yield piece
    finally:
        stop()
        close(pieces)


async def _read_watched(
    pieces: AsyncGenerator[object], clock: Clock, watch: Watch
) -> AsyncGenerator[object]:
    """Yield what comes, and wait for it no longer than the run may take and is wanted."""
    following: asyncio.Future[object] | None = None
    try:
        while not clock.is_cancelled:
            following = following or asyncio.ensure_future(anext(pieces, END))
            left = watch.seconds_left
            if left == 0:
                yield watch.give_up()
            done, _ = await asyncio.wait((following,), timeout=clock.patience(left))
            if done:
                piece, following = following.result(), None
                if piece is END:
                    return
                yield piece
        yield clock.failure
    finally:
        if following is not None:
            following.cancel()
            await asyncio.wait((following,), timeout=_LAST_SECONDS)
        if following is None or following.done():
            await pieces.aclose()


async def _sleep(seconds: float, clock: Clock) -> bool:
    """Wait before a call; return whether the run is wanted still."""
    end = clock.now + seconds
    while not clock.is_cancelled:
        left = end - clock.now
        if left <= 0:
            return True
        await asyncio.sleep(clock.patience(left) or 0)
    return False


async def _iter_results(setup: Setup, request: RunTools) -> AsyncGenerator[Any]:
    """Run the tools of a round and yield their results as they come, and what happens in agents among them."""
    clock = setup.clock
    sorted_ = setup.sort(request.calls)
    for result in sorted_.answered:
        yield result
    running = Running(setup, sorted_)
    room = asyncio.Semaphore(setup.max_parallel_tools)
    threads = Threads(setup.max_parallel_tools, "agent-driver-tool")
    heard: asyncio.Queue[_Told] = asyncio.Queue()
    tasks = [_start(setup, job, heard, room, threads) for job in running.due]
    results: list[ToolResult] = []
    try:
        while not (running.is_done or clock.is_cancelled):
            left = clock.seconds_for_tools(setup.run)
            if left == 0:
                break
            with suppress(TimeoutError):
                yield running.take(await _hear(heard, clock.patience(left)))
        is_cancelled, end = clock.is_cancelled, clock.now + LAST_SECONDS
        while running.has_agents and (left := end - clock.now) > 0:
            with suppress(TimeoutError):
                taken = running.take(await _hear(heard, left))
                if is_cancelled and isinstance(taken, ToolResult):
                    results.append(taken)
                else:
                    yield taken
    finally:
        threads.abandon()
        for task in tasks:
            task.cancel()
    if is_cancelled:
        yield replace(clock.failure, results=tuple(results))
    else:
        for result in running.end():
            yield result


def _start(
    setup: Setup, job: Job, heard: asyncio.Queue[_Told], room: asyncio.Semaphore, threads: Threads
) -> asyncio.Task[ToolOutput]:
    task = asyncio.create_task(_invoke(setup, job, heard.put_nowait, room, threads))
    task.add_done_callback(lambda ended: heard.put_nowait((job, ended)))
    return task


async def _hear(heard: asyncio.Queue[_Told], seconds: float | None) -> Heard:
    """Return what is heard of tools next.

    Raises:
        TimeoutError: If that takes too long.
    """
    told = await asyncio.wait_for(heard.get(), seconds)
    if isinstance(told, AgentEvent):
        return told
    job, task = told
    return job, broken(CancelledError()) if task.cancelled() else task.result()


async def _invoke(
    setup: Setup,
    job: Job,
    put: Callable[[AgentEvent], Any],
    room: asyncio.Semaphore,
    threads: Threads,
) -> ToolOutput:
    agent: object = job.tool.function
    async with room:
        setup.begin(job)
        if isinstance(agent, Agent):
            return await _acall(_play_agent(setup, job, agent, put, threads))
        if _is_async(job.tool.function):
            return await _acall(job.tool.ainvoke(job.args))
        loop = asyncio.get_running_loop()
        done: asyncio.Future[ToolOutput] = loop.create_future()
        threads.start(partial(_invoke_in_thread, job, loop, done, threads))
        return await done


async def _play_agent(
    setup: Setup, job: Job, agent: Agent, put: Callable[[AgentEvent], Any], threads: Threads
) -> ToolOutput:
    try:
        call = AgentCall(setup, job, agent, is_over=threads.is_abandoned)
    except RefusedAgentError as error:
        return refuse_agent(error)
    return await acall_agent(call, put)


async def acall_agent(call: AgentCall, put: Callable[[AgentEvent], Any]) -> ToolOutput:
    """Play an agent to its end."""
    async with aclosing(call.setup.afollow(_drive(call.setup, call.agent.model))) as events:
        async for event in events:
            put(call.take(event))
    return call.read()


async def _acall(output: Awaitable[ToolOutput]) -> ToolOutput:
    try:
        return await output
    except (CancelledError, KeyboardInterrupt):  # Somebody else's wish.
        raise
    except BaseException as error:  # noqa: BLE001 - such as `SystemExit`: a tool ends no process
        return broken(error)


def _is_async(function: Callable[..., Any]) -> bool:
    """Return whether calling a function does nothing but return what is awaited. One that only wraps such a function may do anything, so it is called in a thread."""
    return any(
        inspect.iscoroutinefunction(layer) or inspect.isasyncgenfunction(layer)
        for layer in (function, getattr(function, "__call__", None))  # noqa: B004 - an object's own
    )


def _invoke_in_thread(
    job: Job, loop: asyncio.AbstractEventLoop, done: asyncio.Future[ToolOutput], threads: Threads
) -> None:
    def wait(result: Coroutine[Any, Any, None]) -> None:
        """Have the loop of the run await a result."""
        awaited = asyncio.run_coroutine_threadsafe(result, loop)
        threads.on_abandon(awaited.cancel)
        awaited.result()

    try:
        output = job.tool.invoke(job.args, is_over=threads.is_abandoned, wait=wait)
    except BaseException as error:  # noqa: BLE001 - such as `SystemExit`, which ends no more than this thread
        output = broken(error)

    def settle() -> None:
        if not done.done():
            done.set_result(output)

    if not loop.is_closed():
        loop.call_soon_threadsafe(settle)
