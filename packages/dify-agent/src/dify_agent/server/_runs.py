"""Runs as clients see them: asked for, looked at, followed and stopped, on any server."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from dbos import DBOS, SetWorkflowID, WorkflowStatus

from dify_agent.exceptions import DifyAgentError
from dify_agent.protocol import (
    RUN_EVENT_ADAPTER,
    CreateRunRequest,
    RunCancelledEvent,
    RunEvent,
    RunFailedEvent,
    RunStatusResponse,
)

from ._errors import RunNotFoundError
from ._requests import RequestStore
from .sink import EVENT_STREAM
from .workflow import WORKFLOW_NAME


QUEUE_NAME = "dify_agent_runs"
_UNFINISHED = frozenset({"DELAYED", "ENQUEUED", "PENDING"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An event as it was stored.

    Attributes:
        sequence: Its number in the run, from 1.
        type: Its type.
        data: The event as JSON text, its number included.
    """

    sequence: int
    type: str
    data: str


class RunBook:
    """The runs of a database, whichever server executes them.

    The stored stream and the stored status are all there is to tell from, so every server tells the same.
    """

    def __init__(
        self,
        *,
        requests: RequestStore,
        workflow: Callable[[str], Coroutine[Any, Any, str]],
        poll_seconds: float,
    ) -> None:
        self._requests = requests
        self._workflow = workflow
        self._poll_seconds = poll_seconds

    async def create(self, request: CreateRunRequest) -> str:
        """Store a request, queue its run, and return the run's id."""
        run_id = str(uuid4())
        await asyncio.to_thread(self._requests.add, run_id, request)
        with SetWorkflowID(run_id):
            await DBOS.enqueue_workflow_async(QUEUE_NAME, self._workflow, run_id)
        return run_id

    async def cancel(self, run_id: str) -> RunStatusResponse:
        """Stop a run, queued or running; one that is finished stays as it is.

        Raises:
            RunNotFoundError: If there is no such run.
        """
        if (await _find(run_id)).status in _UNFINISHED:
            # DBOS would cancel a failed or cancelled run once more, and move the time of its end.
            await DBOS.cancel_workflow_async(run_id)
        return await self.get_status(run_id)

    async def get_status(self, run_id: str) -> RunStatusResponse:
        """Return where a run stands.

        Raises:
            RunNotFoundError: If there is no such run.
        """
        return _to_status_response(await _find(run_id))

    async def has_events_after(self, run_id: str, after: int) -> bool:
        """Return whether a run has events with numbers over `after`, or may still get some.

        Raises:
            RunNotFoundError: If there is no such run.
        """
        if (await _find(run_id)).status in _UNFINISHED:
            return True
        async for _ in self.iter_events(run_id, after=after):
            return True
        return False

    async def iter_events(self, run_id: str, *, after: int = 0) -> AsyncGenerator[StoredEvent]:
        """Yield the events of a run as they come, up to and with its last one.

        Args:
            run_id: The run.
            after: The number of the last event that the reader has, 0 for none.
        """
        sequence = 0
        async for batch in DBOS.read_stream_async(
            run_id, EVENT_STREAM, polling_interval_sec=self._poll_seconds
        ):
            for text in batch:
                sequence += 1
                if sequence > after:
                    yield _number(text, sequence)
        if sequence + 1 > after:
            yield _number(await self._read_terminal(run_id), sequence + 1)

    async def _read_terminal(self, run_id: str) -> str:
        # The stream may have been closed an instant before the outcome was stored.
        await DBOS.wait_first_async(
            [await DBOS.retrieve_workflow_async(run_id)], polling_interval_sec=self._poll_seconds
        )
        return _terminal_text(await _find(run_id))


async def _find(run_id: str) -> WorkflowStatus:
    workflow = await DBOS.get_workflow_status_async(run_id)
    if workflow is None or workflow.name != WORKFLOW_NAME:
        raise RunNotFoundError(run_id)
    return workflow


def _number(text: str, sequence: int) -> StoredEvent:
    event = json.loads(text) | {"sequence": sequence}
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return StoredEvent(sequence=sequence, type=event["type"], data=data)


def _terminal_text(workflow: WorkflowStatus) -> str:
    if workflow.status == "SUCCESS":
        return str(workflow.output)
    event = _broken_off_event(workflow)
    return RUN_EVENT_ADAPTER.dump_json(event).decode()


def _broken_off_event(workflow: WorkflowStatus) -> RunEvent:
    run_id, at = workflow.workflow_id, _to_datetime(workflow.completed_at or workflow.updated_at)
    if workflow.status == "CANCELLED":
        return RunCancelledEvent(run_id=run_id, created_at=at)
    if workflow.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
        error = "The server stopped during this run again and again, so the run was given up."
        error_type = "MaxRecoveryAttemptsExceeded"
    else:
        error_type = type(workflow.error).__name__
        # Only errors of our own are known to name no credential.
        error = str(workflow.error) if isinstance(workflow.error, DifyAgentError) else error_type
    return RunFailedEvent(run_id=run_id, created_at=at, error=error, error_type=error_type)


def _to_status_response(workflow: WorkflowStatus) -> RunStatusResponse:
    started, finished = workflow.dequeued_at, workflow.completed_at
    response = RunStatusResponse(
        run_id=workflow.workflow_id,
        status="running" if workflow.status == "PENDING" else "queued",
        created_at=_to_datetime(workflow.created_at),
        started_at=None if started is None else _to_datetime(started),
        finished_at=None if finished is None else _to_datetime(finished),
    )
    if workflow.status in _UNFINISHED:
        return response
    event = json.loads(_terminal_text(workflow))
    status = event["type"].removeprefix("run_")
    return response.model_copy(update={"status": status, "error": event.get("error")})


def _to_datetime(milliseconds: int | None) -> datetime:
    return datetime.fromtimestamp((milliseconds or 0) / 1000, UTC)
