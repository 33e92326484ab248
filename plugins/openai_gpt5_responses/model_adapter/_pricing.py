"""The price of a call, each token at its own rate."""

from decimal import ROUND_HALF_UP, Decimal

from dify_plugin.entities.model.llm import LLMUsage

from catalog_prices import find_rates, find_tool_price
from gpt5_messages import ToolUsage, Usage


_UNIT = Decimal("0.000001")  # Prices are per million tokens.
_SMALLEST = Decimal("0.0000001")  # The SDK rounds to it, too.


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
    input's price may differ from its tokens at the unit price. So may the output's, which includes the cost of the server's tools because Dify has no third price.
    """
    rates = find_rates(model, input_tokens=usage.input_tokens, service_tier=service_tier)
    input_price = _rounded(
        rates.input_price(
            usage.input_tokens,
            cached=usage.cached_tokens,
            written=usage.cache_write_tokens,
            written_12h=usage.cache_write_12h_tokens,
        )
    )
    tool_price = find_tool_price(tool_usage) if tool_usage else Decimal(0)
    output_price = _rounded(rates.output_price(usage.output_tokens) + tool_price)
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
        currency="USD",
        latency=latency_seconds,
    )


def _rounded(price: Decimal) -> Decimal:
    return price.quantize(_SMALLEST, rounding=ROUND_HALF_UP)
