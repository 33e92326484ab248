"""The token usage that a script reports."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from agent_server.executor import Usage
from stream_text import is_object, read_count


__all__ = ["sum_usage"]


def sum_usage(reported: Sequence[Any]) -> Usage | None:
    """Return the sum of all `_llm_usage` values that a script printed; None if they hold no known figure.

    It knows the names of the Responses API and openai-agents (`input_tokens`, `requests`, …), those of chat completions
    (`prompt_tokens`, …), and `cost` (or `total_price`) with `currency`. Costs in more than one currency cannot be
    summed up, and are left out.
    """
    usages = list(filter(is_object, reported))
    values = [_read(one) for one in usages]
    if not any(any(value.values()) for value in values):
        return None
    totals = {name: sum(value[name] for value in values) for name in values[0]}
    cost, currency = _sum_costs(usages)
    return Usage(
        input_tokens=totals["input"],
        output_tokens=totals["output"],
        cached_tokens=totals["cached"] or None,
        reasoning_tokens=totals["reasoning"] or None,
        model_requests=totals["requests"],
        cost=cost,
        currency=currency,
    )


def _read(usage: Mapping[str, Any]) -> dict[str, int]:
    sent = _find(usage, "input_tokens_details", "prompt_tokens_details")
    received = _find(usage, "output_tokens_details", "completion_tokens_details")
    return {
        "input": _number(usage, "input_tokens", "prompt_tokens"),
        "output": _number(usage, "output_tokens", "completion_tokens"),
        "cached": _number(sent, "cached_tokens") or _number(usage, "cached_tokens"),
        "reasoning": _number(received, "reasoning_tokens") or _number(usage, "reasoning_tokens"),
        "requests": _number(usage, "requests", "model_requests"),
    }


def _find(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        if is_object(found := usage.get(name)):
            return found
    return {}


def _number(usage: Mapping[str, Any], *names: str) -> int:
    found = (read_count(usage.get(name)) or 0 for name in names)
    return next((one for one in found if one > 0), 0)


def _sum_costs(usages: Sequence[Mapping[str, Any]]) -> tuple[str | None, str | None]:
    costs: dict[str | None, Decimal] = {}
    for usage in usages:
        # Usage has either name, depending on where it comes from.
        cost = _decimal(usage.get("cost", usage.get("total_price")))
        if cost is not None:
            currency = usage.get("currency")
            name = currency if isinstance(currency, str) else None
            costs[name] = costs.get(name, Decimal()) + cost
    if len(costs) != 1:
        return None, None
    [(currency, cost)] = costs.items()
    return format(cost, "f"), currency


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return None
    return cost if cost.is_finite() else None
