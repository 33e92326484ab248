"""The prices in catalog.yaml, for the plugin and for the check of the catalog; needs neither Dify nor a network."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpt5_messages import ToolUsage
from gpt5_payloads import profile_for


_CATALOG = Path(__file__).parent / "catalog.yaml"
_PER_TOKEN = Decimal("0.000001")  # Prices are per million tokens.


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The prices of a million tokens in USD; 0 for a model that is not in the catalog."""

    input: Decimal = Decimal(0)
    cached_input: Decimal = Decimal(0)
    cache_write: Decimal = Decimal(0)
    cache_write_12h: Decimal = Decimal(0)
    output: Decimal = Decimal(0)

    def input_price(
        self, tokens: int, *, cached: int = 0, written: int = 0, written_12h: int = 0
    ) -> Decimal:
        """Return the price of input tokens; some may have come from the cache, and others were written to it, some of these for 12 hours."""
        # Whatever a server reports, no part is larger than the whole.
        cached = min(cached, tokens)
        written = min(written, tokens - cached)
        written_12h = min(written_12h, written)
        parts = (
            (tokens - cached - written, self.input),
            (cached, self.cached_input),
            (written - written_12h, self.cache_write),
            (written_12h, self.cache_write_12h),
        )
        return sum((count * rate for count, rate in parts), Decimal(0)) * _PER_TOKEN

    def output_price(self, tokens: int) -> Decimal:
        """Return the price of output tokens, including reasoning."""
        return tokens * self.output * _PER_TOKEN


def find_rates(model: str, *, input_tokens: int, service_tier: str | None = None) -> Rates:
    """Return a model's rates; a dated or fine-tuned model has the rates of its family.

    Args:
        model: The model's name.
        input_tokens: All input tokens of the call; a long input has its own rates.
        service_tier: The tier that the response names; a tier that is not in the catalog has the standard rates.
    """
    models, tiers = _models(), read_catalog()["service_tiers"]
    entry = models.get(model) or models.get(profile_for(model).family)
    if entry is None:
        return Rates()
    long = entry.get("long_context")
    prices = long if long and input_tokens > long["above_tokens"] else entry["prices"]
    # The narrowest table decides: that of these prices, then the model's, then all models'.
    factors = tiers | entry.get("service_tiers", {}) | prices.get("service_tiers", {})
    factor = Decimal(factors.get(service_tier, "1"))
    # Without rates of their own, cache writes cost as much as other input.
    written = dict.fromkeys(("cache_write", "cache_write_12h"), prices["input"])
    rates = {name: (written | prices)[name] for name in Rates.__slots__}
    return Rates(**{name: Decimal(rate) * factor for name, rate in rates.items()})


def find_tool_price(usage: ToolUsage) -> Decimal:
    """Return the price of the server's tools in USD, which depends neither on the model nor on the tier."""
    prices: Mapping[str, str] = read_catalog()["hosted_tools"]
    return sum(
        (getattr(usage, name) * Decimal(price) for name, price in prices.items()), Decimal(0)
    )


@cache
def _models() -> Mapping[str, Any]:
    return {entry["name"]: entry for entry in read_catalog()["models"]}


@cache
def read_catalog() -> Mapping[str, Any]:
    """Return the content of catalog.yaml."""
    return yaml.safe_load(_CATALOG.read_text(encoding="utf-8"))
