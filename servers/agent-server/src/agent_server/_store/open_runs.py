"""Reading what an engine of another package has of runs, and keeping what is too large for its history."""

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from agent_server.runs import RunStatus, WaitingFor

from .clock import clock
from .encryption import Encryption
from .errors import StorageError
from .records import decrypt_text, load_wait
from .schema import payloads, runs
from .servers import Server
from .writer import Write


_PAGE = 200
# Not the columns that may be as large as a body.
_SHOWN = [
    runs.c[name]
    for name in ("seq", "run_id", "status", "agent", "version", "attempt", "cancel_requested")
]


_STANDING = [runs.c[name] for name in ("status", "version", "wait_id", "waiting_since", "question")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run that has not ended.

    Attributes:
        run_id: Its id.
        status: Its state.
        agent: The name of its agent.
        version: The version that it was begun under.
        is_begun: Whether it was begun.
        is_cancelled: Whether it is to be cancelled.
        seconds: Its age.
    """

    run_id: str
    status: str
    agent: str
    version: str
    is_begun: bool
    is_cancelled: bool
    seconds: float


def is_of(server: Server) -> sa.ColumnElement[bool]:
    """Return whether a run is one of a server's executor and engine."""
    return (runs.c.executor == server.executor) & (runs.c.engine == server.engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """State of a run.

    Attributes:
        status: Its state.
        waiting_for: What it waits for, if it does.
        version: The version that it was begun under.
    """

    status: RunStatus
    waiting_for: WaitingFor | None = None
    version: str = ""


def read_standing(
    connection: sa.Connection, run_id: str, server: Server, encryption: Encryption
) -> Standing | None:
    """Return the state of a run; None if there is none."""
    found = sa.select(*_STANDING).where(runs.c.run_id == run_id, is_of(server))
    row = connection.execute(found).one_or_none()
    if row is None:
        return None
    return Standing(
        status=row.status,
        waiting_for=load_wait(row, encryption),
        version=row.version,
    )


def read_open(
    connection: sa.Connection, server: Server, *, seconds: float, after: int = 0
) -> list[tuple[int, OpenRun]]:
    """Return some runs of a server's engine that have not ended and are older than some seconds, after a number.

    Each has its number in the store; none if there are no more.
    """
    age = clock() - runs.c.created_at
    found = (
        sa.select(*_SHOWN, age.label("age"))
        .where(
            is_of(server),
            runs.c.finished_at.is_(None),
            age >= int(seconds * 1_000_000),
            runs.c.seq > after,
        )
        .order_by(runs.c.seq)
        .limit(_PAGE)
    )
    return [
        (
            row.seq,
            OpenRun(
                run_id=row.run_id,
                status=row.status,
                agent=row.agent,
                version=row.version,
                is_begun=row.attempt > 0,
                is_cancelled=row.cancel_requested,
                seconds=row.age / 1_000_000,
            ),
        )
        for row in connection.execute(found)
    ]


def read_cancelled(
    connection: sa.Connection, run_ids: Collection[str], encryption: Encryption
) -> dict[str, str | None]:
    """Return those of some runs that are to be cancelled, each with the reason."""
    found = sa.select(runs.c.run_id, runs.c.cancel_reason).where(
        runs.c.run_id.in_(run_ids), runs.c.cancel_requested, runs.c.finished_at.is_(None)
    )
    return {
        row.run_id: decrypt_text(row.cancel_reason, encryption) for row in connection.execute(found)
    }


def put_payload(write: Write, run_id: str, payload_id: str, body: bytes) -> bool:
    """Store a payload of a run, which is deleted with the run, and return whether there is such a run."""
    found = sa.select(runs.c.seq).where(runs.c.run_id == run_id)
    # Whoever deletes the run meanwhile waits, and then deletes this as well.
    seq = write.connection.scalar(found.with_for_update(read=True, key_share=True))
    if seq is None:
        return False
    values = {"run": seq, "id": payload_id, "body": write.encryption.encrypt(body)}
    write.connection.execute(insert(payloads).values(values).on_conflict_do_nothing())
    return True


def get_payload(
    connection: sa.Connection, run_id: str, payload_id: str, encryption: Encryption
) -> bytes:
    """Return a payload.

    Raises:
        StorageError: If there is none, or it cannot be decrypted.
    """
    found = sa.select(payloads.c.body).where(
        payloads.c.id == payload_id,
        payloads.c.run.in_(sa.select(runs.c.seq).where(runs.c.run_id == run_id)),
    )
    body = connection.scalar(found)
    if body is None:
        raise StorageError(f"payload {payload_id}: expected one that was stored with its run")
    return encryption.decrypt(body)
