"""Others who use a server while somebody sends it odd bodies: how long they wait, what becomes of their runs, how much memory it takes."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from servers import Server


_PAUSE_SECONDS = 0.02
_RUN_PAUSE_SECONDS = 0.5
_MEGABYTE = 1024 * 1024
_RESTED = {"succeeded", "failed", "cancelled", "waiting"}


class Process:
    """The process of a server, seen from outside."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._status = Path(f"/proc/{pid}/status")
        self._clear = Path(f"/proc/{pid}/clear_refs")
        self._before = 0

    def begin(self) -> None:
        """Begin to measure memory."""
        self._before = self._process.memory_info().rss
        if self._clear.exists():
            self._clear.write_text("5")  # so that the peak begins anew

    def find_rise(self) -> float:
        """Return how far memory has risen since then, in MB: at most, where the system tells it, or just now."""
        peak = self._process.memory_info().rss
        if self._clear.exists():
            _, _, told = self._status.read_text().partition("VmHWM:")
            peak = int(told.split()[0]) * 1024
        return (peak - self._before) / _MEGABYTE

    def find_cpu_seconds(self) -> float:
        """Return how long it has worked."""
        times = self._process.cpu_times()
        return times.user + times.system


@dataclass
class Seen:
    """What others have seen of a server.

    Attributes:
        process: The server's process.
        seconds: The longest time that `/health` was held up by the server itself, and what was sent meanwhile. Where
            the machine is busy it is the server's own work in that time that counts, so that it means the same.
        waited_seconds: The longest that it took by the clock.
        megabytes: The most by which memory rose during one body and its run, and the body.
        runs: How many runs of others have ended as they should.
        faults: What went wrong for them.
    """

    process: Process = field(repr=False)
    seconds: tuple[float, str] = (0, "")
    waited_seconds: float = 0
    megabytes: tuple[float, str] = (0, "")
    runs: int = 0
    faults: list[str] = field(default_factory=list)
    sent: str = ""

    @contextmanager
    def sending(self, what: str) -> Iterator[None]:
        """Measure what a body, and the run that it begins, does to the server."""
        self.sent = what
        self.process.begin()
        yield
        self.megabytes = max(self.megabytes, (self.process.find_rise(), what))


@contextmanager
def watched(server: Server, path: str, body: dict[str, Any], status: str) -> Iterator[Seen]:
    """Have others use a server: one looks at its health, another has runs made.

    Args:
        server: The server.
        path: Where runs are begun.
        body: The request for one.
        status: How each ends.
    """
    seen, is_over = Seen(Process(server.pid)), threading.Event()

    def look() -> None:
        with server.client() as client:
            while not is_over.wait(_PAUSE_SECONDS):
                sent, worked, started = seen.sent, seen.process.find_cpu_seconds(), time.monotonic()
                client.get("/health").raise_for_status()
                waited = time.monotonic() - started
                held = min(waited, seen.process.find_cpu_seconds() - worked)
                seen.seconds = max(seen.seconds, (held, sent))
                seen.waited_seconds = max(seen.waited_seconds, waited)

    def use() -> None:
        with server.client() as client:
            while not is_over.wait(_RUN_PAUSE_SECONDS):
                run = make_run(client, path, body)
                seen.runs += 1
                if (run["status"], run["attempt"]) != (status, 1):
                    seen.faults.append(json.dumps(run))

    threads = [threading.Thread(target=_telling(work, seen)) for work in (look, use)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def _telling(work: Callable[[], None], seen: Seen) -> Callable[[], None]:
    def tell() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the test says it
            seen.faults.append(f"{error!r} while {seen.sent} was sent")

    return tell


def make_run(client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return a run once it rests."""
    begun = client.post(path, json=body)
    begun.raise_for_status()
    return await_rest(client, begun.json()["run_id"])


def await_rest(client: httpx.Client, run_id: str) -> dict[str, Any]:
    """Return a run once it has ended or waits."""
    while True:
        accept = {"accept": "text/event-stream"}
        client.get(f"/v1/runs/{run_id}/events", headers=accept).raise_for_status()
        run: dict[str, Any] = client.get(f"/v1/runs/{run_id}").raise_for_status().json()
        if run["status"] in _RESTED:
            return run
