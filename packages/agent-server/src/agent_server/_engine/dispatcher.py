"""Takes runs from the queue, executes them, and ends them."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_server._store import holds
from agent_server._store.endings import Ending, cancelled, with_result
from agent_server._store.holds import Ended, Hold, Holder
from agent_server._store.records import Event
from agent_server._store.writer import Writer
from agent_server.executor import EventLimitError, Executor, RunResult
from agent_server.runs import DatabaseAwayError

from .execution import RunExecution
from .trials import Trials


_logger = logging.getLogger("agent_server")

# For what runs do when they are told to stop, and for storing that they wait again.
_STOPPING_SECONDS = 10.0
# Where the database is away, others will notice by themselves.
_AWAY_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What a dispatcher calls.

    Attributes:
        build: Makes the execution of an attempt; the callable is for it to tell that the run is lost.
        on_stored: Hears of events that were stored here.
        on_ended: Hears whose run ended, how, and when it was begun here, in microseconds since 1970.
    """

    build: Callable[[Hold, Callable[[], None]], RunExecution]
    on_stored: Callable[[int, Sequence[Event]], None]
    on_ended: Callable[[str, Ending, int], None]


@dataclass(slots=True, eq=False)
class _Job:
    """A run that is executed here.

    Attributes:
        execution: The attempt.
        task: Executes it.
        is_asked_to_end: Whether its end was asked for.
        is_given_up: Whether it is not to be ended here: it was lost, or the server stops.
        is_interrupted: Whether nothing can interrupt it any more: its executor has heard that it shall stop, or its end is being stored.
    """

    execution: RunExecution
    task: asyncio.Task[None] = field(init=False)
    is_asked_to_end: bool = False
    is_given_up: bool = False
    is_interrupted: bool = False

    def interrupt(self) -> None:
        """Let the executor hear that it shall stop, once."""
        if not self.is_interrupted:
            self.is_interrupted = True
            self.task.cancel()


class Dispatcher:
    """The runs that this server executes."""

    def __init__(
        self,
        executor: Executor,
        holder: Holder,
        *,
        writer: Writer,
        concurrency: int,
        hooks: Hooks,
    ) -> None:
        """Begin with none.

        Args:
            executor: Executes them.
            holder: Claims them.
            writer: What stores what comes of them.
            concurrency: How many at a time.
            hooks: What is called.
        """
        self._executor = executor
        self._holder = holder
        self._writer = writer
        self._concurrency = concurrency
        self._hooks = hooks
        self._jobs: dict[tuple[int, int], _Job] = {}  # by run and attempt
        self._wake = asyncio.Event()

    @property
    def executing(self) -> Counter[str]:
        """How many of each tenant are executed now."""
        return Counter(job.execution.tenant for job in self._jobs.values())

    def wake(self) -> None:
        """Look at the queue soon."""
        self._wake.set()

    async def work(self) -> None:
        """Take runs from the queue and execute them, until it is cancelled."""
        trials = Trials("no run could be taken from the queue")
        while True:
            self._wake.clear()
            free = self._concurrency - len(self._jobs)
            if free > 0:
                with trials.made():
                    await self._claim(free)
            await self._wake.wait()  # at the latest with the next beat

    def cancel(self, reasons: dict[int, str | None]) -> None:
        """End runs of which the end was asked for, if they are executed here."""
        for seq, reason in reasons.items():
            for job in self._attempts(seq):
                job.is_asked_to_end = True
                job.execution.reason = reason
                job.interrupt()

    def give_up_all(self) -> None:
        """Stop executing: others have taken over all runs."""
        for job in list(self._jobs.values()):
            self._give_up(job)

    async def stop(self, *, seconds: float) -> None:
        """Let the runs end for a while, then put the rest back into the queue."""
        await self._wait(seconds)
        self.give_up_all()
        await self._wait(_AWAY_SECONDS if self._writer.is_away else _STOPPING_SECONDS)

    async def _wait(self, seconds: float) -> None:
        if tasks := [job.task for job in self._jobs.values()]:
            await asyncio.wait(tasks, timeout=seconds)

    async def _claim(self, free: int) -> None:
        held = {seq for seq, _ in self._jobs}
        claimed = await asyncio.shield(
            self._writer.submit(
                lambda write: holds.claim(write, self._holder, limit=free, held=held)
            )
        )
        for one in claimed:
            if isinstance(one, Ended):
                self._hooks.on_stored(one.seq, [one.event])
                self._hooks.on_ended(one.tenant, one.ending, one.started_at)
            else:
                self._start(one)
        if len(claimed) == free:
            self.wake()

    def _start(self, hold: Hold) -> None:
        self._hooks.on_stored(hold.seq, [hold.started])
        execution = self._hooks.build(hold, lambda: self._give_up(job))
        job = _Job(execution=execution)
        self._jobs[hold.seq, hold.attempt] = job
        job.task = asyncio.create_task(self._execute(job), name=f"run {hold.run_id}")

    def _attempts(self, seq: int) -> list[_Job]:
        return [job for (known, _), job in self._jobs.items() if known == seq]

    def _give_up(self, job: _Job) -> None:
        job.is_given_up = True
        job.interrupt()

    async def _execute(self, job: _Job) -> None:
        hold = job.execution.hold
        try:
            ending = await self._reach_end(job)
            job.is_interrupted = True
            if ending is None:
                await job.execution.let_go()
            elif await job.execution.end(ending):
                self._hooks.on_ended(hold.tenant, ending, hold.started.created_at)
        except DatabaseAwayError:
            pass  # The server ends, and others will see that it is silent.
        except Exception:
            # It is not held any more as far as this server knows: the next claim finds it.
            _logger.exception("run %s could not be ended", hold.run_id)
        finally:
            del self._jobs[hold.seq, hold.attempt]
            self.wake()

    async def _reach_end(self, job: _Job) -> Ending | None:
        """Execute a run, and return how it ends; None if that is not this server's to say."""
        try:
            await job.execution.read_request()
            result = await self._executor.execute(job.execution)
        except asyncio.CancelledError:
            if job.is_given_up:
                return None
            return cancelled(job.execution.reason)
        except EventLimitError as error:
            result = RunResult(status="failed", error=str(error), error_type="event_limit")
        except Exception:
            _logger.exception("run %s failed", job.execution.run_id)
            result = RunResult(
                status="failed", error="an error inside the server", error_type="internal_error"
            )
        if job.is_asked_to_end and result.status == "failed":
            return cancelled(job.execution.reason)
        return with_result(result)
