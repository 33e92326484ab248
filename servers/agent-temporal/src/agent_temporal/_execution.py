"""A run that a workflow plays: it decides, and has each step made by an activity."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from temporalio import workflow
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    FailureError,
    is_cancelled_exception,
)

from agent_server.executor import (
    EventLimitError,
    JsonObject,
    RunFailedError,
    StepWork,
    StoredEvent,
)
from agent_server.runs import refuse_own_event
from stream_text import dump_json

from ._calls import make_step, write
from ._messages import Begun, HeldRun, MakeStep, Tell, Told, decode
from ._names import SERVER_STOPPED, TELL
from ._players import Player


# Until then others may still show it together with the next step. It costs a timer, so that only runs
# with something under way have it.
_TELL_SECONDS: Final = 1.0
# A workflow that is played again in one go must not look as if it were stuck.
_STEPS_AT_A_TIME: Final = 100
_SOON: Final = 0.001


class WorkflowExecution:
    """A run in a workflow; `agent_server.executor.Execution` describes it.

    What the run tells is gathered, and stored together with the next step that is made.

    Args:
        run_id: The run's id.
        begun: What it is executed with.
        held: The right to write for it.
        player: How it is played.
        told: How much of this part it has told in the histories before, all of which is stored.
    """

    def __init__(
        self, run_id: str, begun: Begun, held: HeldRun, player: Player, *, told: int = 0
    ) -> None:
        self.run_id = run_id
        self.tenant = begun.tenant
        self.agent = begun.agent
        self.request = begun.request
        self.metadata = begun.metadata
        self.attempt = held.attempt
        self.part = begun.part
        self.resumption = begun.resumption
        self.cancel_reason: str | None = None
        self.is_apart = True
        self.held = held
        self._player = player
        self._steps = begun.steps
        self._replayed = 0
        # What is not known to be stored, and how much was told before it.
        self._untold: list[tuple[str, int, JsonObject]] = []
        self._first = 0
        self._known = told
        self._telling: asyncio.Task[None] | None = None
        self._storing = asyncio.Lock()
        self._open = Counter[str]()
        # The calls of `step` that have not returned, and those of them that wait for a new history.
        self._called = self._held_back = 0

    @property
    def open_steps(self) -> Sequence[str]:
        """The keys of the steps that are being made."""
        return sorted(+self._open)

    @property
    def must_continue(self) -> bool:
        """Whether the history is full, and the run can continue in another one: nothing is under way."""
        return 0 < self._held_back == self._called

    @property
    def told(self) -> int:
        """How much the run has told that is stored."""
        return self._first

    @property
    def untold(self) -> Told:
        """What the run has told, as far as it is not known to be stored."""
        return Told(first=self._first, events=list(self._untold))

    async def read_events(self) -> Sequence[StoredEvent]:
        """Return nothing: what was told stands in the records of the steps."""
        return ()

    async def read_steered(self, after: int) -> Sequence[Any]:  # noqa: ARG002 - the interface's
        """Return nothing: what the run is told stands in the records of the steps, which read it."""
        return ()

    async def tell(self, type_: str, data: JsonObject) -> None:
        """Emit an event."""
        refuse_own_event(type_)
        if self._first < self._known:
            # The same as before, whatever comes first now.
            self._first += 1
            return
        dump_json(data)  # What is no JSON could not even be sent.
        self._untold.append((type_, workflow.time_ns() // 1000, data))
        if self._open.total() and self._telling is None:
            self._telling = asyncio.create_task(self._tell_later())

    async def step(
        self,
        key: str,
        work: StepWork,  # noqa: ARG002 - the interface's
        *,
        retries: bool = True,  # noqa: ARG002 - an executor that makes steps says so there
        after_events: bool = False,  # noqa: ARG002 - likewise
        request: bytes = b"",
    ) -> bytes:
        """Have a step made once in the life of the run, and return its result."""
        self._called += 1
        try:
            return await self._step(key, request)
        finally:
            self._called -= 1

    async def _step(self, key: str, request: bytes) -> bytes:
        if (recorded := self._steps.get(key)) is not None:
            # Whether what was told before it is stored nobody knows: steps that were made at once may have
            # been begun in another order.
            self._replayed += 1
            if self._replayed % _STEPS_AT_A_TIME == 0:
                await asyncio.sleep(_SOON)
            return decode(recorded)
        await self._wait_for_room()
        if self._open.total():
            # Nobody knows yet whether it is stored what others carry, and each call of a round would carry it again.
            await self.store_told()
        told = self.untold
        self._open[key] += 1
        try:
            step = MakeStep(held=self.held, key=key, told=told)
            made = await make_step(step, request, self._player)
        except FailureError as error:
            raise translate(error) from error
        finally:
            self._open[key] -= 1
        self._confirm(told)
        return made

    def close(self) -> None:
        """Tell nothing more by itself: what is untold is stored with whatever follows."""
        if self._telling is not None:
            self._telling.cancel()

    def _confirm(self, told: Told) -> None:
        """Note that something is stored."""
        stored = max(told.first + len(told.events) - self._first, 0)
        del self._untold[:stored]
        self._first += stored

    async def _wait_for_room(self) -> None:
        info, player = workflow.info(), self._player
        is_long = info.get_current_history_length() >= player.most_history
        if not is_long and info.get_current_history_size() < player.most_history_bytes:
            return
        # The workflow ends once nothing is under way, and this with it.
        self._held_back += 1
        try:
            await workflow.wait_condition(lambda: False)
        finally:
            self._held_back -= 1

    async def _tell_later(self) -> None:
        try:
            await asyncio.sleep(_TELL_SECONDS)
            await self.store_told()
        finally:
            self._telling = None

    async def store_told(self) -> None:
        """Store what was told so far. Where that fails, the next step tells it, and meets the same error."""
        async with self._storing:
            try:
                while self._untold:
                    told = self.untold
                    await write(TELL, Tell(held=self.held, told=told), type(None))
                    self._confirm(told)
            except FailureError as error:
                # Else a run that is cancelled just now would go on.
                if is_cancelled_exception(error):
                    raise translate(error) from error


def translate(error: FailureError) -> BaseException:
    """Return the error of an activity as executors know it."""
    if is_cancelled_exception(error):
        return asyncio.CancelledError()
    cause = error.cause if isinstance(error, ActivityError) else error
    if isinstance(cause, ApplicationError):
        if cause.type == EventLimitError.__name__:
            return EventLimitError(cause.message)
        if cause.type == RunFailedError.__name__:
            return RunFailedError(cause.message, error_type=cause.details[0])
        if cause.type != SERVER_STOPPED:
            return RuntimeError(f"{cause.type}: {cause.message}")
    return RunFailedError(
        "its server died or stopped too often while a step was made", error_type="interrupted"
    )
