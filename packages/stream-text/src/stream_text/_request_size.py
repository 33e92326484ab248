"""The size of a conversation's requests, kept within a limit by replacing images and files by sentences."""

import dataclasses
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._open_reasoning import without_open_reasoning
from ._shapes import is_list, is_object
from ._written_calls import read_member


# A smaller part, such as a link, is no load: leaving it out would gain nothing.
_FILE_BYTES = 1_000
_OLDER = "no room for it beside the newer ones in one request"


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """An image or a file in a message.

    Attributes:
        message: Which message it is in.
        part: Which of its parts it is.
        size: How many bytes it has, as JSON writes them.
    """

    message: int
    part: int
    size: int


class RequestSize:
    """The size of a conversation's requests, each of which begins with the one before.

    The messages are taken in order. Where they exceed the limit, files are replaced by sentences, the oldest first:
    files of earlier messages until the request is down to half of the limit, so that this happens rarely, and files of
    the message itself only as far as needed. The newest file stays. A file that was replaced stays replaced, so that
    from there on each request begins with the one before again. Where no file is left to be replaced, open reasoning is
    left out of the opaque bodies of answers, likewise the oldest first and down to half of the limit.

    Args:
        max_bytes: How many bytes the messages of a request may have, as JSON writes them; at least 1.
        omit: Makes the text part that replaces a part; called with the part and the reason, which is the end of a sentence.
        max_file_bytes: How many bytes any file may have, the newest too; None for any number.

    Attributes:
        has_lost_reasoning: Whether the last call of `fit` took open reasoning out of earlier messages.
    """

    def __init__(
        self,
        max_bytes: int,
        *,
        omit: Callable[[Any, str], Any],
        max_file_bytes: int | None = None,
    ) -> None:
        self._max_bytes = max_bytes
        self._max_file_bytes = max_file_bytes
        self._omit = omit
        self.has_lost_reasoning = False
        self._count = 0
        self._size = 0
        self._files: deque[_File] = deque()

    def fit(self, messages: Sequence[Any]) -> tuple[list[Any], int]:
        """Return the messages of the next request, and how many of their images and files this call replaced by a sentence.

        Args:
            messages: The messages that the last call returned, and those that have come since: mappings or instances of dataclasses with
                `content`. Anything else counts only by its size.
        """
        fitted = list(messages)
        left_out, self.has_lost_reasoning = 0, False
        for index in range(self._count, len(fitted)):
            earlier = len(self._files)
            left_out += self._add(fitted, index)
            left_out += self._make_room(fitted, earlier)
            if self._size > self._max_bytes:
                self._leave_out_thoughts(fitted, index)
        self._count = len(fitted)
        return fitted, left_out

    def _add(self, messages: list[Any], index: int) -> int:
        """Add a message and return how many of its files are too large for any request."""
        left_out = 0
        for file in self._measure(index, messages[index]):
            if self._max_file_bytes is None or file.size <= self._max_file_bytes:
                self._files.append(file)
            else:
                at_most = f"a request at most {self._max_file_bytes:,}"
                self._leave_out(messages, file, f"it has {file.size:,} bytes, and {at_most}")
                left_out += 1
        return left_out

    def _make_room(self, messages: list[Any], earlier: int) -> int:
        """Replace the oldest files until the request fits, and more than needed among the first `earlier`; return how many."""
        left_out = 0
        if self._size <= self._max_bytes:
            return left_out
        # Earlier messages are in the server's cache, and replacing a part of one breaks it from there
        # on. So as many go at once as keep it unbroken for a while.
        while len(self._files) > 1:
            bound = self._max_bytes // 2 if left_out < earlier else self._max_bytes
            if self._size <= bound:
                break
            self._leave_out(messages, self._files.popleft(), _OLDER)
            left_out += 1
        return left_out

    def _leave_out_thoughts(self, messages: list[Any], last: int) -> None:
        """Take open reasoning out of the answers up to one, the oldest first."""
        for index, message in enumerate(messages[: last + 1]):
            if self._size <= self._max_bytes // 2:
                return
            body = read_member(message, "opaque_body")
            lighter = without_open_reasoning(body)
            if lighter is not body and _is_replaceable(message):
                self._size -= _json_bytes(body) - _json_bytes(lighter)
                messages[index] = _with(message, opaque_body=lighter)
                self.has_lost_reasoning = True

    def _measure(self, index: int, message: object) -> list[_File]:
        """Add the size of a message, and return the files in it."""
        parts: object = read_member(message, "content")
        if not is_list(parts) or not _is_replaceable(message):
            self._size += _json_bytes(message)
            return []
        sizes = [_json_bytes(part) for part in parts]
        self._size += _json_bytes(_with_content(message, ())) + sum(sizes)
        return [
            _File(message=index, part=number, size=size)
            for number, (part, size) in enumerate(zip(parts, sizes, strict=True))
            if size > _FILE_BYTES and not _is_text(part)
        ]

    def _leave_out(self, messages: list[Any], file: _File, reason: str) -> None:
        message = messages[file.message]
        parts = list(read_member(message, "content"))
        sentence = self._omit(parts[file.part], reason)
        self._size += _json_bytes(sentence) - file.size
        parts[file.part] = sentence
        messages[file.message] = _with_content(message, tuple(parts))


def _is_replaceable(message: object) -> bool:
    return isinstance(message, Mapping) or dataclasses.is_dataclass(message)


def _with_content(message: Any, content: tuple[Any, ...]) -> Any:
    return _with(message, content=list(content) if isinstance(message, Mapping) else content)


def _with(message: Any, **member: Any) -> Any:
    if is_object(message):
        return {**message, **member}
    return dataclasses.replace(message, **member)


def _is_text(part: object) -> bool:
    kind = read_member(part, "type", "kind")
    return isinstance(part, str) or str(getattr(kind, "value", kind) or "text").endswith("text")


def _json_bytes(value: object) -> int:
    """Return how many bytes a value takes in a JSON list; a value that JSON cannot hold counts as its printed form."""
    text = json.dumps(value, ensure_ascii=False, default=_plain)
    return len(text.encode(errors="replace")) + len(", ")


def _plain(value: Any) -> object:
    if not dataclasses.is_dataclass(value):
        return str(value)
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
