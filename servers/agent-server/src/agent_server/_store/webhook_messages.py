"""The messages to a webhook about runs, which are stored until it has received them."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from agent_server.runs import RunStatus
from stream_text import dump_json

from .clock import clock
from .records import to_datetime
from .schema import runs, webhooks
from .signals import NOTIFIED
from .writer import Write


LIMITS: Final = "at most 100,000 are kept, each for at most 3 days"
"""How many messages are kept and for how long, as a phrase."""

_MOST = 100_000
_SECOND = 1_000_000
_AGE = 3 * 24 * 3600 * _SECOND
_MAX_ROWS = 200  # In one transaction, for which all runs have to wait.
# A message that a server sends is another's after this time, which no try takes.
_LEASE = 30 * _SECOND

# What every run needs is built once: building it takes longer than executing it.
_VALUES: dict[str, sa.ColumnElement[Any]] = {
    "id": sa.bindparam("message", type_=sa.Text),
    "status": sa.bindparam("reached", type_=sa.Text),
    "wait_id": sa.bindparam("wait", type_=sa.Text),
    "created_at": clock(),
    "next_at": clock(),
    "tries": sa.literal_column("0"),
    **{name: runs.c[name] for name in ("executor", "run_id", "tenant", "agent")},
}
_INSERT = sa.insert(webhooks).from_select(
    list(_VALUES), sa.select(*_VALUES.values()).where(runs.c.seq == sa.bindparam("told"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message for the webhook, which this server is to send now.

    Attributes:
        id: Its id, the same in all tries.
        body: Its body: the run's ids, agent, tenant and state, as JSON.
        tries: How often it has been tried, this time included.
    """

    id: str
    body: bytes
    tries: int


def notify(write: Write, seq: int, status: RunStatus, *, wait_id: str | None = None) -> None:
    """Have the webhook told, if there is one, that a run waits or has ended.

    Args:
        write: The transaction in which it does.
        seq: The run.
        status: The state that it comes into.
        wait_id: The id of the wait, for a run that waits.
    """
    if write.has_webhook:
        message = f"msg_{uuid.uuid4().hex}"
        values = {"message": message, "told": seq, "reached": status, "wait": wait_id}
        write.connection.execute(_INSERT, values)
        write.signals.add(NOTIFIED)


def claim_messages(write: Write, executor: str, *, limit: int) -> Sequence[Message]:
    """Return messages that are due, the longest due first; no other server sends them for some time."""
    due = (
        sa.select(webhooks)
        .where(webhooks.c.executor == executor, webhooks.c.next_at <= clock())
        .order_by(webhooks.c.next_at)
        .limit(limit)
        # Servers that look at the same time take different messages.
        .with_for_update(skip_locked=True)
    )
    rows = write.connection.execute(due).mappings().all()
    if rows:
        claimed = webhooks.c.id.in_([row["id"] for row in rows])
        values = {"next_at": clock() + _LEASE, "tries": webhooks.c.tries + 1}
        write.connection.execute(sa.update(webhooks).where(claimed).values(values))
    return [Message(id=row["id"], body=_dump(row), tries=row["tries"] + 1) for row in rows]


def _dump(row: sa.RowMapping) -> bytes:
    names = ("run_id", "agent", "tenant", "status", "wait_id")
    body = {
        "type": f"run.{row['status']}",
        "timestamp": to_datetime(row["created_at"]).isoformat(),
        "data": {name: row[name] for name in names if row[name] is not None},
    }
    return dump_json(body).encode()


def delete_message(write: Write, message: Message) -> None:
    """Forget a message that the webhook has got."""
    write.connection.execute(sa.delete(webhooks).where(webhooks.c.id == message.id))


def put_off(write: Write, message: Message, *, seconds: float) -> None:
    """Have a message sent again after some time, unless another server has tried it meanwhile."""
    same = (webhooks.c.id == message.id) & (webhooks.c.tries == message.tries)
    next_at = clock() + int(seconds * _SECOND)
    write.connection.execute(sa.update(webhooks).where(same).values(next_at=next_at))


def drop_some(write: Write) -> int:
    """Delete some of the messages that are too old or too many, and return their number."""
    old = sa.select(webhooks.c.id).where(webhooks.c.created_at < clock() - _AGE)
    newest_first = sa.select(webhooks.c.id).order_by(webhooks.c.created_at.desc())
    doomed: Collection[str] = (
        write.connection.scalars(old.limit(_MAX_ROWS)).all()
        or write.connection.scalars(newest_first.offset(_MOST).limit(_MAX_ROWS)).all()
    )
    if doomed:
        write.connection.execute(sa.delete(webhooks).where(webhooks.c.id.in_(doomed)))
    return len(doomed)
