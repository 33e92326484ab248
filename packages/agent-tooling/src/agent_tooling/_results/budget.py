"""A limit on how much of the tool results a model gets to read."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, overload

from .kept_results import READ_RESULT, KeptResults
from .output import ContentPart, ToolContent, find_text


# Enough for a model to see what a result is, even if the run has used up its characters.
_LEAST_CHARACTERS: Final = 1_000
# Room for a short sentence, or for the notice that replaces a longer one.
_LEAST_BYTES: Final = 100
_HINT_BYTES: Final = 150  # For the hint that says how to read on.
_SHARE_OF_BEGINNING: Final = 0.75  # The beginning says what a result is, the end how it went.
# A quarter of what one result may have by default: reading on must not use up the run.
_MAX_PAGE_CHARACTERS: Final = 50_000

type _Hint = Callable[[int], str]
"""A function that returns how to read on from a character, for the notice about the part that is left out."""


@dataclass(slots=True, kw_only=True)
class ResultBudget:
    """A limit on the tool results of one run: as much as a model can read and a platform can carry.

    A result that is over its share keeps its beginning and its end, with a notice of how much is missing between them.
    In content parts this applies to the texts, one after the other; an image or a file stays whole, or a notice says
    that it is left out. A result keeps at least 1,000 characters when the run has used up its characters, and only the
    notice when it has used up its bytes as well. With `kept`, the notice says how the model can read on.

    Use one budget per run, from one thread at a time.

    Attributes:
        per_result: Maximum characters of one result, without the notice; at least 1.
        per_run: Maximum characters of all results together.
        per_run_bytes: Maximum bytes of all results together, written as JSON.
        counts_media: Whether images and files count; False if the size of the request is limited elsewhere.
        kept: Keeps results that are cut; None if the model cannot read on.
        read_by: The name of the function that reads on.

    Source: our choice. The default `per_run` roughly fills the context of a GPT-5 model with ordinary text. All results go into
    one request, and `per_run_bytes` leaves room for its other contents if a platform takes 5 MiB in one line.
    """

    per_result: int = 200_000
    per_run: int = 1_000_000
    per_run_bytes: int = 3_000_000
    counts_media: bool = True
    kept: KeptResults | None = None
    read_by: str = READ_RESULT
    _used: int = field(default=0, init=False, repr=False)
    _used_bytes: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse limits that no result could meet.

        Raises:
            ValueError: If a limit is below 1.
        """
        for name in ("per_result", "per_run", "per_run_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")

    @property
    def page_characters(self) -> int:
        """How many characters of a kept result the model may read at once.

        At most 50,000, fewer when the run's budget runs out, never under 1,000.
        """
        left = min(self.per_result, _MAX_PAGE_CHARACTERS, self.per_run - self._used)
        by_bytes = (self.per_run_bytes - self._used_bytes) // 4  # UTF-8 takes up to 4 a character.
        return max(min(left, by_bytes), _LEAST_CHARACTERS)

    @property
    def _least_bytes(self) -> int:
        return _LEAST_BYTES if self.kept is None else _LEAST_BYTES + _HINT_BYTES

    @overload
    def fit(self, content: str, *, is_cut: bool = False) -> str: ...
    @overload
    def fit(self, content: ToolContent, *, is_cut: bool = False) -> ToolContent: ...
    def fit(self, content: ToolContent, *, is_cut: bool = False) -> ToolContent:
        """Return `content` cut to fit the budget, and count what it uses.

        Args:
            content: The result.
            is_cut: Whether the result was cut to the share of one result before, so that only the run's limits apply.
        """
        hint = self._build_hint(content)
        limit = self.per_run - self._used
        limit = max(limit if is_cut else min(self.per_result, limit), _LEAST_CHARACTERS)
        if isinstance(content, str):
            return self._fit_text(content, limit, hint)
        fitted: list[ContentPart] = []
        read = 0
        for part in content:
            text = find_text(part)
            is_counted = self.counts_media or text is not None
            if is_counted and self.per_run_bytes - self._used_bytes < self._least_bytes:
                notice = f"[... {len(content) - len(fitted):,} parts left out here ...]"
                fitted.append(_text_part(f"{notice}{hint(read)}"))
                break
            if text is None:
                fitted.append(self._fit_media(part))
                continue
            fitted.append({**part, "text": self._fit_text(text, limit, hint, read=read)})
            limit -= min(len(text), limit)
            read += len(text)
        return tuple(fitted)

    def read_on(self, arguments: Mapping[str, Any]) -> str:
        """Return what a model reads of a kept result, within the budget; `KeptResults.read` explains the arguments.

        Raises:
            ToolError: If it cannot be read.
        """
        kept = self.kept or KeptResults()
        text = kept.read(arguments, max_characters=self.page_characters)
        self._count(text)
        return text

    def save(self) -> dict[str, Any]:
        """Return what the budget has used and kept, as plain JSON."""
        kept = None if self.kept is None else self.kept.save()
        return {"used": self._used, "used_bytes": self._used_bytes, "kept": kept}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what `save` has returned, in a budget with the same limits."""
        self._used, self._used_bytes = saved["used"], saved["used_bytes"]
        if self.kept is not None and saved["kept"] is not None:
            self.kept.load(saved["kept"])

    def release(self, remaining: Iterable[str] = ()) -> None:
        """Start counting anew, with only the results that remain, because the earlier ones are no longer sent to the model."""
        self._used = self._used_bytes = 0
        for text in remaining:
            self._count(text)

    def _count(self, text: str) -> None:
        self._used += len(text)
        self._used_bytes += _json_bytes(text)

    def _build_hint(self, content: ToolContent) -> _Hint:
        """Return a function that says how to read on, and keeps the result when it is first called."""
        kept = self.kept
        if kept is None:
            return _say_nothing
        ids: list[str] = []

        def hint(offset: int) -> str:
            if not ids:
                ids.append(kept.keep(content))
            return f'[read on with {self.read_by}: id "{ids[0]}", offset {offset}, or a pattern]\n'

        return hint

    def _fit_media(self, part: ContentPart) -> ContentPart:
        if not self.counts_media:
            return part
        size = _json_bytes(part)
        if size > self.per_run_bytes - self._used_bytes:
            notice = (
                f"[... a part of type {part.get('type')} with {size:,} bytes left out here ...]"
            )
            return _text_part(self._fit_text(notice, len(notice), _say_nothing))
        self._used_bytes += size
        return part

    def _fit_text(self, text: str, limit: int, hint: _Hint, *, read: int = 0) -> str:
        limit = min(limit, len(text))
        room = max(self.per_run_bytes - self._used_bytes, self._least_bytes)
        fitted = _cut_out_middle(text, limit, hint, read=read)
        # A character takes one to six bytes in JSON, so the length that fits is found by halving.
        while (size := _json_bytes(fitted)) > room and limit:
            limit //= 2
            fitted = _cut_out_middle(text, limit, hint, read=read)
        self._used += limit
        self._used_bytes += size
        return fitted


def _text_part(text: str) -> ContentPart:
    return {"type": "text", "text": text}


def _json_bytes(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str).encode(errors="replace"))


def _say_nothing(_: int) -> str:
    return ""


def _cut_out_middle(text: str, limit: int, hint: _Hint = _say_nothing, *, read: int = 0) -> str:
    """Return a text with its middle replaced by a notice; `read` characters of its result come before it."""
    if len(text) <= limit:
        return text
    beginning = int(limit * _SHARE_OF_BEGINNING)
    end = len(text) - (limit - beginning)
    notice = f"\n[... {len(text) - limit:,} characters left out here ...]\n{hint(read + beginning)}"
    return f"{text[:beginning]}{notice}{text[end:]}"
