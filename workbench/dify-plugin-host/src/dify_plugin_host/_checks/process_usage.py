"""The usage of a plugin's processes, seen from outside: CPU time, threads, memory, open files."""

import contextlib
import uuid
from dataclasses import dataclass

import psutil


_VARIABLE = "DIFY_HOST_SOAK"
_MB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The usage of a group of processes at one moment.

    Attributes:
        cpu_seconds: The CPU time that they and the children that they have waited for have used since they began.
        threads: The number of their threads.
        memory_mb: Their resident memory, in MB of 1024 x 1024 bytes.
        handles: The number of their open files, sockets and pipes.
        processes: The number of processes.
    """

    cpu_seconds: float
    threads: int
    memory_mb: float
    handles: int
    processes: int


class MarkedProcesses:
    """A process with all that it starts, also what leaves its session: they share a variable of their environment, which marks them."""

    def __init__(self) -> None:
        self._mark = uuid.uuid4().hex

    @property
    def environment(self) -> dict[str, str]:
        """The variable to start the process with."""
        return {_VARIABLE: self._mark}

    def find(self) -> list[psutil.Process]:
        """Return those that live."""
        found: list[psutil.Process] = []
        for process in psutil.process_iter():
            # Others' processes show nothing, and those that have ended have no environment any more.
            with contextlib.suppress(psutil.Error):
                if process.environ().get(_VARIABLE) == self._mark:
                    found.append(process)
        return found

    def measure(self) -> Usage:
        """Return their usage now."""
        cpu, threads, memory, handles, processes = 0.0, 0, 0, 0, 0
        for process in self.find():
            # It may have ended a moment ago; its files are then denied to all but root.
            with contextlib.suppress(psutil.Error), process.oneshot():
                handles += process.num_fds()
                cpu += sum(process.cpu_times()[:4])
                threads += process.num_threads()
                memory += process.memory_info().rss
                processes += 1
        return Usage(
            cpu_seconds=cpu,
            threads=threads,
            memory_mb=memory / _MB,
            handles=handles,
            processes=processes,
        )
