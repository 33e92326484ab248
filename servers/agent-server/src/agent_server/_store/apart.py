"""Runs that another engine executes.

Their steps are made apart, by any number of processes at a time, and the engine makes each of them again until its
result is known.

Writes are idempotent: events that a run tells itself are counted, a step has numbered tries of which only the newest
may write, and a recorded step stays as it is.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from agent_server.executor import EventLimitError, RunResult, Waiting
from agent_server.runs import FINISHED, RESTING
from agent_server.settings import ServerSettings

from . import holds
from .claims import Claim, Owner, RunContent, begin, load_content
from .clock import clock
from .encryption import Encryption, check_keys, enter_key
from .endings import Ended, cancelled, end_idle, with_result
from .holds import Hold
from .open_runs import is_of
from .records import Event, decrypt_text, digest, measure
from .schema import encryption_keys, marks, runs, steps
from .servers import Server, requeue
from .steering import IS_STEERED
from .writer import Write


# What is kept for later steps is a step that nobody makes: no quoted text begins like this.
_KEPT = "%kept:"
_OF_RUN = ""  # The key of the run's own mark.


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Events that a run tells itself.

    Attributes:
        first: How many it has told in this part before these, which are stored: whatever may not be stored yet is told once more.
        events: The events; their numbers do not count.
    """

    first: int = 0
    events: Sequence[Event] = ()


def enter(write: Write) -> None:
    """Record the key that a process encrypts with, and that it is used.

    Others notice if they lack it, and encrypt its content anew only once nobody uses it.
    """
    enter_key(write.connection, write.encryption)
    mine = encryption_keys.c.key_id == write.encryption.key_id
    write.connection.execute(sa.update(encryption_keys).where(mine).values(used_at=clock()))


def claim_run(write: Write, run_id: str, owner: Owner) -> Claim | Ended | None:
    """Claim a run to execute it as a whole: from whoever had it, who counts as dead. None if it has ended or waits."""
    row = _find_run(write, run_id, owner.server)
    if row is None or row.status in RESTING:
        return None
    # A process that lacks a key must not take the run for one that nobody can read.
    check_keys(write.connection, write.encryption)
    if row.status == "running":
        requeue(write, runs.c.seq == row.seq, is_lost=True)
        row = write.connection.execute(sa.select(runs).where(runs.c.seq == row.seq)).one()
    # The new owner counts its tries anew, and those of others are not of this attempt.
    write.connection.execute(sa.update(marks).where(marks.c.run == row.seq).values(tries=0))
    return begin(write, row, owner)


def hold_run(write: Write, run_id: str, owner: Owner) -> Hold | Ended | None:
    """Hold a run whose steps are made apart: again, if the owner holds it already. None if it has ended or waits."""
    row = _find_run(write, run_id, owner.server)
    if row is not None and row.status == "running" and row.server == owner.server.name:
        return Hold(seq=row.seq, server=row.server, attempt=row.attempt)
    return claim_run(write, run_id, owner)


