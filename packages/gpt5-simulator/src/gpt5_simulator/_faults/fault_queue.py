"""The queue of faults that wait for their requests."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from threading import Lock
from typing import get_args

from gpt5_simulator._arguments import entries_of, wrong_kind
from gpt5_simulator._faults.faults import Fault


_FAULTS: tuple[type, ...] = get_args(Fault.__value__)


class FaultQueue:
    """The faults that wait for their requests; more may be added while the server runs.

    A fault with `times=None` hits every request. The others come one after the other, each for `times` requests; None lets
    one request pass.
    """

    def __init__(self, faults: Iterable[Fault | None] = ()) -> None:
        self._lock = Lock()
        self._lasting: list[Fault] = []
        self._queue: deque[Fault | None] = deque()
        for index, fault in enumerate(entries_of("faults", faults)):
            self.add(fault, where=f"faults[{index}]")

    def add(self, fault: Fault | None, *, where: str = "fault") -> None:
        """Put a fault at the end of the queue, or among those that hit every request.

        Raises:
            TypeError: If it is not a fault.
        """
        hint = f"parse_fault({fault!r})" if isinstance(fault, str) else ""
        if fault is not None and not isinstance(fault, _FAULTS):
            raise wrong_kind(where, "a fault such as CutStream(), or None", fault, hint)
        # A test adds faults from its own thread while the server takes them.
        with self._lock:
            if fault is not None and fault.times is None:
                self._lasting.append(fault)
            elif fault is None or fault.times:
                self._queue.append(fault)

    def take(self) -> tuple[Fault, ...]:
        """Return the faults that hit the next request."""
        with self._lock:
            due = self._queue.popleft() if self._queue else None
            if due is not None and due.times is not None and due.times > 1:
                self._queue.appendleft(replace(due, times=due.times - 1))
            return (*self._lasting, *(() if due is None else (due,)))
