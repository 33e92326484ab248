"""The engine: a server that starts, plays and looks after the workflows of its runs."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Final

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker
from temporalio.workflow import NondeterminismError

from agent_server.engine import EngineError, RunService
from agent_server.executor import Executor, MakesSteps
from agent_server.runs import Runs
from agent_server.settings import ServerSettings
from agent_server.store import RunStore, open_store

from ._activities import Activities
from ._address import Address
from ._names import queue_of
from ._payloads import build_converter
from ._players import Player, add_player
from ._reach import Reach
from ._runs import TemporalRuns, Workflows
from ._sweep import Sweep
from ._workflows import AgentRun, WholeRun


ENGINE: Final = "temporal"
_BEATS_A_LEASE: Final = 3
_STICKY_SECONDS: Final = 10.0
_PATIENCE: Final = timedelta(seconds=5)
_DAY_SECONDS: Final = 24 * 3600.0


@asynccontextmanager
async def open_temporal(settings: ServerSettings, executor: Executor) -> AsyncGenerator[Runs]:
    """Have the runs of a database executed by Temporal, here and by other servers, until the end of the context.

    How to connect is said by the setting `engine`, and by the environment variables of Temporal's own clients, such as
    `TEMPORAL_API_KEY` and `TEMPORAL_TLS`.

    Args:
        settings: The engine, the database, and the limits of runs.
        executor: Executes the runs.

    Raises:
        StorageError: If the database cannot be used, a newer version has written it, or a key is missing.
        EngineError: If the address is none, Temporal cannot be reached, or it cannot execute these runs.
    """
    address = Address.parse(settings.engine)
    if settings.run_logs is not None and isinstance(executor, MakesSteps):
        raise EngineError(
            "run_logs: expected none with this engine, which makes the steps of a run in many processes"
        )
    async with open_store(settings, executor, engine=ENGINE) as store:
        client = await _connect(address, settings, store)
        workflows = Workflows(client, store, executor, Reach(address.target))
        async with AsyncExitStack() as stack:
            workers = _build_workers(client, settings, executor, store)
            for worker in workers:
                await stack.enter_async_context(worker)
            sweeping = asyncio.create_task(Sweep(store, workflows).work())
            try:
                yield TemporalRuns(store, executor, workflows)
            finally:
                sweeping.cancel()
                # Each waits for what it executes, so that they stop at the same time.
                await asyncio.gather(*(one.shutdown() for one in workers))


async def _connect(address: Address, settings: ServerSettings, store: RunStore) -> Client:
    config = ClientConfig.load_client_connect_config()
    config |= {"target_host": address.target, "namespace": address.namespace}
    expected = (
        f"engine: expected Temporal at {address.target}, with a namespace {address.namespace}"
    )
    try:
        client = await Client.connect(
            **config,
            data_converter=build_converter(store, encrypts=settings.storage_keys is not None),
        )
        wanted = DescribeNamespaceRequest(namespace=address.namespace)
        await client.workflow_service.describe_namespace(wanted, timeout=_PATIENCE)
    except RuntimeError as error:
        raise EngineError(f"{expected}; it cannot be reached") from error
    except RPCError as error:
        raise EngineError(f"{expected}: {error}") from error
    return client


def _build_workers(
    client: Client, settings: ServerSettings, executor: Executor, store: RunStore
) -> Sequence[Worker]:
    """Return a worker for each version of runs that this server can go on with."""
    player = Player(
        executor=executor,
        lease_seconds=settings.lease_seconds,
        max_attempts=settings.max_attempts,
        waiting_seconds=settings.keep_waiting_days * _DAY_SECONDS,
        most_waiting=settings.max_waiting_per_tenant,
    )
    lease = settings.lease_seconds
    beat_seconds = lease / _BEATS_A_LEASE
    answering = RunService(store.parts, executor, lambda: store.executing)
    activities = Activities(store, answering, beat_seconds=beat_seconds)
    server = store.parts.server
    queues = {queue_of(server.executor, version) for version in server.versions}
    for queue in queues:
        add_player(client.namespace, queue, player)
    return [
        Worker(
            client,
            task_queue=queue,
            workflows=[AgentRun, WholeRun],
            activities=activities.all,
            # What is played here reads no clock and does no I/O; a test of this package plays it in the sandbox.
            workflow_runner=UnsandboxedWorkflowRunner(),
            max_concurrent_activities=settings.concurrency,
            max_heartbeat_throttle_interval=timedelta(seconds=beat_seconds),
            default_heartbeat_throttle_interval=timedelta(seconds=beat_seconds),
            # A worker that died plays no workflow that it has played so far.
            sticky_queue_schedule_to_start_timeout=timedelta(seconds=min(lease, _STICKY_SECONDS)),
            graceful_shutdown_timeout=timedelta(seconds=settings.stop_seconds),
            # Such a workflow is started anew, and played from the recorded steps.
            workflow_failure_exception_types=[NondeterminismError],
        )
        for queue in sorted(queues)
    ]
