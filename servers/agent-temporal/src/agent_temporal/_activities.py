"""The activities, which do what workflows decide on: they make steps, execute whole runs, and write to the server's database."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import Any, Final

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from agent_server.executor import EventLimitError, RequestRefusedError, RunFailedError
from agent_server.runs import AnswerConflictError, RunNotFoundError, Runs
from agent_server.store import Attempt, Outcome, RunStore, StepLostError, Try

from ._database import wait_for_database
from ._messages import Answer, Asked, Begin, Begun, End, Execute, Executed, MakeStep, Tell, Wait
from ._names import ANSWER, BEGIN, END, EXECUTE, MAKE_STEP, SERVER_STOPPED, TELL, WAIT


_USUAL: Final = (
    AnswerConflictError,
    EventLimitError,
    RequestRefusedError,
    RunFailedError,
    RunNotFoundError,
    StepLostError,
)


def _activity[**Arguments, Result](
    name: str,
) -> Callable[[Callable[Arguments, Awaitable[Result]]], Callable[Arguments, Awaitable[Result]]]:
    """Return a decorator that makes an activity, which another server continues if this one stops.

    Otherwise it would count as cancelled, and so would its run.
    """

    def decorate(
        work: Callable[Arguments, Awaitable[Result]],
    ) -> Callable[Arguments, Awaitable[Result]]:
        @activity.defn(name=name)
        @wraps(work)
        async def done(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            try:
                return await work(*args, **kwargs)
            except asyncio.CancelledError:
                if not _is_asked_to_end():
                    raise _stop() from None
                raise

        return done

    return decorate


class Activities:
    """The activities of a server.

    Args:
        store: The runs.
        answering: Stores answers.
        beat_seconds: How often an activity shows that it is alive, and hears whether it is cancelled.
    """

    def __init__(self, store: RunStore, answering: Runs, *, beat_seconds: float) -> None:
        self._store = store
        self._answering = answering
        self._beat_seconds = beat_seconds

    @property
    def all(self) -> Sequence[Callable[..., Any]]:
        """The activities, as a worker takes them."""
        return [
            self.begin,
            self.make_step,
            self.tell,
            self.wait,
            self.answer,
            self.end,
            self.execute,
        ]

    @_activity(BEGIN)
    async def begin(self, asked: Begin) -> Begun:
        """Hold a run, and return what it is executed with; or say that it waits, or has ended."""
        hold = await self._store.hold(asked.run_id, asked.owner)
        if hold is not None:
            # It may have ended since.
            with suppress(StepLostError):
                facts = await wait_for_database(lambda: self._store.read_facts(hold))
                steps = await wait_for_database(lambda: self._store.read_steps(hold))
                return Begun.of(hold, facts, steps)
        return Begun(asked=await self._find_asked(asked.run_id))

    @_activity(MAKE_STEP)
    async def make_step(self, step: MakeStep, request: bytes) -> bytes:
        """Make a step, and return its result."""
        one = Try(hold=step.held.to_hold(), key=step.key, number=activity.info().attempt)
        async with self._beating():
            try:
                told = step.told.to_telling()
                return await wait_for_database(lambda: self._store.make_step(one, request, told))
            except RunFailedError as error:
                raise _refuse(error, error.error_type) from error
            except Exception as error:
                raise _refuse(error) from error

    @_activity(TELL)
    async def tell(self, asked: Tell) -> None:
        """Store what a run tells itself."""
        try:
            await self._store.tell(asked.held.to_hold(), asked.told.to_telling())
        except (EventLimitError, StepLostError) as error:
            raise _refuse(error) from error

    @_activity(WAIT)
    async def wait(self, asked: Wait) -> str:
        """Store that a run waits, and return what `RunStore.wait` does."""
        try:
            return await self._store.wait(
                asked.held.to_hold(),
                asked.to_waiting(),
                asked.asked.wait_id,
                asked.told.to_telling(),
            )
        except EventLimitError as error:
            raise _refuse(error) from error

    @_activity(ANSWER)
    async def answer(self, given: Answer) -> bool:
        """Store an answer, and return whether it is new."""
        try:
            _, is_new = await wait_for_database(
                lambda: self._answering.answer(given.run_id, given.to_new(), tenant=given.tenant)
            )
        except (AnswerConflictError, RequestRefusedError, RunNotFoundError) as error:
            raise _refuse(error) from error
        return is_new

    @_activity(END)
    async def end(self, end: End) -> bool:
        """Store the end of a run, and return whether it had not ended before."""
        result = end.result.to_result()
        if end.held is None:
            return await self._store.end_run(end.run_id, result)
        return await self._store.end(end.held.to_hold(), result, end.told.to_telling())

    @_activity(EXECUTE)
    async def execute(self, asked: Execute) -> Executed:
        """Execute a run until it has ended, or waits."""
        info = activity.info()
        async with self._beating():
            attempt = await self._store.claim(
                asked.run_id, f"{info.workflow_run_id}:{info.activity_id}:{info.attempt}"
            )
            if attempt is not None and await self._follow(attempt) == "left":
                raise _stop()
            return Executed(asked=await self._find_asked(asked.run_id))

    async def _find_asked(self, run_id: str) -> Asked | None:
        """Return what a run waits for, if it does."""
        standing = await wait_for_database(lambda: self._store.read_standing(run_id))
        if standing is None or (waits := standing.waiting_for) is None:
            return None
        return Asked.of(waits.wait_id, waits.request)

    async def _follow(self, attempt: Attempt) -> Outcome:
        """Wait for an attempt, which is cancelled if its run is, and given up if this server stops or Temporal has lost sight of it."""
        try:
            return await asyncio.shield(attempt.task)
        except asyncio.CancelledError:
            if not _is_asked_to_end():
                attempt.give_up()
                await asyncio.wait([attempt.task])
                return "left"
            # It may have heard so from the database already.
            attempt.cancel(await self._store.read_cancel_reason(attempt.execution.run_id))
            await asyncio.wait([attempt.task])
            raise

    @asynccontextmanager
    async def _beating(self) -> AsyncGenerator[None]:
        async def beat() -> None:
            while True:
                await asyncio.sleep(self._beat_seconds)
                activity.heartbeat()

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            beating.cancel()


def _refuse(error: Exception, *details: str) -> ApplicationError:
    """Return an error that is not tried again, and is logged unless runs meet it as a matter of course."""
    is_usual = isinstance(error, _USUAL)
    category = ApplicationErrorCategory.BENIGN if is_usual else ApplicationErrorCategory.UNSPECIFIED
    return ApplicationError(
        str(error),
        *details,
        type=type(error).__name__,
        non_retryable=True,
        category=category,
    )


def _is_asked_to_end() -> bool:
    """Return whether an activity is cancelled because its run is, and not because others are to go on with it."""
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested


def _stop() -> ApplicationError:
    """Return an error after which another server goes on."""
    return ApplicationError(
        "this server stops", type=SERVER_STOPPED, category=ApplicationErrorCategory.BENIGN
    )
