"""Images and files of megabytes, kept away from the JSON encoder, which would look at each character."""

from collections.abc import Iterator, Mapping
from typing import Any, cast
from uuid import uuid4


_LARGE_CHARACTERS = 16 * 1024
_ESCAPED = ('"', "\\", *map(chr, range(0x20)))


class LargeTexts:
    """The large texts of one request that need no escapes in JSON, as base64 does not: taken out before it is written, and put in afterwards."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._mark = uuid4().hex

    def without(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a request with a mark in place of each large text."""
        items = request.get("input")
        if not isinstance(items, list):
            return request
        listed = cast("list[object]", items)
        return {**request, "input": [_spared(item, self._texts, self._mark) for item in listed]}

    def put_into(self, data: bytes) -> Iterator[bytes]:
        """Yield the JSON of such a request with its texts, in pieces: joined, all of it would be copied once more."""
        first, *rest = data.split(self._mark.encode())
        yield first
        for text, piece in zip(self._texts, rest, strict=True):
            yield text.encode()
            yield piece


def _spared(item: object, large: list[str], mark: str) -> object:
    if not isinstance(item, Mapping):
        return item
    spared = dict(cast("Mapping[str, Any]", item))
    for name, parts in spared.items():
        if name in ("content", "output") and isinstance(parts, list):
            spared[name] = [_marked(part, large, mark) for part in cast("list[object]", parts)]
    return spared


def _marked(part: object, large: list[str], mark: str) -> object:
    if not isinstance(part, Mapping):
        return part
    marked = dict(cast("Mapping[str, Any]", part))
    for name, value in marked.items():
        if isinstance(value, str) and len(value) >= _LARGE_CHARACTERS and _is_plain(value):
            large.append(value)
            marked[name] = mark
    return marked


def _is_plain(text: str) -> bool:
    """Return whether a text is in JSON what it is; it is looked through in blocks, which stay in the processor's nearest memory."""
    blocks = (
        text[start : start + _LARGE_CHARACTERS] for start in range(0, len(text), _LARGE_CHARACTERS)
    )
    return text.isascii() and not any(
        character in block for block in blocks for character in _ESCAPED
    )
