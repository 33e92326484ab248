"""Temporal in memory: the SDK's own event loop plays workflows, as in a worker, and activities run in the SDK's test environment.

What it does not do is to lose or to repeat anything by itself.
"""

import asyncio
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from temporalio import activity, workflow
from temporalio.activity import ActivityCancellationDetails
from temporalio.api.common.v1 import Payloads
from temporalio.api.failure.v1 import Failure
from temporalio.bridge.proto import activity_result, workflow_activation, workflow_commands
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import Priority, TypedSearchAttributes, WorkflowIDConflictPolicy
from temporalio.converter import DataConverter, DefaultFailureConverter
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, WorkflowInstanceDetails
from temporalio.workflow import NondeterminismError


NAMESPACE = "tests"
_CONVERTER = DataConverter.default
_VALUES = _CONVERTER.payload_converter
_FAILURES = _CONVERTER.failure_converter
_TRY_CANCEL = workflow_commands.ActivityCancellationType.TRY_CANCEL
_TERMINATE_EXISTING = WorkflowIDConflictPolicy.TERMINATE_EXISTING
_CLOSING = {
    f"{how}_workflow_execution" for how in ("complete", "fail", "cancel", "continue_as_new")
}


def _is_event(job):
    """Return whether a history would lack a workflow's pending updates and what its worker does by itself."""
    return not job.HasField("do_update") and not job.resolve_activity.is_local


def _rpc_error(status, message):
    return RPCError(message, status, b"")


@dataclass(eq=False)
class Served:
    """What a worker serves."""

    workflows: dict
    activities: dict
    last_poll: float = field(default_factory=time.time)


@dataclass
class Making:
    """An activity that is under way, and the environment of its try, while there is one."""

    name: str
    task: asyncio.Task
    cancellation: int = 0
    environment: ActivityEnvironment | None = None

    def cancel(self):
        """Let it hear with its next heartbeat that nobody wants it any more."""
        if self.environment is None:
            self.task.cancel()
        else:
            self.environment.cancel()


