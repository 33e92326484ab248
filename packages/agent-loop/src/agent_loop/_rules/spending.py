"""The use of budgets by a run and the runs above it.

A run's budgets hold for its agents, too: what an agent uses counts towards its own budgets and those of every run above
it. The runs of one tree may be fed in different threads, so what counts for several of them is counted under their
lock.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from agent_loop._values.budgets import BudgetName, Budgets, BudgetUse, Unknown
from agent_loop._values.usage import Usage

from .state import RunContext


_NEAR = Decimal("0.8")  # Our choice.
_NO_BUDGETS = Budgets()
_NO_MONEY: dict[str, Any] = dict.fromkeys(
    ("input_price", "output_price", "total_price"), Decimal(0)
)


def find_uses(run: RunContext) -> tuple[BudgetUse, ...]:
    """Return how much of each of its budgets a run has used."""
    if (budgets := run.settings.budgets) is None:
        return ()
    spent = run.state.spending
    used: dict[BudgetName, float | Decimal] = {
        "max_total_tokens": spent.usage.total_tokens,
        "max_cost": spent.usage.total_price,
        "max_seconds": spent.seconds,
        "max_tool_calls": spent.tool_calls,
    }
    return tuple(
        BudgetUse(name=name, used=amount, maximum=maximum)
        for name, amount in used.items()
        if (maximum := getattr(budgets, name)) is not None
    )


def find_used_up(run: RunContext) -> BudgetName | None:
    """Return the first budget that is used up, of a run itself or of one above it; None if none is."""
    return _find(_iter_uses(run), Decimal(1))


def find_used_up_above(run: RunContext) -> BudgetName | None:
    """Return the first budget above a run whose end leaves it no model call, not even a closing one: any used-up budget but that of tool calls."""
    above = () if run.caller is None else _iter_uses(run.caller)
    return _find((use for use in above if use.name != "max_tool_calls"), Decimal(1))


def count_calls_left(run: RunContext) -> int | None:
    """Return how many tool calls the budgets of a run, and of those above it, leave; None for any number."""
    uses = [use for use in _iter_uses(run) if use.name == "max_tool_calls"]
    return min((max(0, int(use.maximum) - int(use.used)) for use in uses), default=None)


def add_usage(run: RunContext, usage: Usage, hosted_calls: int = 0) -> None:
    """Count a model call of a run, with the calls that its server has made; if its prices are in another currency, all but the money."""
    # Outside the lock: only the thread that feeds this run writes it.
    run.state.spending.model_calls += 1
    with run.lock:
        for each in iter_chain(run):
            spent = each.state.spending
            if not spent.usage.total_price:  # What has cost nothing has no currency.
                spent.usage = replace(spent.usage, currency="")
            spent.tool_calls += hosted_calls
            differs = _is_in_another_currency(spent.usage, usage)
            spent.usage += replace(usage, **_NO_MONEY) if differs else usage


def pass_seconds(run: RunContext, seconds: float) -> None:
    """Note how long a run has lasted; a smaller number than before changes nothing."""
    with run.lock:
        for each in iter_chain(run):
            # Agents report the time from threads of their own, so an earlier time may arrive later.
            each.state.spending.seconds = max(each.state.spending.seconds, seconds)
            # Every run counts from its own beginning.
            seconds += each.joined_at


def wait(run: RunContext, seconds: float) -> None:
    """Count a wait that is still to come."""
    pass_seconds(run, run.state.spending.seconds + seconds)


def take_tool_call(run: RunContext) -> bool:
    """Return whether another tool call may be made, and count it."""
    with run.lock:
        # Under the lock together with the count: two agents must not both take the last call.
        if find_used_up(run):
            return False
        for each in iter_chain(run):
            each.state.spending.tool_calls += 1
    return True


def give_back_tool_call(run: RunContext) -> None:
    """Take back the count of a tool call that is not made after all."""
    with run.lock:
        for each in iter_chain(run):
            each.state.spending.tool_calls -= 1


def take_near(run: RunContext) -> BudgetName | None:
    """Return the budget that is nearly used up, once in a run and only while none is used up."""
    spent = run.state.spending
    if spent.has_warned or find_used_up(run):
        return None
    near = _find(_iter_uses(run), _NEAR)
    spent.has_warned = near is not None
    return near


def find_unknown(run: RunContext, usage: Usage) -> Unknown | None:
    """Return the budget that cannot be kept, or the cost that cannot be summed up, because of the usage that a model call reports.

    The runs above note it, too.
    """
    found: Unknown | None = None
    with run.lock:
        for each in iter_chain(run):
            spent = each.state.spending
            unreported = _find_unreported(each, usage, is_own=each is run)
            found = found or unreported or spent.unknown
            if each is not run:
                spent.unknown = spent.unknown or unreported
    return found


def find_unknown_below(run: RunContext) -> Unknown | None:
    """Return the budget of a run, or of one above it, that cannot be kept because of the usage of agents, if there is one."""
    spent = (each.state.spending for each in iter_chain(run))
    return next((each.unknown for each in spent if each.unknown), None)


def _find_unreported(run: RunContext, usage: Usage, *, is_own: bool) -> Unknown | None:
    """Return what a usage leaves unknown for one run: how much of a budget is used, or how much the run itself has cost."""
    budgets = run.settings.budgets or _NO_BUDGETS
    if budgets.max_total_tokens is not None and not usage.is_whole:
        return "max_total_tokens"
    if budgets.max_cost is not None and not usage.total_price:
        return "max_cost"
    counts_money = is_own or budgets.max_cost is not None
    if counts_money and _is_in_another_currency(run.state.spending.usage, usage):
        return "currency"
    return None


def _is_in_another_currency(spent: Usage, usage: Usage) -> bool:
    currencies = {used.currency for used in (spent, usage) if used.total_price}
    return len(currencies - {""}) > 1


def iter_chain(run: RunContext | None) -> Iterator[RunContext]:
    """Yield a run and those above it, the outermost last."""
    while run is not None:
        yield run
        run = run.caller


def _iter_uses(run: RunContext) -> Iterator[BudgetUse]:
    return (use for each in iter_chain(run) for use in find_uses(each))


def _find(uses: Iterable[BudgetUse], share: Decimal) -> BudgetName | None:
    return next(
        (use.name for use in uses if Decimal(use.used) >= Decimal(use.maximum) * share), None
    )
