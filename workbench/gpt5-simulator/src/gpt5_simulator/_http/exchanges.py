"""Exchanges, a request and its answer, as files; and a replay that compares what is asked with what was recorded."""

import json
import os
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Lock

from starlette.requests import HTTPConnection

from gpt5_simulator._errors import ApiError, RecordingError
from gpt5_simulator._http.differences import Difference, find_difference
from gpt5_simulator._http.redaction import find_credentials, redact_request, redact_target
from gpt5_simulator._http.replay import BODY, REQUEST, STREAM, Asked, Recording, read_recordings
from gpt5_simulator._reply import Reply


_CODE = "replay_difference"


def read_asked(request: HTTPConnection, body: bytes) -> Asked:
    """Return what a request asks, without its secrets."""
    path = request.scope["raw_path"].decode("latin-1")
    credentials = find_credentials(request.headers.raw)
    return Asked(
        method=request.scope["method"],
        path=redact_target(path, request.url.query, credentials),
        body=redact_request(body, credentials),
    )


class ExchangeFolder:
    """A folder that exchanges are written to, in files that only their owner can read.

    An exchange is `00001.request.json` and `00001.sse` or `00001.response.json`. The answer is written last: without it, the request
    alone is no recording.

    Args:
        path: The folder; it is created if it is missing. Existing files stay.

    Raises:
        RecordingError: If the folder cannot be created or read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            taken = [
                int(name)
                for file in path.iterdir()
                if (name := file.name.split(".")[0]).isdecimal()
            ]
        except OSError as error:
            reason = error.strerror or "unusable"
            raise RecordingError(f"record to {str(path)!r}: {reason}", path=str(path)) from error
        self._numbers = count(max(taken, default=0) + 1)

    def next_name(self) -> str:
        """Return the name of the next exchange; the order of names is that of the requests."""
        return f"{next(self._numbers):05}"

    def write(self, recording: Recording, asked: Asked) -> None:
        """Write an exchange.

        Raises:
            OSError: If it cannot be written.
        """
        request = {"method": asked.method, "path": asked.path, "status": recording.status}
        text = json.dumps(request | {"body": asked.body}, ensure_ascii=False, indent=1) + "\n"
        self._write(f"{recording.name}{REQUEST}", text.encode(errors="backslashreplace"))
        self._write(f"{recording.name}{STREAM if recording.is_stream else BODY}", recording.body)

    def _write(self, name: str, content: bytes) -> None:
        """Write a file atomically."""
        number, temporary = tempfile.mkstemp(dir=self._path, prefix=".")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content)
            Path(temporary).replace(self._path / name)
        except OSError:
            Path(temporary).unlink()
            raise


class ExchangeQueue:
    """Recorded exchanges that have not been used yet.

    A request gets the answer of the first of them with the same method, path and body, so that concurrent requests may come in any
    order. Any other request is refused, with its first difference from the first of them.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: list[tuple[Asked, Recording]] = []
        self._report: Callable[[str], object] | None = None
        self._differences: list[str] = []
        self.is_used = False

    def load(self, folder: Path, report: Callable[[str], object] | None) -> None:
        """Append the exchanges of a folder.

        Args:
            folder: The folder.
            report: Called with each difference.

        Raises:
            RecordingError: If the folder is missing or holds no recording, or if one has no request beside it.
        """
        found: list[tuple[Asked, Recording]] = []
        for recording in read_recordings([folder]):
            if recording.request is None:
                text = (
                    f"replay {str(folder)!r}: expected {recording.name}{REQUEST} beside the answer"
                )
                raise RecordingError(text, path=str(folder))
            found.append((recording.request, recording))
        with self._lock:
            self._waiting += found
            self._report = report
            self.is_used = True

    def answer(self, asked: Asked) -> Reply:
        """Return the recorded answer to a request.

        Raises:
            ApiError: If no unused exchange has this request (status 400).
        """
        with self._lock:
            for index, (recorded, recording) in enumerate(self._waiting):
                if _find_difference(recorded, asked) is None:
                    del self._waiting[index]
                    return recording.to_reply()
            error = self._refusal(asked)
            self._differences.append(error.message)
        if self._report is not None:
            self._report(error.message)
        raise error

    def find_faults(self) -> list[str]:
        """Return a sentence for each request that differed, and one for the exchanges that are left."""
        with self._lock:
            left = [recording.name for _, recording in self._waiting]
            unasked = [f"recorded requests that never came: {', '.join(left)}"] if left else []
            return self._differences + unasked

    def _refusal(self, asked: Asked) -> ApiError:
        if not self._waiting:
            text = f"All recorded requests have been answered; none is left for {_line(asked)}."
            return ApiError(text, code=_CODE)
        recorded, recording = self._waiting[0]
        difference = _find_difference(recorded, asked)
        text = f"The request differs from recording {recording.name}: {difference}"
        return ApiError(text, code=_CODE, param=difference and difference.path)


def _find_difference(recorded: Asked, asked: Asked) -> Difference | None:
    lines = _line(recorded), _line(asked)
    return find_difference(*lines, "request") or find_difference(recorded.body, asked.body, "")


def _line(asked: Asked) -> str:
    return f"{asked.method} {asked.path}"
