"""The log of a program: a folder with a file for each run."""

import os
import time
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, override

from run_log._lines.file import LineFile, NoFile, log, tidy
from run_log._lines.json_lines import read_object
from run_log._lines.settings import LogSettings
from stream_text import KnownSecrets

from .writer import Observer, RunWriter


class RunFeed:
    """A source of the records of runs for observers, which writes no file. A `RunLog` writes one, too.

    Args:
        observers: The observers that get each record of each run, such as `run_log.traces.Traces`.
        known: Secrets to keep out of every record, however they are escaped: `KnownSecrets`, or their values.
        about: Information for the first record of each run, such as the name of the program or of the model.
        settings: The limits.
    """

    def __init__(
        self,
        observers: Iterable[Observer] = (),
        *,
        known: KnownSecrets | Iterable[str] = (),
        about: Mapping[str, object] | None = None,
        settings: LogSettings | None = None,
    ) -> None:
        self._observers = tuple(observers)
        self._known = known if isinstance(known, KnownSecrets) else KnownSecrets(known)
        self._about = dict(about or {})
        self._settings = settings or LogSettings()

    def begin(
        self, about: Mapping[str, object] | None = None, *, resumes: str | None = None
    ) -> RunWriter:
        """Begin a run.

        Args:
            about: Information for the first record of this run, besides that of every run.
            resumes: The name of the run that stopped and continues in this one.
        """
        # The names sort by time; the random part keeps runs of one second apart, whichever process's.
        name = f"run-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.urandom(6).hex()}"
        file, path = self._open(f"{name}.jsonl")
        writer = RunWriter(
            file,
            path=path,
            known=[self._known],
            settings=self._settings,
            observers=self._observers,
        )
        writer.start({**self._about, **(about or {})}, resumes=resumes)
        return writer

    def extended(self, about: Mapping[str, object], observers: Iterable[Observer]) -> Self:
        """Return the same with more information and observers.

        Args:
            about: More information for the first record of each run.
            observers: Observers that get each record as well.
        """
        more = copy(self)
        more._about, more._observers = {**about, **self._about}, (*self._observers, *observers)  # noqa: SLF001 - its own
        return more

    def _open(self, name: str) -> tuple[LineFile | NoFile | None, Path]:
        """Return the file for the records of a run, and the path that it has or would have."""
        return NoFile(), Path(name)


class RunLog(RunFeed):
    """A folder of runs, each in a file of its own. Several processes may write into one folder.

    Only the owner can read them: files have the mode 0600, a new folder 0700. Nothing in the folder but the files of
    runs is touched. When a run begins, runs that are too old or too large in total are deleted. If its file cannot be
    made, a warning goes to the log `run_log` and the writer writes nothing: no run ends because of its log.

    Args:
        folder: The folder of the runs; made with the first.
        known: Secrets to keep out of every record, however they are escaped: `KnownSecrets`, or their values.
        about: Information for the first record of each run, such as the name of the program or of the model.
        settings: The limits.
        observers: Observers that get each record, too.

    Example:
        >>> import tempfile
        >>> log = RunLog(tempfile.mkdtemp(), known=["hunter22"], about={"program": "example"})
        >>> with log.begin() as run:
        ...     run.request(1, [{"role": "user", "content": "hunter22?"}], {"model": "gpt-5.5"})
        ...     run.end("answered")
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        known: KnownSecrets | Iterable[str] = (),
        about: Mapping[str, object] | None = None,
        settings: LogSettings | None = None,
        observers: Iterable[Observer] = (),
    ) -> None:
        super().__init__(observers, known=known, about=about, settings=settings)
        self.folder = Path(folder)

    @classmethod
    def from_env(
        cls,
        variable: str = "RUN_LOG",
        environ: Mapping[str, str] | None = None,
        *,
        known: KnownSecrets | Iterable[str] = (),
        about: Mapping[str, object] | None = None,
        observers: Iterable[Observer] = (),
    ) -> Self | None:
        """Make the log of the folder that a variable names; None if it is empty or missing.

        `RUN_LOG_DAYS` and `RUN_LOG_MEGABYTES` say how long runs are kept and how much space all may take; a value that
        is not a whole number over 0 is ignored. `RUN_LOG_ABOUT` may be a JSON object with more for the first record of
        each run, from whoever starts the process.

        Args:
            variable: The variable; the names of the others begin with it.
            environ: The environment to read; the process's own if None.
            known: As for the log itself.
            about: As for the log itself.
            observers: As for the log itself.
        """
        found = os.environ if environ is None else environ
        folder = found.get(variable, "").strip()
        if not folder:
            return None
        bounds = LogSettings()
        settings = replace(
            bounds,
            max_age_days=_read_number(found.get(f"{variable}_DAYS"), bounds.max_age_days),
            max_total_bytes=1_000_000
            * _read_number(found.get(f"{variable}_MEGABYTES"), bounds.max_total_bytes // 1_000_000),
        )
        more = read_object(found.get(f"{variable}_ABOUT", ""))
        about = {**(about or {}), **more}
        return cls(folder, known=known, about=about, settings=settings, observers=observers)

    @override
    def _open(self, name: str) -> tuple[LineFile | NoFile | None, Path]:
        path = self.folder / name
        try:
            file = LineFile(path)
        except OSError as error:
            log.warning("%s: runs are not logged: %s", self.folder, error.strerror or error)
            # Observers get the run all the same; without any the writer is closed from the start.
            return (NoFile() if self._observers else None), path
        tidy(path, self._settings, now=time.time())
        return file, path


def _read_number(text: str | None, default: float) -> int:
    number = int(text) if text and text.isdecimal() else 0
    return number or int(default)
