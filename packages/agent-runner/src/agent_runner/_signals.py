"""Ending a server in good order when the system asks for it."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def signals_left_to_uvicorn() -> Generator[None]:
    """Have the signals that end a process do nothing here while uvicorn obeys them.

    It raises each again once it has stopped, which would end us before our own work is done.
    """
    handlers = {
        signal.SIGINT: _do_nothing,
        signal.SIGTERM: _do_nothing,
        signal.SIGHUP: _terminate,  # the one that uvicorn does not know
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _do_nothing(_: int, __: FrameType | None) -> None: ...


def _terminate(_: int, __: FrameType | None) -> None:
    signal.raise_signal(signal.SIGTERM)
