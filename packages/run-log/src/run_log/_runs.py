"""The runs of a folder, each in a few words: what its first line and its last say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ._file import is_run_name, iter_paths
from ._json_lines import Record
from ._problems import Problem, RunLogError, reading
from ._reader import RunFile


_HEAD_BYTES: Final = 1_000_000
_HEAD_RECORDS: Final = 20  # Long texts of the first record come before it.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in a few words.

    Attributes:
        path: Its file.
        run: Its name.
        size_bytes: How long the file is.
        time: When it began, as ISO 8601 has it; empty where that cannot be read.
        about: What the program has said of it.
        end: Its last record; None where it goes on still, or was broken off.
        problems: What is wrong with its beginning; what else is, a `RunFile` says.
        error: Why the file cannot be read at all.
    """

    path: Path
    run: str
    size_bytes: int = 0
    time: str = ""
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    end: Mapping[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    error: str | None = None


def list_runs(folder: str | Path) -> list[RunSummary]:
    """Return the runs of a folder, the newest first. Of each file only the beginning and the end are read.

    Raises:
        RunLogError: If the folder cannot be read.
    """
    with reading(folder):
        paths = sorted(iter_paths(Path(folder)), reverse=True)
    return [try_summary(path) for path in paths if path.exists()]


def find_run(folder: str | Path, name: str) -> Path | None:
    """Return the file of a run of a folder; None where the folder has no run of that name.

    Args:
        folder: The folder.
        name: The run's name. What is no name of a run, such as a path, names none.
    """
    path = Path(folder) / f"{name}.jsonl"
    if not is_run_name(path.name) or path.parent != Path(folder):
        return None
    return path if path.is_file() and not path.is_symlink() else None


def read_summary(path: str | Path) -> RunSummary:
    """Return what the beginning and the end of a run's file say of it.

    Raises:
        RunLogError: If the file cannot be read.
    """
    file = RunFile(path, max_line_bytes=_HEAD_BYTES)
    head = islice(file.iter_records(), _HEAD_RECORDS)
    none: Record = {}
    start = next((record for record in head if record["type"] == "start"), none)
    size, end = file.read_end()
    return RunSummary(
        path=file.path,
        run=start.get("run", file.path.stem),
        size_bytes=size,
        time=start.get("time", ""),
        about=file.expand(start.get("about", {})),
        end=end,
        problems=() if start else file.problems,
    )


def try_summary(path: Path) -> RunSummary:
    """Return what a run's file says of it, or why it cannot be read."""
    try:
        return read_summary(path)
    except RunLogError as error:
        return RunSummary(path=path, run=path.stem, error=str(error))
