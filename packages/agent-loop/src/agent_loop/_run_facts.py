"""What can be asked of a run at any time; nothing here changes it."""

from typing import Any

from agent_tooling import ApprovalRules

from ._budgets import Budgets, BudgetUse, Spending
from ._gate import Gate
from ._own_functions import OwnFunction, name_of
from ._recovery import Recovery
from ._requests import Requests
from ._rounds import Rounds
from ._state import State
from ._window import Window


class RunFacts:
    """What a run tells of itself: the base of `AgentRun`, which has these parts."""

    _state: State
    _spending: Spending
    _gate: Gate
    _requests: Requests
    _rounds: Rounds
    _recovery: Recovery

    @property
    def state(self) -> State:
        """Where the run is: `ready`, `model`, `summary`, `tools`, `approval` or `finished`."""
        return self._state

    @property
    def tools(self) -> tuple[Any, ...]:
        """The tools that the run offers, its own functions last."""
        return self._requests.tools

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the tools that the run offers, as far as their form tells them."""
        names = map(name_of, self._requests.tools)
        return frozenset(name for name in names if isinstance(name, str))

    @property
    def own_functions(self) -> tuple[OwnFunction, ...]:
        """The functions that the run answers by itself."""
        return tuple(self._gate.own_functions.values())

    @property
    def allowed_tools(self) -> tuple[str, ...] | None:
        """The names of the only tools that may be called; None for all."""
        return self._gate.allowed_tools

    @property
    def tool_choice(self) -> str | None:
        """The tool choice of the next call that is not the closing one."""
        return self._requests.tool_choice

    @property
    def messages(self) -> tuple[Any, ...]:
        """All messages by now: those that the run was given, and what the rounds that are over have added."""
        return self._requests.messages

    @property
    def max_request_bytes(self) -> int | None:
        """How many bytes the messages of a request may have; None for any number."""
        return self._requests.max_bytes

    @property
    def window(self) -> Window | None:
        """How much the model reads that is asked now; None where nobody knows."""
        return self._requests.window

    @property
    def budgets(self) -> Budgets:
        """What the run may use."""
        return self._spending.budgets

    @property
    def budget_uses(self) -> tuple[BudgetUse, ...]:
        """How much the run has used by now of each budget that it has."""
        return self._spending.uses

    @property
    def models(self) -> tuple[str, ...]:
        """The model of each request by now, where the run has names for its models."""
        return tuple(self._requests.models)

    @property
    def seconds(self) -> float:
        """How long the run has lasted, as it was told."""
        return self._spending.seconds

    @property
    def approval_rules(self) -> ApprovalRules | None:
        """Which calls a person has to approve."""
        return self._gate.rules

    @property
    def has_closing_call(self) -> bool:
        """Whether the run keeps a call for the answer, so that tools have to end in time for it."""
        return self._rounds.maximum > 1

    @property
    def may_retry(self) -> bool:
        """Whether the open model call would be made once more if it failed now, for a passing reason and with time left."""
        return self._state == "model" and self._recovery.may_retry
