"""The recurring work of a server: show that it lives, take over from dead ones, delete what is done."""

import asyncio
import logging
import time
from datetime import UTC, datetime, timedelta

from dbos import DBOS

from ._requests import RequestStore
from .leases import LeaseTable, LeaseWatch
from .workflow import WORKFLOW_NAME


_FINISHED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_BATCH = 500
_ORPHAN_SECONDS = 300.0

logger = logging.getLogger(__name__)


class Janitor:
    """The housekeeping of the database, on every server at the same time.

    DBOS finds unfinished runs again when a process with the same executor id starts. A machine may never come back,
    so each server also watches the others and puts the runs of silent ones back in the queue.
    """

    def __init__(
        self,
        *,
        executor_id: str,
        leases: LeaseTable,
        requests: RequestStore,
        lease_seconds: float,
        retention: timedelta,
    ) -> None:
        self._executor_id = executor_id
        self._leases = leases
        self._requests = requests
        self._watch = LeaseWatch(lease_seconds=lease_seconds)
        self._interval_seconds = lease_seconds / 3
        self._retention = retention

    async def work(self) -> None:
        """Tidy again and again, until it is cancelled."""
        while True:
            try:
                await asyncio.to_thread(self.tidy)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next round tries again
                logger.warning(
                    "Tidying the database failed, trying again: %s", type(error).__name__
                )
            await asyncio.sleep(self._interval_seconds)

    def tidy(self) -> None:
        """Show that this server lives, take over from dead ones, and delete what is done."""
        self._leases.beat(self._executor_id)
        self._take_over()
        self._forget_requests()
        self._delete_expired()

    def _take_over(self) -> None:
        pending = DBOS.list_workflows(
            status="PENDING", name=WORKFLOW_NAME, load_input=False, load_output=False
        )
        owners = {workflow.executor_id for workflow in pending if workflow.executor_id}
        beats = self._leases.read_beats()
        silent = self._watch.find_silent(beats, now=time.monotonic())
        dead = ((owners - beats.keys()) | silent) - {self._executor_id}
        if dead:
            # What DBOS's paid console calls for the same purpose; there is no public name for it. It takes a run
            # only from the given executors, so that two servers cannot take over the same one.
            DBOS._recover_pending_workflows(sorted(dead))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            self._leases.drop(dead)

    def _forget_requests(self) -> None:
        stored = self._requests.list_oldest(limit=_BATCH)
        if not stored:
            return
        workflows = DBOS.list_workflows(
            workflow_ids=list(stored), load_input=False, load_output=False
        )
        statuses = {workflow.workflow_id: workflow.status for workflow in workflows}
        orphaned_before = time.time() - _ORPHAN_SECONDS
        done = [
            run_id
            for run_id, created_at in stored.items()
            if statuses.get(run_id) in _FINISHED
            or (run_id not in statuses and created_at < orphaned_before)
        ]
        self._requests.forget(done)

    def _delete_expired(self) -> None:
        expired = DBOS.list_workflows(
            status=_FINISHED,
            name=WORKFLOW_NAME,
            completed_before=(datetime.now(UTC) - self._retention).isoformat(),
            limit=_BATCH,
            load_input=False,
            load_output=False,
        )
        if expired:
            DBOS.delete_workflows([workflow.workflow_id for workflow in expired])
