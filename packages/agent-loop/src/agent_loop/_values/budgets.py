"""The budgets of a run, and how much of them is used."""

from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Literal

from .errors import InvalidSettingError
from .numbers import is_number, is_whole


_COUNTS = ("max_total_tokens", "max_tool_calls")

type BudgetName = Literal["max_total_tokens", "max_cost", "max_seconds", "max_tool_calls"]
"""A budget, by the name of its field in `Budgets`."""

type Unknown = BudgetName | Literal["currency"]
"""What the usage of a model leaves unknown: a budget that cannot be kept, or a cost in two currencies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The most that a run may use; None is no limit.

    When four fifths of a budget are used, the model is told so, once per run. When one is used up, only a closing call
    still starts, and what the model asked for in the meantime is refused with a sentence. So a run exceeds a budget by
    the response under way and the closing one at most.

    Attributes:
        max_total_tokens: Input and output tokens of all model calls, at least 1.
        max_cost: Money, over 0, in the currency of the model's prices.
        max_seconds: Seconds since the run began, over 0, as `TimePassed` reports them. Tools that still run then are given up.
        max_tool_calls: Tool calls that are made, at least 0.

    Raises:
        InvalidSettingError: If one is smaller than that, or not a number.
    """

    max_total_tokens: int | None = None
    max_cost: Decimal | None = None
    max_seconds: float | None = None
    max_tool_calls: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges of the budgets."""
        for field in fields(self):
            value, name = getattr(self, field.name), field.name
            if value is None:
                continue
            if name in _COUNTS:
                least = 0 if name == "max_tool_calls" else 1
                if not is_whole(value, least=least):
                    raise InvalidSettingError(name, f"at least {least}, a whole number", value)
            elif not is_number(value) or value <= 0:
                raise InvalidSettingError(name, "more than 0, a number", value)

    def seconds_left(self, now: float) -> float | None:
        """Return the seconds until the budget of seconds is used up, never under 0; None if there is no such budget."""
        return None if self.max_seconds is None else max(0.0, self.max_seconds - now)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse:
    """The part of a budget that is used so far.

    Attributes:
        name: The budget.
        used: How much of it is used so far, which may be more than the maximum.
        maximum: The budget's size.
    """

    name: BudgetName
    used: float | Decimal
    maximum: float | Decimal
