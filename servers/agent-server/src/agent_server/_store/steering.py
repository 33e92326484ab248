"""What runs under way are told: messages that stand beside their recorded steps, until their run has ended."""

from typing import Any, Final

import sqlalchemy as sa

from agent_server.runs import FINISHED, IdempotencyConflictError, SteerConflictError
from stream_text import dump_json, parse_json

from .records import digest
from .schema import answers, steps
from .signals import STEERED
from .writer import Write


_STEERED: Final = "%told:"  # No key of a step begins like this.
IS_STEERED: Final = sa.func.substr(steps.c.key, 1, len(_STEERED)) == _STEERED
"""Whether a row among the steps is something that the run was told."""
# Built once, since every run needs it: building a statement takes longer than executing it.
_FIND_STEERED = (
    sa.select(steps.c.result)
    .where(
        steps.c.run == sa.bindparam("found"),
        steps.c.key.in_(sa.bindparam("named", expanding=True)),
    )
    .order_by(steps.c.key)
)
_COUNT = sa.select(sa.func.count()).where(steps.c.run == sa.bindparam("found"), IS_STEERED)
MOST: Final = 1000
"""How much one run can be told, our choice."""
_AT_ONCE: Final = 100


def tell_run(write: Write, row: sa.Row[Any], message: Any, key: str | None) -> bool | Exception:
    """Store what a run is told, and return whether it is new: with the same key it may come again.

    Args:
        write: The transaction.
        row: The run, which is locked.
        message: The message, any JSON.
        key: The client's idempotency key; None for none.
    """
    text = dump_json(message)
    # A wait has hexadecimal digits in its place.
    known = None if key is None else f"told:{digest(key).hex()}"
    given = sa.select(answers.c.fingerprint).where(
        answers.c.run == row.seq, answers.c.wait_id == known
    )
    fingerprint = None if known is None else write.connection.scalar(given)
    if fingerprint is not None:
        is_same = write.encryption.is_of(fingerprint, text)
        return False if is_same else IdempotencyConflictError()
    if row.status == "waiting":
        return SteerConflictError(SteerConflictError.WAITS)
    if row.status in FINISHED or row.cancel_requested:
        return SteerConflictError(SteerConflictError.ENDED)
    number = write.connection.execute(_COUNT, {"found": row.seq}).scalar_one() + 1
    if number > MOST:
        return SteerConflictError(f"A run takes at most {MOST} messages.")
    steered = {
        "run": row.seq,
        "key": _key(number),
        "result": write.encryption.encrypt(text.encode()),
    }
    write.connection.execute(sa.insert(steps).values(steered))
    if known is not None:
        seen = {"run": row.seq, "wait_id": known, "fingerprint": write.encryption.digest(text)}
        write.connection.execute(sa.insert(answers).values(seen))
    write.signals.add(STEERED)
    return True


def read_steered(write: Write, seq: int, after: int, most: int = _AT_ONCE) -> list[Any]:
    """Return the messages to a run after the first `after`, in order."""
    keys = [_key(number) for number in range(after + 1, after + 1 + most)]
    rows = write.connection.scalars(_FIND_STEERED, {"found": seq, "named": keys})
    return [parse_json(write.encryption.decrypt(stored).decode()) for stored in rows]


def _key(number: int) -> str:
    return f"{_STEERED}{number:04}"
