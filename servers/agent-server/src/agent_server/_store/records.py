"""The stored form of runs and events."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import sqlalchemy as sa

from agent_server.executor import (
    Approval,
    InputAnswer,
    InputRequest,
    JsonObject,
    Question,
    RunResult,
    WaitingCall,
)
from agent_server.runs import Run, StoredEvent, WaitingFor
from stream_text import dump_json

from .encryption import Encryption


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event that is to be stored.

    Attributes:
        number: Its number in the run.
        type: Its type.
        created_at: In microseconds since 1970.
        text: Its data as JSON in ASCII.
    """

    number: int
    type: str
    created_at: int
    text: bytes

    @classmethod
    def emit(cls, number: int, type_: str, data: JsonObject) -> Self:
        """Return an event that is emitted now."""
        return cls(number=number, type=type_, created_at=now(), text=dump_json(data).encode())


_MOST_MEASURED = 1000
_EVENT_BYTES = 40  # besides its type and data


def measure(event: Event) -> int:
    """Return about how many bytes an event takes."""
    return len(event.text) + len(event.type) + _EVENT_BYTES


def now() -> int:
    """Return the time in microseconds since 1970."""
    return to_microseconds(datetime.now(UTC))


def to_microseconds(time: datetime) -> int:
    """Return a time in microseconds since 1970; a time without a zone counts as UTC."""
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return (time - _EPOCH) // _MICROSECOND


def to_datetime(microseconds: int) -> datetime:
    """Return a time in UTC."""
    return _EPOCH + microseconds * _MICROSECOND


def dump_events(events: Iterable[Event]) -> bytes:
    """Return a batch of events as JSON, without their numbers."""
    # The data is JSON already, so it goes in as it is, and is copied no more than it has to be: it may be large.
    rows = (
        b"[%b,%d,%b]" % (dump_json(one.type).encode(), one.created_at, one.text) for one in events
    )
    return b"[%b]" % b",".join(rows)


def load_events(first: int, body: bytes) -> list[StoredEvent]:
    """Return the events of a batch whose first event has this number."""
    return [
        StoredEvent(
            number=number,
            type=type_,
            created_at=to_datetime(created_at),
            data=data,
            size=measure_json(data),
        )
        for number, (type_, created_at, data) in enumerate(json.loads(body), start=first)
    ]


def to_stored(event: Event) -> StoredEvent:
    """Return an event in the form in which it will be read."""
    stored = StoredEvent(
        number=event.number,
        type=event.type,
        created_at=to_datetime(event.created_at),
        data={},
        size=len(event.text),
        shared={"data": event.text},
    )
    object.__delattr__(stored, "data")  # It is parsed for who looks at it.
    return stored


def load_run(row: sa.Row[Any], encryption: Encryption) -> Run:
    """Return the run in a row."""
    return Run(
        run_id=row.run_id,
        tenant=row.tenant,
        agent=row.agent,
        status=row.status,
        metadata=json.loads(encryption.decrypt(row.metadata)),
        attempt=row.attempt,
        created_at=to_datetime(row.created_at),
        started_at=None if row.started_at is None else to_datetime(row.started_at),
        finished_at=None if row.finished_at is None else to_datetime(row.finished_at),
        cancel_requested=row.cancel_requested,
        cancel_reason=decrypt_text(row.cancel_reason, encryption),
        last_event=row.last_event,
        result=None if row.result is None else RunResult.from_json(encryption.decrypt(row.result)),
        waiting_for=load_wait(row, encryption),
        part=row.part,
        is_kept=row.keep is None,
        conversation=load_origin(row)["conversation"],
    )


def load_origin(row: sa.Row[Any]) -> Mapping[str, str]:
    """Return what the run in a row comes from: the first run of its `conversation`, and the `traceparent` of the request for it if it had one."""
    return {"conversation": row.run_id, **json.loads(row.origin or "{}")}


def load_wait(row: sa.Row[Any], encryption: Encryption) -> WaitingFor | None:
    """Return what the run in a row waits for; None if it does not wait."""
    if row.status != "waiting":
        return None
    asked = json.loads(encryption.decrypt(row.question))
    question = asked["question"]
    return WaitingFor(
        wait_id=row.wait_id,
        since=to_datetime(row.waiting_since),
        request=InputRequest(
            approvals=[WaitingCall(**one) for one in asked["approvals"]],
            results=[WaitingCall(**one) for one in asked["results"]],
            question=None if question is None else Question(**question),
        ),
    )


def dump_answer(answer: InputAnswer) -> str:
    """Return an answer as JSON, the same for the same answer."""
    return json.dumps(answer.to_dict(), sort_keys=True, separators=(",", ":"))


def load_answer(text: bytes) -> InputAnswer:
    """Return the answer in JSON that `dump_answer` has written."""
    given = json.loads(text)
    approvals = {name: Approval(**one) for name, one in given["approvals"].items()}
    return InputAnswer(approvals=approvals, results=given["results"], answer=given["answer"])


def encrypt_text(text: str | None, encryption: Encryption) -> bytes | None:
    """Return a text in encrypted form."""
    return None if text is None else encryption.encrypt_json(text)


def decrypt_text(stored: bytes | None, encryption: Encryption) -> str | None:
    """Return the text of an encrypted form."""
    return None if stored is None else json.loads(encryption.decrypt(stored))


def digest(*parts: str) -> bytes:
    """Return a digest by which texts are found, even texts with unpaired surrogates."""
    return hashlib.blake2b(dump_json(parts).encode(), digest_size=16).digest()


def label_digests(metadata: Mapping[str, str]) -> Sequence[bytes]:
    """Return a digest for each name with its text."""
    return [digest(name, text) for name, text in metadata.items()]


def measure_json(value: Any) -> int:
    """Return about how many characters JSON has: those of its first texts, where all that is long stands."""
    waiting, size = [value], 0
    for _ in range(_MOST_MEASURED):
        if not waiting:
            break
        one = waiting.pop()
        if isinstance(one, str):
            size += len(one)
        elif isinstance(one, dict | list):
            inner: Any = one.values() if isinstance(one, dict) else one  # pyright: ignore[reportUnknownVariableType] - any JSON
            waiting += inner
    return size
