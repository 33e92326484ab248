"""Runs that outlive the server: a queue, what its runs said and how they ended, kept by DBOS in a database."""

import json
import re
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from dbos import (
    DBOS,
    DBOSConfig,
    DBOSPortableJSONSerializer,
    SetWorkflowAttributes,
    SetWorkflowID,
    WorkflowStatus,
)
from dbos import error as dbos_error

from ._agent import build_payload, read_folder
from ._errors import ConfigurationError, QueueFullError, ReusedIdError
from ._record import Outcome, RunEvent, RunRecord, RunStatus
from ._run import AgentRunner
from ._settings import EngineSettings
from ._state import Connection
from ._workflow import (
    ATTEMPT,
    ATTEMPTS,
    EVENTS,
    NO_FILES,
    Workflow,
    count_attempts,
    dump_files,
    register_workflow,
)


_NAME = "agent-runner"
# Not of the package: a run that was accepted before an update is run after it.
_VERSION = "1"
_QUEUE = "runs"
_EVENT_POLL_SECONDS = 0.1
# Without a bound each look at an event stream may start a thread more: Python's pool takes idle ones for busy.
_WORKER_THREADS = 32
_PAGE = 100
_FINISHED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
# Ours, for ids made from clients' ids.
_NAMESPACE = uuid.UUID("b5c7d1de-6f0f-4a53-9c2d-6a1f3a8f8f0e")

LAST_EVENT = "end"
_EVENT_ID = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")  # no more than a database counts