def _find_run(write: Write, run_id: str, server: Server) -> sa.Row[Any] | None:
    found = sa.select(runs).where(runs.c.run_id == run_id, is_of(server))
    return write.connection.execute(found.with_for_update()).one_or_none()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBegun:
    """A step that may be made.

    Attributes:
        result: What was recorded of it, so that it need not be made; None for nothing.
        emitted: How many events earlier tries have stored.
    """

    result: bytes | None
    emitted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """A try of a step.

    Attributes:
        hold: The right to its run.
        key: Its key.
        number: Which try of it this is.
    """

    hold: Hold
    key: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApartRuns:
    """The runs whose steps are made apart.

    Attributes:
        settings: The limits of runs.
    """

    settings: ServerSettings

    def tell(self, write: Write, hold: Hold, telling: Telling) -> bool | Exception:
        """Store what a run tells itself, as far as it is not stored, and return whether it is still held."""
        if holds.find(write, hold) is None:
            return False
        emitted = self._count_emitted(write, hold)
        if telling.first > emitted:
            # What comes between may be on its way, and must come first.
            return ValueError(
                f"first: expected at most {emitted}, as many events as are stored, got {telling.first}"
            )
        fresh = telling.events[emitted - telling.first :]
        return self._append(write, Try(hold=hold, key=_OF_RUN, number=0), fresh, before=emitted)

    def _count_emitted(self, write: Write, hold: Hold) -> int:
        mark = _read_mark(write, Try(hold=hold, key=_OF_RUN, number=0))
        return 0 if mark is None else mark.told

    def begin_step(self, write: Write, one: Try, telling: Telling) -> StepBegun | Exception | None:
        """Begin a try of a step, and store what the run tells before it; None if the run is not held any more, or a later try was begun."""
        is_held = self.tell(write, one.hold, telling)
        if is_held is not True:
            return is_held or None
        recorded = holds.find_step(write, one.hold, one.key)
        if recorded is not None:
            return StepBegun(result=write.encryption.decrypt(recorded))
        mark = _read_mark(write, one)
        if mark is not None and mark.tries > one.number:
            return None
        emitted = 0 if mark is None else mark.told
        _put_mark(write, one, emitted=emitted)
        return StepBegun(result=None, emitted=emitted)

    def tell_step(self, write: Write, one: Try, telling: Telling) -> bool | Exception:
        """Store events of a step, and return whether the try is still the newest of a run that is held.

        All tries together have stored `telling.first` of them.
        """
        # Only whoever has locked the run reads a mark that no later try changes meanwhile.
        if holds.find(write, one.hold) is None:
            return False
        mark = _read_mark(write, one)
        if mark is None or mark.tries != one.number:
            return False
        if mark.told == telling.first:
            return self._append(write, one, telling.events, before=mark.told)
        # A commit of unknown outcome is tried again, and may have succeeded the first time. If events
        # before these could not be stored, neither can these.
        return mark.told >= telling.first + len(telling.events)

    def record(
        self, write: Write, one: Try, result: bytes, telling: Telling
    ) -> bytes | Exception | None:
        """Record the result of a step with its last events, and return what is recorded of it.

        None if the try was not the newest of a run that is held.
        """
        is_newest = self.tell_step(write, one, telling)
        if is_newest is not True:
            return is_newest or None
        recorded = holds.find_step(write, one.hold, one.key)
        if recorded is not None:
            return write.encryption.decrypt(recorded)
        _put_step(write, one.hold, one.key, result)
        return result

    def end(
        self, write: Write, hold: Hold, result: RunResult | None, telling: Telling
    ) -> Ended | None:
        """End a run with a result, or as cancelled, and return its end; None if it was not held any more."""
        if holds.find(write, hold) is None:
            return None
        # What is over the limit is left out, and what is missing comes no more: the run ends all the same.
        first = min(telling.first, self._count_emitted(write, hold))
        self.tell(write, hold, replace(telling, first=first))
        row = write.connection.execute(sa.select(runs).where(runs.c.seq == hold.seq)).one()
        return _end(write, row, result)

    def wait(
        self, write: Write, hold: Hold, waiting: Waiting, wait_id: str, telling: Telling
    ) -> Literal["waiting", "full", "left"] | Ended | Exception:
        """Store that a run waits; return what prevents it.

        `full` if too many runs of its tenant wait, `left` if the run is not held any more, and its end if it was to be
        cancelled.
        """
        is_held = self.tell(write, hold, telling)
        if isinstance(is_held, Exception):
            return is_held
        row = write.connection.execute(sa.select(runs).where(runs.c.seq == hold.seq)).one_or_none()
        if row is None or not is_held:
            # A commit of unknown outcome may have succeeded.
            return "waiting" if row is not None and row.wait_id == wait_id else "left"
        if row.cancel_requested:
            return _end(write, row, None)
        if holds.has_waiting(write, row.tenant, self.settings.max_waiting_per_tenant):
            return "full"
        asked = {"wait_id": wait_id, **asdict(waiting.request)}
        event = Event.emit(row.last_event + 1, "run_waiting", asked)
        holds.wait(write, hold, waiting, wait_id, [event])
        return "waiting"

    def _append(
        self, write: Write, one: Try, emitted: Sequence[Event], *, before: int
    ) -> Literal[True] | EventLimitError:
        """Store the events of a try for a run that is locked, up to the first that is over the limit."""
        row = cast("sa.RowMapping", holds.find(write, one.hold))
        number, size = row[runs.c.last_event], row[runs.c.bytes]
        numbered: list[Event] = []
        error: EventLimitError | None = None
        for event in emitted:
            number, size = number + 1, size + measure(event)
            if (error := self._find_excess(number, size)) is not None:
                break
            numbered.append(replace(event, number=number))
        if numbered:
            holds.append(write, one.hold, numbered)
            _put_mark(write, one, emitted=before + len(numbered))
        return error or True

    def _find_excess(self, number: int, size: int) -> EventLimitError | None:
        if number > self.settings.max_events:
            return EventLimitError(f"expected at most {self.settings.max_events} events")
        if size > self.settings.max_event_bytes:
            most = self.settings.max_event_bytes
            return EventLimitError(f"expected at most {most} bytes of events")
        return None


