"""Waiting, cancelling and reading in an event loop. `side` does the same for the blocking drive."""

import asyncio
import inspect
import time
from asyncio import CancelledError
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from functools import partial
from inspect import isawaitable
from typing import Any

from agent_driver._answers import close, find_compactor, is_whole, log_no_compaction, log_unclosed
from agent_driver._declare.declaration import Declaration, find_agent
from agent_driver._declare.drive_settings import DriveSettings
from agent_driver._declare.models import RunModels
from agent_driver._steps.steps import StepError
from agent_driver._threads import END, Raised, Threads, read_in_thread
from agent_driver._time import Clock, Watch
from agent_driver._tools.calls import Job, broken
from agent_driver._tools.guardrails import GuardrailCall, GuardrailError
from agent_loop import AgentEvent, CallModel

from .agents import AgentCall
from .running import LAST_SECONDS, Output, Running, Update
from .setup import Setup, prepare
from .tries import Try


type _CallAgent = Callable[[AgentCall, Callable[[AgentEvent], Any]], Awaitable[Output]]

# A cancel is noticed after 0.25 s at most, so the run still ends well within a second.
_LAST_SECONDS = 0.25  # For an answer that is let go of.


async def async_call[**P, R](function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function that may block in a thread."""
    return await asyncio.to_thread(function, *args, **kwargs)


async def async_end_sessions(models: RunModels) -> None:
    """Close the sessions of a run's models."""
    for session in models.sessions:
        aclose = getattr(session, "aclose", None)
        if aclose is None:
            await asyncio.to_thread(close, session)
            continue
        try:
            await aclose()
        except Exception:  # noqa: BLE001 - the run has come to its end
            log_unclosed()


async def async_ask_guardrail(setup: Setup, call: GuardrailCall) -> object:
    """Return what a guardrail says of a value; an error as a `GuardrailError`. That is a step where steps are recorded."""
    ask = partial(_ask_guardrail, setup.guards.find(call), call.value)
    return await (ask() if setup.steps is None else setup.steps.check(call, ask))


async def _ask_guardrail(guardrail: Callable[[Any], Any], value: Any) -> object:
    try:
        said = guardrail(value)
        return await said if isawaitable(said) else said
    except Exception as error:  # noqa: BLE001 - whatever it raises, nothing passes
        return GuardrailError(error)


async def async_sleep(seconds: float, clock: Clock) -> bool:
    """Wait before a call; return whether the run is still wanted."""
    end = clock.now + seconds
    while not clock.is_cancelled:
        left = end - clock.now
        if left <= 0:
            return True
        await asyncio.sleep(clock.patience(left) or 0)
    return False


def async_read_answer(
    model: Callable[[CallModel], Any], call: CallModel, clock: Clock, watch: Watch
) -> AsyncGenerator[object]:
    """Call the model and yield the pieces of its answer, until the run may wait no longer."""
    pieces = _ask(model, call)
    return _read_watched(pieces, clock, watch) if clock.is_watched else pieces


async def _ask(model: Callable[[CallModel], Any], call: CallModel) -> AsyncGenerator[object]:
    """Call the model and yield the pieces of its answer, in whatever form it gives them."""
    answer = await _ask_compactor(model, call)
    if answer is None:
        answer = model(call)
    if isawaitable(answer):
        answer = await answer
    if is_whole(answer):
        yield answer
        return
    if not hasattr(answer, "__aiter__"):
        # An ordinary iterable may block, and the loop has other runs to serve.
        answer = _read_in_thread(answer)
    pieces: AsyncIterator[object] = aiter(answer)
    try:
        async for piece in pieces:
            yield piece
    finally:
        # An asynchronous iterator need not be a generator.
        aclose = getattr(pieces, "aclose", None)
        if aclose is not None:
            await aclose()


async def _ask_compactor(model: Callable[[CallModel], Any], call: CallModel) -> Any:
    """Return the conversation as the model's API has compacted it; None if it cannot."""
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
        # Closing from here may wake the thread out of a read that says nothing more.
        stop()
        close(pieces)


async def _read_watched(
    pieces: AsyncGenerator[object], clock: Clock, watch: Watch
) -> AsyncGenerator[object]:
    """Yield the pieces, and stop waiting when the time is up or the run is cancelled."""
    # The read that is under way. It goes on while this only looks at the clock: cancelling it, as
    # `wait_for` does at its timeout, would end the generator that is read.
    following: asyncio.Future[object] | None = None
    try:
        while not clock.is_cancelled:
            following = following or asyncio.ensure_future(anext(pieces, END))
            left = watch.seconds_left
            if left == 0:
                # An end of the answer: whoever takes it closes this generator here.
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
        # A generator that still runs cannot be closed, and is left to itself.
        if following is None or following.done():
            await pieces.aclose()


def async_prepare(settings: DriveSettings) -> Setup:
    """Return the setup of a run, whose clock is that of the loop."""
    try:
        read = asyncio.get_running_loop().time
    except RuntimeError:  # Its loop will run later, and may be any.
        read = time.monotonic
    return prepare(settings, read)


def async_iter_recorded(
    setup: Setup, call: CallModel, ask: Callable[[], AsyncGenerator[Any]]
) -> AsyncGenerator[Any]:
    """Yield what a run is fed with for a model call, which is a step where steps are recorded."""
    return ask() if setup.steps is None else setup.steps.iter_answer(call, ask)


async def async_receive_last(
    setup: Setup, running: Running, tools: "AsyncRunningTools"
) -> AsyncGenerator[Any]:
    """Yield what comes of the tools of a round once nothing is waited for any more."""
    # Agents notice by their own clocks that their time is up, and end with what they have; other
    # tools cannot, and where they are steps it is recorded that they have not ended.
    order = None if setup.clock.is_cancelled else running.order
    if order is not None:
        tools.end()
    end = setup.clock.now + LAST_SECONDS
    while True:
        is_open = running.agents or (order is not None and order.is_open)
        update = await tools.receive(end - setup.clock.now) if is_open else None
        for taken in running.take(update):
            yield taken
        if update is None:
            return


class AsyncRunningTools:
    """The tools of a round that run: those with `async` as tasks, the others in threads.

    Args:
        setup: The run.
        jobs: The calls.
        call_agent: What plays an agent.
    """

    def __init__(self, setup: Setup, jobs: Iterable[Job], call_agent: _CallAgent) -> None:
        self._setup = setup
        self._call_agent = call_agent
        # Bounds tasks and threads together; the pool of threads has room for as many.
        self._room = asyncio.Semaphore(setup.settings.max_parallel_tools)
        self._threads = Threads(setup.settings.max_parallel_tools, "agent-driver-tool")
        # Results and the events of agents, as they come; only the loop's thread puts them in.
        self._updates = asyncio.Queue[AgentEvent | tuple[Job, asyncio.Task[Output]]]()
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks = [self._start(job) for job in jobs]

    def call(self, job: Job) -> Coroutine[Any, Any, Output]:
        """Make a call, which is a step where steps are recorded."""
        steps = self._setup.steps
        # The calls of an agent are steps, and it is none itself.
        if steps is None or find_agent(job.tool) is not None:
            return self._invoke(job)
        return steps.call(job, partial(self._invoke, job), self._over)

    async def receive(self, seconds: float | None) -> Update | None:
        """Return the next update; None if that takes longer than `seconds`."""
        try:
            update = await asyncio.wait_for(self._updates.get(), seconds)
        except TimeoutError:
            return None
        if isinstance(update, AgentEvent):
            return update
        # Nothing is received after `abandon`, so a cancelled task has cancelled itself.
        job, task = update
        return job, broken(CancelledError()) if task.cancelled() else task.result()

    def end(self) -> None:
        """Give up the calls that are steps, so that this is recorded: there is no more time for tools."""
        self._over.set_result(None)

    def abandon(self) -> None:
        """Abandon whatever is still running."""
        self._threads.abandon()
        for task in self._tasks:
            task.cancel()

    def _start(self, job: Job) -> asyncio.Task[Output]:
        task = asyncio.create_task(self.call(job))
        task.add_done_callback(lambda ended: self._updates.put_nowait((job, ended)))
        return task

    async def _invoke(self, job: Job) -> Output:
        one = Try(self._setup, job, self._threads)
        while True:
            output = await self._try(one)
            following = one.follow(output)
            if following is None:
                return output
            await asyncio.sleep(following.pause)  # Outside of the room, where others may run.
            one = following

    async def _try(self, one: Try) -> Output:
        tool = one.job.tool
        async with self._room:
            one.begin()
            if (agent := find_agent(tool)) is not None:
                return await _acall(self._play_agent(one, agent))
            if _is_async(tool.function):
                call = _acall(tool.ainvoke(one.job.args, context=one.context))
                return await (call if one.seconds is None else _call_in_time(one, call))
            return await self._call_in_thread(one)

    async def _call_in_thread(self, one: Try) -> Output:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Output] = loop.create_future()
        self._threads.start(partial(_invoke_in_thread, one, loop, done))
        if one.seconds is not None:
            await asyncio.wait((done,), timeout=one.seconds)
            if not done.done() and one.give_up():
                self._threads.replace()
                return one.time_out()
        return await done

    async def _play_agent(self, one: Try, agent: Declaration) -> Output:
        # Cancelled with its task, it need not ask whether it is over.
        call = AgentCall(self._setup, one.job, agent, is_over=None)
        return await self._call_agent(call, self._updates.put_nowait)


