"""Ending in good order when the system asks for it."""

import asyncio
import contextlib
import signal
from collections.abc import Generator


@contextlib.contextmanager
def cancelled_by_signals() -> Generator[None]:
    """Have SIGTERM and SIGHUP end the current task in good order, as Ctrl-C does anyway."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101 - only called from one
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
