"""The queue of faults that wait for their requests."""

from collections import deque
from collections.abc import Iterable
from dataclasses import fields, replace
from threading import Lock
from typing import get_args

from gpt5_simulator._arguments import entries_of, wrong_kind
from gpt5_simulator._faults.fault_text import parse_fault
from gpt5_simulator._faults.faults import Fault, NoPongs, RefuseUpgrade


_FAULTS: tuple[type, ...] = get_args(Fault.__value__)
_OF_UPGRADES = (RefuseUpgrade, NoPongs)


class _Line:
    """The faults of one sort."""

    def __init__(self) -> None:
        self.lasting: list[Fault] = []
        self.lasting_taken = 0
        self.queue: deque[Fault | None] = deque()


class FaultQueue:
    """The faults that wait for their requests; more may be added while the server runs.

    A fault with `times=None` hits every request. The others come one after the other, each for `times` requests; None lets
    one request pass. Faults of requests for a WebSocket wait in a line of their own.
    """

    def __init__(self, faults: Iterable[Fault | str | None] = ()) -> None:
        self._lock = Lock()
        self._lines = {False: _Line(), True: _Line()}
        for index, fault in enumerate(entries_of("faults", faults)):
            self.add(fault, where=f"faults[{index}]")

    def add(self, fault: Fault | str | None, *, where: str = "fault") -> None:
        """Put a fault, or the one that a text describes, at the end of the queue, or among those that hit every request.

        Raises:
            FaultError: If a text describes no fault.
            TypeError: If it is not a fault.
        """
        if isinstance(fault, str):
            fault = parse_fault(fault)
        if fault is not None and not isinstance(fault, _FAULTS):
            raise wrong_kind(where, "a fault such as CutStream() or 'cut', or None", fault)
        # A test adds faults from its own thread while the server takes them.
        line = self._lines[isinstance(fault, _OF_UPGRADES)]
        with self._lock:
            if fault is not None and fault.times is None:
                line.lasting.append(fault)
            elif fault is None or fault.times:
                line.queue.append(fault)

    def take(self, *, is_upgrade: bool = False) -> tuple[Fault, ...]:
        """Return the faults that hit the next request, or the next one for a WebSocket."""
        line = self._lines[is_upgrade]
        with self._lock:
            line.lasting_taken = len(line.lasting)
            due = line.queue.popleft() if line.queue else None
            if due is not None and due.times is not None and due.times > 1:
                line.queue.appendleft(replace(due, times=due.times - 1))
            return (*line.lasting, *(() if due is None else (due,)))

    def find_unused(self) -> list[str]:
        """Return the faults that have not hit as many requests as they should, written as Python."""
        with self._lock:
            lines = self._lines.values()
            waiting = [
                fault
                for line in lines
                for fault in (*line.lasting[line.lasting_taken :], *line.queue)
            ]
        return [_written(fault) for fault in waiting if fault is not None]


def _written(fault: Fault) -> str:
    """Return a fault as a Python expression, without the settings that have their defaults."""
    settings = (
        f"{field.name}={value!r}"
        for field in fields(fault)
        if (value := getattr(fault, field.name)) != field.default
    )
    return f"{type(fault).__name__}({', '.join(settings)})"
