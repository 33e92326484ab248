"""A script as a process: its start, its lines, and its end, whatever it and its runner do."""

from .process import Ended, Launch, Lines, ProcessLimits, StopReason, run_process
from .sweep import kill_marked


__all__ = [
    "Ended",
    "Launch",
    "Lines",
    "ProcessLimits",
    "StopReason",
    "kill_marked",
    "run_process",
]
