"""OpenAI's prices of the GPT-5 and GPT-6 models, by model name.

Sources: OpenAI's page of prices as kept in llms-txt-archive/openai-platform at a30a6225, and its pages of models as
quoted by public projects; litellm 1.109.1's price map and genai-prices 0.2.3, with which `nox -s prices` compares every
rate. Inferred: what gpt-6.2-astra costs for cache writes and above 272,000 input tokens, by its family's rule. gpt-5.6
and gpt-5.6-sol have the lower price that was promised until 2026-11-21 at least.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal

from ._model_price import ModelPrice, Rates


READ_ON = date(2026, 11, 22)
"""The day on which the prices were read."""

# The factor of each service tier on all rates; a row names the tiers that differ, with 1 for a tier that the model does not have.
_TIERS = {"flex": "0.5", "fast": "2", "priority": "2", "ultrafast": "6"}
_NO_FAST_TIER = {"fast": "1", "priority": "1"}
# Above 272,000 input tokens, all input of a call costs twice as much and all output half as much again.
_LONG_INPUT, _LONG_OUTPUT = Decimal(2), Decimal("1.5")
_SNAPSHOT_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def price_of(model: str) -> ModelPrice | None:
    """Return the price of a model at OpenAI, or None if it is not known.

    A dated snapshot (`gpt-5-2025-08-07`), a `-latest` alias, a fine-tuned model (`ft:gpt-5-mini:org::id`) and a name with its provider before it
    (`openai/gpt-5.2`, `openai.gpt-5.5`) have the price of their model.
    """
    name = model.strip().lower().rpartition("/")[2].removeprefix("openai.").removeprefix("ft:")
    name = name.partition(":")[0]
    return PRICES.get(_SNAPSHOT_DATE.sub("", name).removesuffix("-latest"))


def _price(
    rates: str,
    *,
    long: Mapping[str, str] | None = None,
    tiers: Mapping[str, str] | None = None,
) -> ModelPrice:
    """Read a row of the table.

    Args:
        rates: USD for a million tokens of input, cached input and output, or of input, cached input, cache writes for
            30 minutes, those for 12 hours, and output.
        long: The tiers that differ for a long input; None where that has no rates of its own.
        tiers: The tiers that differ.
    """
    plain, cached, *written, output = map(Decimal, rates.split())
    write, write_12h = written or (plain, plain)
    standard = Rates(
        input=plain,
        cached_input=cached,
        cache_write=write,
        cache_write_12h=write_12h,
        output=output,
    )
    long_rates = replace(standard.times(_LONG_INPUT), output=output * _LONG_OUTPUT)
    factors = {**_TIERS, **(tiers or {})}
    return ModelPrice(
        rates=standard,
        long_rates=None if long is None else long_rates,
        service_tiers=_to_decimals(factors),
        long_service_tiers=_to_decimals({**factors, **(long or {})}),
    )


def _to_decimals(factors: Mapping[str, str]) -> dict[str, Decimal]:
    return {tier: Decimal(factor) for tier, factor in factors.items()}


PRICES: Mapping[str, ModelPrice] = {
    "gpt-6-luna": _price("0.10 0.01 0.125 0.25 0.50", long={}),
    # Until 2027-02-28; from then on 6.
    "gpt-6.2-sol": _price("2.00 0.10 2.50 5.00 10.00", long={}, tiers={"ultrafast": "3"}),
    "gpt-6.2-astra": _price("8.00 0.40 10.00 20.00 40.00", long={}),
    "gpt-6.1-terra": _price("1.00 0.05 1.25 2.50 5.00", long={}),
    "gpt-6.1-sol": _price("2.00 0.10 2.50 5.00 10.00", long={}),
    "gpt-6-sol": _price("2.00 0.20 2.50 5.00 10.00", long={}),
    "gpt-6-astra": _price("10.00 1.00 12.50 25.00 50.00", long={}),
    "gpt-5.6-sol": _price("4.00 0.40 5.00 10.00 20.00", long={}),
    "gpt-5.6": _price("4.00 0.40 5.00 10.00 20.00", long={}),
    "gpt-5.6-terra": _price("2.00 0.20 2.50 5.00 12.00", long={}),
    "gpt-5.6-luna": _price("0.20 0.02 0.25 0.50 1.20", long={}),
    "gpt-5.5": _price(
        "5.00 0.50 30.00", long=_NO_FAST_TIER, tiers={"fast": "2.5", "priority": "2.5"}
    ),
    "gpt-5.5-pro": _price("30.00 30.00 180.00", long={}, tiers=_NO_FAST_TIER),
    "gpt-5.4": _price("2.50 0.25 15.00", long=_NO_FAST_TIER),
    "gpt-5.4-mini": _price("0.75 0.075 4.50"),
    "gpt-5.4-nano": _price("0.20 0.02 1.25", tiers=_NO_FAST_TIER),
    "gpt-5.4-pro": _price("30.00 30.00 180.00", long={}, tiers=_NO_FAST_TIER),
    "gpt-5.3-codex": _price("1.75 0.175 14.00", tiers={"flex": "1"}),
    "gpt-5.2": _price("1.75 0.175 14.00"),
    "gpt-5.2-pro": _price("21.00 21.00 168.00", tiers={"flex": "1", **_NO_FAST_TIER}),
    "gpt-5.1": _price("1.25 0.125 10.00"),
    "gpt-5.1-codex": _price("1.25 0.125 10.00"),
    "gpt-5": _price("1.25 0.125 10.00"),
    "gpt-5-mini": _price("0.25 0.025 2.00", tiers={"fast": "1.8", "priority": "1.8"}),
    "gpt-5-nano": _price("0.05 0.005 0.40", tiers=_NO_FAST_TIER),
    "gpt-5-codex": _price("1.25 0.125 10.00"),
}
"""The price of each model by its plain name, newest first, including models that were shut down."""
