"""The log of a run: a file of JSON lines, without secrets."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from agent_runner._errors import refusing_os_errors


LOG_FOLDER = "logs"

_SHOWN_CHARACTERS = 16 * 1024  # Per line: a picture in base64 says little in a log.


class ScriptLog:
    """The log of one run, in a file `logs/<UTC time>_<runner_request_id>.jsonl` that only its owner can read.

    The script's output goes through `redact` first. If the log can no longer be written, for instance on a full disk, the run continues without it.

    Raises:
        ConfigurationError: If the log cannot be opened.
    """

    def __init__(
        self, folder: Path, *, runner_request_id: str, keep: int, redact: Callable[[str], str]
    ) -> None:
        self._redact = redact
        self._last_event = ""
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}_{runner_request_id}.jsonl"
        with refusing_os_errors(folder, "expected a folder for logs"):
            self._file = _open_private(folder / name if keep else Path(os.devnull))
            # After the new file was made, which counts as one of those that stay.
            if keep:
                for path in sorted(folder.glob("[0-9]*T[0-9]*Z_*.jsonl"))[:-keep]:
                    path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None and self._last_event != "ended":
            self.write("interrupted", by=type(error).__name__)
        with suppress(OSError):
            self._file.close()

    def write_lines(
        self, source: str, lines: Sequence[Mapping[str, Any]], *, types: Sequence[str]
    ) -> None:
        """Write lines of the script, as `cut_line` has left them, each with the type of its output."""
        at = datetime.now(UTC).isoformat()
        self._append(
            {"at": at, "event": source, "type": kind, **line}
            for line, kind in zip(lines, types, strict=True)
        )

    def write(self, event: str, **fields: Any) -> None:
        """Write a record with the time, the event and the fields."""
        self._last_event = event
        self._append([{"at": datetime.now(UTC).isoformat(), "event": event} | fields])

    def cut_line(self, line: bytes) -> Mapping[str, Any]:
        """Return what is written of a line: its text without secrets, and how long it is if that is only its beginning."""
        # Redacted before it is cut, so that no secret is cut in two and missed.
        text = self._redact(line.decode(errors="replace"))
        cut = {"characters": len(text)} if len(text) > _SHOWN_CHARACTERS else {}
        return {"line": text[:_SHOWN_CHARACTERS]} | cut

    def _append(self, records: Iterable[dict[str, Any]]) -> None:
        with suppress(OSError):
            self._file.write("".join(f"{json.dumps(record)}\n" for record in records))
            # Flushed at once, so that the log of a killed runner has everything up to then.
            self._file.flush()


def _open_private(path: Path) -> TextIO:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8")
