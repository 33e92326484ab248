"""Which fault hits which request."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from threading import Lock

from gpt5_simulator._faults import Fault


class FaultQueue:
    """Hold faults until their requests come; safe to fill while the server runs.

    A fault with `times=None` hits every request. The others wait in a line, one at a time, each for as many requests as it
    says; None in the line lets one request pass.
    """

    def __init__(self, faults: Iterable[Fault | None] = ()) -> None:
        self._lock = Lock()
        self._standing: list[Fault] = []
        self._line: deque[Fault | None] = deque()
        for fault in faults:
            self.add(fault)

    def add(self, fault: Fault | None) -> None:
        """Put a fault at the end of the line, or among those that stand."""
        with self._lock:
            if fault is not None and fault.times is None:
                self._standing.append(fault)
            elif fault is None or fault.times:
                self._line.append(fault)

    def take(self) -> tuple[Fault, ...]:
        """Return what hits the request at hand."""
        with self._lock:
            due = self._line.popleft() if self._line else None
            if due is not None and due.times is not None and due.times > 1:
                self._line.appendleft(replace(due, times=due.times - 1))
            return (*self._standing, *(() if due is None else (due,)))
