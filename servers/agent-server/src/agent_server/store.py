"""What an engine of another package is built on: the runs of its database, which it has executed wherever it likes."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ._engine.apart import RunStore
from ._engine.attempt import Attempt, Outcome, execute_run
from ._engine.base import open_base
from ._engine.step_try import RunFacts, StepLostError, StepTry
from ._store import apart, failures
from ._store.answers import find_answer_problems
from ._store.apart import Telling, Try
from ._store.errors import NO_DATABASE, StorageError
from ._store.fault_log import FaultLog, OnceAMinute
from ._store.holds import Hold
from ._store.open_runs import OpenRun, Standing
from ._store.records import Event
from .executor import Executor
from .runs import DatabaseAwayError
from .settings import ServerSettings


__all__ = [
    "Attempt",
    "Event",
    "FaultLog",
    "Hold",
    "OnceAMinute",
    "OpenRun",
    "Outcome",
    "RunFacts",
    "RunStore",
    "Standing",
    "StepLostError",
    "StepTry",
    "Telling",
    "Try",
    "execute_run",
    "failures",
    "find_answer_problems",
    "open_store",
]


@asynccontextmanager
async def open_store(
    settings: ServerSettings, executor: Executor, *, engine: str
) -> AsyncGenerator[RunStore]:
    """Open the database of an engine of another package, keep it tidy and notify watchers and the webhook, until the end of the context.

    Args:
        settings: The database, and the limits of runs.
        executor: Executes the runs.
        engine: The engine's name: other engines leave its runs alone.

    Raises:
        StorageError: If the database cannot be used, a newer version has written it, or a key is missing.
    """
    async with open_base(settings, executor, engine=engine) as base:
        try:
            await base.parts.writer.write(apart.enter)
        except DatabaseAwayError:
            raise StorageError(NO_DATABASE) from None
        store = RunStore(base, executor)
        async with base.running():
            yield store
