"""What a call costs: every token at its own rate."""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from dify_plugin.entities.model.llm import LLMUsage

from gpt5_messages import Usage
from gpt5_payloads import profile_for


_CATALOG = Path(__file__).parent.parent / "catalog.yaml"
_PER_TOKEN = Decimal("0.000001")  # prices are per million tokens
_SMALLEST = Decimal("0.0000001")  # as the SDK rounds
_FREE = {"input": "0", "cached_input": "0", "output": "0"}


def price_usage(model: str, usage: Usage, *, latency_seconds: float) -> LLMUsage:
    """Return Dify's usage with the price of each token; unknown models cost nothing.

    Cached input is priced at the cached rate, and input that is written to the cache at its own where the model has one, so the
    input's price may differ from its tokens at the unit price.
    """
    prices = _prices(model, usage.input_tokens)
    input_rate, output_rate = Decimal(prices["input"]), Decimal(prices["output"])
    input_price = _input_price(usage, prices)
    output_price = _money(usage.output_tokens * output_rate)
    return LLMUsage(
        prompt_tokens=usage.input_tokens,
        prompt_unit_price=input_rate,
        prompt_price_unit=_PER_TOKEN,
        prompt_price=input_price,
        completion_tokens=usage.output_tokens,
        completion_unit_price=output_rate,
        completion_price_unit=_PER_TOKEN,
        completion_price=output_price,
        total_tokens=usage.total_tokens,
        total_price=input_price + output_price,
        currency="USD",
        latency=latency_seconds,
    )


def _input_price(usage: Usage, prices: Mapping[str, str]) -> Decimal:
    cached = min(usage.cached_tokens, usage.input_tokens)
    written = min(usage.cache_write_tokens, usage.input_tokens - cached)
    fresh = usage.input_tokens - cached - written
    return _money(
        fresh * Decimal(prices["input"])
        + cached * Decimal(prices["cached_input"])
        + written * Decimal(prices.get("cache_write", prices["input"]))
    )


def _prices(model: str, input_tokens: int) -> Mapping[str, str]:
    """Look a model's prices up, a dated or fine-tuned one's under its family; a long input has a tier of its own."""
    catalog = _catalog()
    entry = catalog.get(model) or catalog.get(profile_for(model).family)
    if entry is None:
        return _FREE
    tier = entry.get("long_context")
    return tier if tier and input_tokens > tier["above_tokens"] else entry["prices"]


def _money(price_per_million: Decimal) -> Decimal:
    return (price_per_million * _PER_TOKEN).quantize(_SMALLEST, rounding=ROUND_HALF_UP)


@cache
def _catalog() -> dict[str, Any]:
    entries = yaml.safe_load(_CATALOG.read_text(encoding="utf-8"))["models"]
    return {entry["name"]: entry for entry in entries}
