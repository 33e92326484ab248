"""What the properties are fed with: recorded streams, broken in every way that hypothesis thinks of, and values of any shape."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st


ROOT = Path(__file__).parents[2]
_FOLDERS = [
    *ROOT.glob("*/*/tests/recordings"),
    *map(Path, filter(None, os.environ.get("FUZZ_RECORDINGS", "").split(":"))),
]
_LARGEST_BYTES = 200_000


def _read_all(pattern: str) -> list[bytes]:
    files = sorted(file for folder in _FOLDERS for file in folder.rglob(pattern))
    bodies = (file.read_bytes() for file in files)
    return [body for body in bodies if len(body) <= _LARGEST_BYTES]


STREAMS = [body.replace(b"\r\n", b"\n") for body in _read_all("*.sse")]

_SIGNS = ["<think>", "</think>", "<", "\ud83d", "\ude00", "\u2028", "\0", "\n", "{", '"', "\\", "é"]
TEXTS = st.one_of(
    st.text(max_size=8),
    st.lists(st.sampled_from(_SIGNS), max_size=4).map("".join),
    st.sampled_from(
        ["", " ", "<think>\n", "</think>", "\ud800", "x" * 5_000, "null", "{}", "1e999", "0"]
    ),
)
NUMBERS = st.sampled_from([0, 1, -1, 2, 1.5, 1e308, 2**31, 2**63, 10**30, float("nan"), True])


def nested(depth: int) -> Any:
    """Return lists and objects inside each other."""
    value: Any = "deep"
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    TEXTS,
    st.sampled_from([[], {}, [None], {"": None}]),
    st.sampled_from([50, 199, 201, 300]).map(nested),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "id", "call_id", "name", "arguments", "content"])
            | TEXTS,
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place in a JSON value, as what holds it and its key or index."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = holder.keys() if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            yield holder, key
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])


def is_deeper_than(value: Any, levels: int) -> bool:
    """Return whether lists and objects nest deeper than that."""
    layer = [value]
    for _ in range(levels + 1):
        lists = [inner for inner in layer if isinstance(inner, list)]
        dicts = [list(inner.values()) for inner in layer if isinstance(inner, dict)]
        layer = [part for inner in [*lists, *dicts] for part in inner]
    return bool(layer)


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


@st.composite
def mutated(draw: st.DrawFn, original: Any, most: int = 4) -> Any:
    """Return a copy of a JSON value in which a few places hold something else, or nothing, or what stands at another place."""
    value = _copy(original)
    for _ in range(draw(st.integers(1, most))):
        found = list(places(value)) if isinstance(value, dict | list) else []
        if not found:
            return _copy(draw(VALUES))
        holder, key = found[draw(st.integers(0, len(found) - 1))]
        match draw(st.sampled_from(["replace", "replace", "remove", "copy", "rename", "repeat"])):
            case "replace":
                holder[key] = _copy(draw(VALUES))  # what is sampled is one object for all
            case "remove":
                del holder[key]
            case "copy":
                other, other_key = found[draw(st.integers(0, len(found) - 1))]
                holder[key] = _copy(other[other_key])
            case "rename" if isinstance(holder, dict):
                holder[draw(TEXTS)] = holder.pop(key)
            case _ if isinstance(holder, list):
                holder[key:key] = [holder[key]] * draw(st.sampled_from([1, 2, 20]))
    return value


def events_of(stream: bytes) -> list[dict[str, Any]]:
    """Return the events of a recorded stream; what is no JSON object is left out."""
    events: list[dict[str, Any]] = []
    for frame in stream.split(b"\n\n"):
        data = b"\n".join(
            line[5:].strip() for line in frame.split(b"\n") if line.startswith(b"data:")
        )
        if data.startswith(b"{"):
            events.append(json.loads(data))
    return events


BODIES = [json.loads(body) for body in _read_all("*.response.json")]
BODIES += [
    event["response"]
    for stream in STREAMS
    for event in events_of(stream)
    if event.get("type") == "response.completed"
]


def frame(event: Any) -> bytes:
    """Return an event as it stands on the wire, also where no JSON library of others would write it."""
    return b"data: " + json.dumps(event).encode() + b"\n\n"


@st.composite
def event_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return the events of a recorded stream: some changed, moved, repeated, lost, from another stream, without numbers."""
    events = events_of(draw(st.sampled_from(STREAMS)))
    if draw(st.booleans()):
        events = _shortened(events)
    if draw(st.booleans()):
        events = [{k: v for k, v in event.items() if k != "sequence_number"} for event in events]
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(events) - 1))
        match draw(
            st.sampled_from(["change", "change", "change", "move", "repeat", "drop", "splice"])
        ):
            case "change":
                changed = draw(mutated(events[at]))
                events[at] = changed if isinstance(changed, dict) else {"type": changed}
            case "move":
                events.insert(draw(st.integers(0, len(events) - 1)), events.pop(at))
            case "repeat":
                events[at:at] = [events[at]] * draw(st.sampled_from([1, 3]))
            case "drop" if len(events) > 1:
                del events[at]
            case _:
                other = events_of(draw(st.sampled_from(STREAMS)))
                start = draw(st.integers(0, len(other) - 1))
                events[at:at] = other[start : start + 3]
    return events


def _shortened(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep the first three of the deltas of each kind: most streams are nothing but deltas."""
    seen: dict[str, int] = {}
    kept: list[dict[str, Any]] = []
    for event in events:
        kind = str(event.get("type"))
        seen[kind] = seen.get(kind, 0) + 1
        if not kind.endswith(".delta") or seen[kind] <= 3:
            kept.append(event)
    return kept


@st.composite
def wires(draw: st.DrawFn) -> bytes:
    """Return the bytes of a stream: of changed events, framed as some server would, and then perhaps broken as bytes."""
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"]))
    body = b"".join(map(frame, draw(event_lists()))).replace(b"\n", end)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(body)))
        match draw(st.sampled_from(["cut", "insert", "insert", "erase"])):
            case "cut":
                body = body[:at]
            case "insert":
                body = body[:at] + draw(_INSERTED) + body[at:]
            case _:
                body = body[:at] + body[at + draw(st.integers(1, 50)) :]
    return body


_INSERTED = st.one_of(
    st.binary(max_size=12),
    st.sampled_from(
        [
            b"\n\n",
            b"\r",
            b"\n",
            b"\xff",
            b"\xef\xbb\xbf",
            b": comment\n\n",
            b"data: [DONE]\n\n",
            b"data: ping\n\n",
            b"event: error\ndata: broken\n\n",
            b'data: {"error": {"message": "no"}}\n\n',
            b'data: {"type": "error", "code": 5, "message": ["x"]}\n\n',
            b'data: {"a": ' + b"9" * 5_000 + b"}\n\n",
            b"data: " + b"[" * 3_000 + b"\n\n",
            b'data: {"type": "response.completed", "response": {}}\n\n',
            b"0\r\n\r\n",
        ]
    ),
)


@st.composite
def cuts(draw: st.DrawFn, body: bytes) -> list[bytes]:
    """Return the pieces of a body, cut anywhere."""
    most = max(len(body), 1)
    edges = sorted(draw(st.lists(st.integers(0, most), max_size=8)))
    return [
        body[start:end] for start, end in zip([0, *edges], [*edges, len(body) + 1], strict=True)
    ]
