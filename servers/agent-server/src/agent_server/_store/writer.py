"""The writer, a thread that writes for all runs, many operations in one transaction."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Concatenate

import sqlalchemy as sa

from agent_server.runs import DatabaseAwayError

from .database import Database
from .encryption import Encryption
from .errors import describe_fault, is_deadlock, is_outage
from .fault_log import OnceAMinute
from .pulse import PATIENCE_SECONDS, Pulse
from .schema import servers
from .signals import ALL_SIGNALS, CHANNEL, EMITTED, NOTIFIED


_logger = logging.getLogger("agent_server")

# A commit waits for the disk, so operations share one. With more of them, the first would wait too
# long for its answer.
_MAX_OPERATIONS = 100
_RETRY_SECONDS = 0.5
# SQLite has no notifications: this is how often the writer checks whether others have written.
_LOOK_SECONDS = 0.1
_NOTIFY = sa.select(sa.func.pg_notify(CHANNEL, sa.bindparam("payload", type_=sa.Text)))


@dataclass(slots=True)
class Write:
    """A transaction under way.

    Attributes:
        connection: The connection to write with.
        encryption: Encrypts what is written.
        signals: What this server and others should look at after the commit; see `agent_server._store.signals`.
        has_webhook: Whether a webhook is told of runs.
    """

    connection: sa.Connection
    encryption: Encryption
    signals: set[str] = field(default_factory=set)
    has_webhook: bool = False


type Operation[**Arguments, Result] = Callable[Concatenate[Write, Arguments], Result | Exception]
"""A function that is called in a transaction together with others.

