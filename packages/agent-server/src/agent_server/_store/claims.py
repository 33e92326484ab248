"""Claims: a server claims runs, writes for them while they are its own, and ends or releases them.

A claim is fenced: each statement that writes for a run checks that the run still belongs to this server, in this attempt. A server that was taken for dead and
wakes up finds that nothing it writes is stored.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from agent_server.executor import Resumption, RunResult, Waiting
from stream_text import dump_json

from .clock import clock
from .encryption import Encryption
from .endings import (
    Ended,
    RunEnding,
    cancelled,
    end_idle,
    forget_steps,
    with_result,
    write_end,
    write_events,
)
from .errors import StorageError
from .records import Event, decrypt_text, dump_events, load_answer, now
from .schema import runs, servers, steps
from .servers import Server, requeue
from .webhooks import notify
from .writer import Write


# Statements that every run needs are built once: building one takes longer than executing it.
_IS_CLAIMED = (
    (runs.c.seq == sa.bindparam("claimed"))
    & (runs.c.status == "running")
    & (runs.c.server == sa.bindparam("owner"))
    & (runs.c.attempt == sa.bindparam("current"))
)
_FIND_CLAIMED = (
    sa.select(runs.c.last_event, runs.c.bytes, runs.c.cancel_requested)
    .where(_IS_CLAIMED)
    .with_for_update()
)
_GROW = (
    sa.update(runs)
    # The batch has to follow the stored events, so a repeated commit changes nothing.
    .where(_IS_CLAIMED, runs.c.last_event == sa.bindparam("before"))
    .values(last_event=sa.bindparam("newest"), bytes=runs.c.bytes + sa.bindparam("more"))
)
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
    sa.select(runs)
    .where(
        runs.c.executor == sa.bindparam("kind"),
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
# Another server that deregisters this one waits for the lock, and then finds what it has claimed.
_FIND_ENTRY = (
    sa.select(servers.c.name)
    .where(servers.c.name == sa.bindparam("owner"), servers.c.token == sa.bindparam("entered_as"))
    .with_for_update(read=True, key_share=True)
)
_FIND_STEP = sa.select(steps.c.result).where(
    steps.c.run == sa.bindparam("claimed"), steps.c.key == sa.bindparam("named")
)

_WAIT = (
    sa.update(runs)
    .where(runs.c.seq == sa.bindparam("waits"))
    .values(
        status="waiting",
        server=None,
        losses=0,
        waiting_since=clock(runs.c.created_at),
        part_attempt=runs.c.attempt,
        answer=None,
        **{
            name: sa.bindparam(name)
            for name in ("wait_id", "question", "state", "last_event", "bytes")
        },
    )
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
class Claim:
    """An attempt to execute a run, which is this server's until another takes it over.

    Attributes:
        seq: The run's number in the store.
        run_id: Its id.
        tenant: Its tenant.
        agent: The agent's name.
        request: The accepted request, as JSON.
        metadata: The client's metadata.
        server: The name of the server.
        attempt: The number of this attempt.
        started: The event with which the attempt began.
        stored_bytes: The size of its request and events so far.
        recorded: The keys of the steps that earlier attempts at this part recorded.
        part: How often the run has waited and was answered.
        part_event: The number of the event with which this part began, the answer; 0 for the first.
        is_first: Whether this is the first attempt at this part.
        resumption: What it goes on from; None until it was answered.
    """

    seq: int
    run_id: str
    tenant: str
    agent: str
    request: bytes
    metadata: Mapping[str, str]
    server: str
    attempt: int
    started: Event
    stored_bytes: int
    recorded: frozenset[str]
    part: int
    part_event: int
    is_first: bool
    resumption: Resumption | None

    @property
    def fence(self) -> Mapping[str, Any]:
        """The parameters with which a statement finds the run only while the claim holds."""
        return {"claimed": self.seq, "owner": self.server, "current": self.attempt}


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
    unknown = (runs.c.server == server.name) & runs.c.seq.not_in(sorted(claimed))
    requeue(write, unknown, is_lost=True)
    wanted = {
        "kind": server.executor,
        "served": sorted(server.agents),
        "understood": server.versions,
        "most": limit,
    }
    queued = write.connection.execute(_FIND_QUEUED, wanted).all()
    return [_begin(write, row, owner) for row in queued]


def _begin(write: Write, row: sa.Row[Any], owner: Owner) -> Claim | Ended:
    is_first = row.attempt == row.part_attempt
    ending = None if is_first else _refuse(row, owner, write.encryption)
    content = _read(row, write.encryption)
    if content is None or ending is not None:
        return end_idle(write, row, ending or with_result(_UNREADABLE))
    attempt = row.attempt + 1
    started = Event(
        number=row.last_event + 1,
        type="run_started",
        created_at=now(),
        text=dump_json({"attempt": attempt}),
    )
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
    recorded = sa.select(steps.c.key).where(steps.c.run == row.seq)
    keys = () if is_first else write.connection.execute(recorded).scalars().all()
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
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    request: bytes
    metadata: Mapping[str, str]
    resumption: Resumption | None


def _read(row: sa.Row[Any], encryption: Encryption) -> _Content | None:
    """Return what a run is executed with; None if it cannot be decrypted."""
    try:
        resumption = row.answer and Resumption(
            state=encryption.decrypt(row.state), answer=load_answer(encryption.decrypt(row.answer))
        )
        return _Content(
            request=encryption.decrypt(row.request),
            metadata=json.loads(encryption.decrypt(row.metadata)),
            resumption=resumption,
        )
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


def append(write: Write, claim: Claim, emitted: Sequence[Event]) -> bool:
    """Store events of a run, and return whether the run still belongs to this server."""
    body = write.encryption.encrypt(dump_events(emitted))
    first, last = emitted[0].number, emitted[-1].number
    values = {**claim.fence, "before": first - 1, "newest": last, "more": len(body)}
    if write.connection.execute(_GROW, values).rowcount == 0:
        # A commit of unknown outcome is tried again, and may have succeeded the first time.
        row = _find(write, claim)
        return row is not None and row[runs.c.last_event] >= last
    write_events(write, claim.seq, emitted, body)
    return True


def record_step(
    write: Write, claim: Claim, key: str, result: bytes, emitted: Sequence[Event]
) -> bool:
    """Store the result of a step with the events before it, and return whether the run still belongs to this server."""
    is_claimed = append(write, claim, emitted) if emitted else _find(write, claim) is not None
    # A repeated commit finds the step recorded.
    if is_claimed and _find_step(write, claim, key) is None:
        values = {"run": claim.seq, "key": key, "result": write.encryption.encrypt(result)}
        write.connection.execute(sa.insert(steps), values)
    return is_claimed


def end(write: Write, claim: Claim, ending: RunEnding, emitted: Sequence[Event]) -> bool:
    """Store the end of a run, and return whether it still belonged to this server.

    A repeated commit whose first outcome was unknown may find the run ended, and counts as no longer belonging to this server.

    Args:
        write: The transaction.
        claim: The attempt.
        ending: How the run ends.
        emitted: The events that are not stored yet; the last one is that of the end.
    """
    row = _find(write, claim)
    if row is None:
        return False
    write_end(write, claim.seq, ending, emitted, stored_bytes=row[runs.c.bytes])
    return True


def wait(
    write: Write, claim: Claim, waiting: Waiting, wait_id: str, emitted: Sequence[Event]
) -> bool:
    """Store that a run waits, with what it goes on from, and return whether it still belonged to this server.

    Args:
        write: The transaction.
        claim: The attempt.
        waiting: What it waits for.
        wait_id: The id of the wait.
        emitted: The events that are not stored yet; the last one is `run_waiting`.
    """
    row = _find(write, claim)
    if row is None:
        return False
    body = write.encryption.encrypt(dump_events(emitted))
    write_events(write, claim.seq, emitted, body)
    values = {
        "waits": claim.seq,
        "wait_id": wait_id,
        "question": write.encryption.encrypt(dump_json(asdict(waiting.request)).encode()),
        "state": write.encryption.encrypt(waiting.state),
        "last_event": emitted[-1].number,
        "bytes": row[runs.c.bytes] + len(body),
    }
    write.connection.execute(_WAIT, values)
    forget_steps(write, claim.seq)
    notify(write, claim.seq, "waiting", wait_id=wait_id)
    if row[runs.c.cancel_requested]:
        # Since no server has it any more, none would hear of the cancel.
        waits = write.connection.execute(sa.select(runs).where(runs.c.seq == claim.seq)).one()
        end_idle(write, waits, cancelled(decrypt_text(waits.cancel_reason, write.encryption)))
    return True


def has_waiting(write: Write, tenant: str, maximum: int) -> bool:
    """Return whether at least so many runs of a tenant wait."""
    waiting = sa.select(runs.c.seq).where(
        runs.c.status == "waiting", runs.c.finished_at.is_(None), runs.c.tenant == tenant
    )
    # Only whether there are that many: counting all of them would take long.
    return write.connection.execute(waiting.offset(maximum - 1).limit(1)).first() is not None


def release(write: Write, claim: Claim, emitted: Sequence[Event]) -> bool:
    """Put a run back into the queue, with the events that it has emitted, and return whether it still belonged to this server."""
    is_claimed = append(write, claim, emitted) if emitted else True
    mine = (runs.c.seq == claim.seq) & (runs.c.attempt == claim.attempt)
    # A server that stops gracefully has not died under the run.
    return requeue(write, mine & (runs.c.server == claim.server), is_lost=False) and is_claimed


def read_step(write: Write, claim: Claim, key: str) -> bytes:
    """Return the result of a recorded step."""
    return write.encryption.decrypt(_find_step(write, claim, key) or b"")


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


def _find(write: Write, claim: Claim) -> sa.RowMapping | None:
    return write.connection.execute(_FIND_CLAIMED, claim.fence).mappings().one_or_none()


def _find_step(write: Write, claim: Claim, key: str) -> bytes | None:
    return write.connection.scalar(_FIND_STEP, {"claimed": claim.seq, "named": key})