class Execution:
    """One execution of a workflow."""

    def __init__(self, temporal, name, workflow_id, queue, args, *, first=None):
        self.temporal, self.name, self.workflow_id, self.queue = temporal, name, workflow_id, queue
        self.run_id = str(uuid.uuid4())
        self.first = first or self.run_id
        self.status = WorkflowExecutionStatus.RUNNING
        self.result = self.error = None
        self.activated = 0
        self.making, self.timers, self.updates = {}, {}, {}
        self._instance, self._player, self._played, self._length = None, None, [], 0
        self._jobs, self._due = [], asyncio.Event()
        self._acting, self._is_cancelled = None, False
        self.add(
            initialize_workflow=workflow_activation.InitializeWorkflow(
                workflow_type=name,
                workflow_id=workflow_id,
                arguments=_VALUES.to_payloads(args),
                randomness_seed=7,
                attempt=1,
                first_execution_run_id=self.first,
            )
        )
        self.task = asyncio.create_task(self._play())
        self.task.add_done_callback(self._on_played)

    def add(self, **job):
        """Let the workflow hear of something with its next activation."""
        self._jobs.append(workflow_activation.WorkflowActivationJob(**job))
        self._due.set()

    async def _play(self):
        while self.status is WorkflowExecutionStatus.RUNNING and not self.is_frozen:
            await self._due.wait()
            self._due.clear()
            served = await self.temporal.served_by(self.queue)
            if served is not self._player:
                await self._replay(served)
            if self._jobs:
                await self._activate()

    def _on_played(self, task):
        # Else a fault of this play would look like a run that never ends.
        if not task.cancelled() and task.exception() is not None:
            self.temporal.failed_tasks.append(repr(task.exception()))
            self.close(WorkflowExecutionStatus.FAILED)

    async def _replay(self, served):
        """Play in another worker what was played in one that is gone."""
        await self._drop()
        self._player = served
        self._instance = UnsandboxedWorkflowRunner().create_instance(self._details(served))
        for act in self._played:
            act.is_replaying = True
            await self._act(act)

    async def _drop(self):
        # As in a worker, which plays one thing of a workflow at a time.
        if self._acting is not None:
            await asyncio.wait([self._acting])
        if self._instance is not None:
            act = workflow_activation.WorkflowActivation(run_id=self.run_id)
            act.jobs.add().remove_from_cache.SetInParent()
            await self._act(act)
            self._instance = None

    async def _act(self, act):
        self._acting = asyncio.ensure_future(asyncio.to_thread(self._instance.activate, act))
        return await asyncio.shield(self._acting)

    async def _activate(self):
        jobs, self._jobs = self._jobs, []
        self.activated += 1
        self._length += self.temporal.weight
        act = workflow_activation.WorkflowActivation(
            run_id=self.run_id,
            jobs=jobs,
            history_length=self._length,
            history_size_bytes=self._length * self.temporal.event_bytes,
        )
        act.timestamp.FromNanoseconds(time.time_ns())
        self._played.append(act)
        done = await self._act(act)
        if self.status is not WorkflowExecutionStatus.RUNNING:
            return
        if done.HasField("failed"):
            # What Temporal tries again and again, until somebody puts in another version.
            self.temporal.failed_tasks.append(done.failed.failure.message)
            self.close(WorkflowExecutionStatus.FAILED)
            return
        # By which it is played again as it was.
        act.available_internal_flags.extend(done.successful.used_internal_flags)
        commands = [(one.WhichOneof("variant"), one) for one in done.successful.commands]
        self.temporal.crossing(self, [kind for kind, _ in commands])
        if any(kind in _CLOSING for kind, _ in commands) and any(map(_is_event, self._jobs)):
            # Temporal takes no end from a workflow that has not heard of everything: it is played again, with the news.
            self._played.pop()
            self._jobs, self._player = [*jobs, *self._jobs], None
            return
        for kind, command in commands:
            getattr(self, f"_on_{kind}")(getattr(command, kind))

    @property
    def is_frozen(self):
        """Whether it does not hear of anything any more."""
        return 0 < self.temporal.freeze_at <= self.activated

    def _details(self, served):
        now = datetime.now(UTC)
        definition = workflow._Definition.must_from_class(served.workflows[self.name])
        info = workflow.Info(
            attempt=1,
            continued_run_id=None,
            cron_schedule=None,
            execution_timeout=None,
            first_execution_run_id=self.first,
            headers={},
            namespace=NAMESPACE,
            original_execution_run_id=self.run_id,
            parent=None,
            root=None,
            priority=Priority.default,
            raw_memo={},
            retry_policy=None,
            run_id=self.run_id,
            run_timeout=None,
            search_attributes={},
            start_time=now,
            workflow_start_time=now,
            task_queue=self.queue,
            task_timeout=timedelta(seconds=10),
            typed_search_attributes=TypedSearchAttributes.empty,
            workflow_id=self.workflow_id,
            workflow_type=self.name,
        )
        return WorkflowInstanceDetails(
            payload_converter_factory=_CONVERTER.payload_converter_class,
            failure_converter_class=DefaultFailureConverter,
            interceptor_classes=[],
            defn=definition,
            info=info,
            randomness_seed=7,
            extern_functions={"__temporal_assert_local_activity_valid": lambda _: None},
            disable_eager_activity_execution=False,
            worker_level_failure_exception_types=[NondeterminismError],
            patch_activation_callback=None,
            last_completion_result=Payloads(),
            last_failure=None,
        )

    def _on_start_timer(self, timer):
        seconds = timer.start_to_fire_timeout.ToTimedelta().total_seconds() / self.temporal.pace
        # An event loop takes no timer of many days.
        self.timers[timer.seq] = asyncio.get_running_loop().call_later(
            min(seconds, 3600), self.fire, timer.seq
        )

    def fire(self, seq):
        """Let a timer fire now."""
        self.timers.pop(seq).cancel()
        self.add(fire_timer=workflow_activation.FireTimer(seq=seq))

    def _on_cancel_timer(self, timer):
        if timer.seq in self.timers:
            self.timers.pop(timer.seq).cancel()
        else:
            # It has fired while the workflow was played, which does not hear of that any more.
            self._jobs = [one for one in self._jobs if one.fire_timer.seq != timer.seq]

    def _on_schedule_activity(self, asked):
        self._schedule(asked, is_local=False).cancellation = asked.cancellation_type

    def _on_schedule_local_activity(self, asked):
        self._schedule(asked, is_local=True).cancellation = _TRY_CANCEL

    def _schedule(self, asked, *, is_local):
        task = asyncio.create_task(self._make(asked, is_local=is_local))
        making = self.making[asked.seq, is_local] = Making(asked.activity_type, task)
        return making

    async def _make(self, asked, *, is_local):
        key = asked.seq, is_local
        resolution = await self._try(asked, self.making[key])
        if key in self.making:
            self._resolve(*key, resolution)

    def _resolve(self, seq, is_local, resolution):
        del self.making[seq, is_local]
        resolved = workflow_activation.ResolveActivity(
            seq=seq, result=resolution, is_local=is_local
        )
        self.add(resolve_activity=resolved)

    async def _try(self, asked, making):
        """Try an activity until it has ended for good, and return how."""
        policy, attempt, name = asked.retry_policy, 0, asked.activity_type
        while True:
            attempt += 1
            try:
                return _completed(await self._try_once(asked, making, attempt))
            except asyncio.CancelledError:
                return _cancelled(name)
            except Exception as error:  # noqa: BLE001 - whatever an activity raises
                is_final = isinstance(error, ApplicationError) and error.non_retryable
                if is_final or attempt == policy.maximum_attempts:
                    return _failed(name, error)
            finally:
                making.environment = None
            pause = policy.initial_interval.ToTimedelta().total_seconds()
            await asyncio.sleep(pause / self.temporal.pace)

    async def _try_once(self, asked, making, attempt):
        name = asked.activity_type
        served = await self.temporal.served_by(self.queue)
        made = served.activities[name]
        types = activity._Definition.must_from_callable(made).arg_types
        args = _VALUES.from_payloads(asked.arguments, types)
        self.temporal.made[name].append(args)
        await self.temporal.before(name, attempt)
        environment = making.environment = ActivityEnvironment()
        environment.on_heartbeat = lambda *details: self.temporal.beats[name].append(details)
        environment.info = replace(
            environment.info,
            activity_id=str(asked.seq),
            activity_type=name,
            attempt=attempt,
            workflow_id=self.workflow_id,
            workflow_run_id=self.run_id,
        )
        return await environment.run(made, *args)

    def _on_request_cancel_activity(self, asked):
        self._cancel(asked.seq, is_local=False)

    def _on_request_cancel_local_activity(self, asked):
        self._cancel(asked.seq, is_local=True)

    def _cancel(self, seq, *, is_local):
        # It may have ended while the workflow was played, which hears of that next.
        if (making := self.making.get((seq, is_local))) is None:
            return
        # What has not begun ends at once, however it is cancelled.
        if making.cancellation == _TRY_CANCEL or making.environment is None:
            self._resolve(seq, is_local, _cancelled(making.name))
        making.cancel()

    def _on_update_response(self, response):
        future = self.updates[response.protocol_instance_id]
        if future.done():  # Whoever has sent it waits no more.
            return
        match response.WhichOneof("response"):
            case "completed":
                future.set_result(_VALUES.from_payload(response.completed))
            case "rejected":
                cause = _FAILURES.from_failure(response.rejected, _VALUES)
                future.set_exception(WorkflowUpdateFailedError(cause))

    def _on_complete_workflow_execution(self, completed):
        self.result = _VALUES.from_payload(completed.result)
        self.close(WorkflowExecutionStatus.COMPLETED)

    def _on_fail_workflow_execution(self, failed):
        self.error = _FAILURES.from_failure(failed.failure, _VALUES)
        self.close(WorkflowExecutionStatus.FAILED)

    def _on_continue_as_new_workflow_execution(self, asked):
        self.close(WorkflowExecutionStatus.CONTINUED_AS_NEW)
        args = _VALUES.from_payloads(asked.arguments)
        self.temporal.begin(self.name, self.workflow_id, self.queue, args, first=self.first)

    def cancel(self):
        """Cancel the workflow, which hears of that once."""
        if not self._is_cancelled:
            self._is_cancelled = True
            self.add(cancel_workflow=workflow_activation.CancelWorkflow())

    def close(self, status):
        """End the execution; its activities hear of it with their next heartbeat."""
        self.status = status
        for timer in self.timers.values():
            timer.cancel()
        for making in self.making.values():
            making.cancel()
        for update in self.updates.values():
            if not update.done():
                update.set_exception(_rpc_error(RPCStatusCode.NOT_FOUND, "workflow is over"))
        self._due.set()

    async def evict(self):
        """Take the workflow out of memory."""
        if self.status is WorkflowExecutionStatus.RUNNING:
            self.close(WorkflowExecutionStatus.TERMINATED)
        self.task.cancel()
        making = [one.task for one in self.making.values()]
        await asyncio.gather(self.task, *making, return_exceptions=True)
        await self._drop()

    async def stop(self, seconds):
        """Let its activities go on for a while, and then cancel them; others make them again."""
        trying = [one for one in self.making.values() if one.environment is not None]
        for one in trying:
            one.environment.worker_shutdown()
        await asyncio.sleep(seconds)
        for one in trying:
            if one.environment is not None:
                one.environment.cancel(ActivityCancellationDetails(worker_shutdown=True))

    async def update(self, name, given):
        """Send an update, and return what the workflow answers."""
        key = str(uuid.uuid4())
        self.updates[key] = asyncio.get_running_loop().create_future()
        update = workflow_activation.DoUpdate(
            id=key,
            protocol_instance_id=key,
            name=name,
            input=_VALUES.to_payloads([given]),
            run_validator=True,
        )
        self.add(do_update=update)
        return await self.updates[key]


