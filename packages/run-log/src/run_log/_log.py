"""The log of a program: a folder with a file for each run."""

import os
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from stream_text import KnownSecrets

from ._file import LineFile, log, tidy
from ._settings import LogSettings
from ._writer import RunWriter


class RunLog:
    """A folder of runs, each in a file of its own. Several processes may write into one folder.

    What is made is for its owner alone: files have the mode 0600, a folder that was not there 0700. Nothing in the folder is touched but the files of runs.

    Args:
        folder: Where runs are written; made with the first.
        known: Secrets that stand in no record, however they are escaped: `KnownSecrets`, or their values.
        about: What the first record says of each run, such as the program's name or the model's.
        settings: The bounds.

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
    ) -> None:
        self.folder = Path(folder)
        self._known = known if isinstance(known, KnownSecrets) else KnownSecrets(known)
        self._about = dict(about or {})
        self._settings = settings or LogSettings()

    def begin(self, about: Mapping[str, object] | None = None) -> RunWriter:
        """Begin the log of a run, and delete what is too old or too much.

        Where that fails, a warning goes to the log `run_log`, and the writer writes nothing: no run ends because of its log.

        Args:
            about: What the first record says of this run, besides what it says of each.
        """
        name = f"run-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.urandom(6).hex()}"
        path = self.folder / f"{name}.jsonl"
        try:
            file = LineFile(path)
        except OSError as error:
            log.warning("%s: runs are not logged: %s", self.folder, error.strerror or error)
            file = None
        else:
            tidy(path, self._settings, now=time.time())
        writer = RunWriter(file, path=path, known=[self._known], settings=self._settings)
        writer.start({**self._about, **(about or {})})
        return writer
