"""Doing what blocks for no longer than there is time."""

import threading
from collections.abc import Callable
from concurrent.futures import Future


def within[T](
    seconds: float | None, do: Callable[[], T], *, drop: Callable[[T], object] | None = None
) -> T:
    """Do something and return what comes of it; where there is a limit, in a thread, since nothing else could end a silence on the network.

    Args:
        seconds: How long may be waited; None for as long as it takes.
        do: What is done.
        drop: Takes what comes of it too late, if anything is to be done with that, in the same thread.

    Raises:
        TimeoutError: If it takes longer.
    """
    if seconds is None:
        return do()
    outcome: Future[T] = Future()
    lock = threading.Lock()
    is_late = False

    def run() -> None:
        try:
            found = do()
        except BaseException as error:  # noqa: BLE001  it is raised again by whoever waits for the outcome
            outcome.set_exception(error)
            return
        with lock:
            if not is_late:
                outcome.set_result(found)
                return
        if drop is not None:
            drop(found)

    threading.Thread(target=run, daemon=True).start()
    try:
        return outcome.result(seconds)
    except TimeoutError:
        with lock:
            if outcome.done():
                return outcome.result()
            is_late = True
        raise
