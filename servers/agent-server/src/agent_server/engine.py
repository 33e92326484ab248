"""Engines, which accept and execute runs durably, whatever happens to servers."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import entry_points
from typing import Final

from ._engine.heartbeat import ServerNameTakenError
from ._engine.service import RunService
from ._engine.tables import open_tables
from ._store.database import state_folder
from ._store.errors import StorageError
from .executor import Executor
from .runs import Runs
from .settings import ServerSettings


__all__ = [
    "ENGINES",
    "EngineError",
    "RunService",
    "ServerNameTakenError",
    "StorageError",
    "open_engine",
    "state_folder",
]

ENGINES: Final = "gpt5_agent_server.engines"
"""The group of entry points of engines in other packages.

One is named as the scheme of its URLs, and is called as `open_engine`, with whose settings `engine` is such a URL.
"""

type _Open = Callable[[ServerSettings, Executor], AbstractAsyncContextManager[Runs]]


class EngineError(StorageError):
    """An engine that is not there, cannot be reached, or cannot execute these runs."""


@asynccontextmanager
async def open_engine(settings: ServerSettings, executor: Executor) -> AsyncGenerator[Runs]:
    """Open the engine that the settings name, and execute runs until the end of the context.

    With `tables`, servers on the same database share the runs of executors with the same name. At the end of the
    context, runs get `stop_seconds` to end; those that are left wait for another server, or for the next start of this
    one.

    Args:
        settings: The engine, the database, and the limits of runs.
        executor: Executes the runs.

    Raises:
        StorageError: If the database cannot be used, a newer version has written it, or a key is missing.
        ServerNameTakenError: If a living server has the name that the settings give.
        EngineError: If the engine is not installed, or cannot be used.
    """
    async with _find(settings)(settings, executor) as runs:
        yield runs


def _find(settings: ServerSettings) -> _Open:
    if settings.engine == "tables":
        return open_tables
    scheme = settings.engine.partition(":")[0]
    for found in entry_points(group=ENGINES, name=scheme):
        try:
            return found.load()
        except (ImportError, AttributeError) as error:
            raise EngineError(
                f"engine: expected one that can be loaded; {found.value} of {scheme}:// cannot: {error}"
            ) from error
    raise EngineError(
        f"engine: no engine is installed for {scheme}://;"
        " for temporal:// install gpt5-agent-temporal beside this server"
    )