async def _call_in_time(one: Try, call: Coroutine[Any, Any, Output]) -> Output:
    """Return the output of an async tool, which is cancelled when its time is up."""
    task = asyncio.create_task(call)
    try:
        await asyncio.wait((task,), timeout=one.seconds)
        if task.done():
            return task.result()
        one.give_up()
        task.cancel()
        await asyncio.wait((task,), timeout=_LAST_SECONDS)
        return one.time_out(may_go_on=not task.done())
    finally:
        task.cancel()  # Where the run does not wait any more.


async def _acall(output: Awaitable[Output]) -> Output:
    try:
        return await output
    except (CancelledError, KeyboardInterrupt, StepError):  # Somebody else's wish, or trouble.
        raise
    except BaseException as error:  # noqa: BLE001 - such as `SystemExit`: a tool ends no process
        return broken(error)


def _is_async(function: Callable[..., Any]) -> bool:
    """Return whether calling a function does nothing but return what is awaited.

    One that only wraps such a function may do anything, so it is called in a thread.
    """
    return any(
        inspect.iscoroutinefunction(layer) or inspect.isasyncgenfunction(layer)
        for layer in (function, getattr(function, "__call__", None))  # noqa: B004 - an object's own
    )


def _invoke_in_thread(
    one: Try, loop: asyncio.AbstractEventLoop, done: asyncio.Future[Output]
) -> bool:
    """Call a tool, and return False if it was given up and its place in the pool given to another."""

    def wait(result: Coroutine[Any, Any, None]) -> None:
        """Let the loop of the run await a result."""
        # What the tool awaits may belong to the loop of the run, such as a client that it shares.
        awaited = asyncio.run_coroutine_threadsafe(result, loop)
        one.on_over(awaited.cancel)
        awaited.result()

    try:
        output = one.job.tool.invoke(
            one.job.args, context=one.context, is_over=one.is_over, wait=wait
        )
    except BaseException as error:  # noqa: BLE001 - such as `SystemExit`, which ends no more than this thread
        output = broken(error)

    def settle() -> None:
        # Cancelled meanwhile, when the tool was abandoned.
        if not done.done():
            done.set_result(output)

    if not one.end():
        return False
    # A tool that was abandoned may end after the loop did.
    if not loop.is_closed():
        loop.call_soon_threadsafe(settle)
    return True
