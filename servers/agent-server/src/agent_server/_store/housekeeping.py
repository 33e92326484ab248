"""Housekeeping: counting runs, deleting old ones, failing stranded ones, encrypting with a new key."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from agent_server.executor import RunResult
from agent_server.runs import RunStatus
from agent_server.settings import ServerSettings

from .clock import clock
from .contents import length
from .encryption import key_mark
from .endings import Ended, end_idle, with_result
from .failures import agent_gone, unanswered, version_changed
from .schema import (
    SEEN,
    answers,
    encryption_keys,
    events,
    labels,
    marks,
    payloads,
    runs,
    servers,
    steps,
    webhooks,
)
from .servers import TABLES
from .writer import Write


_MAX_ROWS = 200  # In one transaction, for which all runs have to wait.
_MAX_BYTES = 8 * 1024 * 1024  # Likewise.
_DAY = 24 * 3600 * 1_000_000
# Beside its content, a run takes space for its rows and their index entries: about 1 kB.
_SIZE = runs.c.bytes + length(runs.c.state) + length(runs.c.shown) + 1000
_IS_QUEUED = (runs.c.status == "queued") & runs.c.finished_at.is_(None)
_IS_OURS = runs.c.engine == TABLES
_WAITS = (runs.c.status == "waiting") & runs.c.finished_at.is_(None)
# Of many runs at once, not what each may have much of.
_SMALL = [one for one in SEEN if one.name not in {"question", "result"}]
# Processes of other engines say every few seconds what they encrypt with.
_USED = 60 * 1_000_000
# Keys that no living server or process encrypts with.
_IS_UNUSED = encryption_keys.c.key_id.not_in(sa.select(servers.c.key_id)) & (
    encryption_keys.c.used_at < clock() - _USED
)

_ENCRYPTED = (
    runs.c.metadata,
    runs.c.cancel_reason,
    runs.c.request,
    runs.c.result,
    runs.c.question,
    runs.c.answer,
    runs.c.state,
    runs.c.shown,
    events.c.body,
    steps.c.result,
    payloads.c.body,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A count of the runs in the database.

    Attributes:
        runs: How many runs of each tenant are in each state.
        oldest: How long the oldest queued and waiting runs of each tenant have been that, in microseconds.
        messages: How many messages for the webhook are left of each tenant.
    """

    runs: Mapping[tuple[str, RunStatus], int] = field(
        default_factory=dict[tuple[str, RunStatus], int]
    )
    oldest: Mapping[tuple[str, RunStatus], int] = field(
        default_factory=dict[tuple[str, RunStatus], int]
    )
    messages: Mapping[str, int] = field(default_factory=dict[str, int])


def count(connection: sa.Connection, executor: str) -> Count:
    """Count the runs of an executor."""
    mine = runs.c.executor == executor
    whose = (runs.c.tenant, runs.c.status)
    states = sa.select(*whose, sa.func.count()).where(mine).group_by(*whose)
    since = sa.func.coalesce(runs.c.waiting_since, runs.c.created_at)
    oldest = (
        sa.select(*whose, clock() - sa.func.min(since))
        .where(mine, _IS_QUEUED | _WAITS)
        .group_by(*whose)
    )
    left = (
        sa.select(webhooks.c.tenant, sa.func.count())
        .where(webhooks.c.executor == executor)
        .group_by(webhooks.c.tenant)
    )
    return Count(
        runs={(row[0], row[1]): row[2] for row in connection.execute(states)},
        oldest={(row[0], row[1]): row[2] for row in connection.execute(oldest)},
        messages={row[0]: row[1] for row in connection.execute(left)},
    )


def prune(write: Write, settings: ServerSettings) -> int:
    """Delete some of the finished runs that are too old or too many, and return their number."""
    kept = sa.func.coalesce(runs.c.keep, int(settings.keep_days * _DAY))
    old = sa.select(runs.c.seq).where(
        runs.c.finished_at.is_not(None),
        runs.c.finished_at < clock() - kept,
    )
    doomed: Collection[int] = write.connection.scalars(old.limit(_MAX_ROWS)).all() or _find_surplus(
        write.connection, settings
    )
    delete_runs(write.connection, doomed)
    return len(doomed)


