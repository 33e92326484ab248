"""Shutting down cleanly when the system asks for it.

`import stream_text` does not import this module: everything there is pure, and this acts on the process. It is here
because commands of more than one package need it, and all of those packages may import this one.
"""

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager


__all__ = ["cancelled_by_signals"]


@contextmanager
def cancelled_by_signals() -> Generator[None]:
    """Have SIGTERM and SIGHUP cancel the current task, as Ctrl-C does anyway.

    Enter it inside a task. It does not work on Windows, whose event loops take no signal handlers.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101 - only called inside a task
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
