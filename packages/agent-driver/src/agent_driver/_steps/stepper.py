"""How the steps of one run are made and read back."""

import asyncio
import time
from asyncio import CancelledError
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any
from urllib.parse import quote

from agent_driver._answers import is_end
from agent_driver._threads import END
from agent_driver._time import Clock, find_left
from agent_driver._tools.calls import Job, broken
from agent_driver._tools.guardrails import GuardrailCall, GuardrailError
from agent_loop import (
    AgentRun,
    CallModel,
    Failure,
    MessageError,
    ModelDelta,
    ModelFailure,
    SnapshotError,
    Steered,
    TimePassed,
    ToolCall,
    dump_inputs,
    load_inputs,
    read_input,
    read_user_message,
)
from agent_tooling import ToolOutput

from .records import (
    RecordedError,
    find_kind,
    find_problem,
    from_outcome,
    join_pieces,
    to_outcome,
    to_output,
    to_result,
    to_unfinished,
    to_unrecorded,
)
from .requests import StepRequest
from .steering import Steers
from .steps import StepError, StepKey, Steps, StepWork, TellsRun, WatchesSteps


# With the look at the clock before it, a cancelled run still ends within a second.
_LAST_SECONDS = 0.4  # For a step that does not end.


class _NothingRecorded(Exception):  # noqa: N818 - it reports no error
    """Raised out of a step whose end is not to be recorded."""


