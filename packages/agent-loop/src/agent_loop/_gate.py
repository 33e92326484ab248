"""Which tool calls of a round are made, which wait for a person, which the run answers by itself, and what the others are refused with."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from agent_tooling import (
    BUDGET_USED_UP,
    Approval,
    ApprovalRules,
    ToolArguments,
    disallowed_tool_text,
    find_repeated_key,
    parse_tool_arguments,
    repeated_key_text,
    too_long_question_text,
    too_many_calls_text,
    too_many_questions_text,
)

from ._budgets import Spending
from ._inputs import ToolResult
from ._messages import ToolCall
from ._own_functions import OwnFunction
from ._sentences import MAX_ASKED_CALLS, MAX_ASKED_CHARACTERS, MAX_CALLS, UNAPPROVED


type _Bind = Callable[[ToolCall], ToolArguments | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedCalls:
    """The tool calls of a round.

    Attributes:
        made: Those that are made, as the model wrote them and as they are made.
        held: Those that a person has to approve first, likewise.
        answered: Those that the run answers by itself, with their results.
        refused: The others, with the sentences that refuse them.
    """

    made: list[tuple[ToolCall, ToolCall]] = field(default_factory=list[tuple[ToolCall, ToolCall]])
    held: list[tuple[ToolCall, ToolCall]] = field(default_factory=list[tuple[ToolCall, ToolCall]])
    answered: list[tuple[ToolCall, ToolResult]] = field(
        default_factory=list[tuple[ToolCall, ToolResult]]
    )
    refused: list[tuple[ToolCall, str]] = field(default_factory=list[tuple[ToolCall, str]])


class Gate:
    """A gate that every tool call of a run has to pass.

    Args:
        allowed: The names of the only tools that may be called; None for all.
        rules: Which calls a person has to approve; None for none.
        spending: What the run has used, which counts the calls that pass.
        redact: Takes out of a tool's name what nobody may read.

    Attributes:
        own_functions: The functions that the run answers by itself, by name.
        rules: As given.
        bind: Returns the arguments that a call would be made with; None where nobody knows them better than the model.
        caller: The gate of the run that has called this one as an agent. What a person would have to approve there is refused here, for an agent cannot wait.
    """

    SAVED: ClassVar = ("_grants",)

    def __init__(
        self,
        allowed: Iterable[str] | None,
        *,
        rules: ApprovalRules | None,
        spending: Spending,
        redact: Callable[[str], str],
    ) -> None:
        self.own_functions: Mapping[str, OwnFunction] = {}
        self.rules = rules
        self.bind: _Bind | None = None
        self.caller: Gate | None = None
        self._grants: tuple[str, ...] = ()
        self._allowed = None if allowed is None else tuple(dict.fromkeys(allowed))
        self._spending = spending
        self._redact = redact

    @property
    def allowed_tools(self) -> tuple[str, ...] | None:
        """The names of the only tools that may be called, own functions aside; None for all."""
        return self._allowed

    @property
    def allowed(self) -> tuple[str, ...] | None:
        """The names of the only tools and functions that may be called; None for all."""
        if self._allowed is None:
            return None
        return tuple(dict.fromkeys((*self._allowed, *self.own_functions)))

    def sort(self, calls: Sequence[ToolCall]) -> SortedCalls:
        """Say what becomes of each call of a round, and answer those of own functions."""
        sorted_ = SortedCalls()
        for call in calls[:MAX_CALLS]:
            self._sort_one(call, sorted_)
        sorted_.refused.extend((call, too_many_calls_text(MAX_CALLS)) for call in calls[MAX_CALLS:])
        return sorted_

    def grant(self, call: ToolCall) -> None:
        """Remember that a person has approved a call, where that is good for more than this one."""
        approval = self.find_approval(call, self.bind)
        if approval.ask == "once":
            self._grants = tuple(dict.fromkeys((*self._grants, approval.grant)))

    def needs_approval(self, call: ToolCall, bind: _Bind | None) -> bool:
        """Return whether a person has to approve a call that has not been approved yet.

        Args:
            call: The call, of this run or of an agent that it has called.
            bind: Returns the arguments that it would be made with.
        """
        approval = self.find_approval(call, bind)
        return approval.ask == "always" or (
            approval.ask == "once" and approval.grant not in self._grants
        )

    def find_approval(self, call: ToolCall, bind: _Bind | None) -> Approval:
        """Hold a call against the rules: its arguments as the model wrote them, and as the tool would get them, whichever asks more."""
        if self.rules is None:
            return Approval(ask="never")
        written = parse_tool_arguments(call.arguments)
        readings = [written.args if written.ok else None]
        bound = bind and bind(call)
        if bound is None:
            return self.rules.find(call.name, *readings)
        if not bound:  # Then it is refused by whoever binds it, and never made.
            return Approval(ask="never")
        return self.rules.find(call.name, *readings, bound.args, schema=bound.schema)

    def to_shown(self, call: ToolCall) -> ToolCall:
        """Return a call as its tool would get it: with JSON made anew, so that nothing is read of it but what counts, and without what nobody may know."""
        bound = self.bind and self.bind(call)
        bound = parse_tool_arguments(call.arguments) if bound is None else bound
        if not bound:
            return call
        shown = bound.args if bound.shown is None else bound.shown
        return replace(call, arguments=json.dumps(shown, ensure_ascii=False, default=str))

    def _is_held_above(self, call: ToolCall) -> bool:
        gate = self.caller
        while gate is not None and not gate.needs_approval(call, self.bind):
            gate = gate.caller
        return gate is not None

    def _sort_one(self, call: ToolCall, sorted_: SortedCalls) -> None:
        own = self.own_functions.get(call.name)
        if own is None and not self._is_allowed(call.name):
            sorted_.refused.append((call, self._say_disallowed(call.name)))
            return
        if not self._spending.take_tool_calls(1):
            sorted_.refused.append((call, BUDGET_USED_UP))
            return
        taken = call if own is None else own.take(call)
        if isinstance(taken, ToolResult):
            sorted_.answered.append((call, taken))
        elif not self._is_allowed(taken.name):
            sorted_.refused.append((call, self._say_disallowed(taken.name)))
        elif self._is_held_above(taken):
            self._spending.give_back_tool_call()
            sorted_.refused.append((call, UNAPPROVED))
        else:
            self._pass(call, taken, sorted_)

    def _pass(self, call: ToolCall, made: ToolCall, sorted_: SortedCalls) -> None:
        """Have a call made at once or held for a person, or refuse one that nobody could be asked about."""
        problem = self._find_repeated_key(call, made)
        is_held = problem is None and self.needs_approval(made, self.bind)
        if is_held:
            problem = self._find_excess(made, len(sorted_.held))
        if problem is not None:
            self._spending.give_back_tool_call()
            sorted_.refused.append((call, problem))
        else:
            (sorted_.held if is_held else sorted_.made).append((call, made))

    def _find_repeated_key(self, call: ToolCall, made: ToolCall) -> str | None:
        """Return the sentence for a key that stands twice, where a rule may ask for the tool: who reads the call takes either value for what counts."""
        if self.rules is None or self.rules.find(made.name, None).ask == "never":
            return None
        keys = (find_repeated_key(one.arguments) for one in (call, made))
        return next((repeated_key_text(key) for key in keys if key is not None), None)

    def _find_excess(self, made: ToolCall, held: int) -> str | None:
        if held >= MAX_ASKED_CALLS:
            return too_many_questions_text(MAX_ASKED_CALLS)
        length = len(self.to_shown(made).arguments)
        is_long = length > MAX_ASKED_CHARACTERS
        return too_long_question_text(length, MAX_ASKED_CHARACTERS) if is_long else None

    def _is_allowed(self, name: str) -> bool:
        return self._allowed is None or name in self._allowed

    def _say_disallowed(self, name: str) -> str:
        return disallowed_tool_text(self._redact(name), self._allowed or ())