def _completed(result):
    success = activity_result.Success(result=_VALUES.to_payload(result))
    return activity_result.ActivityResolution(completed=success)


def _failed(name, error):
    failure = _activity_failure(name)
    if isinstance(error, TimeoutError):
        failure.cause.timeout_failure_info.SetInParent()
    else:
        _FAILURES.to_failure(error, _VALUES, failure.cause)
    return activity_result.ActivityResolution(failed=activity_result.Failure(failure=failure))


def _cancelled(name):
    failure = _activity_failure(name)
    failure.cause.canceled_failure_info.SetInParent()
    cancelled = activity_result.Cancellation(failure=failure)
    return activity_result.ActivityResolution(cancelled=cancelled)


def _activity_failure(name):
    failure = Failure(message="Activity task failed")
    failure.activity_failure_info.activity_type.name = name
    return failure


class Temporal:
    """Temporal, and at the same time a client of it.

    Attributes:
        pace: How many times as fast its timers are.
        weight: How many events of a history each activation of a workflow counts as.
        event_bytes: How large each of them is.
        error: What all calls fail with, while it is away.
        namespace_error: What it says of its namespace.
        start_error: What no workflow can be started for.
        is_slow: Whether updates take longer than anybody waits for them.
        executions: The executions of each workflow, by its id.
        freeze_at: After how many activations a workflow hears of nothing any more; 0 for never.
        made: The arguments of the activities that were begun, by their names.
        beats: The heartbeats of activities, by their names.
        before: Awaited before an activity begins.
        crossing: Called once a workflow was played, before anything counts of that, with the execution and the kinds of its commands.
        failed_tasks: What has kept workflows from going on.
    """

    namespace = NAMESPACE

    def __init__(self):
        self.pace, self.weight, self.event_bytes = 20, 3, 100
        self.error = self.start_error = None
        self.namespace_error = None
        self.is_slow = False
        self.served = {}
        self._is_served = defaultdict(asyncio.Event)
        self.executions = defaultdict(list)
        self.made = defaultdict(list)
        self.beats = defaultdict(list)
        self.before = _nothing
        self.crossing = lambda _execution, _kinds: None
        self.failed_tasks = []
        self.freeze_at = 0
        self.workflow_service = self

    async def connect(self, **options):
        self.options = options
        self._check()
        return self

    def _check(self):
        if self.error is not None:
            raise _rpc_error(*self.error)

    async def describe_namespace(self, _asked, **_options):
        if self.namespace_error is not None:
            raise _rpc_error(*self.namespace_error)

    async def describe_task_queue(self, asked, **_options):
        self._check()
        found = self.served.get(asked.task_queue.name)
        access = SimpleNamespace(ToSeconds=lambda: found.last_poll)
        return SimpleNamespace(
            pollers=[] if found is None else [SimpleNamespace(last_access_time=access)]
        )

    async def served_by(self, queue):
        """Return who serves a queue, as soon as somebody does."""
        await self._is_served[queue].wait()
        return self.served[queue]

    def serve(self, queue, served):
        self.served[queue] = served
        self._is_served[queue].set()

    async def stop(self, queue, served, seconds):
        """Let a worker stop that serves a queue."""
        if self.served.get(queue) is not served:
            return
        self._is_served[queue].clear()
        del self.served[queue]
        open_ = [one[-1] for one in self.executions.values() if one and one[-1].queue == queue]
        await asyncio.gather(*(one.stop(seconds) for one in open_))

    def begin(self, name, workflow_id, queue, args, *, first=None):
        execution = Execution(self, name, workflow_id, queue, args, first=first)
        self.executions[workflow_id].append(execution)
        return execution

    async def start_workflow(self, name, arg, *, id, task_queue, id_conflict_policy, **_options):  # noqa: A002 - Temporal's
        self._check()
        if self.start_error is not None:
            raise _rpc_error(*self.start_error)
        if self.is_running(id) and id_conflict_policy is _TERMINATE_EXISTING:
            self.find(id).close(WorkflowExecutionStatus.TERMINATED)
        if not self.is_running(id):
            self.begin(name, id, task_queue, [arg])

    def is_running(self, workflow_id):
        found = self.executions[workflow_id]
        return bool(found) and found[-1].status is WorkflowExecutionStatus.RUNNING

    def get_workflow_handle(self, workflow_id):
        return Handle(self, workflow_id)

    def find(self, workflow_id, *, is_open=True):
        """Return the last execution of a workflow."""
        self._check()
        found = self.executions[workflow_id]
        if not found or (is_open and not self.is_running(workflow_id)):
            raise _rpc_error(RPCStatusCode.NOT_FOUND, "workflow not found")
        return found[-1]

    async def forget(self, workflow_id):
        """Forget a workflow with all that it has done."""
        for one in self.executions.pop(workflow_id):
            await one.evict()

    async def close(self):
        for found in self.executions.values():
            for one in found:
                await one.evict()

    def worker(self, client, *, task_queue, workflows, activities, **options):
        """Return a worker of this, in the place of the SDK's."""
        assert client is self
        return Worker(self, task_queue, workflows, activities, options)


