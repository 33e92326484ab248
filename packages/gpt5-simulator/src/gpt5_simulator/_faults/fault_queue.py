"""The queue of faults that wait for their requests."""

from collections import deque
from collections.abc import Iterable
from dataclasses import fields, replace
from threading import Lock
from typing import get_args

from gpt5_simulator._arguments import entries_of, wrong_kind
from gpt5_simulator._faults.fault_text import parse_fault
from gpt5_simulator._faults.faults import Fault


_FAULTS: tuple[type, ...] = get_args(Fault.__value__)


class FaultQueue:
    """The faults that wait for their requests; more may be added while the server runs.

    A fault with `times=None` hits every request. The others come one after the other, each for `times` requests; None lets
    one request pass.
    """

    def __init__(self, faults: Iterable[Fault | str | None] = ()) -> None:
        self._lock = Lock()
        self._lasting: list[Fault] = []
        self._lasting_taken = 0
        self._queue: deque[Fault | None] = deque()
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
        with self._lock:
            if fault is not None and fault.times is None:
                self._lasting.append(fault)
            elif fault is None or fault.times:
                self._queue.append(fault)

    def take(self) -> tuple[Fault, ...]:
        """Return the faults that hit the next request."""
        with self._lock:
            self._lasting_taken = len(self._lasting)
            due = self._queue.popleft() if self._queue else None
            if due is not None and due.times is not None and due.times > 1:
                self._queue.appendleft(replace(due, times=due.times - 1))
            return (*self._lasting, *(() if due is None else (due,)))

    def find_unused(self) -> list[str]:
        """Return the faults that have not hit as many requests as they should, written as Python."""
        with self._lock:
            waiting = [*self._lasting[self._lasting_taken :], *self._queue]
        return [_written(fault) for fault in waiting if fault is not None]


def _written(fault: Fault) -> str:
    """Return a fault as a Python expression, without the settings that have their defaults."""
    settings = (
        f"{field.name}={value!r}"
        for field in fields(fault)
        if (value := getattr(fault, field.name)) != field.default
    )
    return f"{type(fault).__name__}({', '.join(settings)})"
