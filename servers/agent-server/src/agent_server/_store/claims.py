"""Claims: a server claims runs, to execute them, and releases those that it does not end."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sqlalchemy as sa

from agent_server.executor import Resumption, RunResult

from . import contents
from .clock import clock
from .encryption import Encryption
from .endings import Ended, RunEnding, cancelled, end_idle, with_result, write_events
from .errors import StorageError
from .holds import Hold, append
from .records import Event, decrypt_text, dump_events, load_answer, load_origin
from .schema import SEEN, runs, servers, steps
from .servers import TABLES, Server, have_runs, requeue
from .writer import Write


# Statements that every run needs are built once: building one takes longer than executing it.
_BEGIN = (
    sa.update(runs)
    .where(runs.c.seq == sa.bindparam("found"))
    .values(
        status="running",
        server=sa.bindparam("owner"),
        version=sa.bindparam("understood"),
        attempt=runs.c.attempt + 1,
        started_at=sa.func.coalesce(runs.c.started_at, clock(runs.c.created_at)),
        last_event=sa.bindparam("newest"),
        bytes=runs.c.bytes + sa.bindparam("more"),
    )
)
_FIND_QUEUED = (
    sa.select(*SEEN)
    .where(
        runs.c.executor == sa.bindparam("kind"),
        runs.c.engine == TABLES,
        runs.c.agent.in_(sa.bindparam("served", expanding=True)),
        runs.c.status == "queued",
        runs.c.finished_at.is_(None),
        # A run that was begun has steps that only servers of its version understand.
        (runs.c.attempt == 0) | runs.c.version.in_(sa.bindparam("understood", expanding=True)),
    )
    .order_by(runs.c.seq)
    .limit(sa.bindparam("most"))
    # Servers that claim at the same time take different runs instead of waiting.
    .with_for_update(skip_locked=True)
)
_CONTENT = [runs.c[name] for name in ("seq", "request", "metadata", "answer", "state")]
_FIND_CONTENT = sa.select(*_CONTENT).where(runs.c.seq == sa.bindparam("found"))
_FIND_RUNNING = sa.select(runs.c.seq).where(
    runs.c.engine == TABLES,
    runs.c.server == sa.bindparam("owner"),
    runs.c.status == "running",
    runs.c.finished_at.is_(None),
)
_FIND_RECORDED = sa.select(steps.c.key).where(steps.c.run == sa.bindparam("found"))
# Another server that deregisters this one waits for the lock, and then finds what it has claimed.
_FIND_ENTRY = (
    sa.select(servers.c.name)
    .where(servers.c.name == sa.bindparam("owner"), servers.c.token == sa.bindparam("entered_as"))
    .with_for_update(read=True, key_share=True)
)
_UNREADABLE = RunResult(
    status="failed",
    error="what was stored of it cannot be read any more",
    error_type="unreadable",
)

type Verdict = Callable[[str, int], RunResult | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A server that claims runs.

    Attributes:
        server: The server; it leaves runs of agents that it does not have to others.
        max_attempts: How many servers may die under a run.
        interrupted: Returns the result of a run that was begun before, from its id and the number of attempts; None to begin it again.
    """

    server: Server
    max_attempts: int
    interrupted: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Hold):
    """An attempt to execute a run.

    Attributes:
        run_id: Its id.
        tenant: Its tenant.
        agent: The agent's name.
        request: The accepted request, as JSON.
        metadata: The client's metadata.
        started: The event with which the attempt began.
        stored_bytes: The size of its request and events so far.
        recorded: The keys of the steps that earlier attempts at this part recorded.
        part: How often the run has waited and was answered.
        part_event: The number of the event with which this part began, the answer; 0 for the first.
        is_first: Whether this is the first attempt at this part.
        resumption: What it continues from; None until it was answered.
        origin: What it comes from.
    """

    run_id: str
    tenant: str
    agent: str
    request: bytes
    metadata: Mapping[str, str]
    started: Event
    stored_bytes: int
    recorded: frozenset[str]
    part: int
    part_event: int
    is_first: bool
    resumption: Resumption | None
    origin: Mapping[str, str]