class RunEngine:
    """A queue of runs, the runs themselves, and their history. A process can have one at a time, because DBOS allows no more."""

    def __init__(
        self, agents: Mapping[str, Path], runner: AgentRunner, settings: EngineSettings
    ) -> None:
        self.agents = agents
        self._runner = runner
        self._settings = settings
        self._workflow: Workflow

    def __enter__(self) -> Self:
        """Open the database, and go on with what a dead server left.

        Raises:
            ConfigurationError: If the database cannot be opened.
        """
        settings = self._settings
        DBOS(config=_config(settings))
        self._workflow = register_workflow(
            self.agents, self._runner, max_attempts=settings.max_attempts
        )
        try:
            DBOS.launch()
            DBOS.register_queue(
                _QUEUE,
                worker_concurrency=settings.concurrency,
                polling_interval_sec=settings.poll_seconds,
                on_conflict="always_update",
            )
        except Exception as error:
            DBOS.destroy(destroy_registry=True)
            # Only the name: the message may hold the URL, and that a password.
            raise ConfigurationError(
                "database", f"expected a database that can be opened: {type(error).__name__}"
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for what runs, for a while; what still runs then is ended, and counts as interrupted at the next start."""
        DBOS.destroy(
            destroy_registry=True, workflow_completion_timeout_sec=self._settings.stop_seconds
        )

    async def submit(
        self,
        agent: str,
        fields: Mapping[str, Any],
        client_request_id: str | None,
        files: Mapping[str, bytes],
    ) -> tuple[RunRecord, bool]:
        """Accept a run, durably, and return it with whether it is new.

        A client's id stands for one run of an agent: where it comes again, the run that it stands for is returned.

        Raises:
            InputError: If a field or a file is not what the agent expects.
            ConfigurationError: If the agent cannot be run as it is set up.
            QueueFullError: If too many runs wait.
            ReusedIdError: If the id came before, with another input.
        """
        folder = read_folder(self.agents[agent])
        build_payload(folder, fields, runner_request_id="", files=files)
        run_id = _run_id(agent, client_request_id)
        known = client_request_id is not None and await self.find(run_id) is not None
        if not known and await self._is_full():
            raise QueueFullError
        texts = json.dumps(dict(fields)), dump_files(files)
        with (
            SetWorkflowID(f"{agent}:{run_id}"),
            SetWorkflowAttributes({"client_request_id": client_request_id}),
        ):
            handle = await DBOS.enqueue_workflow_async(
                _QUEUE, cast("Any", self._workflow), agent, texts[0], client_request_id, texts[1]
            )
        status = await handle.get_status()
        if not _is_same_input(status, *texts):
            raise ReusedIdError
        return await self._record(status), not known

    async def find(self, run_id: str) -> RunRecord | None:
        """Return a run, or None if no served agent has one of this id."""
        statuses = await DBOS.list_workflows_async(
            workflow_ids=[f"{agent}:{run_id}" for agent in self.agents], load_input=False
        )
        return await self._record(statuses[0]) if statuses else None

    async def history(self, agent: str, *, limit: int, offset: int) -> list[RunRecord]:
        """Return an agent's runs, newest first."""
        statuses = await DBOS.list_workflows_async(
            workflow_id_prefix=f"{agent}:",
            sort_desc=True,
            limit=limit,
            offset=offset,
            load_input=False,
        )
        return [await self._record(status) for status in statuses]

    async def cancel(self, run: RunRecord) -> None:
        """End a run, wherever it runs; one that is finished stays as it is."""
        if run.outcome is None:
            # DBOS would cancel a cancelled run once more, and move the time of its end.
            await DBOS.cancel_workflow_async(f"{run.agent}:{run.run_id}")

    async def outputs(self, run: RunRecord) -> list[Mapping[str, Any]]:
        """Return what the script has said up to now, in its last attempt."""
        outputs: list[Mapping[str, Any]] = []
        stream = self._stream(run, offset=0, timeout_seconds=0)
        async with aclosing(stream) as batches:
            async for batch in batches:
                for event in batch:
                    if event["type"] == ATTEMPT:
                        outputs.clear()
                    else:
                        outputs.append(event)
        return outputs

    async def events(self, run: RunRecord, *, after: str = "") -> AsyncGenerator[RunEvent]:
        """Yield what happens in a run as it happens, from its start or after the event of this id, to its end."""
        batch_number, seen = _position(after)
        if not after:
            yield RunEvent(id="", data={"type": "run"} | run.to_dict())
        stream = self._stream(run, offset=batch_number, timeout_seconds=None)
        async with aclosing(stream) as batches:
            async for batch in batches:
                for index, event in enumerate(batch[seen:], start=seen):
                    yield RunEvent(id=f"{batch_number}.{index}", data=event)
                batch_number, seen = batch_number + 1, 0
        ended = await self.find(run.run_id)
        if ended is not None:  # pragma: no branch - unless it was deleted under us
            yield RunEvent(id=LAST_EVENT, data={"type": "result"} | ended.to_dict())

    async def prune(self) -> None:
        """Delete the finished runs that are too many or too old."""
        settings = self._settings
        oldest = (datetime.now(UTC) - timedelta(days=settings.keep_days)).isoformat()
        while ids := await _finished(offset=settings.keep_runs) or await _finished(before=oldest):
            await DBOS.delete_workflows_async(ids)

    async def _is_full(self) -> bool:
        waiting = await DBOS.list_workflows_async(
            status="ENQUEUED",
            queue_name=_QUEUE,
            offset=self._settings.max_queued - 1,
            limit=1,
            load_input=False,
        )
        return bool(waiting)

    async def _stream(
        self, run: RunRecord, *, offset: int, timeout_seconds: float | None
    ) -> AsyncGenerator[list[Mapping[str, Any]]]:
        values = DBOS.read_stream_async(
            f"{run.agent}:{run.run_id}", EVENTS, offset=offset, timeout_seconds=timeout_seconds
        )
        async with aclosing(values):
            try:
                async for value in values:
                    yield json.loads(value)
            except dbos_error.DBOSStreamTimeoutError:
                return

    async def _record(self, status: WorkflowStatus) -> RunRecord:
        agent, _, run_id = status.workflow_id.rpartition(":")
        output: Mapping[str, Any] = status.output or {}
        outcome = _outcome(status.status, output)
        attempts = output.get(ATTEMPTS)
        return RunRecord(
            run_id=run_id,
            agent=agent,
            client_request_id=(status.attributes or {}).get("client_request_id"),
            status=outcome.status if outcome else _unfinished(status.status),
            attempts=await count_attempts(status.workflow_id) if attempts is None else attempts,
            created_at=_iso(status.created_at),
            finished_at=_iso(status.completed_at) if outcome else None,
            outcome=outcome,
        )


def _config(settings: EngineSettings) -> DBOSConfig:
    is_sqlite = settings.database_url.startswith("sqlite:")
    return {
        "db_engine_kwargs": {"connect_args": {"factory": Connection}} if is_sqlite else {},
        "name": _NAME,
        "system_database_url": settings.database_url,
        "application_version": _VERSION,
        "executor_id": settings.server_name,
        "log_level": "WARNING",
        "notification_listener_polling_interval_sec": _EVENT_POLL_SECONDS,
        "max_executor_threads": _WORKER_THREADS,
        "serializer": DBOSPortableJSONSerializer(),  # the default one would unpickle what the database holds
    }


async def _finished(*, offset: int | None = None, before: str | None = None) -> list[str]:
    statuses = await DBOS.list_workflows_async(
        status=_FINISHED,
        completed_before=before,
        sort_desc=True,
        offset=offset,
        limit=_PAGE,
        load_input=False,
        load_output=False,
    )
    return [status.workflow_id for status in statuses]


def _run_id(agent: str, client_request_id: str | None) -> str:
    if client_request_id is None:
        return str(uuid.uuid4())
    return str(uuid.uuid5(_NAMESPACE, f"{agent}:{client_request_id}"))


def _is_same_input(status: WorkflowStatus, text: str, files: str) -> bool:
    args = status.input["args"] if status.input else (None, text, None, files)
    _, stored, _, *stored_files = args
    return _canonical(stored) == _canonical(text) and [*stored_files, NO_FILES][0] == files


def _canonical(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True)


def _position(event_id: str) -> tuple[int, int]:
    """Return the batch to read from and how many of its events have been seen; from the start where the id is none of ours."""
    batch, _, index = event_id.partition(".")
    if _EVENT_ID.fullmatch(event_id):
        return int(batch), int(index) + 1
    return 0, 0


def _unfinished(status: str) -> RunStatus:
    return "running" if status == "PENDING" else "queued"


def _outcome(status: str, output: Mapping[str, Any]) -> Outcome | None:
    match status:
        case "SUCCESS":
            return Outcome(**{name: output[name] for name in Outcome.__slots__})
        case "CANCELLED":
            return Outcome(status="cancelled", stop_reason="cancelled")
        case "ENQUEUED" | "DELAYED" | "PENDING":
            return None
        case _:
            return Outcome(status="failed", stop_reason="internal_error")


def _iso(milliseconds: int | None) -> str:
    assert milliseconds is not None  # noqa: S101 - DBOS sets it together with the status
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
