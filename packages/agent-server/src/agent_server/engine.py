"""The durable engine: accepts and executes runs, whatever happens to servers."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from ._engine.engine import run_engine
from ._engine.heartbeat import ServerNameTakenError
from ._store.database import open_database
from ._store.encryption import Encryption
from ._store.errors import StorageError
from .executor import Executor
from .runs import Runs
from .settings import ServerSettings


__all__ = ["ServerNameTakenError", "StorageError", "open_engine", "state_folder"]


@asynccontextmanager
async def open_engine(settings: ServerSettings, executor: Executor) -> AsyncGenerator[Runs]:
    """Open the database, and execute its runs on the running loop until the end of the context.

    Other servers on the same database share the runs of executors of the same name. At the end, runs get `stop_seconds` to end; what is left
    then waits for another server, or the next start of this one.

    Args:
        settings: Which database, how many runs at a time, and how they end.
        executor: What executes them.

    Raises:
        StorageError: If the database cannot be used, a newer version has written it, or a key is missing.
        ServerNameTakenError: If a living server has the name that the settings give.
    """
    encryption = Encryption(
        settings.storage_keys.get_secret_value() if settings.storage_keys else ""
    )
    database = await asyncio.to_thread(open_database, _database_url(settings, executor), encryption)
    try:
        async with run_engine(settings, executor, database) as runs:
            yield runs
    finally:
        database.close()


def state_folder(settings: ServerSettings, executor: Executor) -> Path:
    """Return the folder of a server's own: the one that the settings name, or one where a user's programs keep such things.

    Source: https://specifications.freedesktop.org/basedir-spec/latest/, `XDG_STATE_HOME`.
    """
    if settings.state is not None:
        return settings.state
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base, executor.name)


def _database_url(settings: ServerSettings, executor: Executor) -> str:
    if settings.database is not None:
        return settings.database.get_secret_value()
    return f"sqlite:///{state_folder(settings, executor).absolute() / 'runs.sqlite'}"
