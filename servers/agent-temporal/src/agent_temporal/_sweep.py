"""The sweep, which finds runs that Temporal was not told of, or does not know any more, and runs that nobody is there for."""

import asyncio
from collections.abc import Sequence
from typing import Final

from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError

from agent_server.executor import RunResult
from agent_server.store import FaultLog, OpenRun, RunStore, failures

from ._runs import Workflows


_SWEEP_SECONDS: Final = 2.0
# What was asked for just now may be on its way.
_YOUNG_SECONDS: Final = 2.0
# Each look asks Temporal once, so that each run is looked at seldom, and few at a time.
_LOOK_SECONDS: Final = 60.0
_LOOKS: Final = 100
_STOPPED: Final = RunResult(
    status="failed", error="its workflow was ended from outside", error_type="interrupted"
)
_ENDED_OUTSIDE: Final = frozenset(
    {
        WorkflowExecutionStatus.TERMINATED,
        WorkflowExecutionStatus.CANCELED,
        WorkflowExecutionStatus.TIMED_OUT,
    }
)


class Sweep:
    """The upkeep of the workflows, which each server does.

    Args:
        store: The runs.
        workflows: Their workflows.
    """

    def __init__(self, store: RunStore, workflows: Workflows) -> None:
        self._store = store
        self._workflows = workflows
        self._server = store.parts.server
        self._settings = store.parts.settings
        self._looked: dict[str, float] = {}
        # Since when nobody polls the queue of a version. Each server measures by itself, so clocks need not agree.
        self._unserved: dict[str, float] = {}
        self._counted_at = 0.0

    async def work(self) -> None:
        """Sweep until this is cancelled."""
        faults = FaultLog("runs could not be looked after")
        while True:
            with faults.suppressing():
                try:
                    await self._workflows.look()
                    await self._sweep(asyncio.get_running_loop().time())
                except RPCError as error:
                    self._workflows.reach.lose(error)
            await asyncio.sleep(_SWEEP_SECONDS)

    async def _sweep(self, now: float) -> None:
        runs = await self._store.read_open(seconds=_YOUNG_SECONDS)
        self._looked = {one.run_id: self._looked.get(one.run_id, -_LOOK_SECONDS) for one in runs}
        due = [
            one
            for one in runs
            if one.is_cancelled or now - self._looked[one.run_id] >= _LOOK_SECONDS
        ]
        # Where there are too many for one time, each gets its turn.
        due.sort(key=lambda one: (not one.is_cancelled, self._looked[one.run_id]))
        for run in due[:_LOOKS]:
            self._looked[run.run_id] = now
            await (self._cancel(run) if run.is_cancelled else self._look_after(run))
        if now - self._counted_at >= min(_LOOK_SECONDS, self._settings.unserved_seconds):
            self._counted_at = now
            await self._end_unserved(runs, now)

    async def _cancel(self, run: OpenRun) -> None:
        if not await self._workflows.cancel(run.run_id):
            await self._store.end_run(run.run_id, None)

    async def _look_after(self, run: OpenRun) -> None:
        """Start the workflow of a run that Temporal was not told of, or has forgotten; end a run whose workflow somebody has ended."""
        status = await self._workflows.read_status(run.run_id)
        if status in _ENDED_OUTSIDE:
            await self._store.end_run(run.run_id, _STOPPED)
        elif status is not WorkflowExecutionStatus.RUNNING:
            await self._workflows.start(run.run_id, version=run.version)

    async def _end_unserved(self, runs: Sequence[OpenRun], now: float) -> None:
        """Take over runs that were not begun, and end the others, where nobody has polled their queue for a while."""
        others = {one.version for one in runs} - set(self._server.versions)
        silent = [one for one in others if not await self._workflows.is_served(one)]
        self._unserved = {version: self._unserved.get(version, now) for version in silent}
        seconds = self._settings.unserved_seconds
        gone = {version for version, since in self._unserved.items() if now - since >= seconds}
        for run in runs:
            if run.version in gone:
                await self._end_gone(run)

    async def _end_gone(self, run: OpenRun) -> None:
        if not run.is_begun and run.agent in self._server.agents:
            version = self._workflows.version_of(run.agent)
            # At once, for another server would take it for one that was ended from outside.
            await self._workflows.start(run.run_id, version=version, is_anew=True)
            return
        result = (
            failures.version_changed(run.version, self._server.executor)
            if run.is_begun
            else failures.agent_gone(run.agent, self._settings.unserved_seconds)
        )
        await self._store.end_run(run.run_id, result)
        await self._workflows.terminate(run.run_id)
