"""Runs as clients ask for them: accepted, found, listed, cancelled."""

import base64
import re
import uuid
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from agent_server.executor import Problem, RequestRefusedError
from agent_server.runs import (
    FINISHED,
    IdempotencyConflictError,
    NewRun,
    QueueFullError,
    Run,
    RunFilter,
    RunNotFoundError,
    RunPage,
)

from . import endings
from .records import (
    close_text,
    digest,
    dump_json,
    label_digests,
    load_run,
    now,
    to_microseconds,
)
from .schema import labels, runs
from .sealing import Seal
from .signals import CANCELLED, QUEUED
from .writer import Write


_CURSOR = re.compile(r"[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of how many runs may be there.

    Attributes:
        max_queued: That wait, of all tenants.
        max_active_per_tenant: Of one tenant, that wait or run.
    """

    max_queued: int
    max_active_per_tenant: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """The runs of one kind of executor.

    Attributes:
        executor: Its name.
        version: Of its steps.
        seal: How content is written down.
        limits: How many runs may be there.
    """

    executor: str
    version: str
    seal: Seal
    limits: Limits

    def create(self, write: Write, run: NewRun) -> tuple[Run, bool] | Exception:
        """Enter a run, and return it with whether it is new."""
        key = None if run.idempotency_key is None else digest(run.idempotency_key)
        if key is not None and (row := self._known(write.connection, run.tenant, key)) is not None:
            if row.fingerprint != run.fingerprint:
                return IdempotencyConflictError()
            return load_run(row, self.seal), False
        if self._is_full(write.connection, run.tenant):
            return QueueFullError()
        request = self.seal.close(dump_json(run.request).encode())
        values = {
            "run_id": str(uuid.uuid4()),
            "executor": self.executor,
            "version": self.version,
            "tenant": run.tenant,
            "agent": run.agent,
            "status": "queued",
            "attempt": 0,
            "created_at": now(),
            "cancel_requested": False,
            "metadata": self.seal.close(dump_json(dict(run.metadata)).encode()),
            "idempotency": key,
            "fingerprint": run.fingerprint,
            "request": request,
            "last_event": 0,
            "bytes": len(request),
        }
        # Another server may have entered the same key since it was looked for. Both dialects take this form.
        entered = insert(runs).values(values).on_conflict_do_nothing().returning(runs)
        row = write.connection.execute(entered).one_or_none()
        if row is None:  # pragma: no cover - nox -s postgresql
            return self.create(write, run)
        if run.metadata:
            rows = [{"run": row.seq, "label": label} for label in label_digests(run.metadata)]
            write.connection.execute(sa.insert(labels), rows)
        write.signals.add(QUEUED)
        return load_run(row, self.seal), True

    def find(
        self, connection: sa.Connection, run_id: str, tenant: str, *, for_update: bool = False
    ) -> sa.Row[tuple[object]]:
        """Return the row of a tenant's run.

        Raises:
            RunNotFoundError: If there is none.
        """
        row = None
        if (known := _parse_id(run_id)) is not None:
            statement = sa.select(runs).where(
                runs.c.run_id == known,
                runs.c.executor == self.executor,
                runs.c.tenant == tenant,
            )
            if for_update:
                statement = statement.with_for_update()
            row = connection.execute(statement).one_or_none()
        if row is None:
            raise RunNotFoundError
        return row

    def get(self, connection: sa.Connection, run_id: str, tenant: str) -> Run:
        """Return a tenant's run.

        Raises:
            RunNotFoundError: If there is none.
        """
        return load_run(self.find(connection, run_id, tenant), self.seal)

    def list(
        self,
        connection: sa.Connection,
        which: RunFilter,
        tenant: str,
        limit: int,
        cursor: str | None,
    ) -> RunPage:
        """Return a page of a tenant's runs, the newest first.

        Raises:
            RequestRefusedError: If the cursor is none of ours.
        """
        conditions = [runs.c.executor == self.executor, runs.c.tenant == tenant]
        if cursor is not None:
            conditions.append(runs.c.seq < _parse_cursor(cursor))
        if which.agent is not None:
            conditions.append(_is_named(which.agent))
        if which.status:
            conditions.append(runs.c.status.in_(sorted(which.status)))
        if which.created_after is not None:
            conditions.append(runs.c.created_at > to_microseconds(which.created_after))
        if which.created_before is not None:
            conditions.append(runs.c.created_at < to_microseconds(which.created_before))
        for label in label_digests(which.metadata):
            found = sa.select(labels.c.run).where(labels.c.label == label)
            conditions.append(runs.c.seq.in_(found))
        statement = sa.select(runs).where(*conditions).order_by(runs.c.seq.desc()).limit(limit + 1)
        rows = connection.execute(statement).all()
        page = rows[:limit]
        return RunPage(
            runs=[load_run(row, self.seal) for row in page],
            next_cursor=_dump_cursor(page[-1].seq) if len(rows) > limit else None,
        )

    def cancel(self, write: Write, run_id: str, tenant: str, reason: str | None) -> Run | Exception:
        """Enter that a run shall end; one that waits ends here."""
        try:
            row = self.find(write.connection, run_id, tenant, for_update=True)
        except RunNotFoundError as error:
            return error
        if row.status not in FINISHED and not row.cancel_requested:
            values = {"cancel_requested": True, "cancel_reason": close_text(reason, self.seal)}
            write.connection.execute(sa.update(runs).where(runs.c.seq == row.seq).values(values))
            if row.status == "queued":
                endings.end_waiting(write, row, endings.cancelled(reason))
            else:
                write.signals.add(CANCELLED)
            row = self.find(write.connection, run_id, tenant)
        return load_run(row, self.seal)

    def _known(
        self, connection: sa.Connection, tenant: str, key: bytes
    ) -> sa.Row[tuple[object]] | None:
        statement = sa.select(runs).where(
            runs.c.executor == self.executor, runs.c.tenant == tenant, runs.c.idempotency == key
        )
        return connection.execute(statement).one_or_none()

    def _is_full(self, connection: sa.Connection, tenant: str) -> bool:
        active = (runs.c.executor == self.executor) & runs.c.finished_at.is_(None)
        queued = sa.select(runs.c.seq).where(active, runs.c.status == "queued")
        tenants = sa.select(runs.c.seq).where(active, runs.c.tenant == tenant)
        return any(
            connection.execute(which.offset(most - 1).limit(1)).first() is not None
            for which, most in (
                (queued, self.limits.max_queued),
                (tenants, self.limits.max_active_per_tenant),
            )
        )


def _is_named(agent: str) -> sa.ColumnElement[bool]:
    try:
        agent.encode()
    except UnicodeEncodeError:
        return sa.false()
    return sa.false() if "\0" in agent else runs.c.agent == agent


def _parse_id(run_id: str) -> str | None:
    try:
        return str(uuid.UUID(run_id))
    except ValueError:
        return None


def _dump_cursor(seq: int) -> str:
    return base64.urlsafe_b64encode(str(seq).encode()).decode().rstrip("=")


def _parse_cursor(cursor: str) -> int:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except ValueError:
        text = ""
    if not _CURSOR.fullmatch(text):
        raise RequestRefusedError(
            Problem(field="cursor", message="expected the next_cursor of an earlier page")
        )
    return int(text)
