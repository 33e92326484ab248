"""How large a request is, and which of its images and files become a sentence where it would be too large."""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from stream_text import read_member, render_omission

from ._errors import InvalidSettingError
from ._messages import Message


_LOAD_BYTES = (
    1_000  # A part with no more, such as a link, is no load that anything is gained by leaving out.
)
_OLDER = "no room for it beside the newer ones in one request"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """An image or a file in a request.

    Attributes:
        message: Which message it is in.
        part: Which of its parts it is.
        size: How many bytes it has.
    """

    message: int
    part: int
    size: int


class RequestSize:
    """The size of a run's requests, of which each begins with the one before.

    What has become a sentence stays one, so that requests extend each other again from there on.

    Args:
        max_bytes: How many bytes the messages of a request may have, as JSON writes them; None for any number.

    Raises:
        InvalidSettingError: If that is under 1.
    """

    def __init__(self, max_bytes: int | None) -> None:
        if max_bytes is not None and max_bytes < 1:
            raise InvalidSettingError("max_request_bytes", "at least 1", max_bytes)
        self.max_bytes = max_bytes
        self._count = 0
        self._size = 0
        self._loads: deque[_Load] = deque()

    def fit(self, messages: tuple[Any, ...]) -> tuple[tuple[Any, ...], int]:
        """Return the messages of the next request, and how many of their images and files have become a sentence by this.

        Those go first that no request could hold, then the oldest; the newest of the others never.
        """
        if self.max_bytes is None:
            return messages, 0
        fitted = list(messages)
        left_out = 0
        for index, message in enumerate(messages[self._count :], self._count):
            for load in self._measure(index, message):
                if load.size > self.max_bytes:
                    reason = f"it has {load.size:,} bytes, and a request at most {self.max_bytes:,}"
                    self._leave_out(fitted, load, reason)
                    left_out += 1
                else:
                    self._loads.append(load)
        self._count = len(messages)
        while self._size > self.max_bytes and len(self._loads) > 1:
            self._leave_out(fitted, self._loads.popleft(), _OLDER)
            left_out += 1
        return tuple(fitted), left_out

    def _measure(self, index: int, message: object) -> list[_Load]:
        """Add the size of a message, and return what in it can be left out."""
        content = read_member(message, "content")
        if not isinstance(content, list | tuple) or not isinstance(message, Message | Mapping):
            self._size += _json_bytes(message)
            return []
        parts = cast("Iterable[object]", content)
        sizes = [_json_bytes(part) for part in parts]
        self._size += sum(sizes) + _json_bytes(_with_content(message, ()))
        return [
            _Load(message=index, part=number, size=size)
            for number, (part, size) in enumerate(zip(parts, sizes, strict=True))
            if size > _LOAD_BYTES and not _is_text(part)
        ]

    def _leave_out(self, messages: list[Any], load: _Load, reason: str) -> None:
        message = messages[load.message]
        parts = list(read_member(message, "content"))
        told = _to_sentence(parts[load.part], reason)
        self._size += _json_bytes(told) - load.size
        parts[load.part] = told
        messages[load.message] = _with_content(message, tuple(parts))


def _with_content(message: Any, content: tuple[Any, ...]) -> Any:
    if isinstance(message, Message):
        return replace(message, content=content)
    return {**cast("Mapping[str, Any]", message), "content": list(content)}


def _to_sentence(part: object, reason: str) -> dict[str, str]:
    """Return the text part that stands for a part, in the words of its own kind."""
    kind = _kind(part)
    name = read_member(part, "filename", "name")
    word = next((word for word in ("image", "audio", "video") if word in kind), "file")
    text = render_omission(word, reason=reason, name=name if isinstance(name, str) else "")
    return {"type": "input_text" if kind.startswith("input_") else "text", "text": text}


def _is_text(part: object) -> bool:
    return isinstance(part, str) or _kind(part).endswith("text")


def _kind(part: object) -> str:
    kind = read_member(part, "type", "kind")
    return str(getattr(kind, "value", kind) or "text")


def _json_bytes(value: object) -> int:
    """Return how many bytes JSON makes of a value, about: what it cannot carry counts as what is printed of it."""
    return len(json.dumps(value, ensure_ascii=False, default=_plain).encode(errors="replace"))


def _plain(value: object) -> object:
    if isinstance(value, Message):
        return {name: getattr(value, name) for name in value.__slots__}
    return str(value)
