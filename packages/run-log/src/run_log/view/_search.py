"""Search in the text of runs, piece by piece."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final

from run_log import RunLogError, list_runs
from run_log._reader.problems import reading


_PIECE_BYTES: Final = 65_536
_AROUND: Final = 70
_TYPE: Final = re.compile(rb'"type"\s*:\s*"([^"\\]{1,60})"')
_ESCAPES: Final = re.compile(r'\\+(["\\/nrt])')


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A place where a text was found.

    Attributes:
        round: The index of the round, from 0; -1 before the first.
        kind: The type of the record.
        count: How often the record has it.
        before: The text before it.
        found: The text as it was found.
        after: The text after it.
    """

    round: int
    kind: str
    count: int
    before: str
    found: str
    after: str

    def describe(self) -> dict[str, object]:
        """Return it as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def search_run(path: Path, text: str) -> Iterator[Hit]:
    """Yield the places of a text in a run, ignoring case; the file is read piece by piece.

    Raises:
        RunLogError: If the file cannot be read.
    """
    index = -1
    waiting: list[Hit] = []  # Long texts belong to the record that comes after them.
    with reading(path), path.open("rb") as file:
        for kind, hit in _search_records(file, [needle.lower() for needle in _spell(text)]):
            index += kind == "request"
            if kind == "long_text":
                waiting += [hit] if hit else []
                continue
            yield from (replace(one, round=index) for one in waiting)
            waiting.clear()
            if hit:
                yield replace(hit, round=index)
    yield from (replace(one, round=index) for one in waiting)


def _search_records(file: BinaryIO, needles: list[str]) -> Iterator[tuple[str, Hit | None]]:
    """Yield the type of each record and the first place of a text in it. A record may be as long as a file, so only a piece of it is held."""
    # Enough for a text that two pieces cut through, and too little for one that was counted already.
    overlap = max(len(needle.encode()) for needle in needles) - 1
    kind, hit, rest = "", None, b""
    while piece := file.readline(_PIECE_BYTES):
        if not kind:
            found = _TYPE.search(piece, 0, 200)
            kind = found[1].decode(errors="replace") if found else "?"
        held = rest + piece
        more = _find(held.decode(errors="replace"), needles, kind)
        hit = more if hit is None else replace(hit, count=hit.count + (more.count if more else 0))
        rest = held[len(held) - min(overlap, len(held)) :]
        if piece.endswith(b"\n"):
            yield kind, hit
            kind, hit, rest = "", None, b""
    if kind:
        yield kind, hit


def search_runs(folder: Path, text: str) -> Iterator[tuple[str, int, Hit]]:
    """Yield the runs of a folder that have a text, the newest first: the name, the number of records that have it, and the first hit.

    Raises:
        RunLogError: If the folder cannot be read.
    """
    for summary in list_runs(folder):
        try:
            hits = search_run(summary.path, text)
            first = next(hits, None)
            if first is not None:
                yield summary.path.stem, 1 + sum(1 for _ in hits), first
        except RunLogError:  # deleted in the meantime
            continue


def _spell(text: str) -> list[str]:
    """Return the spelling of a text in JSON, and in JSON within JSON."""
    once = json.dumps(text, ensure_ascii=False)[1:-1]
    twice = json.dumps(once, ensure_ascii=False)[1:-1]
    return list(dict.fromkeys([once, twice]))


def _find(line: str, needles: list[str], kind: str) -> Hit | None:
    folded = line.lower()
    if len(folded) != len(line):
        # A few letters become two in lower case, and indices would no longer fit the line.
        folded = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in line)
    needle = next((one for one in needles if one in folded), None)
    if needle is None:
        return None
    start = folded.index(needle)
    end = start + len(needle)
    return Hit(
        round=-1,
        kind=kind,
        count=folded.count(needle),
        before=_plain(line[max(start - _AROUND, 0) : start]),
        found=_plain(line[start:end]),
        after=_plain(line[end : end + _AROUND]),
    )


def _plain(text: str) -> str:
    """Return a piece of JSON without its escapes, for people."""
    return _ESCAPES.sub(lambda found: " " if found[1] in "nrt" else found[1], text)
