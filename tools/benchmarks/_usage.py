"""What a process has used so far, as Linux counts it."""

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path


_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_USER_TICKS, _SYSTEM_TICKS = 11, 12  # of what follows the name in /proc/PID/stat


def cpu_seconds(pid: int | None) -> float:
    """Return the processor time of a process and its threads, in seconds."""
    # The name stands in parentheses and may hold anything, so the fields are counted from its end.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])) / _TICKS_PER_SECOND


def family_cpu_seconds(pid: int) -> float:
    """Return the processor time of a process and of all that it has started, ended ones included, in seconds."""
    folder = Path(f"/proc/{pid}")
    try:
        fields = (folder / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        children = [
            int(child)
            for file in folder.glob("task/*/children")
            for child in file.read_text(encoding="ascii").split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0  # It has ended meanwhile.
    # User and system time, and then those of the children that were waited for.
    ticks = sum(map(int, fields[_USER_TICKS : _SYSTEM_TICKS + 3]))
    return ticks / _TICKS_PER_SECOND + sum(map(family_cpu_seconds, children))


def resident_bytes(pid: int | None) -> int:
    """Return how much memory of a process is resident, in bytes."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def peak_bytes(pid: int | None) -> int:
    """Return the most of a process's memory that was resident at once so far, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    [kilobytes] = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(kilobytes) * 1024


def family_peak_bytes(pid: int) -> int:
    """Return the same for a process and all that it has started and that still runs, each at its own peak."""
    children = [
        int(child)
        for file in Path(f"/proc/{pid}").glob("task/*/children")
        for child in file.read_text(encoding="ascii").split()
    ]
    return peak_bytes(pid) + sum(map(family_peak_bytes, children))


async def tell_cost(work: Callable[[], Awaitable[None]], number: int) -> None:
    """Print the processor time of this process that a piece of work takes, in seconds, the first ones left out."""
    for _ in range(number // 4):
        await work()
    before = time.process_time()
    for _ in range(number):
        await work()
    print((time.process_time() - before) / number)  # noqa: T201 - the result