def delete_runs(connection: sa.Connection, doomed: Collection[int]) -> None:
    """Delete runs with all that belongs to them."""
    if doomed:
        connection.execute(sa.delete(runs).where(runs.c.seq.in_(doomed)))
        for table in (events, steps, labels, answers, marks, payloads):
            connection.execute(sa.delete(table).where(table.c.run.in_(doomed)))


def _find_surplus(connection: sa.Connection, settings: ServerSettings) -> list[int]:
    """Return some of the oldest finished runs of tenants over their limits, so that a flood of one tenant deletes nothing of another."""
    # First the lengths alone: SQLite would sort by tenants all that a run has stored, and copy it for that. The offset keeps it from doing so.
    each = sa.select(runs.c.tenant, runs.c.finished_at, _SIZE.label("size")).offset(0).subquery()
    held = connection.execute(
        sa.select(
            each.c.tenant,
            sa.func.count(each.c.finished_at).label("finished"),
            sa.func.sum(each.c.size).label("size"),
        ).group_by(each.c.tenant)
    ).all()
    share = _find_share([int(row.size) for row in held], settings.keep_bytes)
    doomed = [
        seq
        for row in held
        for seq in _find_oldest(
            connection,
            row.tenant,
            surplus=row.finished - settings.keep_runs,
            excess=int(row.size) - share,
        )
    ]
    return doomed[:_MAX_ROWS]


def _find_share(sizes: Sequence[int], most: int) -> float:
    """Return the largest share that each tenant may have so that all fit together; one that uses less loses nothing."""
    # Tenants that use less than an equal share leave the rest to the others.
    left = most
    for index, size in enumerate(sorted(sizes)):
        share = left / (len(sizes) - index)
        if size > share:
            return share
        left -= size
    return most


def _find_oldest(
    connection: sa.Connection, tenant: str, *, surplus: int, excess: float
) -> list[int]:
    if surplus <= 0 and excess <= 0:
        return []
    oldest_first = (
        sa.select(runs.c.seq, _SIZE)
        .where(runs.c.tenant == tenant, runs.c.finished_at.is_not(None))
        .order_by(runs.c.finished_at, runs.c.seq)
        .limit(_MAX_ROWS)
    )
    doomed: list[int] = []
    for seq, size in connection.execute(oldest_first):
        if len(doomed) < surplus or excess > 0:
            doomed.append(seq)
        excess -= size
    return doomed


def end_stranded(write: Write, executor: str) -> Sequence[Ended]:
    """End runs that were begun under a version of the executor that no living server has, and return them."""
    living = write.connection.scalars(
        sa.select(servers.c.versions).where(servers.c.executor == executor)
    )
    versions = {version for listed in living for version in json.loads(listed)}
    return _fail(
        write,
        runs.c.executor == executor,
        (_IS_QUEUED & (runs.c.attempt > 0)) | _WAITS,
        runs.c.version.not_in(sorted(versions)),
        build=lambda row: version_changed(row.version, executor),
    )


def read_unserved(connection: sa.Connection, executor: str) -> frozenset[str]:
    """Return the agents that runs wait for but no living server has."""
    statement = (
        sa.select(runs.c.agent).where(runs.c.executor == executor, _IS_OURS, _IS_QUEUED).distinct()
    )
    return frozenset(connection.scalars(statement)) - _served(connection, executor)


def end_unserved(
    write: Write, executor: str, agents: Collection[str], *, seconds: float
) -> Sequence[Ended]:
    """End runs that wait for agents which no living server has, and return them.

    Args:
        write: The transaction.
        executor: The executor of the runs.
        agents: The agents whose runs are ended, unless a server has one by now.
        seconds: For how long no server had them.
    """
    gone = sorted(set(agents) - _served(write.connection, executor))
    return _fail(
        write,
        runs.c.executor == executor,
        _IS_QUEUED & runs.c.agent.in_(gone),
        build=lambda row: agent_gone(row.agent, seconds),
    )


