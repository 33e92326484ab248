"""Request bodies as bytes, or an error that names the field that cannot be sent."""

import json
import math
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast
from uuid import uuid4

from gpt5_responses._errors import InvalidRequestError
from stream_text import MAX_DEPTH


_NAMED_LEVELS = 4  # such as `tools[0].parameters.properties`
_MOST_LOOKED_AT = 1_000_000  # values; a list that holds itself has no end
_DEEP = f"nests over {MAX_DEPTH} levels deep"
_NOT_JSON = "is nothing that JSON can hold"
_LARGE_CHARACTERS = 16 * 1024
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
        """Yield its pieces."""
        return iter(self.pieces)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield its pieces."""
        for piece in self.pieces:
            yield piece


def write_body(request: Mapping[str, Any]) -> RequestBody:
    """Return the JSON of a request.

    Raises:
        InvalidRequestError: If a field nests over 200 levels deep, or holds something that JSON cannot; the error names it.
    """
    large = _LargeTexts()
    written = large.without(request)
    try:
        text = json.dumps(written, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (RecursionError, TypeError, ValueError):
        raise _unsendable(request) from None
    # The quick count first: hardly any request has so many brackets, nested or not.
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(request):
        raise _unsendable(request)
    # Half a character, which Python's texts can hold, is replaced.
    return RequestBody(tuple(large.put_into(text.encode(errors="replace"))))


class _LargeTexts:
    """The large texts of one request that need no escapes in JSON, such as files in base64: taken out before the request is written, and put back afterwards.

    The JSON encoder would look at each of their characters.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._mark = uuid4().hex  # no request holds it by chance

    def without(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the request with a mark in place of each large text."""
        items = request.get("input")
        if not isinstance(items, list):
            return request
        listed = cast("list[object]", items)
        return {**request, "input": [_strip_item(item, self._texts, self._mark) for item in listed]}

    def put_into(self, data: bytes) -> Iterator[bytes]:
        """Yield the JSON of such a request with its texts, in pieces: joining them would copy everything once more."""
        first, *rest = data.split(self._mark.encode())
        yield first
        for text, piece in zip(self._texts, rest, strict=True):
            yield text.encode()
            yield piece


def _strip_item(item: object, large: list[str], mark: str) -> object:
    if not isinstance(item, Mapping):
        return item
    copy = dict(cast("Mapping[str, Any]", item))
    for name, parts in copy.items():  # where messages and tool results have their files
        if name in ("content", "output") and isinstance(parts, list):
            copy[name] = [_strip_part(part, large, mark) for part in cast("list[object]", parts)]
    return copy


def _strip_part(part: object, large: list[str], mark: str) -> object:
    if not isinstance(part, Mapping):
        return part
    copy = dict(cast("Mapping[str, Any]", part))
    for name, value in copy.items():
        if isinstance(value, str) and len(value) >= _LARGE_CHARACTERS and _is_plain(value):
            large.append(value)
            copy[name] = mark
    return copy


def _is_plain(text: str) -> bool:
    """Return whether JSON writes a text as it is. The text is searched in blocks, which stay in the processor's cache."""
    blocks = (
        text[start : start + _LARGE_CHARACTERS] for start in range(0, len(text), _LARGE_CHARACTERS)
    )
    return text.isascii() and not any(
        character in block for block in blocks for character in _ESCAPED
    )


def _is_deep(request: Mapping[str, Any]) -> bool:
    # Level by level: a recursion would end at Python's own limit.
    level: list[Any] = [request]
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
    if isinstance(value, dict):
        for name, inner in cast("dict[object, object]", value).items():
            yield str(name), inner
    elif isinstance(value, (list, tuple)):
        yield from enumerate(cast("list[object]", value))
