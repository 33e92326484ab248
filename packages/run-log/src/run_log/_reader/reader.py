"""The reader of a run's log, which goes line by line and puts requests together."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import SEEK_END, BufferedReader
from pathlib import Path
from typing import Any, Final

from run_log._lines.json_lines import VERSION, Record, digest, read_object, to_text
from run_log._lines.plain import LONG_TEXT, from_plain
from stream_text import is_object, read_member

from .differences import LoggedRequest, build_request
from .problems import Problem, ProblemKind, Problems, RunLogError, reading


MAX_LINE_BYTES: Final = 150_000_000
_END_BYTES: Final = 131_072  # More than an `end` ever has.

_NEEDED: Final[Mapping[str, Mapping[str, type]]] = {
    "start": {"run": str, "time": str, "about": dict},
    "long_text": {"digest": str, "size": int},
    "request": {"round": int, "kept": int, "prefix": str, "added": list, "digest": str},
    "delta": {"round": int, "text": str},
    "answer": {"round": int},
    "call": {"call_id": str, "name": str, "arguments": str},
    "bound": {"call_id": str, "arguments": dict},
    "started": {"call_id": str},
    "retry": {"call_id": str, "attempt": int, "outcome": str},
    "result": {"call_id": str, "outcome": str},
    "compaction": {"round": int, "kind": str, "replaced": int},
    "question": {"round": int, "calls": list},
    "decision": {"call_id": str, "is_approved": bool},
    "guardrail": {"name": str, "checked": str, "outcome": str},
    "budgets": {"budgets": dict},
    "error": {"kind": str, "message": str},
    "end": {"reason": str, "time": str},
}

# Fields that may be missing or null; where they are there, other modules rely on their types.
_OPTIONAL: Final[Mapping[str, Mapping[str, type]]] = {
    "request": {"set": dict, "unset": list, "wait_seconds": float, "left_out": int},
    "delta": {"since": float},
    "answer": {"calls": list, "usage": dict, "first": float},
    "retry": {"cause": dict},
    "result": {"cause": dict},
    "compaction": {"tokens_before": int, "tokens_after": int, "usage": dict},
    "end": {"usage": dict},
}
_NUMBERS: Final = (int, float)
_MAX_NUMBER: Final = 2**53  # No count and no time is larger.


# Fields in which a long text may stand as its digest.
_TEXTS: Final = frozenset({"text", "name", "arguments", "message", "reason"})

# The form in which our writer begins one. Only that much is parsed in `follow`: a long text, which may
# have megabytes, is read when somebody wants it.
_LONG_TEXT: Final = re.compile(
    rb'\{"v":1,"type":"long_text","t":([\d.e-]+),"digest":"([0-9a-f]{64})","size":(\d+),"text":"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRecord:
    """A record and its place in the file.

    Attributes:
        record: The record; a long text comes without its text.
        line: The number of its line, from 1.
        offset: The number of bytes before that line.
    """

    record: Record
    line: int
    offset: int


class RunFile:
    """The log of one run, for reading. Lines that cannot be read are left out and reported in `problems`; memory is bounded by the largest request.

    Args:
        path: The file.
        max_line_bytes: The maximum length of a line; a longer one is left out.

    Example:
        >>> import tempfile
        >>> from run_log import RunLog
        >>> with RunLog(tempfile.mkdtemp()).begin() as run:
        ...     run.request(1, [{"role": "user", "content": "2 + 2?"}], {"model": "gpt-5.5"})
        ...     run.end("answered")
        >>> [request] = RunFile(run.path).iter_requests()
        >>> request.messages, request.settings
        ([{'role': 'user', 'content': '2 + 2?'}], {'model': 'gpt-5.5'})
    """

    def __init__(self, path: str | Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self.path = Path(path)
        self._max_line_bytes = max_line_bytes
        self._problems = Problems()
        self._texts: dict[str, int] = {}  # where the line of each long text begins, by its digest
        self._followed = (0, 0)  # how many lines and bytes `follow` has read

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems that the last reading found."""
        return self._problems.to_tuple()

    def iter_records(self) -> Iterator[Record]:
        """Yield the records as they are in the file, one after the other; long texts are `{"$long_text": DIGEST}`.

        Raises:
            RunLogError: If the file cannot be read.
        """
        return (record for _, record in self._iter_numbered())

    def iter_requests(self) -> Iterator[LoggedRequest]:
        """Yield the requests, each whole.

        Raises:
            RunLogError: If the file cannot be read.
        """
        before: LoggedRequest | None = None
        chain = [digest("")]
        for number, record in self._iter_numbered():
            if record["type"] != "request":
                continue
            # Checked by digests, so that a request is never put together wrongly. One that builds on a
            # request that is missing is missing, too. Source: docs/contracts/run-log.md, L4.
            kept, new = record["kept"], list[str]()
            if 0 <= kept < len(chain) and chain[kept] == record["prefix"]:
                new = chain[: kept + 1]
                for message in record["added"]:
                    new.append(digest(to_text(message), new[-1]))
            if not new or new[-1] != record["digest"]:
                self._problems.add("missing", number)
                continue
            chain = new
            before = build_request(record, before, self.expand)
            yield before

    def follow(self) -> Iterator[PlacedRecord]:
        """Yield the records that have come since the last call, or all in the first; records of unknown types, too.

        A last line without its end is left for the next call.

        Raises:
            RunLogError: If the file cannot be read.
        """
        with reading(self.path), self.path.open("rb") as file:
            lines, start = self._followed
            file.seek(start)
            for number, offset, line in _iter_lines(file, self._max_line_bytes):
                if line is not None and not line.endswith(b"\n"):
                    break
                self._followed = lines + number, file.tell()
                placed = self._place(line, lines + number, start + offset)
                if placed is not None:
                    yield placed

    def read_at(self, offset: int) -> Record:
        """Return the record of the line that begins at an offset, as it is in the file.

        Raises:
            RunLogError: If there is none any more.
        """
        record = self._read_line(offset)
        if isinstance(record, str):
            raise RunLogError(f"{self.path}: no record at byte {offset:,} any more")
        return record

    def read_end(self) -> tuple[int, Record | None]:
        """Return the file's size in bytes and its `end` record, or None if it has none yet, without reading the rest.

        Raises:
            RunLogError: If the file cannot be read.
        """
        with reading(self.path), self.path.open("rb") as file:
            size = file.seek(0, SEEK_END)
            file.seek(max(size - _END_BYTES, 0))
            lines = file.read(_END_BYTES).splitlines()
        record = _read_record(lines[-1] if lines else b"")
        is_record = not isinstance(record, str)
        return size, record if is_record and record["type"] == "end" else None

    def expand(self, value: Any) -> Any:
        """Return a value of a record with its long texts in their places. A text that was not logged stays `{"$long_text": DIGEST}`.

        Args:
            value: A value of a record that this object has read.

        Raises:
            RunLogError: If the file cannot be read any more.
        """
        return from_plain(value, self._find_text)

    def find_text(self, digest: str) -> str | None:
        """Return a long text whose line has been read; None if it is not in the log.

        Args:
            digest: Its digest.

        Raises:
            RunLogError: If the file cannot be read any more.
        """
        offset = self._texts.get(digest)
        if offset is None:
            return None
        record = self._read_line(offset)
        text = record.get("text") if isinstance(record, dict) else None
        return text if isinstance(text, str) else None

    def _read_line(self, offset: int) -> Record | ProblemKind:
        """Return the record of the line that begins at an offset, of any type, or the kind of its problem."""
        with reading(self.path), self.path.open("rb") as file:
            file.seek(offset)
            return _read_record(file.readline(self._max_line_bytes), any_type=True)

    def _find_text(self, name: str) -> Any:
        text = self.find_text(name)
        return {LONG_TEXT: name} if text is None else text

    def _place(self, line: bytes | None, number: int, offset: int) -> PlacedRecord | None:
        """Return the record of a line, or take note of its problem."""
        if line is not None and (found := _LONG_TEXT.match(line)):
            name = found[2].decode()
            self._texts[name] = offset
            record: Record | ProblemKind = {
                "v": VERSION,
                "type": "long_text",
                "t": float(found[1]),
                "digest": name,
                "size": int(found[3]),
            }
        else:
            record = "long" if line is None else _read_record(line, any_type=True)
        if isinstance(record, str):
            self._problems.add(record, number)
            return None
        if record["type"] == "long_text" and record.pop("text", None) is not None:
            self._texts[record["digest"]] = offset
        return PlacedRecord(record=record, line=number, offset=offset)

    def _iter_numbered(self) -> Iterator[tuple[int, Record]]:
        """Yield the records with the numbers of their lines, and take note of all problems."""
        self._problems, self._texts = problems, texts = Problems(), {}
        kinds: set[str] = set()
        with reading(self.path), self.path.open("rb") as file:
            for number, offset, line in _iter_lines(file, self._max_line_bytes):
                record = "long" if line is None else _read_record(line)
                if isinstance(record, str):
                    is_cut = record == "broken" and not (line or b"").endswith(b"\n")
                    problems.add("cut" if is_cut else record, number)
                    continue
                kinds.add(record["type"])
                if record["type"] == "long_text" and "text" in record:
                    texts[record["digest"]] = offset
                yield number, record
        if not kinds:
            problems.add("empty")
        elif "end" not in kinds:
            problems.add("unfinished")