def end_unanswered(write: Write, executor: str, *, days: float) -> Sequence[Ended]:
    """End runs that have waited for too long for an answer, and return them."""
    return _fail(
        write,
        runs.c.executor == executor,
        _WAITS & (runs.c.waiting_since < clock() - int(days * _DAY)),
        build=lambda _: unanswered(),
    )


def _served(connection: sa.Connection, executor: str) -> frozenset[str]:
    living = sa.select(servers.c.agents).where(servers.c.executor == executor)
    return frozenset(name for names in connection.scalars(living) for name in json.loads(names))


def _fail(
    write: Write,
    *which: sa.ColumnElement[bool],
    build: Callable[[sa.Row[Any]], RunResult],
) -> Sequence[Ended]:
    """End some of the runs that no server executes, and return them."""
    # Another engine ends its runs itself.
    idle = sa.select(*_SMALL).where(_IS_OURS, *which).limit(_MAX_ROWS)
    rows = write.connection.execute(idle.with_for_update(skip_locked=True)).all()
    return [end_idle(write, row, with_result(build(row))) for row in rows]


def free_space(write: Write) -> bool:
    """Give some of SQLite's free pages back to the disk, and return whether there are more; PostgreSQL needs no help."""
    if write.connection.dialect.name != "sqlite":  # pragma: no cover - nox -s postgresql
        return False
    with closing(write.connection.connection.cursor()) as cursor:
        before, *_ = cursor.execute("PRAGMA freelist_count").fetchone()
        # About 2 MB with SQLite's default pages: the writer must not be held up for long.
        cursor.execute("PRAGMA incremental_vacuum(500)")
        cursor.fetchall()  # Each page is one step of the statement.
        after, *_ = cursor.execute("PRAGMA freelist_count").fetchone()
    # Without progress it would be in vain to go on now.
    return 0 < after < before


def wipe_log(connection: sa.Connection) -> bool:
    """Empty SQLite's write-ahead log, which still holds overwritten content, and return whether that worked.

    The connection must not have read or written anything in its transaction.
    """
    if connection.dialect.name != "sqlite":  # pragma: no cover - nox -s postgresql
        return True
    is_busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
    return not is_busy


def reencrypt(write: Write) -> bool:
    """Encrypt some content of older keys with the current key, and return whether there may be more.

    Once nothing is left, the records of the other keys are deleted, unless a living server still encrypts with them.
    """
    key_id = encryption_keys.c.key_id
    known = key_id.in_(write.encryption.key_ids)
    is_old = known & (key_id != write.encryption.key_id) & _IS_UNUSED
    others = write.connection.scalars(sa.select(key_id).where(is_old)).all()
    if not others:
        return False
    if any(_reencrypt_column(write, column, others) for column in _ENCRYPTED):
        return True
    write.connection.execute(sa.delete(encryption_keys).where(key_id.in_(others), _IS_UNUSED))
    return False


def _reencrypt_column(write: Write, column: sa.Column[bytes], others: Sequence[str]) -> bool:
    table = column.table
    keys = list(table.primary_key.columns)
    marks = [key_mark(key_id) for key_id in others]
    found = (
        sa.select(*keys)
        .where(sa.func.substr(column, 1, len(marks[0])).in_(marks))
        .limit(_MAX_ROWS)
        .with_for_update()
    )
    rows = write.connection.execute(found).all()
    size = 0
    for row in rows:
        # One by one, since each may be large.
        same = [key == value for key, value in zip(keys, row, strict=True)]
        old = write.connection.execute(sa.select(column).where(*same)).scalar_one()
        stored = write.encryption.encrypt(write.encryption.decrypt(old))
        write.connection.execute(sa.update(table).where(*same).values({column: stored}))
        size += len(stored)
        if size > _MAX_BYTES:
            break
    return bool(rows)
