"""Estimates of how much of the model's window the next request takes."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from agent_loop._values.usage import Usage
from stream_text import is_list, read_member


_BYTES_A_TOKEN = 3  # Our choice: English has four, most other texts about three.
_PART_TOKENS = 1_500  # Our choice, for an image or a file, whose size in bytes says nothing.
_MESSAGE_TOKENS = 8  # Our choice, for what surrounds a message and each of its calls.


class WindowUse:
    """An estimate of how much of the window a run's requests take.

    It is the usage that the model reported for its last request plus an estimate of what has come since, or only the
    estimate if it reported none: one token per three bytes of text, 1,500 per image or file, and nothing for what only
    the model's client reads (`opaque_body`).

    Args:
        tools: The tools that each request offers.
    """

    def __init__(self, tools: Iterable[object]) -> None:
        self._base = sum(map(_estimate_tool, tools))
        # One size for each message so far; code that removes messages calls `forget`.
        self._sizes: list[int] = []
        self._reported: tuple[int, int] | None = None  # count of messages, their tokens

    def measure(self, messages: Sequence[Any]) -> list[int]:
        """Return an estimate of the tokens of each message; each message is measured only once."""
        self._sizes += [estimate_message(message) for message in messages[len(self._sizes) :]]
        return self._sizes

    def estimate(self, messages: Sequence[Any]) -> int:
        """Return an estimate of the tokens of a request with these messages."""
        sizes = self.measure(messages)
        if self._reported is None:
            return self._base + sum(sizes)
        count, tokens = self._reported
        return tokens + sum(sizes[count:])

    def take(self, usage: Usage, count: int) -> None:
        """Take the usage that a model reported for a request of that many messages, before its answer is added."""
        if usage.input_tokens:
            # The output is what the answer adds to the next request, as one message.
            self._reported = (count + 1, usage.input_tokens + usage.output_tokens)

    def forget(self) -> None:
        """Start anew, because messages have been rewritten."""
        self._sizes = []
        self._reported = None


def estimate_message(message: object) -> int:
    """Return an estimate of the tokens of a message."""
    calls: Sequence[object] = read_member(message, "tool_calls") or ()
    tokens = _MESSAGE_TOKENS + _estimate_content(read_member(message, "content"))
    for call in calls:
        written: Any = read_member(call, "function") or call
        arguments = read_member(written, "arguments")
        tokens += _MESSAGE_TOKENS + (estimate_text(arguments) if isinstance(arguments, str) else 0)
    return tokens


def estimate_text(text: str) -> int:
    """Return an estimate of the tokens of a text."""
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return -(-size // _BYTES_A_TOKEN)


def _estimate_content(content: object) -> int:
    if isinstance(content, str):
        return estimate_text(content)
    return sum(map(_estimate_part, content)) if is_list(content) else 0


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