def _iter_lines(file: BufferedReader, max_bytes: int) -> Iterator[tuple[int, int, bytes | None]]:
    """Yield number, offset and bytes of each line; None in place of the bytes if it is too long."""
    number, offset = 0, 0
    while line := file.readline(max_bytes + 1):
        number += 1
        length, is_long = len(line), len(line) > max_bytes
        # The rest of a long line is read past in pieces, and never held whole.
        while is_long and not line.endswith(b"\n") and (line := file.readline(max_bytes)):
            length += len(line)
        yield number, offset, None if is_long else line
        offset += length


def _read_record(line: bytes, *, any_type: bool = False) -> Record | ProblemKind:
    """Return the record of a line, or the kind of its problem; an unknown type is a problem unless any type will do."""
    try:
        fields: Record = read_object(line.decode())
    except UnicodeDecodeError:
        return "broken"
    version, kind = fields.get("v"), fields.get("type")
    # Before anything else: a newer version may have given the same fields another meaning.
    if version != VERSION:
        return "newer" if isinstance(version, int) and version > VERSION else "broken"
    needed = _NEEDED.get(str(kind))
    if needed is None:
        return fields if any_type and isinstance(kind, str) else "unknown"
    optional = {"t": float, **_OPTIONAL.get(str(kind), {})}
    known = {name: type_ for name, type_ in optional.items() if fields.get(name) is not None}
    types = {**known, **needed}
    is_whole = all(_is_kind(name, fields.get(name), type_) for name, type_ in types.items())
    return fields if is_whole else "broken"


def _is_kind(name: str, value: object, kind: type) -> bool:
    if kind in _NUMBERS:
        if isinstance(value, int) or (kind is float and isinstance(value, float)):
            return 0 <= value < _MAX_NUMBER
        return False
    if isinstance(value, kind):
        return True
    is_reference = is_object(value) and len(value) == 1
    digest = read_member(value, LONG_TEXT) if is_reference else None
    return isinstance(digest, str) and name in _TEXTS and kind is str
