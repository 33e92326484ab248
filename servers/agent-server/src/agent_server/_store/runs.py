"""The repository, which creates, finds, lists and cancels runs."""

import base64
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from agent_server.executor import Problem, RequestRefusedError
from agent_server.runs import (
    FINISHED,
    AnswerConflictError,
    IdempotencyConflictError,
    NewAnswer,
    NewRun,
    QueueFullError,
    Run,
    RunActiveError,
    RunFilter,
    RunNotFoundError,
    RunPage,
)
from agent_server.settings import ServerSettings
from stream_text import dump_json

from . import contents, endings
from .answers import find_answer_problems
from .clock import clock
from .encryption import Encryption
from .housekeeping import delete_runs
from .records import (
    Event,
    digest,
    dump_answer,
    dump_events,
    encrypt_text,
    label_digests,
    load_run,
    load_wait,
    to_microseconds,
)
from .schema import SEEN, answers, labels, runs
from .servers import Server
from .signals import CANCELLED, QUEUED
from .steering import tell_run
from .writer import Write


_WAIT_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_CURSOR = re.compile(r"[0-9]{1,18}", re.ASCII)
_PAGE_BYTES = 4 * 1024 * 1024

# Statements that every run needs are built once: building one takes longer than executing it.
_IS_OF = (runs.c.executor == sa.bindparam("kind")) & (runs.c.tenant == sa.bindparam("whose"))
_IS_FOUND = _IS_OF & (runs.c.run_id == sa.bindparam("known"))
_FIND = sa.select(*SEEN).where(_IS_FOUND)
_FIND_TO_CHANGE = _FIND.with_for_update()
_FIND_NUMBER = sa.select(runs.c.seq).where(_IS_FOUND)
_FIND_STATE = sa.select(*[runs.c.seq, runs.c.status, runs.c.state]).where(_IS_FOUND)
_FIND_SHOWN = sa.select(*[runs.c.seq, runs.c.shown]).where(_IS_FOUND)
_FIND_SAME = sa.select(*SEEN).where(_IS_OF, runs.c.idempotency == sa.bindparam("same"))
_ACTIVE = sa.select(runs.c.seq).where(
    runs.c.executor == sa.bindparam("kind"), runs.c.finished_at.is_(None)
)
_QUEUED = _ACTIVE.where(runs.c.status == "queued")
_TENANTS = _ACTIVE.where(runs.c.tenant == sa.bindparam("whose"), runs.c.status != "waiting")
_IS_FULL = sa.select(
    # Only whether there are that many: counting all of them would take long.
    _QUEUED.offset(sa.bindparam("others", type_=sa.Integer)).limit(1).exists()
    | _TENANTS.offset(sa.bindparam("own", type_=sa.Integer)).limit(1).exists()
)
# Another server may have stored the same key meanwhile. SQLite takes this form of insert, too.
_ENTER = insert(runs).values(created_at=clock()).on_conflict_do_nothing().returning(*SEEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRepository:
    """The runs of one kind of executor.

    Attributes:
        server: This server. It adds the agents of runs that it accepts to its own, so that it can execute them.
        encryption: Encrypts what is written.
        settings: The settings, with the limits of the queue.
    """

    server: Server
    encryption: Encryption
    settings: ServerSettings

    def encrypt_request(self, run: NewRun) -> tuple[bytes, bytes | None]:
        """Return a run's request in its stored form, and what is shown of it."""
        request = self.encryption.encrypt_json(run.request)
        return request, None if run.shown is None else self.encryption.encrypt_json(run.shown)

    def create(
        self, write: Write, run: NewRun, encrypted: tuple[bytes, bytes | None] | None = None
    ) -> tuple[Run, bool] | Exception:
        """Store a new run, and return it with whether it is new.

        Args:
            write: The transaction.
            run: The run.
            encrypted: What `encrypt_request` returns, if that was called before.
        """
        key = None if run.idempotency_key is None else digest(run.idempotency_key)
        if key is not None and (row := self._known(write.connection, run.tenant, key)) is not None:
            if not self.encryption.is_of(row.fingerprint, run.fingerprint):
                return IdempotencyConflictError()
            return load_run(row, self.encryption), False
        if self._is_full(write.connection, run.tenant):
            return QueueFullError()
        self.server.agents.add(run.agent)
        request, shown = encrypted or self.encrypt_request(run)
        values = {
            "run_id": str(uuid.uuid4()),
            "executor": self.server.executor,
            "version": self.server.version_of(run.agent),
            "engine": self.server.engine,
            "tenant": run.tenant,
            "agent": run.agent,
            "status": "queued",
            "attempt": 0,
            "cancel_requested": False,
            "metadata": self.encryption.encrypt_json(dict(run.metadata)),
            "idempotency": key,
            "fingerprint": "" if key is None else self.encryption.digest(run.fingerprint),
            "request": contents.in_row(request),
            "shown": contents.in_row(shown),
            "origin": dump_json(dict(run.origin)) if run.origin else None,
            "last_event": 0,
            "bytes": len(request),
            "keep": None if run.keep_seconds is None else int(run.keep_seconds * 1_000_000),
        }
        row = write.connection.execute(_ENTER, values).one_or_none()
        if row is None:  # pragma: no cover - nox -s postgresql
            # This time the other server's run is found.
            return self.create(write, run, (request, shown))
        contents.keep_apart(write.connection, row.seq, request=request, shown=shown)
        if run.metadata:
            rows = [{"run": row.seq, "label": label} for label in label_digests(run.metadata)]
            write.connection.execute(sa.insert(labels), rows)
        write.signals.add(QUEUED)
        return load_run(row, self.encryption), True

    def find(self, connection: sa.Connection, run_id: str, tenant: str) -> int:
        """Return the number of a tenant's run in the store.

        Raises:
            RunNotFoundError: If there is none.
        """
        return self._find(connection, _FIND_NUMBER, run_id, tenant).seq

    def _find(
        self, connection: sa.Connection, statement: sa.Select[Any], run_id: str, tenant: str
    ) -> sa.Row[Any]:
        try:
            known = str(uuid.UUID(run_id))
        except ValueError:
            raise RunNotFoundError from None
        row = connection.execute(statement, {**self._whose(tenant), "known": known}).one_or_none()
        if row is None:
            raise RunNotFoundError
        return row

    def _whose(self, tenant: str) -> Mapping[str, str]:
        return {"kind": self.server.executor, "whose": tenant}

    def get(self, connection: sa.Connection, run_id: str, tenant: str) -> Run:
        """Return a tenant's run.

        Raises:
            RunNotFoundError: If there is none.
        """
        return load_run(self._find(connection, _FIND, run_id, tenant), self.encryption)

    def list(
        self,
        connection: sa.Connection,
        which: RunFilter,
        tenant: str,
        limit: int,
        cursor: str | None,
    ) -> RunPage:
        """Return a page of a tenant's runs, newest first; a page ends early once their results and questions take 4 MiB.

        Raises:
            RequestRefusedError: If the cursor is not one of ours.
        """
        conditions = [runs.c.executor == self.server.executor, runs.c.tenant == tenant]
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
        # First how large they are, so that no more is read than goes on the page.
        size_of = contents.length(runs.c.result) + contents.length(runs.c.question)
        sizes = sa.select(runs.c.seq, size_of)
        newest = runs.c.seq.desc()
        found = connection.execute(sizes.where(*conditions).order_by(newest).limit(limit + 1)).all()
        listed: list[int] = []
        size = 0
        for seq, more in found[:limit]:
            if size >= _PAGE_BYTES:
                break
            listed.append(seq)
            size += more
        rows = connection.execute(sa.select(*SEEN).where(runs.c.seq.in_(listed)).order_by(newest))
        return RunPage(
            runs=[load_run(row, self.encryption) for row in rows],
            next_cursor=_dump_cursor(listed[-1]) if len(listed) < len(found) else None,
        )

    def cancel(self, write: Write, run_id: str, tenant: str, reason: str | None) -> Run | Exception:
        """Record that a run is to be cancelled, and return it; one that no server executes ends at once."""
        try:
            row = self._find(write.connection, _FIND_TO_CHANGE, run_id, tenant)
        except RunNotFoundError as error:
            return error
        if row.status not in FINISHED and not row.cancel_requested:
            values = {
                "cancel_requested": True,
                "cancel_reason": encrypt_text(reason, self.encryption),
            }
            write.connection.execute(sa.update(runs).where(runs.c.seq == row.seq).values(values))
            if row.status in {"queued", "waiting"}:
                endings.end_idle(write, row, endings.cancelled(reason))
            else:
                write.signals.add(CANCELLED)
            return self.get(write.connection, run_id, tenant)
        return load_run(row, self.encryption)

    def answer(self, write: Write, run_id: str, tenant: str, new: NewAnswer) -> bool | Exception:
        """Store the answer to what a run waits for, queue the run, and return whether the answer is new.

        The same answer may come again.
        """
        try:
            row = self._find(write.connection, _FIND_TO_CHANGE, run_id, tenant)
        except RunNotFoundError as error:
            return error
        text = dump_answer(new.answer)
        given = sa.select(answers.c.fingerprint).where(
            answers.c.run == row.seq, answers.c.wait_id == new.wait_id
        )
        # PostgreSQL takes no NUL, and any text may come.
        is_id = _WAIT_ID.fullmatch(new.wait_id) is not None
        fingerprint = write.connection.scalar(given) if is_id else None
        if fingerprint is not None:
            is_same = self.encryption.is_of(fingerprint, text)
            return False if is_same else AnswerConflictError(AnswerConflictError.OTHER_ANSWER)
        waiting_for = load_wait(row, self.encryption)
        if waiting_for is None or waiting_for.wait_id != new.wait_id:
            return AnswerConflictError(AnswerConflictError.OTHER_QUESTION)
        if problems := find_answer_problems(waiting_for.request, new.answer):
            return RequestRefusedError(*problems)
        told = {"wait_id": new.wait_id, **new.answer.to_dict(), "key": new.key}
        event = Event.emit(row.last_event + 1, "run_answered", told)
        body = self.encryption.encrypt(dump_events([event]))
        endings.write_events(write, row.seq, [event], body)
        stored = self.encryption.encrypt(text.encode())
        values = {
            "status": "queued",
            "part": row.part + 1,
            "part_event": event.number,
            "last_event": event.number,
            "bytes": row.bytes + len(body),
            "answer": contents.in_row(stored),
            **dict.fromkeys(("wait_id", "waiting_since", "question")),
        }
        write.connection.execute(sa.update(runs).where(runs.c.seq == row.seq).values(values))
        contents.keep_apart(write.connection, row.seq, answer=stored)
        seen = {"run": row.seq, "wait_id": new.wait_id, "fingerprint": self.encryption.digest(text)}
        write.connection.execute(sa.insert(answers).values(seen))
        write.signals.add(QUEUED)
        return True

    def steer(
        self, write: Write, run_id: str, tenant: str, message: Any, key: str | None
    ) -> bool | Exception:
        """Store what a run under way is told, and return whether it is new; with the same idempotency key it may come again.

        Raises:
            RunNotFoundError: If there is no such run.
        """
        row = self._find(write.connection, _FIND_TO_CHANGE, run_id, tenant)
        return tell_run(write, row, message, key)

    def delete(self, write: Write, run_id: str, tenant: str) -> Exception | None:
        """Delete a run that has ended."""
        try:
            row = self._find(write.connection, _FIND_TO_CHANGE, run_id, tenant)
        except RunNotFoundError as error:
            return error
        if row.status not in FINISHED:
            return RunActiveError()
        delete_runs(write.connection, [row.seq])
        return None

    def read_state(self, connection: sa.Connection, run_id: str, tenant: str) -> bytes | None:
        """Return what a finished run has left for the next one of its conversation; None if it has left nothing.

        Raises:
            RunNotFoundError: If there is no such run.
        """
        row = self._find(connection, _FIND_STATE, run_id, tenant)
        if row.status not in FINISHED or row.state is None:
            return None
        return contents.load(connection, row, "state", self.encryption)

    def read_shown(self, connection: sa.Connection, run_id: str, tenant: str) -> bytes | None:
        """Return what clients may read of a run's request, as JSON; None for nothing.

        Raises:
            RunNotFoundError: If there is no such run.
        """
        row = self._find(connection, _FIND_SHOWN, run_id, tenant)
        if row.shown is None:
            return None
        return contents.load(connection, row, "shown", self.encryption)

    def _known(self, connection: sa.Connection, tenant: str, key: bytes) -> sa.Row[Any] | None:
        return connection.execute(_FIND_SAME, {**self._whose(tenant), "same": key}).one_or_none()

    def _is_full(self, connection: sa.Connection, tenant: str) -> bool:
        others, own = self.settings.max_queued, self.settings.max_active_per_tenant
        values = {**self._whose(tenant), "others": others - 1, "own": own - 1}
        return connection.execute(_IS_FULL, values).scalar_one()


def _is_named(agent: str) -> sa.ColumnElement[bool]:
    # PostgreSQL takes neither surrogates nor NUL in a text, so no run has such an agent.
    try:
        agent.encode()
    except UnicodeEncodeError:
        return sa.false()
    return sa.false() if "\0" in agent else runs.c.agent == agent


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
