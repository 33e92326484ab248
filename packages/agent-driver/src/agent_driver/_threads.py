"""Daemon threads for models and tools: they end with the process, whatever they are doing."""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any

from ._answers import ModelIsAsyncError, close, to_failure


END = object()
"""What follows the last piece."""


@dataclass(frozen=True, slots=True)
class Raised:
    """An error from a reading thread, to be raised by whoever reads the pieces."""

    error: BaseException


def read_in_thread(pieces: Iterable[object], put: Callable[[object], Any]) -> Callable[[], None]:
    """Read an iterable in a thread, and pass on each piece, then the failure that it ended in, if any, then `END`.

    What is no `Exception` is passed on as what it is: it ends no more than this thread, and somebody has to know.

    Returns:
        What stops the reading, with the next piece at the latest; nothing is passed on any more.
    """
    is_stopped = threading.Event()

    def pass_on(piece: object) -> None:
        # Whoever reads may be gone by then, and the event loop that `put` reaches closed.
        if not is_stopped.is_set():
            put(piece)

    def read() -> None:
        iterator: object = None
        try:
            iterator = iter(pieces)
            for piece in iterator:
                pass_on(piece)
                if is_stopped.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 - whatever the model's client raises
            if not is_stopped.is_set():
                is_failure = isinstance(error, Exception) and not isinstance(
                    error, ModelIsAsyncError
                )
                pass_on(to_failure(error) if is_failure else Raised(error))
        finally:
            # Closed by the thread that reads: no other can close a generator while it runs.
            close(iterator)
            pass_on(END)

    Threads(1, "agent-driver-model").start(read)
    return is_stopped.set


# Not `ThreadPoolExecutor`: its threads are joined when the process ends, so a tool that hangs would
# keep the process. Ours may be left behind.
class Threads:
    """A pool of daemon threads.

    Args:
        most: How many run at the same time.
        name: What the threads are called.
    """

    def __init__(self, most: int, name: str) -> None:
        # Both under the lock: a thread that finds nothing waiting gives up its place in the same
        # step, so that work which is added just then starts a thread of its own.
        self._free = most
        self._name = name
        self._waiting: deque[Callable[[], Any]] = deque()
        self._lock = threading.Lock()
        # A future and not an event: a callback that comes after it is done is called at once, so
        # `on_abandon` and `abandon` may come in either order.
        self._abandoned: Future[None] = Future()

    def start(self, work: Callable[[], Any]) -> None:
        """Run a function, which raises nothing, as soon as there is a thread for it, with the context variables of whoever starts it.

        If it returns False, its place was given to another.
        """
        with self._lock:
            # A thread begins with no context variables; traces and the like would be lost.
            self._waiting.append(partial(copy_context().run, work))
            if not self._free:
                return
            self._free -= 1
        self._begin()

    def replace(self) -> None:
        """Give the place of a running function to another, for the thread may never come back; the function has to return False then."""
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
        self._begin()

    def after(self, seconds: float, act: Callable[[], Any]) -> threading.Timer:
        """Call a function after some seconds, in a thread of its own, with the caller's context variables.

        It is not called if it is cancelled or all are abandoned by then.
        """
        timer = threading.Timer(seconds, partial(copy_context().run, act))
        timer.name, timer.daemon = f"{self._name}-timer", True
        self.on_abandon(timer.cancel)
        timer.start()
        return timer

    def is_abandoned(self) -> bool:
        """Return whether the running functions were abandoned."""
        return self._abandoned.done()

    def on_abandon(self, stop: Callable[[], Any]) -> None:
        """Register a callback for when the functions are abandoned; it is called even if they have ended by then."""
        self._abandoned.add_done_callback(lambda _: stop())

    def abandon(self) -> None:
        """Drop functions that have not started, and tell running ones to stop; those that do not listen continue."""
        with self._lock:
            self._waiting.clear()
        self._abandoned.set_result(None)

    def _begin(self) -> None:
        threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                # Abandoned: a timer may have started something since.
                if not self._waiting or self.is_abandoned():
                    self._free += 1
                    return
                work = self._waiting.popleft()
            # Outside the lock: it may take as long as it likes.
            if work() is False:
                return
