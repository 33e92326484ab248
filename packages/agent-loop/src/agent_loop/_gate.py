"""Which tool calls of a round are made, and what the others are refused with."""

from collections.abc import Callable, Iterable, Sequence

from agent_tooling import BUDGET_USED_UP, disallowed_tool_text, too_many_calls_text

from ._budgets import Spending
from ._messages import ToolCall
from ._sentences import MAX_CALLS


class Gate:
    """A gate that every tool call of a run has to pass.

    Args:
        allowed: The names of the only tools that may be called; None for all.
        spending: What the run has used, which counts the calls that pass.
        redact: Takes out of a tool's name what nobody may read.

    Attributes:
        allowed: As given, each name once.
    """

    def __init__(
        self, allowed: Iterable[str] | None, *, spending: Spending, redact: Callable[[str], str]
    ) -> None:
        self.allowed = None if allowed is None else tuple(dict.fromkeys(allowed))
        self._spending = spending
        self._redact = redact

    def sort(
        self, calls: Sequence[ToolCall]
    ) -> tuple[tuple[ToolCall, ...], list[tuple[ToolCall, str]]]:
        """Return the calls that are made, and the others, each with the sentence that refuses it."""
        refused = [(call, too_many_calls_text(MAX_CALLS)) for call in calls[MAX_CALLS:]]
        calls = calls[:MAX_CALLS]
        if self.allowed is not None:
            others = [call for call in calls if call.name not in self.allowed]
            calls = [call for call in calls if call.name in self.allowed]
            refused += [(call, self._say_disallowed(call.name)) for call in others]
        count = self._spending.take_tool_calls(len(calls))
        refused += [(call, BUDGET_USED_UP) for call in calls[count:]]
        return tuple(calls[:count]), refused

    def _say_disallowed(self, name: str) -> str:
        return disallowed_tool_text(self._redact(name), self.allowed or ())
