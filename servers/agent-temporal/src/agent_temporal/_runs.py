"""The runs as clients see them: what they ask for is stored as with any engine, and Temporal is told of it."""

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Final, cast, override

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeTaskQueueRequest,
)
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from agent_server.engine import RunService
from agent_server.executor import Executor, MakesSteps, RequestRefusedError
from agent_server.runs import (
    FINISHED,
    AnswerConflictError,
    DatabaseAwayError,
    NewAnswer,
    NewRun,
    Run,
    Statistics,
    WaitingFor,
)
from agent_server.store import RunStore, Standing, find_answer_problems

from ._messages import Answer
from ._names import AGENT_RUN, ANSWER, WHOLE_RUN, queue_of
from ._reach import Reach


# How long a workflow may take to see that its run waits, or to begin anew where Temporal forgot it.
_ANSWER_SECONDS: Final = 20.0
_AGAIN_SECONDS: Final = 0.2
_ANSWER_PATIENCE: Final = timedelta(seconds=20)
_PATIENCE: Final = timedelta(seconds=5)  # With Temporal, which a client waits for.
# A poll takes a minute at most, and Temporal remembers who polled for longer.
_POLL_SECONDS: Final = 90.0


class Workflows:
    """The workflows of runs.

    Args:
        client: The client of Temporal.
        store: The runs.
        executor: Executes them.
        reach: Whether Temporal is there.
    """

    def __init__(self, client: Client, store: RunStore, executor: Executor, reach: Reach) -> None:
        self.client = client
        self.reach = reach
        self._server = store.parts.server
        self._name = AGENT_RUN if isinstance(executor, MakesSteps) else WHOLE_RUN

    async def look(self) -> None:
        """Ask Temporal whether it is there.

        Raises:
            RPCError: If it does not answer.
        """
        asked = DescribeNamespaceRequest(namespace=self.client.namespace)
        await self.client.workflow_service.describe_namespace(asked, timeout=_PATIENCE)
        self.reach.regain()

    def handle(self, run_id: str) -> WorkflowHandle[object, object]:
        """Return the handle of a run's workflow."""
        return self.client.get_workflow_handle(run_id)

    def queue(self, version: str) -> str:
        """Return the task queue of runs of a version."""
        return queue_of(self._server.executor, version)

    def version_of(self, agent: str) -> str:
        """Return the version of runs of an agent that are begun here."""
        return self._server.version_of(agent)

    async def start(self, run_id: str, *, version: str, is_anew: bool = False) -> None:
        """Start the workflow of a run, unless it runs; or anew, in place of one that runs."""
        policies = WorkflowIDConflictPolicy
        await self.client.start_workflow(
            self._name,
            run_id,
            id=run_id,
            task_queue=self.queue(version),
            id_conflict_policy=policies.TERMINATE_EXISTING if is_anew else policies.USE_EXISTING,
            rpc_timeout=_PATIENCE,
        )

    async def cancel(self, run_id: str) -> bool:
        """Cancel the workflow of a run, and return whether it runs."""
        with _missing() as missing:
            await self.handle(run_id).cancel(rpc_timeout=_PATIENCE)
        return not missing

    async def terminate(self, run_id: str) -> None:
        """Terminate the workflow of a run, if it runs."""
        with _missing():
            await self.handle(run_id).terminate(rpc_timeout=_PATIENCE)

    async def read_status(self, run_id: str) -> WorkflowExecutionStatus | None:
        """Return the state of a run's workflow; None if there is none."""
        with _missing():
            return (await self.handle(run_id).describe(rpc_timeout=_PATIENCE)).status
        return None

    async def is_served(self, version: str) -> bool:
        """Return whether a server polls the queue of a version, or has until a short while ago."""
        asked = DescribeTaskQueueRequest(
            namespace=self.client.namespace,
            task_queue=TaskQueue(name=self.queue(version)),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
        found = await self.client.workflow_service.describe_task_queue(asked, timeout=_PATIENCE)
        return any(
            time.time() - one.last_access_time.ToSeconds() < _POLL_SECONDS for one in found.pollers
        )


@contextmanager
def _missing() -> Generator[list[RPCError]]:
    """Note that Temporal does not know a workflow, or that it is over."""
    missing: list[RPCError] = []
    try:
        yield missing
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        missing.append(error)


class TemporalRuns(RunService):
    """The runs of a database that Temporal executes.

    Args:
        store: The runs.
        executor: Checks answers to what runs wait for.
        workflows: The workflows of the runs.
    """

    def __init__(self, store: RunStore, executor: Executor, workflows: Workflows) -> None:
        super().__init__(store.parts, executor, lambda: store.executing)
        self._store = store
        self._workflows = workflows

    @override
    async def create(self, run: NewRun) -> tuple[Run, bool]:
        created, is_new = await super().create(run)
        if is_new:
            try:
                await self._workflows.start(
                    created.run_id, version=self._workflows.version_of(created.agent)
                )
            except RPCError as error:
                # The run is stored, and is started as soon as that is possible.
                self._workflows.reach.lose(error)
        return created, is_new

    @override
    async def cancel(self, run_id: str, *, tenant: str, reason: str | None = None) -> Run:
        was = await self.get(run_id, tenant=tenant)
        run = await super().cancel(run_id, tenant=tenant, reason=reason)
        if was.status not in FINISHED:
            try:
                await self._workflows.cancel(run_id)
            except RPCError as error:
                # It is stored that the run is to be cancelled, and told as soon as that is possible.
                self._workflows.reach.lose(error)
        return run

    @override
    def statistics(self, *, tenant: str | None = None) -> Statistics:
        figures = super().statistics(tenant=tenant)
        return replace(figures, engine_is_away=self._workflows.reach.is_away)

    @override
    async def answer(self, run_id: str, new: NewAnswer, *, tenant: str) -> tuple[Run, bool]:
        clock = asyncio.get_running_loop().time
        end = clock() + _ANSWER_SECONDS
        while clock() < end:
            run = await self.get(run_id, tenant=tenant)
            if run.waiting_for is None or run.waiting_for.wait_id != new.wait_id:
                # Nothing is stored for it: it comes again, or is the answer to something else.
                return await super().answer(run_id, new, tenant=tenant)
            is_new = await self._give(run, new, tenant)
            if is_new is not None:
                return await self.get(run_id, tenant=tenant), is_new
            await asyncio.sleep(_AGAIN_SECONDS)
        raise DatabaseAwayError

    async def _give(self, run: Run, new: NewAnswer, tenant: str) -> bool | None:
        """Give a workflow an answer, and return whether that is new; None if the workflow does not know yet that it waits for it."""
        self.check_answer(run, new)
        waits = cast("WaitingFor", run.waiting_for)
        if problems := find_answer_problems(waits.request, new.answer):
            raise RequestRefusedError(*problems)
        answer = Answer.of(run.run_id, tenant, new)
        try:
            return await self._workflows.handle(run.run_id).execute_update(  # pyright: ignore[reportUnknownMemberType] - it takes any callable
                ANSWER, answer, result_type=bool, rpc_timeout=_ANSWER_PATIENCE
            )
        except WorkflowUpdateFailedError as error:
            return _read_refusal(error)
        except WorkflowUpdateRPCTimeoutOrCancelledError:
            raise DatabaseAwayError from None
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise DatabaseAwayError from error
        # Temporal has forgotten it, and it is of the version that it was begun under.
        standing = cast("Standing", await self._store.read_standing(run.run_id))
        try:
            await self._workflows.start(run.run_id, version=standing.version)
        except RPCError as error:
            raise DatabaseAwayError from error
        return None


def _read_refusal(error: WorkflowUpdateFailedError) -> None:
    """Raise that a run has had another answer.

    Whatever else a workflow has said, such as that it does not wait or is cancelled, the run's state will tell.
    """
    cause = error.cause
    if (
        isinstance(cause, ApplicationError)
        and cause.type == AnswerConflictError.__name__
        and cause.message == AnswerConflictError.OTHER_ANSWER
    ):
        raise AnswerConflictError(AnswerConflictError.OTHER_ANSWER)
