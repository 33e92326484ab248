"""The usage of a run, and what it cost, from its models' answers."""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from pydantic_ai import ModelResponse

from agent_server.executor import JsonObject, Usage
from dify_agent.adapters.llm._stream import PRICE_KEY


# A price for one token, and how many of them it is for: the same in each answer of a model.
_UNITS: Final = (
    "prompt_unit_price",
    "prompt_price_unit",
    "completion_unit_price",
    "completion_price_unit",
)
_PRICES: Final = ("prompt_price", "completion_price")
_SECONDS: Final = ("latency", "time_to_generate")


def sum_usage(answers: Sequence[ModelResponse]) -> Usage:
    """Return the sum of the usage that a run's answers report; it has a cost if plugins reported prices in a single currency."""
    cost, currency = _sum_costs(_read_prices(answers))
    return Usage(
        input_tokens=sum(answer.usage.input_tokens for answer in answers),
        output_tokens=sum(answer.usage.output_tokens for answer in answers),
        cached_tokens=sum(answer.usage.cache_read_tokens for answer in answers) or None,
        model_requests=len(answers),
        cost=cost,
        currency=currency,
    )


def sum_prices(answers: Sequence[ModelResponse]) -> JsonObject:
    """Return what the cost of a run is made of, as plugins report it; empty if it is not in a single currency.

    Prices are decimals as text; those of a token are the last answer's. Seconds are sums, but for those to the first token, which are
    the first answer's.
    """
    prices = _read_prices(answers)
    cost, currency = _sum_costs(prices)
    if cost is None or currency is None:
        return {}
    summed: JsonObject = {"total_price": cost, "currency": currency}
    for price in prices:
        summed |= {name: price[name] for name in _UNITS if name in price}
    for name in _PRICES:
        found = [Decimal(price[name]) for price in prices if name in price]
        summed |= {name: format(sum(found), "f")} if found else {}
    for name in _SECONDS:
        seconds = [price[name] for price in prices if name in price]
        summed |= {name: sum(seconds)} if seconds else {}
    if (first := prices[0].get("time_to_first_token")) is not None:
        summed["time_to_first_token"] = first
    return summed


def _read_prices(answers: Sequence[ModelResponse]) -> Sequence[dict[str, Any]]:
    found = ((answer.provider_details or {}).get(PRICE_KEY) for answer in answers)
    return [price for price in found if price]


def _sum_costs(prices: Sequence[dict[str, Any]]) -> tuple[str | None, str | None]:
    """Return the cost as a decimal, and its currency; neither if there are several currencies, or none."""
    costs: defaultdict[str, Decimal] = defaultdict(Decimal)
    for price in prices:
        costs[str(price["currency"])] += Decimal(price["total"])
    if len(costs) != 1:
        return None, None
    [(currency, cost)] = costs.items()
    return format(cost, "f"), currency or None
