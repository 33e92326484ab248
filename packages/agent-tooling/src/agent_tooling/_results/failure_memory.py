"""A run's memory of its tool calls, so that it does not repeat one for nothing."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_tooling._sentences import REPEATED_FAILURE, REPEATED_SUCCESS_NOTICE

from .output import ToolContent


def call_signature(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a text that is the same for calls of the same tool with equal arguments: name and canonical JSON.

    The order of keys does not matter; the type of a value does, so `1`, `1.0`, `"1"` and `true` differ.
    """
    return json.dumps([name, dict(arguments)], sort_keys=True, separators=(",", ":"), default=str)


@dataclass(slots=True)
class _CallRecord:
    """The outcomes of calls with one signature so far."""

    has_failed: bool = False
    successes: int = 0
    result: ToolContent = ""


@dataclass(slots=True, kw_only=True)
class FailureMemory:
    """A memory of the calls that one run has made, and of which ones need not be made again.

    A call that failed is not made again in the run. A call that succeeded `identical_successes` times is not made
    again either: its earlier result is returned with a notice. Arguments are compared in the normal form that
    `bind_arguments` gives them.

    Use one memory per run, from one thread at a time.

    Attributes:
        identical_successes: How often a call with the same arguments may succeed before its result is reused;
            at least 1.
    """

    # Source: docs/contracts/gpt5-agent-strategies.md, B29.
    identical_successes: int = 2
    _records: dict[str, _CallRecord] = field(
        default_factory=dict[str, _CallRecord], init=False, repr=False
    )

    def __post_init__(self) -> None:
        if self.identical_successes < 1:
            raise ValueError(
                f"identical_successes must be at least 1, got {self.identical_successes!r}"
            )

    def recall(self, name: str, arguments: Mapping[str, Any]) -> ToolContent | None:
        """Return the tool result that replaces a call; None if the call has to be made."""
        record = self._records.get(call_signature(name, arguments))
        if record is None:
            return None
        if record.has_failed:
            return REPEATED_FAILURE
        if record.successes < self.identical_successes:
            return None
        if isinstance(record.result, str):
            return f"{REPEATED_SUCCESS_NOTICE}{record.result}"
        return ({"type": "text", "text": REPEATED_SUCCESS_NOTICE}, *record.result)

    def record_failure(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Remember that a call failed."""
        self._record(name, arguments).has_failed = True

    def record_success(self, name: str, arguments: Mapping[str, Any], result: ToolContent) -> None:
        """Remember that a call succeeded, and its result."""
        record = self._record(name, arguments)
        record.successes += 1
        record.result = result

    def save(self) -> list[Any]:
        """Return the remembered calls, as plain JSON if their results are."""
        return [
            [signature, record.has_failed, record.successes, record.result]
            for signature, record in self._records.items()
        ]

    def load(self, saved: Iterable[Any]) -> None:
        """Restore what `save` has returned, also after a round trip through JSON."""
        for signature, has_failed, successes, result in saved:
            # JSON has no tuples, so content parts come back as a list.
            content = result if isinstance(result, str) else tuple(result)
            self._records[signature] = _CallRecord(has_failed, successes, content)

    def _record(self, name: str, arguments: Mapping[str, Any]) -> _CallRecord:
        return self._records.setdefault(call_signature(name, arguments), _CallRecord())