@dataclass(slots=True, eq=False)
class Stepper:
    """The steps of one run.

    Attributes:
        steps: Where they are recorded.
        run: The run.
        clock: Its clock.
        steers: What the outermost run is told.
        path: The ids of the calls that lead to the run; none to the outermost.
        agents: The names of the agents that are called by them.
        scope: What its keys have in front.
    """

    steps: Steps
    run: AgentRun
    clock: Clock
    steers: Steers
    path: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    scope: str = ""
    _asked: Counter[str] = field(init=False, default_factory=Counter[str])

    def for_agent(self, job: Job, run: AgentRun, clock: Clock) -> "Stepper":
        """Return the steps of an agent that the run calls."""
        call_id = job.call.call_id
        path, agents = (*self.path, call_id), (*self.agents, job.tool.name)
        scope = f"{self.scope}{self._name(call_id)}/"
        return Stepper(self.steps, run, clock, self.steers, path, agents, scope)

    async def iter_answer(
        self, call: CallModel, ask: Callable[[], AsyncGenerator[Any]]
    ) -> AsyncGenerator[Any]:
        """Yield what the run is fed with for a model call: as it comes where the call is made, else from its record.

        The end comes once it is recorded.

        Args:
            call: The request.
            ask: Makes the call.
        """
        key, answer = self._model_key(call), _Answer(ask)

        async def work() -> bytes:
            await self._begin(key)
            pieces = join_pieces(await answer.collect())
            return self._write(await self._read_steered(), *pieces)

        task = asyncio.create_task(self._step(key, work))
        task.add_done_callback(answer.end)
        try:
            async with aclosing(self._iter_pieces(answer)) as pieces:
                async for piece in pieces:
                    yield piece
            for received in self._find_rest(key, answer, task):
                yield received
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait((task,), timeout=_LAST_SECONDS)

    async def call(
        self,
        job: Job,
        invoke: Callable[[], Coroutine[Any, Any, Any]],
        over: asyncio.Future[None],
    ) -> ToolOutput:
        """Return the output of a tool call, which is made unless there is a record of it.

        Args:
            job: The call.
            invoke: Makes it.
            over: Done once there is no more time for tools, so that the call is given up, and that is recorded.
        """
        request = self._request(job.call, args=job.args)
        key = self._key(request, self._name(job.call.call_id))
        key.call_id, key.tool = job.call.call_id, job.call.name
        until = partial(_until, over, job, invoke)
        result, made = await self._once(key, until, to_result, to_unrecorded)
        output = to_output(result)
        # Made now, its error is there in full, for the log.
        return replace(output, cause=made[0].cause or output.cause) if made else output

    async def check(self, call: GuardrailCall, ask: Callable[[], Awaitable[object]]) -> object:
        """Return what a guardrail says of a value, which is asked unless there is a record of it.

        Args:
            call: The call.
            ask: Makes it.
        """
        is_answer = call.checked == "answer"
        name = f"{self.run.round}.{call.index}" if is_answer else str(call.index)
        # Of what a run under way is told, which has a number of its own.
        name = f"told.{call.number}.{name}" if call.number else name
        key = self._key(self._request(call), f"{call.checked}.{name}")
        recorded, made = await self._once(key, ask, to_outcome, _to_unrecorded_outcome)
        # Made now, its error is there in full, for the log.
        return made[0] if made and isinstance(made[0], GuardrailError) else from_outcome(recorded)

    async def _once[Output](
        self,
        key: StepKey,
        invoke: Callable[[], Awaitable[Output]],
        write: Callable[[Output], Any],
        refuse: Callable[[SnapshotError], Output],
    ) -> tuple[Any, list[Output]]:
        """Return what is recorded of a step, and in a list what it has come to where it is made now.

        Args:
            key: The step.
            invoke: Makes it.
            write: Returns an output as it is recorded.
            refuse: Returns what takes the place of an output that JSON cannot express.
        """
        made: list[Output] = []

        async def work() -> bytes:
            await self._begin(key)
            output, steered = await invoke(), await self._read_steered()
            try:
                record = self._write(steered, write(output))
            except SnapshotError as error:
                output = refuse(error)
                record = self._write(steered, write(output))
            made[:] = [output]
            return record

        [recorded] = self._read(key, await self._step(key, work))
        return recorded, made

    def _find_rest(
        self, key: StepKey, answer: "_Answer", task: asyncio.Task[bytes]
    ) -> tuple[Any, ...]:
        """Return what the run is fed with once a step has ended."""
        if answer.unrecorded is not None:
            return (answer.unrecorded,)
        inputs = self._read(key, task.result())
        *pieces, last = inputs
        if isinstance(last, ModelFailure):
            # Made now, its error is there in full.
            cause = answer.cause if answer.is_made else RecordedError(last.message)
            last = replace(last, cause=cause)
        return (last,) if answer.is_made else (*pieces, last)

    async def _step(self, key: StepKey, work: StepWork) -> bytes:
        try:
            return await self.steps.step(key, work)
        except Exception as error:
            raise self._broken(key) from error

    async def _begin(self, key: StepKey) -> None:
        if isinstance(self.steps, WatchesSteps):
            await self.steps.begin_step(key)

    def _broken(self, key: StepKey) -> StepError:
        self.steers.leave()
        return StepError(key)

    async def _iter_pieces(self, answer: "_Answer") -> AsyncGenerator[Any]:
        """Yield the pieces of an answer while the call is made, until the step ends or the run is cancelled and it does not."""
        last: float | None = None
        while True:
            left = None if last is None else find_left(last - self.clock.now)
            wait = self.clock.patience(None) if left is None else left
            try:
                piece = await asyncio.wait_for(answer.pieces.get(), wait)
            except TimeoutError:
                if left == 0.0:
                    answer.unrecorded = self.clock.failure
                    return
                if last is None and self.clock.is_cancelled:
                    last = self.clock.now + _LAST_SECONDS
                continue
            if piece is END:
                return
            yield piece
            answer.pieces.task_done()

    async def _read_steered(self) -> tuple[Steered, ...]:
        """Return what the run was told by now, for the record of a step that ends."""
        if not isinstance(self.steps, TellsRun):
            # By the time, since a record of an earlier play that is still being read may hold the next number.
            return self.steers.read(time.time_ns() // 1000)
        after = self.steers.known
        messages = await self.steps.read_steered(after)
        return self.steers.number(after, map(read_user_message, messages))

    def _write(self, steered: Sequence[Steered], *inputs: Any) -> bytes:
        times = (TimePassed(seconds=clock.run_seconds) for clock in self.clock.chain)
        return dump_inputs((*times, *steered, *inputs)).encode()

    def _read(self, key: StepKey, record: bytes) -> tuple[Any, ...]:
        """Return the inputs of a record, note what the run was told by then, and set the clock to its time."""
        chain = self.clock.chain
        try:
            inputs = load_inputs(record)
            for clock, passed in zip(chain, inputs, strict=False):
                clock.advance(passed.seconds)
        except Exception as error:
            raise self._broken(key) from error
        steered = [*takewhile(lambda one: isinstance(one, Steered), inputs[len(chain) :])]
        self.steers.add(steered)
        rest = inputs[len(chain) + len(steered) :]
        if not rest:
            raise self._broken(key)
        return rest

    def _model_key(self, call: CallModel) -> StepKey:
        request = self._request(call, may_retry=self.run.may_retry)
        key = self._key(request, str(call.round))
        name = str(key)  # The key itself holds what it asks.
        self._asked[name] += 1
        # A round may ask for its summary more than once; another try of its call is another round.
        number = self._asked[name]
        return key if number == 1 else self._key(request, f"{call.round}.{number}")

    def _request(self, call: CallModel | ToolCall | GuardrailCall, **about: Any) -> StepRequest:
        clock, steered = self.clock.save(self.run), self.steers.known
        return StepRequest.of(call, agents=self.agents, clock=clock, steered=steered, **about)

    def _key(self, request: StepRequest, name: str) -> StepKey:
        key = StepKey(f"{request.kind}:{self.scope}{name}")
        key.kind, key.path, key.round = request.kind, self.path, self.run.round
        key.call_id = key.tool = None
        key.request = request
        return key

    def _name(self, call_id: str) -> str:
        # With the round, because models of some servers count their calls anew in each; and quoted,
        # because an id may be any text, such as one that looks like a path.
        return f"{self.run.round}.{quote(call_id, safe='', errors='surrogatepass')}"


class _Answer:
    """A model's answer, which is handed on and kept while it comes.

    Args:
        ask: Makes the call.

    Attributes:
        is_made: Whether the call is made now.
        pieces: The pieces that have come, without the last.
        unrecorded: How it has ended if that is not to be recorded.
        cause: The exception behind its failure.
    """

    def __init__(self, ask: Callable[[], AsyncGenerator[Any]]) -> None:
        self._ask = ask
        self.is_made = False
        self.cause: BaseException | None = None
        self.pieces: asyncio.Queue[Any] = asyncio.Queue()
        self.unrecorded: Failure | None = None

    async def collect(self) -> list[Any]:
        """Make the call, and return the pieces of its answer once all but the last have been taken."""
        self.is_made = True
        taken: list[Any] = []
        async with aclosing(self._ask()) as pieces:
            async for piece in pieces:
                taken.append(read := self._read(piece))
                if is_end(read):
                    break
                self.pieces.put_nowait(read)
        last = taken[-1]
        self.cause = last.cause if isinstance(last, ModelFailure) else None
        # Played again, the run may be wanted.
        if isinstance(last, Failure) and last.reason == "cancelled":
            self.unrecorded = last
            raise _NothingRecorded
        await self.pieces.join()
        return taken

    def end(self, task: asyncio.Task[bytes]) -> None:
        """Say that no more will come."""
        self.pieces.put_nowait(END)
        # Asked for here, since nobody may be there any more who is told of it.
        if not task.cancelled():
            task.exception()

    def _read(self, piece: object) -> Any:
        try:
            received = read_input(piece)
        except MessageError:
            self.pieces.put_nowait(piece)  # The run raises it, with the number of the piece.
            raise
        # Most pieces, in which nothing is that could not be recorded.
        if isinstance(received, ModelDelta) and find_kind(received) is not None:
            return received
        try:
            dump_inputs([received])
        except SnapshotError as error:
            text = f"its answer cannot be recorded: {find_problem(error)}"
            return ModelFailure(message=text, is_transient=False)
        return received


def _to_unrecorded_outcome(error: SnapshotError) -> object:
    text = f"what the guardrail says cannot be recorded: {find_problem(error)}"
    return GuardrailError(ValueError(text))


async def _until(
    over: asyncio.Future[None], job: Job, invoke: Callable[[], Coroutine[Any, Any, Any]]
) -> ToolOutput:
    """Return the output of a call, which is given up when there is no more time for it."""
    task = asyncio.ensure_future(invoke())
    try:
        await asyncio.wait((task, over), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            return to_unfinished(job)
        # Nobody has cancelled this, so a call that was cancelled has done so itself.
        return broken(CancelledError()) if task.cancelled() else task.result()
    except CancelledError:
        task.cancel()
        await asyncio.wait((task,), timeout=_LAST_SECONDS)
        raise
    finally:
        task.cancel()
