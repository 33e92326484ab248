"""Agent runs on DBOS: they survive the server, and several servers on one database share them."""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from typing import Any

import httpx
import sqlalchemy as sa
from dbos import DBOS, DBOSConfig

from dify_agent.compositor import LayerProvider
from dify_agent.plugin_daemon_transport import SilenceLimits
from dify_agent.runtime.layer_providers import create_default_layer_providers

from ._janitor import Janitor
from ._requests import RequestStore
from ._runs import QUEUE_NAME, RunBook
from .database import open_database
from .leases import LeaseTable
from .sealing import Seal, SealedSerializer, build_seal
from .settings import ServerSettings
from .workflow import RunWorker, register_run_workflow


_QUEUE_POLL_SECONDS = 0.2
_EVENT_POLL_SECONDS = 0.1
# Without a bound each look at an event stream may start a thread more: Python's pool takes idle ones for busy.
_WORKER_THREADS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """The store of runs.

    Attributes:
        database: The open database.
        seal: How its content is written down.
    """

    database: sa.Engine
    seal: Seal


def open_storage(settings: ServerSettings) -> Storage:
    """Open the database that the settings name.

    Raises:
        StorageError: If it cannot be used, or its content was stored under another key or without one.
    """
    seal = build_seal(settings.storage_key)
    database = open_database(settings.database_url.get_secret_value(), seal)
    return Storage(database=database, seal=seal)


@asynccontextmanager
async def open_engine(
    settings: ServerSettings, storage: Storage, *, http_client: httpx.AsyncClient
) -> AsyncGenerator[RunBook]:
    """Execute the runs of the database until the end of the context.

    Runs are executed on the running event loop. DBOS keeps its state in the process, so there is one engine at a time.

    Args:
        settings: How many runs to execute at a time, and how they end.
        storage: Where to store runs, see `open_storage`.
        http_client: The daemon's client; it must stay open as long as the context.
    """
    executor_id = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    database, seal = storage.database, storage.seal
    leases, requests = LeaseTable(database), RequestStore(database, seal)
    worker = RunWorker(
        http_client=http_client,
        requests=requests,
        layer_providers=build_layer_providers(settings),
    )
    janitor = Janitor(
        executor_id=executor_id,
        leases=leases,
        requests=requests,
        lease_seconds=settings.lease_seconds,
        retention=timedelta(hours=settings.retention_hours),
    )
    await asyncio.to_thread(leases.beat, executor_id)
    config = _build_config(settings, executor_id=executor_id, seal=seal)
    # DBOS makes a better engine for PostgreSQL than ours is, and ours is the better one for SQLite.
    config["system_database_engine"] = database if database.dialect.name == "sqlite" else None
    DBOS(config=config)
    workflow = register_run_workflow(worker)
    try:
        # Inside a running loop, so that DBOS executes workflows there, beside the client that they use.
        DBOS.launch()
        await DBOS.register_queue_async(
            QUEUE_NAME,
            worker_concurrency=settings.concurrency,
            polling_interval_sec=_QUEUE_POLL_SECONDS,
        )
        housekeeping = asyncio.create_task(janitor.work())
        try:
            yield RunBook(requests=requests, workflow=workflow, poll_seconds=_EVENT_POLL_SECONDS)
        finally:
            housekeeping.cancel()
            await worker.stop(drain_seconds=settings.drain_seconds)
    finally:
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)
        # Only now may others take over what was left. Not in a thread: DBOS has shut down the loop's threads.
        leases.drop([executor_id])
        database.dispose()


def build_layer_providers(settings: ServerSettings) -> Sequence[LayerProvider[Any]]:
    """Return the kinds of layers that runs may ask for; the daemon's settings go into them here and nowhere else."""
    return create_default_layer_providers(
        plugin_daemon_url=settings.plugin_daemon_url,
        plugin_daemon_api_key=settings.plugin_daemon_api_key.get_secret_value(),
        silence=SilenceLimits(
            model_seconds=settings.model_silence_seconds,
            keep_alive_seconds=settings.keep_alive_silence_seconds,
            tool_seconds=settings.tool_silence_seconds,
        ),
    )


def _build_config(settings: ServerSettings, *, executor_id: str, seal: Seal) -> DBOSConfig:
    return {
        "name": "dify-agent",
        "system_database_url": settings.database_url.get_secret_value(),
        "serializer": SealedSerializer(seal),
        "executor_id": executor_id,
        # Steps recorded by one version are replayed by the same version only.
        "application_version": f"dify-agent-{version('dify-agent')}",
        "log_level": "WARNING",
        "enable_otlp": False,
        "notification_listener_polling_interval_sec": _EVENT_POLL_SECONDS,
        "max_executor_threads": _WORKER_THREADS,
    }
