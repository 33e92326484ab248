"""Waiting, cancelling and reading in threads. `async_side` does the same in an event loop."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextlib import closing, suppress
from functools import partial
from inspect import isawaitable
from queue import Empty, SimpleQueue
from typing import Any

from agent_driver._answers import Asked, close
from agent_driver._declare.declaration import Declaration, find_agent
from agent_driver._declare.drive_settings import DriveSettings
from agent_driver._declare.models import RunModels
from agent_driver._threads import END, Raised, Threads, read_in_thread
from agent_driver._time import Clock, Watch
from agent_driver._tools.calls import Job, broken
from agent_driver._tools.guardrails import GuardrailCall, GuardrailError
from agent_loop import AgentEvent, CallModel
from agent_tooling import is_async_function

from .agents import AgentCall
from .async_drive import async_call_agent
from .running import LAST_SECONDS, Output, Running, Update
from .setup import Setup
from .setup import prepare as prepare_run
from .tries import Try


type _CallAgent = Callable[[AgentCall, Callable[[AgentEvent], Any]], Output]


def call[**P, R](function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function that may block."""
    return function(*args, **kwargs)


def end_sessions(models: RunModels) -> None:
    """Close the sessions of a run's models."""
    for session in models.sessions:
        close(session)


def ask_guardrail(setup: Setup, call: GuardrailCall) -> object:
    """Return what a guardrail says of a value; an error as a `GuardrailError`."""
    try:
        said = setup.guards.find(call)(call.value)
        if isawaitable(said):
            close(said)  # Else Python warns that a coroutine was forgotten.
            raise TypeError("an async guardrail: use adrive, which awaits it")  # noqa: TRY301 - it fails as any other
    except Exception as error:  # noqa: BLE001 - whatever it raises, nothing passes
        return GuardrailError(error)
    return said


def sleep(seconds: float, clock: Clock) -> bool:
    """Wait before a call; return whether the run is still wanted."""
    end = clock.now + seconds
    while not clock.is_cancelled:
        left = end - clock.now
        if left <= 0:
            return True
        time.sleep(clock.patience(left) or 0)
    return False


def read_answer(
    model: Callable[[CallModel], Any], call: CallModel, clock: Clock, watch: Watch
) -> Generator[object]:
    """Call the model and yield the pieces of its answer, until the run may wait no longer."""
    # Without a limit or a cancel nothing could end a wait, so no thread is needed for one.
    with closing(Asked(model, call)) as asked:
        if clock.is_watched:
            yield from _read_watched(asked, clock, watch)
        else:
            yield from asked


def _read_watched(pieces: Iterable[object], clock: Clock, watch: Watch) -> Generator[object]:
    """Yield what a thread reads, and stop waiting when the time is up or the run is cancelled."""
    queue: SimpleQueue[object] = SimpleQueue()
    stop = read_in_thread(pieces, queue.put)
    try:
        while not clock.is_cancelled:
            left = watch.seconds_left
            if left == 0:
                # An end of the answer: whoever takes it closes this generator here.
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


def prepare(settings: DriveSettings) -> Setup:
    """Return the setup of a run.

    Raises:
        TypeError: If its steps are to be recorded, which needs an event loop.
    """
    if settings.steps is not None:
        raise TypeError("steps: expected none in a blocking drive; use adrive")
    return prepare_run(settings, time.monotonic)


def iter_recorded(
    _setup: Setup, _call: CallModel, ask: Callable[[], Generator[Any]]
) -> Generator[Any]:
    """Yield what a run is fed with for a model call, which nobody records here."""
    return ask()


def receive_last(setup: Setup, running: Running, tools: "RunningTools") -> Generator[Any]:
    """Yield what comes of the tools of a round once nothing is waited for any more."""
    # Agents notice by their own clocks that their time is up, and end with what they have; other tools cannot.
    end = setup.clock.now + LAST_SECONDS
    while running.agents and (update := tools.receive(end - setup.clock.now)) is not None:
        yield from running.take(update)


class RunningTools:
    """The tools of a round that run, each in a thread of its own.

    Args:
        setup: The run.
        jobs: The calls.
        call_agent: What plays an agent.
    """

    def __init__(self, setup: Setup, jobs: Iterable[Job], call_agent: _CallAgent) -> None:
        self._setup = setup
        self._call_agent = call_agent
        self._threads = Threads(setup.settings.max_parallel_tools, "agent-driver-tool")
        self._updates: SimpleQueue[Update] = SimpleQueue()
        for job in jobs:
            self._start(Try(setup, job, self._threads))

    def receive(self, seconds: float | None) -> Update | None:
        """Return the next update; None if that takes longer than `seconds`."""
        with suppress(Empty):
            return self._updates.get(timeout=None if seconds is None else max(0.0, seconds))
        return None

    def abandon(self) -> None:
        """Abandon whatever is still running."""
        self._threads.abandon()

    def _start(self, one: Try) -> None:
        self._threads.start(partial(self._invoke, one))

    def _invoke(self, one: Try) -> bool:
        """Call a tool, and return False if it was given up and its place in the pool given to another."""
        one.begin()
        timer = None
        if one.seconds is not None:
            timer = self._threads.after(one.seconds, partial(self._give_up, one))
        # The output has no name here: an error in it leads, by its traceback, to this frame, and from there back to the output, which would stay until the
        # garbage is collected.
        has_ended = self._end(one, self._call(one))
        if timer is not None:
            timer.cancel()
        return has_ended

    def _end(self, one: Try, output: Output) -> bool:
        if not one.end():
            return False  # It was given up, and its output comes too late.
        self._take(one, output)
        return True

    def _give_up(self, one: Try) -> None:
        if one.give_up():
            self._threads.replace()
            self._take(one, one.time_out())

    def _take(self, one: Try, output: Output) -> None:
        """Hand on the output of a call, or try it again after a pause, which takes no place in the pool."""
        following = one.follow(output)
        if following is None:
            self._updates.put((one.job, output))
        else:
            self._threads.after(following.pause, partial(self._start, following))

    def _call(self, one: Try) -> Output:
        try:
            if (agent := find_agent(one.job.tool)) is not None:
                return self._play_agent(one, agent)
            # Called where no event loop runs, a function may as well run one by itself, and return what is awaited or what is not.
            return one.job.tool.invoke(
                one.job.args,
                context=one.context,
                is_over=one.is_over,
                wait=lambda result: asyncio.run(_await(result, one)),
            )
        except BaseException as error:  # noqa: BLE001 - such as `SystemExit`, which ends no more than this thread
            return broken(error)

    def _play_agent(self, one: Try, agent: Declaration) -> Output:
        call = AgentCall(self._setup, one.job, agent, is_over=one.is_over)
        if is_async_function(agent.models.call):
            # A thread that plays an agent has no event loop, so an async model gets one here.
            return asyncio.run(async_call_agent(call, self._updates.put))
        return self._call_agent(call, self._updates.put)


async def _await(result: Coroutine[Any, Any, None], one: Try) -> None:
    """Await the result of a tool, for as long as somebody waits for it."""
    task = asyncio.ensure_future(result)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        with suppress(RuntimeError):  # The tool has ended, and its loop with it.
            loop.call_soon_threadsafe(task.cancel)

    one.on_over(stop)
    await task