class Worker:
    """A worker, which serves a queue."""

    def __init__(self, temporal, queue, workflows, activities, options):
        self._temporal, self._queue, self.options = temporal, queue, options
        self._served = Served(
            {workflow._Definition.must_from_class(one).name: one for one in workflows},
            {activity._Definition.must_from_callable(one).name: one for one in activities},
        )

    async def __aenter__(self):
        self._temporal.serve(self._queue, self._served)
        return self

    async def shutdown(self):
        seconds = self.options["graceful_shutdown_timeout"].total_seconds()
        await self._temporal.stop(self._queue, self._served, seconds)

    async def __aexit__(self, *_):
        await self.shutdown()


class Handle:
    """The handle of a workflow."""

    def __init__(self, temporal, workflow_id):
        self._temporal, self._id = temporal, workflow_id

    async def cancel(self, **_options):
        self._temporal.find(self._id).cancel()

    async def terminate(self, **_options):
        self._temporal.find(self._id).close(WorkflowExecutionStatus.TERMINATED)

    async def describe(self, **_options):
        return self._temporal.find(self._id, is_open=False)

    async def execute_update(self, name, given, **_options):
        if self._temporal.is_slow:
            raise WorkflowUpdateRPCTimeoutOrCancelledError
        return await self._temporal.find(self._id).update(name, given)


async def _nothing(_name, _attempt):
    return None
