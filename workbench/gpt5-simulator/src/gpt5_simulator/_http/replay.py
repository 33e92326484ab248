"""Recorded answers, served byte for byte."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpt5_simulator._arguments import entries_of, validate_kind
from gpt5_simulator._errors import RecordingError
from gpt5_simulator._json import is_object
from gpt5_simulator._reply import JSON, Reply


STREAM = ".sse"
BODY = ".response.json"
REQUEST = ".request.json"

_EVENT = re.compile(rb".*?(?:\r\n\r\n|\n\n|\r\r)|.+\Z", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A recorded request, without secrets.

    Attributes:
        method: The HTTP method.
        path: The path with the query.
        body: The decoded JSON body; None if there was none.
    """

    method: str
    path: str
    body: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded answer.

    Attributes:
        name: The file's name without its ending, by which requests choose a recording.
        body: The bytes.
        is_stream: Whether it is a stream of events.
        status: The HTTP status.
        request: The request; None if it was not recorded.
    """

    name: str
    body: bytes
    is_stream: bool
    status: int = 200
    request: Asked | None = None

    def to_reply(self) -> Reply:
        """Return the reply that sends the recorded bytes."""
        if self.is_stream:
            return replace(Reply.of_events(split_events(self.body)), status=self.status)
        return Reply(status=self.status, content_type=JSON, steps=(self.body,))


def split_events(body: bytes) -> list[bytes]:
    """Return the events of a stream, each with its blank line; the last one of a stream that was cut may have none."""
    return _EVENT.findall(body)


def read_recordings(sources: Iterable[Recording | str | Path]) -> tuple[Recording, ...]:
    """Read recordings from `.sse` and `.response.json` files; a folder counts as all such files in it, in the order of their paths.

    A `.request.json` with the same name holds the request and the status of the answer. A `Recording` stays as it is.

    Raises:
        RecordingError: If a path is missing or not a recording, or if a folder holds none.
        TypeError: If it is not a list, or an entry is neither a path nor a recording.
    """
    recordings: list[Recording] = []
    for index, source in enumerate(entries_of("replay", sources)):
        wanted = "a path or a Recording"
        validate_kind(f"replay[{index}]", source, (str, Path, Recording), wanted)
        if isinstance(source, Recording):
            recordings.append(source)
        else:
            recordings += [_read_recording(file) for file in _files(Path(source))]
    return tuple(recordings)


class ReplayQueue:
    """Recordings in the order in which they are served, streams and bodies separately; after the last they begin again."""

    def __init__(self, recordings: Iterable[Recording]) -> None:
        self._recordings = list(recordings)

    def __len__(self) -> int:
        return len(self._recordings)

    def find(self, name: str) -> Recording | None:
        """Return the recording with a name; None if there is none."""
        return next((one for one in self._recordings if one.name == name), None)

    def take(self, *, is_stream: bool) -> Recording:
        """Return the recording that is due, of the kind that is asked for if there is any."""
        fitting = (one for one in self._recordings if one.is_stream == is_stream)
        due = next(fitting, self._recordings[0])
        # To the end, so that all others come before it again.
        self._recordings.remove(due)
        self._recordings.append(due)
        return due


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.name.endswith((STREAM, BODY)))
        if not found:
            raise _refused(path, f"expected {STREAM} or {BODY} files in the folder")
        return found
    if not path.is_file():
        raise _refused(path, "no such file or folder")
    if not path.name.endswith((STREAM, BODY)):
        raise _refused(path, f"expected a file that ends in {STREAM} or {BODY}")
    return [path]


def _read_recording(path: Path) -> Recording:
    is_stream = path.name.endswith(STREAM)
    name = path.name.removesuffix(STREAM if is_stream else BODY)
    body = _read(path)
    usual = 200 if is_stream else _usual_status(_parse(path, body))
    recording = Recording(name=name, body=body, is_stream=is_stream, status=usual)
    beside = path.with_name(f"{name}{REQUEST}")
    if not beside.exists():
        return recording
    match _parse(beside, _read(beside)):
        case {"method": str(method), "path": str(target), "status": int(status), "body": sent}:
            request = Asked(method=method, path=target, body=sent)
            return replace(recording, request=request, status=status)
        case _:
            raise _refused(beside, "expected an object with method, path, status and body")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _refused(path, error.strerror or "unreadable") from error


def _parse(path: Path, text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise _refused(path, "expected JSON") from error


def _usual_status(body: object) -> int:
    """Return the status of a body for which none was recorded: only errors are bare envelopes."""
    is_error = is_object(body) and set(body) == {"error"}
    return 400 if is_error else 200


def _refused(path: Path, reason: str) -> RecordingError:
    return RecordingError(f"replay {str(path)!r}: {reason}", path=str(path))
