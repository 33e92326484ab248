"""Request bodies as bytes, or an error that names the field that cannot be sent."""

import json
import math
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Self
from uuid import uuid4

from gpt5_responses._errors import InvalidRequestError
from stream_text import MAX_DEPTH, GrowingMap, is_list, is_object


_NAMED_LEVELS = 4  # such as `tools[0].parameters.properties`
_MOST_LOOKED_AT = 1_000_000  # values; a list that holds itself has no end
_DEEP = f"nests over {MAX_DEPTH} levels deep"
_NOT_JSON = "cannot be written as JSON"
_LARGE_CHARACTERS = 16 * 1024
_MOST_JOINED_BYTES = 256 * 1024
_MARK = (
    uuid4().hex
)  # stands for what is put in later; it never leaves the process, so no request holds it
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_ESCAPED = ('"', "\\", *map(chr, range(0x20)))

type Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class RequestBody:
    """A body in pieces, which either kind of client may send any number of times."""

    pieces: tuple[bytes, ...]

    def __len__(self) -> int:
        """Return its number of bytes."""
        return sum(map(len, self.pieces))

    def __iter__(self) -> Iterator[bytes]:
        """Yield its bytes: small pieces joined, large ones, whose copy would cost, as they are."""
        joined: list[bytes] = []
        size = 0
        for piece in self.pieces:
            if joined and size + len(piece) > _MOST_JOINED_BYTES:
                yield b"".join(joined)
                joined, size = [], 0
            joined.append(piece)
            size += len(piece)
        yield b"".join(joined)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield its bytes, as for a blocking client."""
        for data in self:
            yield data


class WrittenItems(list[Any]):
    """A request's input, with what has been made of the items that an earlier request had, too.

    Args:
        items: The items.
        before: Those of an earlier request, by which only new ones are read and written.
    """

    def __init__(self, items: Iterable[Any] = (), before: Self | None = None) -> None:
        super().__init__(items)
        self.readable = GrowingMap[Any, list[Any]]() if before is None else before.readable
        self.written = GrowingMap[Any, tuple[bytes, ...]]() if before is None else before.written


def write_body(request: Mapping[str, Any], *, skip: int = 0) -> RequestBody:
    """Return the JSON of a request.

    Args:
        request: The request.
        skip: How many items of its input are left out, from the first.

    Raises:
        InvalidRequestError: If a field nests over 200 levels deep, or holds something that JSON cannot; the error names it.
    """
    items = request.get("input")
    try:
        if not is_list(items):
            return RequestBody((_write(request),))
        before, after = _write({**request, "input": [_MARK]}).split(f'"{_MARK}"'.encode())
        held = items if isinstance(items, WrittenItems) else WrittenItems(items)
        written = held.written.map(_write_item, held)
    except (RecursionError, TypeError, ValueError):
        raise _unsendable(request) from None
    pieces = chain.from_iterable((b",", *item) for item in written[skip:])
    next(pieces, b"")
    return RequestBody((before, *pieces, after))


def _write_item(item: object) -> tuple[bytes, ...]:
    """Return the JSON of an item in pieces: joining them would copy its large texts once more.

    Large texts that need no escapes in JSON, such as files in base64, are taken out before it is written, since the
    encoder would look at each of their characters.
    """
    large: list[str] = []
    # In two lists, because it is as deep in a request.
    written = _write([[_strip_item(item, large)]])[2:-2]
    if not large:
        return (written,)
    first, *rest = written.split(_MARK.encode())
    pairs = zip(large, rest, strict=True)
    return first, *(piece for text, after in pairs for piece in (text.encode(), after))


def _write(value: object) -> bytes:
    """Return the JSON of a value.

    Raises:
        ValueError: If it nests too deeply, or JSON cannot hold it.
        TypeError: If JSON cannot hold it.
    """
    text = _ENCODER.encode(value)
    # The quick count first: hardly any request has so many brackets, nested or not.
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(value):
        raise ValueError
    # Half a character, which Python's texts can hold, is replaced.
    return text.encode(errors="replace")


def _strip_item(item: object, large: list[str]) -> object:
    if not is_object(item):
        return item
    copy = dict(item)
    for name, parts in copy.items():  # where messages and tool results have their files
        if name in ("content", "output") and is_list(parts):
            copy[name] = [_strip_part(part, large) for part in parts]
    return copy


def _strip_part(part: object, large: list[str]) -> object:
    if not is_object(part):
        return part
    copy = dict(part)
    for name, value in copy.items():
        if isinstance(value, str) and len(value) >= _LARGE_CHARACTERS and _is_plain(value):
            large.append(value)
            copy[name] = _MARK
    return copy


def _is_plain(text: str) -> bool:
    """Return whether JSON writes a text as it is. The text is searched in blocks, which stay in the processor's cache."""
    blocks = (
        text[start : start + _LARGE_CHARACTERS] for start in range(0, len(text), _LARGE_CHARACTERS)
    )
    return text.isascii() and not any(
        character in block for block in blocks for character in _ESCAPED
    )


def _is_deep(value: object) -> bool:
    # Level by level: a recursion would end at Python's own limit.
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for outer in level:
            inner += outer.values() if isinstance(outer, dict) else outer
        level = [value for value in inner if isinstance(value, (dict, list, tuple))]
    return bool(level)


def _unsendable(request: Mapping[str, Any]) -> InvalidRequestError:
    """Return the error naming the first field that cannot be sent."""
    # Without a name if the fault lies beyond the values that are looked at.
    path, why = next(_iter_faults(request), ((), _NOT_JSON))
    named = list(path[:_NAMED_LEVELS])
    while named and isinstance(named[-1], int):
        named.pop()
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in named)
    field = "".join(steps).removeprefix(".") or "it"
    return unsendable(field, why)


def unsendable(field: str, why: str) -> InvalidRequestError:
    """Return the error for a field that cannot be sent."""
    return InvalidRequestError(f"The request cannot be sent: {field} {why}.", param=field)


def _iter_faults(request: object) -> Iterator[tuple[Path, str]]:
    for path, value in islice(_iter_values(request), _MOST_LOOKED_AT):
        if len(path) >= MAX_DEPTH and isinstance(value, (dict, list, tuple)):
            yield path, _DEEP
        elif not _is_json(value):
            yield path, _NOT_JSON


def _is_json(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (dict, list, tuple, str, int, type(None)))


def _iter_values(request: object) -> Iterator[tuple[Path, object]]:
    """Yield each value with its path, down to the deepest level allowed."""
    left: list[tuple[Path, object]] = [((), request)]
    while left:
        path, value = left.pop()
        yield path, value
        if len(path) < MAX_DEPTH:
            left += [((*path, step), inner) for step, inner in _members(value)]


def _members(value: object) -> Iterator[tuple[str | int, object]]:
    if is_object(value):
        yield from ((str(name), inner) for name, inner in value.items())
    elif is_list(value):
        yield from enumerate(value)
