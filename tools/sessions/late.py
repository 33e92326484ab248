"""Make threads and what they send late at random, for `nox -s strained`.

A test that takes for granted what another thread has sent by now passes until that thread is late. To stop processes does not show it
where both are threads of one.
"""

import random
import socket
import threading
import time
from collections.abc import Callable
from typing import Any


_CHANCE = 0.15
_SECONDS = (0.001, 0.02, 0.1, 0.3)
_sleep = time.sleep  # which a test may replace for itself
# Of its own: a property test takes for its doing what draws from everybody's while its values are drawn.
_random = random.Random()


def install() -> None:
    """Delay some sends, accepted connections, starts of threads and events of this process from now on."""
    for name in ("accept", "send", "sendall", "sendmsg"):
        setattr(socket.socket, name, _late(getattr(socket.socket, name)))
    threading.Thread.run = _late(threading.Thread.run)
    threading.Event.set = _late(threading.Event.set)


def _late(work: Callable[..., Any]) -> Callable[..., Any]:
    def wait_and_work(*arguments: Any, **options: Any) -> Any:
        if _random.random() < _CHANCE:
            _sleep(_random.choice(_SECONDS))
        return work(*arguments, **options)

    return wait_and_work
