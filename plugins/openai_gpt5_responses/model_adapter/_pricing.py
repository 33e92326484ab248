"""The price of a call, each token at its own rate."""

from dataclasses import asdict
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from dify_plugin.entities.model.llm import LLMUsage

from gpt5_messages import ToolUsage, Usage
from gpt5_prices import ModelPrice, Rates, price_of


_UNIT = Decimal("0.000001")  # Prices are per million tokens.
_SMALLEST = Decimal("0.0000001")  # The SDK rounds to it, too.
_UNKNOWN = ModelPrice(rates=Rates(**dict.fromkeys(Rates.__slots__, Decimal(0))))


def price_usage(
    model: str,
    usage: Usage,
    *,
    latency_seconds: float,
    service_tier: str | None = None,
    tool_usage: ToolUsage | None = None,
) -> LLMUsage:
    """Return Dify's usage with prices; unknown models cost nothing.

    Cached input has the cached rate, and input written to the cache a rate of its own if the model has one, so the
    input's price may differ from its tokens at the unit price. So may the output's, which includes the cost of the
    server's tools because Dify has no third price.
    """
    price = price_of(model) or _UNKNOWN
    rates = price.find_rates(input_tokens=usage.input_tokens, service_tier=service_tier)
    tools: dict[str, Any] = asdict(tool_usage or ToolUsage())
    cost = price.cost(
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cache_write_12h_tokens=usage.cache_write_12h_tokens,
        output_tokens=usage.output_tokens,
        service_tier=service_tier,
        **tools,
    )
    input_price, output_price = _rounded(cost.input), _rounded(cost.output + cost.tools)
    return LLMUsage(
        prompt_tokens=usage.input_tokens,
        prompt_unit_price=rates.input,
        prompt_price_unit=_UNIT,
        prompt_price=input_price,
        completion_tokens=usage.output_tokens,
        completion_unit_price=rates.output,
        completion_price_unit=_UNIT,
        completion_price=output_price,
        total_tokens=usage.total_tokens,
        total_price=input_price + output_price,
        currency=cost.currency,
        latency=latency_seconds,
    )


def _rounded(price: Decimal) -> Decimal:
    return price.quantize(_SMALLEST, rounding=ROUND_HALF_UP)