An exception that it returns is raised for its caller only, and does not harm the others.
"""


@dataclass(slots=True, eq=False)
class _Job:
    operation: Callable[[Write], Any]
    done: asyncio.Future[Any]
    is_patient: bool


class Writer:
    """The thread that writes, and its queue.

    Operations are executed in the order in which they arrive. If one raises an error, the others of its transaction are
    done without it. While the database cannot be reached, patient operations wait and the others fail.
    """

    def __init__(
        self,
        database: Database,
        *,
        server: str,
        on_signals: Callable[[set[str]], None],
        has_webhook: bool = False,
        is_told: bool = True,
    ) -> None:
        """Start the thread.

        Args:
            database: The database to write to.
            server: The name of this server in signals to others.
            on_signals: Called on the running loop with signals about what was written here or, on SQLite, by others.
            has_webhook: Whether a webhook is told of runs.
            is_told: Whether the watchers here get the events that are written here from the runs that have emitted them, and need no signal.
        """
        self._database = database
        self._server = server
        self._on_signals = on_signals
        self._has_webhook = has_webhook
        self._silent = {EMITTED} if is_told else set[str]()
        self._loop = asyncio.get_running_loop()
        # Guards the queue and whether the database is away: the loop adds operations and reads the
        # state, the thread takes operations and finds the state out.
        self._lock = threading.Condition()
        self._jobs: list[_Job] = []
        self._is_closing = False
        self._is_closed = False
        self._busy_since: float | None = None
        self._away_since: float | None = None
        self._is_logged = False
        self._complaints = OnceAMinute()
        self._seen_version: int | None = None
        self._pulse = Pulse(database.patience_seconds)
        self._thread = threading.Thread(target=self._work, name="agent-server-writer", daemon=True)
        self._thread.start()

    @property
    def is_away(self) -> bool:
        """Whether the database could not be reached when last tried, or does not answer."""
        since = self._busy_since
        if (
            self._away_since is None
            and since is not None
            and time.monotonic() - since > self._database.patience_seconds
        ):  # pragma: no cover - nox -s postgresql
            self._note_away(_no_answer())
        return self._away_since is not None

    def submit[**Arguments, Result](
        self,
        operation: Operation[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> asyncio.Future[Result]:
        """Queue an operation, which is called with the transaction and the arguments. It waits while the database is away."""
        return self._enqueue(lambda write: operation(write, *args, **kwargs), is_patient=True)

    async def write[**Arguments, Result](
        self,
        operation: Operation[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Do an operation for a client, and fail soon if the database is away.

        Raises:
            DatabaseAwayError: If it cannot be reached.
        """
        if self.is_away:
            raise DatabaseAwayError
        done = self._enqueue(lambda write: operation(write, *args, **kwargs), is_patient=False)
        if not await self._pulse.wait_for(done):  # pragma: no cover - nox -s postgresql
            self._note_away(_no_answer())
            raise DatabaseAwayError
        return done.result()

    async def probe(self) -> None:
        """Write without changing anything, to check that the database can be written.

        Raises:
            DatabaseAwayError: If it cannot.
        """
        await self.write(self._touch)

    def _touch(self, write: Write) -> None:
        # A read-only database answers as usual until something is written.
        mine = servers.c.name == self._server
        write.connection.execute(sa.update(servers).where(mine).values(beat=servers.c.beat))

    async def close(self) -> None:
        """Write what is queued, unless the database is away, and end the thread."""
        with self._lock:
            self._is_closing = True
            self._lock.notify()
        await asyncio.to_thread(self._thread.join)

    def _enqueue(
        self, operation: Callable[[Write], Any], *, is_patient: bool
    ) -> asyncio.Future[Any]:
        job = _Job(operation, self._loop.create_future(), is_patient)
        with self._lock:
            if self._is_closed:
                _refuse(job.done, DatabaseAwayError())
            else:
                self._jobs.append(job)
                self._lock.notify()
        return job.done

    def suspect(self, error: Exception) -> None:
        """Note that the database could not be read, and have the thread check whether it can be reached."""
        with self._lock:
            self._note_away(error)
            self._lock.notify()

    def _work(self) -> None:
        while (jobs := self._take()) is not None:
            self._busy_since = time.monotonic()
            try:
                undone = self._commit(jobs) if jobs else self._look()
            except Exception as error:  # noqa: BLE001 - whatever it is, the database cannot be used
                self._note_away(error)
                undone = []
            self._busy_since = None
            if self._away_since is not None:
                self._hold(undone)
            del jobs, undone  # They may be large, and the next ones may not come soon.

    def _take(self) -> list[_Job] | None:
        with self._lock:
            if not self._jobs and not self._is_closing:
                may_look = self._database.is_sqlite or self._away_since is not None
                self._lock.wait(_LOOK_SECONDS if may_look else None)
            if not self._jobs and self._is_closing:
                self._is_closed = True
                return None
            self._pulse.beat()
            taken = self._jobs[:_MAX_OPERATIONS]
            del self._jobs[:_MAX_OPERATIONS]
        return [job for job in taken if not job.done.cancelled()]

    def _commit(self, jobs: list[_Job]) -> list[_Job]:
        """Execute jobs, and return those that are left because the database is away."""
        try:
            results, signals = self._transact(jobs)
        except Exception as error:  # noqa: BLE001 - it is the caller's
            # Two processes that write for the same runs in another order: one after the other works.
            if is_outage(error) and not (is_deadlock(error) and len(jobs) > 1):
                self._note_away(error)
                return jobs
            if len(jobs) == 1:
                self._post(jobs, [error], set())
                return []
            return [job for job in jobs if self._away_since is not None or self._commit([job])]
        self._note_reached()
        self._post(jobs, results, signals - self._silent)
        return []

    def _transact(self, jobs: list[_Job]) -> tuple[list[Any], set[str]]:
        with self._database.writer.begin() as connection:
            write = Write(connection, self._database.encryption, has_webhook=self._has_webhook)
            results = [job.operation(write) for job in jobs]
            if (
                write.signals and not self._database.is_sqlite
            ):  # pragma: no cover - nox -s postgresql
                for signal in write.signals - {NOTIFIED}:
                    connection.execute(_NOTIFY, {"payload": f"{self._server} {signal}"})
        return results, write.signals

    def _look(self) -> list[_Job]:
        """Check whether the database can be written again or, on SQLite, whether others have written to it."""
        if self._away_since is not None:
            with self._database.writer.begin() as connection:
                self._touch(Write(connection, self._database.encryption))
            self._note_reached()
        elif self._database.is_sqlite:  # pragma: no branch - nox -s postgresql
            with (
                closing(self._database.writer.raw_connection()) as raw,
                closing(raw.cursor()) as cursor,
            ):
                (version,) = cursor.execute("PRAGMA data_version").fetchone()
            if version != self._seen_version:
                # The version changes with commits of other connections only.
                self._seen_version = version
                self._post([], [], set(ALL_SIGNALS))
        return []

    def _hold(self, undone: list[_Job]) -> None:
        """Keep the jobs that can wait, fail the others, and pause."""
        with self._lock:
            jobs = undone + self._jobs
            self._jobs = [job for job in jobs if job.is_patient and not self._is_closing]
            failed = [job for job in jobs if not job.is_patient or self._is_closing]
            self._post(failed, [DatabaseAwayError()] * len(failed), set())
            if not self._is_closing:
                self._lock.wait_for(lambda: self._is_closing, _RETRY_SECONDS)

    def _note_away(self, error: Exception) -> None:
        with self._lock:
            if self._away_since is None:
                self._away_since = time.monotonic()
            if self._complaints.is_due():
                self._is_logged = True
                _logger.warning(
                    "the database is away, what is to be stored waits: %s", describe_fault(error)
                )

    def _note_reached(self) -> None:
        with self._lock:
            if self._away_since is not None:
                seconds = time.monotonic() - self._away_since
                self._away_since = None
                if self._is_logged:
                    self._is_logged = False
                    _logger.warning("the database is back after %.0f s", seconds)
                self._post([], [], set(ALL_SIGNALS))

    def _post(self, jobs: list[_Job], results: list[Any], signals: set[str]) -> None:
        self._loop.call_soon_threadsafe(self._deliver, jobs, results, signals)

    def _deliver(self, jobs: list[_Job], results: list[Any], signals: set[str]) -> None:
        for job, result in zip(jobs, results, strict=True):
            if job.done.cancelled():
                continue
            if isinstance(result, Exception):
                _refuse(job.done, result)
            else:
                job.done.set_result(result)
        if signals:
            self._on_signals(signals)


def _refuse(done: asyncio.Future[Any], error: Exception) -> None:
    done.set_exception(error)
    # Reading the error keeps asyncio from logging it if nobody awaits the job any more: whom it
    # concerns gets to know in other ways.
    done.exception()


def _no_answer() -> TimeoutError:  # pragma: no cover - nox -s postgresql
    return TimeoutError(f"no answer in {PATIENCE_SECONDS:.0f} s")
