"""What a run may use, and what it has used of that."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, ClassVar, Literal, cast

from ._errors import InvalidSettingError
from ._numbers import is_number, is_whole
from ._usage import Usage


_NEAR = Decimal("0.8")
_COUNTS = ("max_total_tokens", "max_tool_calls")
_NO_MONEY: dict[str, Any] = dict.fromkeys(
    ("input_price", "output_price", "total_price"), Decimal(0)
)

type BudgetName = Literal["max_total_tokens", "max_cost", "max_seconds", "max_tool_calls"]
"""A budget, by the name of its field in `Budgets`."""

type Unknown = BudgetName | Literal["currency"]
"""What a model leaves unknown: a budget that cannot be kept, or a sum of money in two currencies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """What a run may use at most; None is no limit.

    When four fifths of one are used, the model is told so, once in a run. When one is used up, no call starts any more but a closing one: what the
    model asked for meanwhile is refused with a sentence. A run so exceeds a budget by the response under way and the closing one.

    Attributes:
        max_total_tokens: Input and output tokens of all model calls, at least 1.
        max_cost: Money, over 0, in the currency of the model's prices.
        max_seconds: Seconds since the run began, over 0, as `TimePassed` tells them. Tools that still run then are given up.
        max_tool_calls: Tool calls that are made, at least 0.

    Raises:
        InvalidSettingError: If one is smaller than that, or no number.
    """

    max_total_tokens: int | None = None
    max_cost: Decimal | None = None
    max_seconds: float | None = None
    max_tool_calls: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no run could keep."""
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
        """Return how long until the budget of seconds is used up, never under 0; None where there is none."""
        return None if self.max_seconds is None else max(0.0, self.max_seconds - now)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse:
    """The use of a budget by now.

    Attributes:
        name: The budget.
        used: What is used of it by now, which may be more than there was.
        maximum: What there was.
    """

    name: BudgetName
    used: float | Decimal
    maximum: float | Decimal


class Spending:
    """What a run has used by now, the agents that it has called included.

    The budgets of a run hold for all of them together: what one uses is used of its own budgets, and of those of every run that it belongs to. The runs of one
    tree may be fed in different threads.

    Attributes:
        budgets: What it may use.
        usage: The usage of the model calls.
        model_calls: How many model calls the run has made itself.
        seconds: How long the run has lasted.
        tool_calls: How many tool calls were made.
        caller: What it counts for, too.
        began: How old that was when it joined.
        lock: One for all that count together.
        unknown: What an agent's model leaves unknown.
    """

    SAVED: ClassVar = ("usage", "model_calls", "seconds", "tool_calls", "unknown", "_is_told")

    def __init__(self, budgets: Budgets) -> None:
        self.budgets = budgets
        self.usage = Usage()
        self.model_calls = 0
        self.seconds = 0.0
        self.tool_calls = 0
        self.caller: Spending | None = None
        self.began = 0.0
        self.lock: AbstractContextManager[Any] = nullcontext()
        self._is_told = False
        self.unknown: Unknown | None = None
        self._maxima: dict[BudgetName, float | Decimal] = {
            cast("BudgetName", field.name): maximum
            for field in fields(budgets)
            if (maximum := getattr(budgets, field.name)) is not None
        }

    def join(self, caller: "Spending", *, seconds: float) -> None:
        """Count from now on for another run, too, which is `seconds` old."""
        caller.pass_seconds(seconds)
        self.caller, self.began, self.lock = caller, seconds, caller.lock

    @property
    def uses(self) -> tuple[BudgetUse, ...]:
        """How much of each budget is used."""
        if not self._maxima:
            return ()
        used: dict[str, float | Decimal] = {
            "max_total_tokens": self.usage.total_tokens,
            "max_cost": self.usage.total_price,
            "max_seconds": self.seconds,
            "max_tool_calls": self.tool_calls,
        }
        return tuple(
            BudgetUse(name=name, used=used[name], maximum=maximum)
            for name, maximum in self._maxima.items()
        )

    @property
    def used_up(self) -> BudgetName | None:
        """The first budget that is used up, of the run itself or of one that it belongs to."""
        return self._find(Decimal(1))

    @property
    def used_up_above(self) -> BudgetName | None:
        """The first budget that is used up of a run that this one counts for, and that leaves it no model call, not even a closing one: any but that of tool calls."""
        above = (
            use for spending in self._iter_chain() if spending is not self for use in spending.uses
        )
        return _find((use for use in above if use.name != "max_tool_calls"), Decimal(1))

    def add_usage(self, usage: Usage) -> None:
        """Count a model call of the run itself; of one in another currency all but the money."""
        self.model_calls += 1
        with self.lock:
            for spending in self._iter_chain():
                if not spending.usage.total_price:  # What has cost nothing has no currency.
                    spending.usage = replace(spending.usage, currency="")
                differs = spending.is_in_another_currency(usage)
                spending.usage += replace(usage, **_NO_MONEY) if differs else usage

    def is_in_another_currency(self, usage: Usage) -> bool:
        """Return whether a usage costs money in another currency than what was used by now."""
        currencies = {used.currency for used in (self.usage, usage) if used.total_price}
        return len(currencies - {""}) > 1

    def pass_seconds(self, seconds: float) -> None:
        """Take note of how long the run has lasted; less than before changes nothing."""
        with self.lock:
            for spending in self._iter_chain():
                spending.seconds = max(spending.seconds, seconds)
                seconds += spending.began

    def wait(self, seconds: float) -> None:
        """Count a wait that is to come."""
        self.pass_seconds(self.seconds + seconds)

    def take_tool_calls(self, count: int) -> int:
        """Return how many of `count` tool calls may be made, and count them."""
        with self.lock:
            chain = tuple(self._iter_chain())
            limits = ((each.budgets.max_tool_calls, each.tool_calls) for each in chain)
            lefts = [maximum - made for maximum, made in limits if maximum is not None]
            count = 0 if self.used_up else min([count, *lefts])
            for spending in chain:
                spending.tool_calls += count
        return count

    def give_back_tool_call(self) -> None:
        """Count one tool call less, which was counted and is not made."""
        with self.lock:
            for spending in self._iter_chain():
                spending.tool_calls -= 1

    def take_near(self) -> BudgetName | None:
        """Return the budget whose end is near, when it is for the first time and none is used up."""
        near = None if self._is_told or self.used_up else self._find(_NEAR)
        self._is_told = self._is_told or near is not None
        return near

    def find_unknown(self, usage: Usage) -> Unknown | None:
        """Return what cannot be kept or told, because of what a model call tells of its use; the runs above know it from then on, too."""
        found: Unknown | None = None
        with self.lock:
            for spending in self._iter_chain():
                untold = spending.find_untold(usage, is_own=spending is self)
                found = found or untold or spending.unknown
                if spending is not self:
                    spending.unknown = spending.unknown or untold
        return found

    def find_untold(self, usage: Usage, *, is_own: bool) -> Unknown | None:
        """Return what of the run's own a usage leaves unknown: a budget, or the money that the run itself has cost."""
        if self.budgets.max_total_tokens is not None and not usage.total_tokens:
            return "max_total_tokens"
        if self.budgets.max_cost is not None and not usage.total_price:
            return "max_cost"
        counts_money = is_own or self.budgets.max_cost is not None
        return "currency" if counts_money and self.is_in_another_currency(usage) else None

    def find_unknown_below(self) -> Unknown | None:
        """Return what cannot be kept, of the run itself or of one that it belongs to, because of what agents have used."""
        return next((each.unknown for each in self._iter_chain() if each.unknown), None)

    def _iter_chain(self) -> "Iterator[Spending]":
        """Yield this and what it counts for, the outermost last."""
        spending: Spending | None = self
        while spending is not None:
            yield spending
            spending = spending.caller

    def _find(self, share: Decimal) -> BudgetName | None:
        return _find((use for spending in self._iter_chain() for use in spending.uses), share)


def _find(uses: Iterable[BudgetUse], share: Decimal) -> BudgetName | None:
    return next(
        (use.name for use in uses if Decimal(use.used) >= Decimal(use.maximum) * share), None
    )
