"""HTTP replies as steps: bytes to send, pauses, and the end of the connection."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Self

from gpt5_simulator._json import Json, encode


JSON = "application/json"

type ChunkSizes = int | Sequence[int] | Callable[[int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A pause during which nothing is sent.

    Attributes:
        seconds: How long; None means until the client leaves or the simulator stops.
    """

    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A connection that closes in the middle of the body.

    Attributes:
        code: The code of the close frame. With one it is a WebSocket's alone, and does nothing over HTTP.
        reason: The text beside it.
    """

    code: int | None = None
    reason: str = ""


type Step = bytes | Pause | Drop


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The whole answer to a client.

    Attributes:
        status: The HTTP status.
        content_type: The media type.
        headers: Further headers.
        steps: The body; one element of bytes is one event of a stream, or a whole body. A stream may be generated while it is sent.
        is_stream: Whether the body is a stream of events.
    """

    status: int = 200
    content_type: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    steps: Iterable[Step]
    is_stream: bool = False

    @classmethod
    def of_json(
        cls, value: Json, *, status: int = 200, headers: dict[str, str] | None = None
    ) -> Self:
        """Return the reply that sends a JSON object."""
        steps = (encode(value),)
        return cls(status=status, content_type=JSON, headers=headers or {}, steps=steps)

    @classmethod
    def of_events(cls, steps: Iterable[Step]) -> Self:
        """Return the reply that streams events."""
        return cls(content_type="text/event-stream; charset=utf-8", steps=steps, is_stream=True)


def rechunk(steps: Iterable[Step], sizes: ChunkSizes | None) -> Iterator[Step]:
    """Yield the same bytes in chunks of given sizes; pauses and drops keep their places.

    Args:
        steps: The reply's steps.
        sizes: Bytes per chunk; or the sizes of the first chunks, after which the rest comes in one; or a function from a chunk's
            number, from 0, to its size. None keeps one event per chunk.
    """
    if sizes is None:
        yield from steps
        return
    wanted = _endless(sizes)
    block = bytearray()
    for step in steps:
        # Joined up to the next pause: a chunk may hold the end of one event and the beginning of another.
        if isinstance(step, bytes):
            block += step
            continue
        yield from _chunks(bytes(block), wanted)
        block.clear()
        yield step
    yield from _chunks(bytes(block), wanted)


def _endless(sizes: ChunkSizes) -> Iterator[int | None]:
    if isinstance(sizes, int):
        size = sizes
        while True:
            yield size
    if callable(sizes):
        yield from map(sizes, count())
    else:
        yield from sizes
    while True:
        yield None


def _chunks(block: bytes, sizes: Iterator[int | None]) -> Iterator[bytes]:
    start = 0
    while start < len(block):
        size = next(sizes)
        # A function may return 0, with which this would never end.
        stop = len(block) if size is None else start + max(size, 1)
        yield block[start:stop]
        start = stop
