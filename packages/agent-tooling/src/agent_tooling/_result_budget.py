"""How much of a tool's result a model gets to read."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, overload

from ._tool_output import ContentPart, ToolContent


_LEAST_CHARACTERS: Final = 1_000
_LEAST_BYTES: Final = (
    100  # Room for a short sentence, or for the notice that stands for a longer one.
)
_SHARE_OF_BEGINNING: Final = 0.75


@dataclass(slots=True, kw_only=True)
class ResultBudget:
    """The size that the tool results of one run may have: what a model can read and a platform can carry.

    A result that is over its share keeps its beginning and its end, with a notice of how much is missing between them. Of content parts this holds for the
    texts, one after the other; an image or a file is whole, or a notice says that it is left out.
    A result keeps at least 1,000 characters when the run has used up its characters, and nothing but the notice when it has
    used up its bytes as well.

    Use one budget per run, from one thread at a time.

    Attributes:
        per_result: Most characters of one result, the notice not counted; at least 1.
        per_run: Most characters of all results together.
        per_run_bytes: Most bytes of all results together, as JSON writes them.
        counts_media: Whether images and files count; not where whoever makes the request of them bounds it.

    Source: our choice. The default `per_run` about fills the context of a GPT-5 model with ordinary text. All results go into
    one request, and `per_run_bytes` leaves room for what else is in it: Dify's plugin daemon takes 5 MiB in one line.
    """

    per_result: int = 200_000
    per_run: int = 1_000_000
    per_run_bytes: int = 3_000_000
    counts_media: bool = True
    _used: int = field(default=0, init=False, repr=False)
    _used_bytes: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse limits that nothing fits into.

        Raises:
            ValueError: If a limit is below 1.
        """
        for name in ("per_result", "per_run", "per_run_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")

    @overload
    def shorten(self, content: str) -> str: ...
    @overload
    def shorten(self, content: ToolContent) -> ToolContent: ...
    def shorten(self, content: ToolContent) -> ToolContent:
        """Return `content` as long as one result may be, and take nothing from the budget."""
        if isinstance(content, str):
            return _cut_out_middle(content, self.per_result)
        return tuple(_cut_parts(content, self.per_result))

    @overload
    def fit(self, content: str) -> str: ...
    @overload
    def fit(self, content: ToolContent) -> ToolContent: ...
    def fit(self, content: ToolContent) -> ToolContent:
        """Return `content` within the budget, and take what it needs from it."""
        limit = max(min(self.per_result, self.per_run - self._used), _LEAST_CHARACTERS)
        if isinstance(content, str):
            return self._fit_text(content, limit)
        fitted: list[ContentPart] = []
        for part in _cut_parts(content, limit):
            is_counted = self.counts_media or _find_text(part) is not None
            if is_counted and self.per_run_bytes - self._used_bytes < _LEAST_BYTES:
                fitted.append(
                    _text_part(f"[... {len(content) - len(fitted):,} parts left out here ...]")
                )
                break
            fitted.append(self._fit_part(part))
        return tuple(fitted)

    def _fit_part(self, part: ContentPart) -> ContentPart:
        text = _find_text(part)
        if text is not None:
            return {**part, "text": self._fit_text(text, len(text))}
        if not self.counts_media:
            return part
        size = _json_bytes(part)
        if size > self.per_run_bytes - self._used_bytes:
            notice = (
                f"[... a part of type {part.get('type')} with {size:,} bytes left out here ...]"
            )
            return _text_part(self._fit_text(notice, len(notice)))
        self._used_bytes += size
        return part

    def _fit_text(self, text: str, limit: int) -> str:
        limit = min(limit, len(text))
        room = max(self.per_run_bytes - self._used_bytes, _LEAST_BYTES)
        fitted = _cut_out_middle(text, limit)
        while (size := _json_bytes(fitted)) > room:
            limit //= 2
            fitted = _cut_out_middle(text, limit)
        self._used += limit
        self._used_bytes += size
        return fitted


def _cut_parts(parts: Iterable[ContentPart], limit: int) -> Iterator[ContentPart]:
    """Cut the texts of `parts` so that all together have `limit` characters; what is no text stays."""
    for part in parts:
        text = _find_text(part)
        if text is None:
            yield part
        else:
            yield {**part, "text": _cut_out_middle(text, limit)}
            limit -= min(len(text), limit)


def _find_text(part: ContentPart) -> str | None:
    text = part.get("text")
    return text if isinstance(text, str) and part.get("type") == "text" else None


def _text_part(text: str) -> ContentPart:
    return {"type": "text", "text": text}


def _json_bytes(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str).encode(errors="replace"))


def _cut_out_middle(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    beginning = int(limit * _SHARE_OF_BEGINNING)
    end = len(text) - (limit - beginning)
    notice = f"\n[... {len(text) - limit:,} characters left out here ...]\n"
    return f"{text[:beginning]}{notice}{text[end:]}"