def claim_runs(
    write: Write, owner: Owner, *, limit: int, claimed: Collection[int]
) -> Sequence[Claim | Ended]:
    """Claim the oldest waiting runs; none for a server that others took for dead, until it has registered again.

    Args:
        write: The transaction.
        owner: The server that claims them.
        limit: The maximum number of runs.
        claimed: The runs that the server knows to be its own. Others that are its own in the store were claimed by a transaction that was
            committed without the server getting to know: they count as interrupted.
    """
    server = owner.server
    entry = {"owner": server.name, "entered_as": server.token}
    if write.connection.scalar(_FIND_ENTRY, entry) is None:
        return []
    running = write.connection.scalars(_FIND_RUNNING, {"owner": server.name})
    if unknown := set(running).difference(claimed):
        requeue(write, have_runs([server.name]) & runs.c.seq.in_(unknown), is_lost=True)
    wanted = {
        "kind": server.executor,
        "served": sorted(server.agents),
        "understood": server.versions,
        "most": limit,
    }
    queued = write.connection.execute(_FIND_QUEUED, wanted).all()
    return [begin(write, row, owner) for row in queued]


def begin(write: Write, row: sa.Row[Any], owner: Owner) -> Claim | Ended:
    """Begin an attempt at a run that is queued, or end a run that may have no other."""
    is_first = row.attempt == row.part_attempt
    ending = None if is_first else _refuse(row, owner, write.encryption)
    content = _read_content(write, row.seq)
    if content is None or ending is not None:
        return end_idle(write, row, ending or with_result(_UNREADABLE))
    attempt = row.attempt + 1
    started = Event.emit(row.last_event + 1, "run_started", {"attempt": attempt})
    body = write.encryption.encrypt(dump_events([started]))
    write_events(write, row.seq, [started], body)
    values = {
        "found": row.seq,
        "owner": owner.server.name,
        "understood": owner.server.version_of(row.agent),
        "newest": started.number,
        "more": len(body),
    }
    write.connection.execute(_BEGIN, values)
    found = {"found": row.seq}
    keys = () if is_first else write.connection.scalars(_FIND_RECORDED, found)
    return Claim(
        seq=row.seq,
        run_id=row.run_id,
        tenant=row.tenant,
        agent=row.agent,
        request=content.request,
        metadata=content.metadata,
        server=owner.server.name,
        attempt=attempt,
        started=started,
        stored_bytes=row.bytes + len(body),
        recorded=frozenset(keys),
        part=row.part,
        part_event=row.part_event,
        is_first=is_first,
        resumption=content.resumption,
        origin=load_origin(row),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContent:
    """What a run is executed with.

    Attributes:
        request: The accepted request, as JSON.
        metadata: The client's metadata.
        resumption: What it continues from; None until it was answered.
    """

    request: bytes
    metadata: Mapping[str, str]
    resumption: Resumption | None


def load_content(connection: sa.Connection, row: sa.Row[Any], encryption: Encryption) -> RunContent:
    """Return what the run in a row is executed with.

    Raises:
        StorageError: If it cannot be decrypted.
    """
    load = partial(contents.load, connection, row, encryption=encryption)
    resumption = row.answer is not None and Resumption(
        state=load("state"), answer=load_answer(load("answer"))
    )
    return RunContent(
        request=load("request"),
        metadata=json.loads(encryption.decrypt(row.metadata)),
        resumption=resumption or None,
    )


def _read_content(write: Write, seq: int) -> RunContent | None:
    """Return what a run is executed with; None if it cannot be read."""
    row = write.connection.execute(_FIND_CONTENT, {"found": seq}).one()
    try:
        return load_content(write.connection, row, write.encryption)
    except StorageError:
        return None


def _refuse(row: sa.Row[Any], owner: Owner, encryption: Encryption) -> RunEnding | None:
    if row.cancel_requested:
        return cancelled(decrypt_text(row.cancel_reason, encryption))
    result = owner.interrupted(row.run_id, row.attempt - row.part_attempt)
    if result is None and row.losses >= owner.max_attempts:
        result = RunResult(
            status="failed",
            error=f"its server died {row.losses} times while the run was executed",
            error_type="interrupted",
        )
    return None if result is None else with_result(result)


def release(write: Write, claim: Claim, emitted: Sequence[Event]) -> bool:
    """Put a run back into the queue, with the events that it has emitted, and return whether it still belonged to this server."""
    is_claimed = append(write, claim, emitted) if emitted else True
    mine = (runs.c.seq == claim.seq) & (runs.c.attempt == claim.attempt)
    # A server that stops gracefully has not died under the run.
    return requeue(write, mine & (runs.c.server == claim.server), is_lost=False) and is_claimed


def read_cancelled(
    connection: sa.Connection, server: str, encryption: Encryption
) -> dict[int, str | None]:
    """Return the runs of a server that are to be cancelled, each with its reason."""
    statement = sa.select(runs.c.seq, runs.c.cancel_reason).where(
        runs.c.server == server,
        runs.c.status == "running",
        runs.c.finished_at.is_(None),
        runs.c.cancel_requested,
    )
    return {
        row.seq: decrypt_text(row.cancel_reason, encryption)
        for row in connection.execute(statement)
    }
