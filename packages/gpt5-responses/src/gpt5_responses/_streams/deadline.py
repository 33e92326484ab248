"""Blocking calls with a deadline."""

import threading
from collections.abc import Callable
from concurrent.futures import Future


def within[T](
    seconds: float | None, do: Callable[[], T], *, drop: Callable[[T], object] = lambda _: None
) -> T:
    """Call a function and return its result; with a deadline it runs in a thread, since nothing else can end a silence on the network.

    Args:
        seconds: How long to wait; None for as long as it takes.
        do: The function.
        drop: Gets the result if it comes too late.

    Raises:
        TimeoutError: If it takes longer.
    """
    if seconds is None:
        return do()
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(do())
        except BaseException as error:  # noqa: BLE001  the waiting thread raises it again
            outcome.set_exception(error)

    def drop_late(found: Future[T]) -> None:
        if found.exception() is None:
            drop(found.result())

    # A daemon, so that a silent server does not keep the process from ending.
    threading.Thread(target=run, daemon=True).start()
    try:
        return outcome.result(seconds)
    except TimeoutError:
        outcome.add_done_callback(drop_late)
        raise
