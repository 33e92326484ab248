"""How much a model reads, and how much of that the next request takes, as far as that can be known without asking."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from stream_text import read_member

from ._errors import InvalidSettingError
from ._usage import Usage


_BYTES_A_TOKEN = 3  # Our choice: English has four, most other texts about three.
_PART_TOKENS = 1_500  # Our choice, for an image or a file: what its bytes say nothing of.
_MESSAGE_TOKENS = 8  # What is around a message and each of its calls.


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The size of what a model reads at once, and when a run is made shorter for its sake.

    Attributes:
        tokens: How many tokens a request may have, at least 1,000.
        compact_at: From which share of that on the run is compacted, over 0 and at most 1.
        keep: Which share of it the last rounds may have that are kept word for word, over 0 and less than `compact_at`; the last round always is.

    Raises:
        InvalidSettingError: If one is outside of its range.
    """

    tokens: int
    compact_at: float = 0.8
    keep: float = 0.2

    def __post_init__(self) -> None:
        """Refuse what no run could keep."""
        least = 1_000
        if self.tokens < least:
            raise InvalidSettingError("window.tokens", f"at least {least:,}", self.tokens)
        if not 0 < self.compact_at <= 1:
            raise InvalidSettingError("window.compact_at", "over 0 and at most 1", self.compact_at)
        if not 0 < self.keep < self.compact_at:
            raise InvalidSettingError(
                "window.keep", "over 0 and less than window.compact_at", self.keep
            )


class WindowUse:
    """What a run's requests take of a window.

    What a model has told of a request counts, with an estimate of what has come since; where it tells nothing, the estimate alone: a token for three
    bytes of text, 1,500 for an image or a file, nothing for what only the model's client reads (`opaque_body`).

    Args:
        tools: The tools that each request offers.
    """

    def __init__(self, tools: Iterable[object]) -> None:
        self._base = sum(map(_estimate_tool, tools))
        self._sizes: list[int] = []
        self._told: tuple[int, int] | None = None

    def measure(self, messages: Sequence[Any]) -> list[int]:
        """Return about how many tokens each message has; those that were measured before are not looked at again."""
        self._sizes += [estimate_message(message) for message in messages[len(self._sizes) :]]
        return self._sizes

    def estimate(self, messages: Sequence[Any]) -> int:
        """Return about how many tokens a request with these messages has."""
        sizes = self.measure(messages)
        if self._told is None:
            return self._base + sum(sizes)
        count, tokens = self._told
        return tokens + sum(sizes[count:])

    def take(self, usage: Usage, count: int) -> None:
        """Take note of what a model tells of a request of that many messages, which its answer follows."""
        if usage.input_tokens:
            self._told = (count + 1, usage.input_tokens + usage.output_tokens)

    def forget(self) -> None:
        """Begin anew, because messages have been rewritten."""
        self._sizes = []
        self._told = None


def estimate_message(message: object) -> int:
    """Return about how many tokens a message has."""
    calls: Any = read_member(message, "tool_calls") or ()
    tokens = _MESSAGE_TOKENS + _estimate_content(read_member(message, "content"))
    for call in cast("Sequence[object]", calls):
        written: Any = read_member(call, "function") or call
        arguments = read_member(written, "arguments")
        tokens += _MESSAGE_TOKENS + (estimate_text(arguments) if isinstance(arguments, str) else 0)
    return tokens


def estimate_text(text: str) -> int:
    """Return about how many tokens a text has."""
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return -(-size // _BYTES_A_TOKEN)


def _estimate_content(content: object) -> int:
    if isinstance(content, str):
        return estimate_text(content)
    if not isinstance(content, list | tuple):
        return 0
    return sum(map(_estimate_part, cast("Sequence[object]", content)))


def _estimate_part(part: object) -> int:
    if isinstance(part, str):
        return estimate_text(part)
    kind = read_member(part, "type")
    if str(getattr(kind, "value", kind) or "text").endswith("text"):
        text = read_member(part, "text", "data")
        return estimate_text(text) if isinstance(text, str) else 0
    return _PART_TOKENS


def _estimate_tool(tool: object) -> int:
    declared = read_member(tool, "function") or tool
    texts = [read_member(declared, name) for name in ("name", "description", "parameters")]
    return estimate_text(json.dumps(texts, ensure_ascii=False, default=str))