def keep(write: Write, hold: Hold, name: str, content: bytes) -> bool:
    """Keep something for later steps, and return whether the run is still held."""
    is_held = holds.find(write, hold) is not None
    if is_held:
        _put_step(write, hold, _kept(name), content)
    return is_held


def find_kept(
    connection: sa.Connection, hold: Hold, names: Collection[str], encryption: Encryption
) -> dict[str, bytes]:
    """Return what was kept under some names."""
    keys = {_kept(name): name for name in names}
    found = sa.select(steps.c.key, steps.c.result).where(
        steps.c.run == hold.seq, steps.c.key.in_(keys)
    )
    return {keys[row.key]: encryption.decrypt(row.result) for row in connection.execute(found)}


def _kept(name: str) -> str:
    # PostgreSQL takes neither NUL nor surrogates, and no long text in an index.
    return f"{_KEPT}{digest(name).hex()}"


def read_held(
    connection: sa.Connection, hold: Hold, encryption: Encryption
) -> tuple[sa.Row[Any], RunContent] | None:
    """Return a run with what it is executed with; None if it is not held any more.

    Raises:
        StorageError: If it cannot be decrypted.
    """
    found = sa.select(runs).where(holds.IS_HELD)
    row = connection.execute(found, hold.fence).one_or_none()
    return None if row is None else (row, load_content(connection, row, encryption))


def read_steps(connection: sa.Connection, hold: Hold, encryption: Encryption) -> dict[str, bytes]:
    """Return the results of all recorded steps, by their keys."""
    found = sa.select(steps.c.key, steps.c.result).where(
        steps.c.run == hold.seq, sa.func.substr(steps.c.key, 1, len(_KEPT)) != _KEPT, ~IS_STEERED
    )
    return {row.key: encryption.decrypt(row.result) for row in connection.execute(found)}


def end_run(write: Write, run_id: str, server: Server, result: RunResult | None) -> Ended | None:
    """End a run that no process executes with a result, or as cancelled, and return its end; None if it has ended."""
    row = _find_run(write, run_id, server)
    if row is None or row.status in FINISHED:
        return None
    return _end(write, row, result)


def _end(write: Write, row: sa.Row[Any], result: RunResult | None) -> Ended:
    is_success = result is not None and result.status == "succeeded"
    # A cancelled executor may end with an error of its own. A success stays a success.
    if result is None or (row.cancel_requested and not is_success):
        reason = decrypt_text(row.cancel_reason, write.encryption)
        return end_idle(write, row, cancelled(reason))
    return end_idle(write, row, with_result(result))


def _read_mark(write: Write, one: Try) -> sa.Row[Any, Any] | None:
    found = sa.select(marks.c.tries, marks.c.told).where(
        marks.c.run == one.hold.seq, marks.c.key == one.key
    )
    return write.connection.execute(found).one_or_none()


def _put_mark(write: Write, one: Try, *, emitted: int) -> None:
    counts = {"tries": one.number, "told": emitted}
    entered = insert(marks).values({"run": one.hold.seq, "key": one.key, **counts})
    keys = ["run", "key"]
    # SQLite takes this form of insert, too.
    write.connection.execute(entered.on_conflict_do_update(index_elements=keys, set_=counts))


def _put_step(write: Write, hold: Hold, key: str, result: bytes) -> None:
    values = {"run": hold.seq, "key": key, "result": write.encryption.encrypt(result)}
    write.connection.execute(insert(steps).values(values).on_conflict_do_nothing())
