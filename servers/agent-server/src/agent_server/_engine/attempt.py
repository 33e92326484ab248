"""An attempt at a run, from the claim to what is stored of its end."""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Literal

from agent_server._store.claims import Claim
from agent_server._store.endings import RunEnding, cancelled, with_result
from agent_server._store.failures import event_limit, internal_error
from agent_server.executor import (
    EventLimitError,
    Execution,
    Executor,
    InputRequest,
    RunFailedError,
    RunResult,
    Waiting,
)
from agent_server.logs import about
from agent_server.runs import DatabaseAwayError

from .execution import RunExecution
from .parts import Parts


_logger = logging.getLogger("agent_server")

type Outcome = Literal["ended", "waiting", "left"]
"""What an attempt has come to; one that is `left` is for others to continue with."""


@dataclass(slots=True, eq=False)
class Attempt:
    """An attempt that this server makes.

    Attributes:
        execution: The attempt as its executor sees it.
        task: The task that makes it.
        is_asked_to_end: Whether somebody has cancelled the run.
        is_given_up: Whether its end is not for this server to store: the run was lost, or the server stops.
        is_interrupted: Whether it must not be interrupted (again): its executor was told to stop already, or its end is being stored.
    """

    execution: RunExecution
    task: asyncio.Task[Outcome] = field(init=False)
    is_asked_to_end: bool = False
    is_given_up: bool = False
    is_interrupted: bool = False
    _is_begun: bool = False

    @classmethod
    def begin(cls, claim: Claim, parts: Parts, executor: Executor) -> "Attempt":
        """Begin to execute a claimed run."""
        parts.hub.publish(claim.seq, [claim.started])

        def lose() -> None:
            attempt.give_up()

        attempt = cls(RunExecution(claim, parts, on_lost=lose))
        attempt.task = asyncio.create_task(
            attempt._execute(parts, executor), name=f"run {claim.run_id}"
        )
        return attempt

    def cancel(self, reason: str | None) -> None:
        """Cancel the run."""
        self.is_asked_to_end = True
        self.execution.cancel_reason = reason
        self._interrupt()

    def give_up(self) -> None:
        """Stop executing the run, and leave it to others."""
        self.is_given_up = True
        self._interrupt()

    def _interrupt(self) -> None:
        if not self.is_interrupted:
            self.is_interrupted = True
            # A task that is cancelled before it has begun would do nothing, and store no end.
            if self._is_begun:
                self.task.cancel()

    async def _execute(self, parts: Parts, executor: Executor) -> Outcome:
        run = self.execution
        named = {"run": run.run_id, "tenant": run.tenant, "agent": run.agent}
        with about(**named, attempt=run.attempt, origin=run.claim.origin):
            return await self._execute_and_store(parts, executor)

    async def _execute_and_store(self, parts: Parts, executor: Executor) -> Outcome:
        execution = self.execution
        try:
            ending = await self._reach_end(executor)
            self.is_interrupted = True
            # Else both would stand in a circle, and all that the run has held would lie around for long.
            execution.on_lost = lambda: None
            if isinstance(ending, Waiting):
                await execution.wait(ending)
                log_wait(ending.request)
                return "waiting"
            if ending is None:
                await execution.release()
            elif (ended := await execution.end(ending)) is not None:
                parts.tallies.count(ended)
                return "ended"
        except DatabaseAwayError:
            pass  # The server ends, and others will notice its silence.
        except Exception:
            # It is no longer among this server's runs, so the next claim requeues it.
            _logger.exception("the run could not be ended")
        return "left"

    async def _reach_end(self, executor: Executor) -> RunEnding | Waiting | None:
        """Execute a run, and return how the attempt ends; None if this server was told to give it up."""
        self._is_begun = True
        if self.is_interrupted:
            return self._break_off()
        try:
            await self.execution.read_request()
            result = await execute_run(executor, self.execution)
            if isinstance(result, Waiting):
                result = await self.execution.admit(result)
        except asyncio.CancelledError:
            return self._break_off()
        left = None if isinstance(result, Waiting) else result
        # A cancelled executor may end with an error of its own. A success stays a success.
        if self.is_asked_to_end and (left is None or left.status != "succeeded"):
            return cancelled(self.execution.cancel_reason, left)
        return result if isinstance(result, Waiting) else with_result(result)

    def _break_off(self) -> RunEnding | None:
        return None if self.is_given_up else cancelled(self.execution.cancel_reason)


async def execute_run(executor: Executor, run: Execution) -> RunResult | Waiting:
    """Execute a run, and return what its executor does, or the failure that stands for an error."""
    try:
        result = await executor.execute(run)
        if isinstance(result, Waiting):
            _refuse_nothing(result)
    except EventLimitError as error:
        return event_limit(error)
    except RunFailedError as error:
        return RunResult(status="failed", error=str(error), error_type=error.error_type)
    except Exception:
        _logger.exception("the run fails by an error of its executor")
        return internal_error()
    return result


def _refuse_nothing(waiting: Waiting) -> None:
    asked = waiting.request
    if not (asked.approvals or asked.results or asked.question):
        raise ValueError("request: expected an approval, a result or a question to wait for")


def log_wait(asked: InputRequest) -> None:
    """Log what a run waits for."""
    calls = {"approval of": asked.approvals, "the client's results of": asked.results}
    told = [f"{what} {', '.join(c.name for c in found)}" for what, found in calls.items() if found]
    told += ["an answer to a question"] if asked.question is not None else []
    _logger.info("the run waits for %s", "; ".join(told))
