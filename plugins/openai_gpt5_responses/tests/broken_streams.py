"""Recorded streams, broken in every way that a network and a server can break them; the same ones on every run."""

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpt5_simulator import CutStream, Recording


RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.sse"))
HUGE = "x" * (10 * 1024 * 1024)
_BLANK_LINE = b"\n\n"


@dataclass(frozen=True)
class BrokenStream:
    """One broken stream, and what was said in it before it broke."""

    name: str
    body: bytes
    truth: dict[str, Any]
    cut: CutStream | None = None
    added: str = ""

    @property
    def recording(self) -> Recording:
        return Recording(name=self.name, body=self.body, is_stream=True)


type Breaking = Callable[[list[bytes], random.Random], list[bytes]]


def _frames(body: bytes) -> list[bytes]:
    return [frame for frame in body.split(_BLANK_LINE) if frame.strip()]


def _cut(frames: list[bytes], chance: random.Random) -> list[bytes]:
    body = _BLANK_LINE.join(frames)
    return [body[: chance.randrange(len(body))]]


def _garbage(frames: list[bytes], chance: random.Random) -> list[bytes]:
    garbage = chance.choice(
        [b"data: {broken", b"data: [1, 2]", b"data: " + chance.randbytes(200).hex().encode()]
    )
    return _inserted(frames, garbage, chance)


def _wrong_utf8(frames: list[bytes], chance: random.Random) -> list[bytes]:
    index = chance.randrange(len(frames))
    frame = frames[index]
    at = chance.randrange(len(frame))
    return [*frames[:index], frame[:at] + b"\xff\xc3" + frame[at:], *frames[index + 1 :]]


def _unknown(frames: list[bytes], chance: random.Random) -> list[bytes]:
    event = {"type": f"response.new_{chance.randrange(100)}.delta", "delta": {"deep": [None]}}
    return _inserted(frames, b"data: " + json.dumps(event).encode(), chance)


def _duplicated(frames: list[bytes], chance: random.Random) -> list[bytes]:
    return [frame for frame in frames for _ in range(chance.choice((1, 1, 2, 3)))]


def _reordered(frames: list[bytes], chance: random.Random) -> list[bytes]:
    moved = list(frames)
    for _ in range(chance.randrange(1, 6)):
        index = chance.randrange(len(moved) - 1)
        moved[index], moved[index + 1] = moved[index + 1], moved[index]
    return moved


def _inserted(frames: list[bytes], frame: bytes, chance: random.Random) -> list[bytes]:
    index = chance.randrange(len(frames) + 1)
    return [*frames[:index], frame, *frames[index:]]


BREAKINGS: dict[str, Breaking] = {
    "cut": _cut,
    "garbage": _garbage,
    "wrong_utf8": _wrong_utf8,
    "unknown": _unknown,
    "duplicated": _duplicated,
    "reordered": _reordered,
}


def broken_streams(count: int, *, seed: int) -> Iterator[BrokenStream]:
    """Yield `count` broken streams; a few of them hold one delta of 10 MB, a few are cut by the connection itself."""
    chance = random.Random(seed)
    kinds = [*BREAKINGS, "dropped_connection"]
    for number in range(count):
        path = chance.choice(RECORDINGS)
        body = path.read_bytes().replace(b"\r\n", b"\n")
        truth = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
        if number % 50 == 0:
            yield _with_huge_delta(f"broken-{number}-huge")
            continue
        kind = kinds[number % len(kinds)]
        name = f"broken-{number}-{kind}-{path.stem}"
        if kind == "dropped_connection":
            cut = CutStream(after_bytes=chance.randrange(len(body)))
            yield BrokenStream(name, body, truth, cut)
        else:
            frames = BREAKINGS[kind](_frames(body), chance)
            yield BrokenStream(name, _BLANK_LINE.join(frames) + _BLANK_LINE, truth)


def _with_huge_delta(name: str) -> BrokenStream:
    """Return a recording whose first piece of text has become 10 MB longer, in its delta and in nothing else."""
    path = next(path for path in RECORDINGS if path.stem == "several_summary_parts")
    truth = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    longer = re.sub(
        rb'("type":\s*"response\.output_text\.delta".*?"delta":\s*")',
        lambda found: found[1] + HUGE.encode(),  # as a template it would be read byte by byte
        path.read_bytes(),
        count=1,
        flags=re.DOTALL,
    )
    return BrokenStream(name, longer, truth, added=HUGE)
