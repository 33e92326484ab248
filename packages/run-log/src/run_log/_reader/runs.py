"""Summaries of the runs of a folder, from the first and the last line of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from run_log._lines.file import is_run_name, iter_paths
from run_log._lines.json_lines import Record

from .problems import Problem, RunLogError, reading
from .reader import RunFile


_HEAD_BYTES: Final = 1_000_000
_HEAD_RECORDS: Final = 20  # Long texts of the first record come before it.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A summary of a run.

    Attributes:
        path: Its file.
        run: Its name.
        size_bytes: The size of the file.
        time: When it began, in ISO 8601; empty if that cannot be read.
        about: The program's own information about it.
        resumes: The run that it continues from; empty if it is not such a run.
        end: Its last record; None if it is still going on, or was broken off.
        problems: The problems of its beginning; a `RunFile` finds the others.
        error: Why the file cannot be read at all.
    """

    path: Path
    run: str
    size_bytes: int = 0
    time: str = ""
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    resumes: str = ""
    end: Mapping[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    error: str | None = None


def list_runs(folder: str | Path) -> list[RunSummary]:
    """Return the runs of a folder, the newest first. Only the beginning and the end of each file are read.

    Raises:
        RunLogError: If the folder cannot be read.
    """
    with reading(folder):
        paths = sorted(iter_paths(Path(folder)), reverse=True)
    # A process that begins a run may delete others in the meantime.
    return [try_summary(path) for path in paths if path.exists()]


def find_run(folder: str | Path, name: str) -> Path | None:
    """Return the file of a run in a folder; None if the folder has no run of that name.

    Args:
        folder: The folder.
        name: The run's name. A text that is not the name of a run, such as a path, finds nothing.
    """
    # Names come out of addresses: neither a path nor a link may lead out of the folder.
    path = Path(folder) / f"{name}.jsonl"
    if not is_run_name(path.name) or path.parent != Path(folder):
        return None
    return path if path.is_file() and not path.is_symlink() else None


def read_summary(path: str | Path) -> RunSummary:
    """Return the summary of a run, read from the beginning and the end of its file.

    Raises:
        RunLogError: If the file cannot be read.
    """
    file = RunFile(path, max_line_bytes=_HEAD_BYTES)
    head = islice(file.iter_records(), _HEAD_RECORDS)
    none: Record = {}
    start = next((record for record in head if record["type"] == "start"), none)
    size, end = file.read_end()
    resumes = start.get("resumes")
    return RunSummary(
        path=file.path,
        run=start.get("run", file.path.stem),
        size_bytes=size,
        time=start.get("time", ""),
        about=file.expand(start.get("about", {})),
        resumes=resumes if isinstance(resumes, str) else "",
        end=end,
        problems=() if start else file.problems,
    )


def try_summary(path: Path) -> RunSummary:
    """Return the summary of a run, or one with the reason why its file cannot be read."""
    try:
        return read_summary(path)
    except RunLogError as error:
        return RunSummary(path=path, run=path.stem, error=str(error))
