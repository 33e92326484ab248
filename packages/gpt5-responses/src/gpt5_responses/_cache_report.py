"""How much of a request was read from the prompt cache, and what broke the cache.

By the server's diagnostics, or else by comparison with the previous request.

Source: https://developers.openai.com/api/docs/guides/prompt-caching for what breaks a cached beginning; `types/responses/response.py` of openai
3.54.0 for the server's reasons, whose names are used for ours, too.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from stream_text import is_list, is_object


_LEAST_CACHED = 1_024  # tokens; nothing shorter is kept
_BLOCK = 128  # the cache keeps whole blocks
_MOST_ITEMS = 4_096  # of a request, by which it is compared
# For each reason of a cache miss: the place in the request that has changed, and the words for it.
_PARTS = {
    "model_changed": ("model", "another model"),
    "prompt_cache_key_changed": ("prompt_cache_key", "another prompt_cache_key"),
    "tools_changed": ("tools", "other tools"),
    "instructions_changed": ("instructions", "other instructions"),
    "text_format_changed": ("text.format", "another response_format"),
    "reasoning_effort_changed": ("reasoning.effort", "another reasoning_effort"),
    "verbosity_changed": ("text.verbosity", "another verbosity"),
    "service_tier_changed": ("service_tier", "another service_tier"),
    "parallel_tool_calls_changed": ("parallel_tool_calls", "another parallel_tool_calls"),
    "context_management_changed": ("context_management", "another compact_threshold"),
}
# Servers may give further reasons.
_REASONS = {reason: words for reason, (_, words) in _PARTS.items()} | {
    "context_compacted": "a compaction",
    "input_changed": "another beginning of the input",
    "not_kept": "nothing that was sent; the cache no longer had it, or another machine answered",
}
_UNKNOWN = "a reason of the server's own"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheReport:
    """A report on how much of a request was read from the prompt cache.

    Attributes:
        input_tokens: All tokens of its input.
        cached_tokens: Those of them that came from the cache.
        expected_tokens: The least number to expect, by the previous request of the conversation; 0 if there was none.
        reason: The change that broke it, in the API's words (`tools_changed`) or ours (`instructions_changed`, `not_kept`); None if nothing did.
        is_told: Whether the reason is the server's own.
        changed_item: The index of the first input item that differs from the previous request; None if none does.
    """

    input_tokens: int
    cached_tokens: int
    expected_tokens: int = 0
    reason: str | None = None
    is_told: bool = False
    changed_item: int | None = None

    def __str__(self) -> str:
        """Return the sentence for a log; it holds no text of the conversation."""
        read = f"{self.cached_tokens:,} of {self.input_tokens:,} input tokens were read from the prompt cache"
        if self.reason is None:
            return f"{read}."
        at = "" if self.changed_item is None else f" (input[{self.changed_item}])"
        who = "OpenAI says" if self.is_told else "by comparison with the request before"
        why = _REASONS.get(self.reason, _UNKNOWN)
        fewer = f", {self.expected_tokens:,} were expected" if self.expected_tokens else ""
        return f"{read}{fewer}. What broke it, {who}: {why}{at}."

    def to_figures(self) -> dict[str, int | str]:
        """Return the known values as plain numbers and texts, to be sent along with an answer."""
        figures = {
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "expected_tokens": self.expected_tokens or None,
            "reason": self.reason if self.reason is None or self.reason in _REASONS else "other",
            "changed_item": self.changed_item,
        }
        return {name: value for name, value in figures.items() if value is not None}


@dataclass(frozen=True, slots=True)
class _Sent:
    """A remembered request: digests, and its number of tokens."""

    parts: Mapping[str, int]
    items: tuple[int, ...]
    has_compaction: bool
    input_tokens: int
    expires_at: float


class CacheWatch:
    """The latest request of each conversation, as digests, to find out what broke the prompt cache.

    No text is kept, nothing is written anywhere, and conversations of different scopes never meet. The oldest go first when a bound is reached.

    Args:
        max_conversations: The most conversations to remember, from 1.
        max_age_seconds: How many seconds to remember a conversation after its newest request: no cache is expected to last longer.
        clock: Returns seconds, never going back.
    """

    def __init__(
        self,
        *,
        max_conversations: int = 500,
        max_age_seconds: float = 1_800.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_conversations = max_conversations
        self._max_age_seconds = max_age_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._sent: OrderedDict[str, _Sent] = OrderedDict()

    def __len__(self) -> int:
        """Count the conversations that are remembered."""
        return len(self._sent)

    def report(
        self,
        conversation: str,
        request: Mapping[str, Any],
        *,
        input_tokens: int,
        cached_tokens: int,
        diagnostics: Mapping[str, Any] | None = None,
    ) -> CacheReport:
        """Report how much of a request was read from the cache, and remember the request.

        Args:
            conversation: The conversation's key, which must differ between people, too.
            request: The body that was sent, as `build_request` makes it.
            input_tokens: How many input tokens the server has counted.
            cached_tokens: How many of them came from the cache.
            diagnostics: The response's `prompt_cache_diagnostics`, if it has them.
        """
        given: object = request.get("input")
        listed = given if is_list(given) else ()
        sent = _Sent(
            _digest_parts(request),
            tuple(map(_digest, listed[:_MOST_ITEMS])),
            any(item.get("type") == "compaction" for item in listed),
            input_tokens,
            self._clock() + self._max_age_seconds,
        )
        before = self._replace(conversation, sent)
        expected = 0 if before is None else before.input_tokens // _BLOCK * _BLOCK
        expected = expected if expected >= _LEAST_CACHED else 0
        diagnosis = diagnostics or {}
        plain = CacheReport(input_tokens=input_tokens, cached_tokens=cached_tokens)
        if diagnosis.get("type") == "cache_miss":
            reason = str(diagnosis.get("reason") or "other")
            return replace(plain, expected_tokens=expected, reason=reason, is_told=True)
        if (
            before is None
            or cached_tokens >= expected - _BLOCK
            or diagnosis.get("type") == "cache_hit"
        ):
            return plain
        reason, item = _find_change(before, sent)
        return replace(plain, expected_tokens=expected, reason=reason, changed_item=item)

    def _replace(self, key: str, sent: _Sent) -> _Sent | None:
        with self._lock:
            before = self._sent.pop(key, None)
            self._sent[key] = sent
            while len(self._sent) > self._max_conversations:
                self._sent.popitem(last=False)
        return before if before is not None and before.expires_at > self._clock() else None


def _digest_parts(request: Mapping[str, Any]) -> dict[str, int]:
    """Return digests of everything but the input, each under the reason to give if it changes."""
    return {reason: _digest(_find(request, where)) for reason, (where, _) in _PARTS.items()}


def _find(request: Mapping[str, Any], where: str) -> object:
    outer, _, name = where.rpartition(".")
    holder: Mapping[str, Any] = (request.get(outer) or {}) if outer else request
    return holder.get(name)


def _find_change(before: _Sent, now: _Sent) -> tuple[str, int | None]:
    """Return the first change that breaks a cached beginning, and the item that it is in."""
    for reason, digest in before.parts.items():
        if now.parts[reason] != digest:
            return reason, None
    pairs = zip(before.items, now.items, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if same == len(before.items):
        return "not_kept", None
    return "context_compacted" if now.has_compaction else "input_changed", same


def _digest(value: object) -> int:
    """Return a digest that only this process can compare: Python's own hash, which takes a tenth of the time of JSON and SHA on a long text."""
    if isinstance(value, str):
        return hash(value)
    if is_object(value):
        return hash(frozenset([(name, _digest(of)) for name, of in value.items()]))
    if is_list(value):
        return hash(tuple([_digest(of) for of in value]))
    return hash(value)
