"""The dispatcher, which claims runs from the queue, executes them and stores their ends."""

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field

from agent_server._store import claims
from agent_server._store.claims import Claim, Owner
from agent_server._store.endings import Ended, RunEnding, cancelled, with_result
from agent_server._store.fault_log import FaultLog
from agent_server.executor import EventLimitError, Executor, RunResult, Waiting
from agent_server.runs import DatabaseAwayError

from .execution import RunExecution
from .parts import Parts


_logger = logging.getLogger("agent_server")

# Time for what runs do when they are told to stop, and for storing that they wait again.
_STOPPING_SECONDS = 10.0
# If the database is away, nothing can be stored; other servers will notice the silence.
_AWAY_SECONDS = 0.5


@dataclass(slots=True, eq=False)
class _Job:
    """A run that this server executes.

    Attributes:
        execution: The attempt.
        task: The task that executes it.
        is_asked_to_end: Whether somebody has cancelled the run.
        is_given_up: Whether its end is not for this server to store: the run was lost, or the server stops.
        is_interrupted: Whether it must not be interrupted (again): its executor was told to stop already, or its end is being stored.
    """

    execution: RunExecution
    task: asyncio.Task[None] = field(init=False)
    is_asked_to_end: bool = False
    is_given_up: bool = False
    is_interrupted: bool = False

    def interrupt(self) -> None:
        """Cancel the executor, at most once."""
        if not self.is_interrupted:
            self.is_interrupted = True
            self.task.cancel()


class Dispatcher:
    """The runs that this server executes."""

    def __init__(self, parts: Parts, executor: Executor) -> None:
        """Start with no runs.

        Args:
            parts: The engine's parts that store runs and report them.
            executor: Executes the runs.
        """
        self._parts = parts
        self._writer = parts.writer
        self._executor = executor
        self._owner = Owner(
            server=parts.server,
            max_attempts=parts.settings.max_attempts,
            interrupted=executor.interrupted,
        )
        # A run may be here twice: a lost attempt that has not ended yet, and a new one.
        self._jobs: dict[tuple[int, int], _Job] = {}  # by run and attempt
        self._wake = asyncio.Event()

    @property
    def executing(self) -> Counter[str]:
        """How many runs of each tenant are being executed."""
        return Counter(job.execution.tenant for job in self._jobs.values())

    def wake(self) -> None:
        """Have the queue looked at soon."""
        self._wake.set()

    async def work(self) -> None:
        """Take runs from the queue and execute them, until it is cancelled."""
        faults = FaultLog("no run could be taken from the queue")
        while True:
            self._wake.clear()
            free = self._parts.settings.concurrency - len(self._jobs)
            if free > 0:
                with faults.suppressing():
                    await self._claim(free)
            await self._wake.wait()  # The next heartbeat wakes it at the latest.

    def cancel(self, reasons: dict[int, str | None]) -> None:
        """Cancel runs, if they are executed here."""
        for seq, reason in reasons.items():
            for job in [job for (known, _), job in self._jobs.items() if known == seq]:
                job.is_asked_to_end = True
                job.execution.cancel_reason = reason
                job.interrupt()

    def give_up_all(self) -> None:
        """Stop executing all runs, because others have taken them over."""
        for job in list(self._jobs.values()):
            self._give_up(job)

    async def stop(self, *, seconds: float) -> None:
        """Wait for the runs to end, then put the rest back into the queue."""
        await self._wait(seconds)
        self.give_up_all()
        await self._wait(_AWAY_SECONDS if self._writer.is_away else _STOPPING_SECONDS)

    async def _wait(self, seconds: float) -> None:
        if tasks := [job.task for job in self._jobs.values()]:
            await asyncio.wait(tasks, timeout=seconds)

    async def _claim(self, free: int) -> None:
        mine = {seq for seq, _ in self._jobs}
        # Shielded: a committed claim whose result nobody sees would count as one more server that
        # died under the run.
        claimed = await asyncio.shield(
            self._writer.submit(claims.claim_runs, self._owner, limit=free, claimed=mine)
        )
        for one in claimed:
            if isinstance(one, Ended):
                self._parts.hub.publish(one.seq, [one.event])
                self._parts.tallies.count(one.tenant, one.ending, one.started_at)
            else:
                self._start(one)
        # Some may have ended at once, so there may be room for more.
        if len(claimed) == free:
            self.wake()

    def _start(self, claim: Claim) -> None:
        self._parts.hub.publish(claim.seq, [claim.started])
        job = _Job(RunExecution(claim, self._parts, on_lost=lambda: self._give_up(job)))
        self._jobs[claim.seq, claim.attempt] = job
        job.task = asyncio.create_task(self._execute(job), name=f"run {claim.run_id}")

    def _give_up(self, job: _Job) -> None:
        job.is_given_up = True
        job.interrupt()

    async def _execute(self, job: _Job) -> None:
        claim = job.execution.claim
        try:
            ending = await self._reach_end(job)
            job.is_interrupted = True
            if ending is None:
                await job.execution.release()
            elif isinstance(ending, Waiting):
                await job.execution.wait(ending)
            elif await job.execution.end(ending):
                self._parts.tallies.count(claim.tenant, ending, claim.started.created_at)
        except DatabaseAwayError:
            pass  # The server ends, and others will notice its silence.
        except Exception:
            # It is no longer among this server's jobs, so the next claim requeues it.
            _logger.exception("run %s could not be ended", claim.run_id)
        finally:
            del self._jobs[claim.seq, claim.attempt]
            self.wake()

    async def _reach_end(self, job: _Job) -> RunEnding | Waiting | None:
        """Execute a run, and return how the attempt ends; None if this server was told to give it up."""
        try:
            await job.execution.read_request()
            result = await self._executor.execute(job.execution)
            if isinstance(result, Waiting):
                result = await job.execution.admit(result)
        except asyncio.CancelledError:
            if job.is_given_up:
                return None
            return cancelled(job.execution.cancel_reason)
        except EventLimitError as error:
            result = RunResult(status="failed", error=str(error), error_type="event_limit")
        except Exception:
            _logger.exception("run %s failed", job.execution.run_id)
            result = RunResult(
                status="failed", error="an error inside the server", error_type="internal_error"
            )
        # A cancelled executor may end with an error of its own. A success stays a success.
        is_success = isinstance(result, RunResult) and result.status == "succeeded"
        if job.is_asked_to_end and not is_success:
            return cancelled(job.execution.cancel_reason)
        return result if isinstance(result, Waiting) else with_result(result)
