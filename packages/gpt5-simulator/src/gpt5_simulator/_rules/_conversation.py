"""The open part of a conversation: what was asked, and what the tools have said since."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpt5_simulator._json import Json
from gpt5_simulator._request import item_text


_CALLS = frozenset({"function_call", "custom_tool_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_FAILURE = re.compile(
    r"\s*[{\[\"']*\s*(?:[\w ]{0,40}\b(?:error|failed|failure|exception)\b|traceback\b|there is not a tool\b|unknown tool\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Be what a tool said.

    Attributes:
        name: The tool's name.
        arguments: What it was given, as text.
        output: What it returned, as text.
        failed: Whether the output reports a failure.
    """

    name: str
    arguments: str
    output: str
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Be the part of a conversation that has no answer yet.

    Attributes:
        question: What the user wants; later remarks of the same user stand on lines of their own.
        results: The tool results since then, oldest first.
        latest: The names of the tools that have answered since the user's last word.
    """

    question: str
    results: tuple[ToolResult, ...]
    latest: frozenset[str]


def read_conversation(items: Sequence[Json]) -> Conversation:
    """Read the open part of a conversation from its items."""
    open_items = items[_answered(items) :]
    results = tuple(_iter_results(open_items))
    question = "\n".join(_asked(open_items)) or "\n".join(_asked(items)[-1:])
    turn = [index for index, item in enumerate(items) if item.get("role") == "user"][-1:]
    latest = frozenset(item.name for item in _iter_results(items, since=turn[0] if turn else 0))
    return Conversation(question=question, results=results, latest=latest)


def _answered(items: Sequence[Json]) -> int:
    """Return the index after the last message that ended a turn: one that no call of the same response follows."""
    for index in range(len(items) - 1, -1, -1):
        if items[index].get("role") == "assistant" and not _is_followed_by_call(items, index):
            return index + 1
    return 0


def _is_followed_by_call(items: Sequence[Json], index: int) -> bool:
    for item in items[index + 1 :]:
        if item.get("type") in _CALLS:
            return True
        if item.get("type") in _OUTPUTS or item.get("role") == "user":
            return False
    return False


def _asked(items: Sequence[Json]) -> list[str]:
    """Return the user's last words before the first call, and all later ones."""
    before: list[str] = []
    after: list[str] = []
    has_called = False
    for item in items:
        has_called = has_called or item.get("type") in _CALLS
        if item.get("role") == "user":
            (after if has_called else before).append(item_text(item))
    return [*before[-1:], *after]


def _iter_results(items: Sequence[Json], *, since: int = 0) -> Iterator[ToolResult]:
    calls = {item.get("call_id"): item for item in items if item.get("type") in _CALLS}
    for item in items[since:]:
        call = calls.get(item.get("call_id"))
        if item.get("type") in _OUTPUTS and call is not None:
            output = item_text(item)
            yield ToolResult(
                name=str(call.get("name")),
                arguments=str(call.get("arguments", call.get("input"))),
                output=output,
                failed=_FAILURE.match(output) is not None,
            )
