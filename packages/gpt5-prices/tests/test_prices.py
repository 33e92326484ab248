"""What calls cost, to the last digit, and what holds for every model."""

from dataclasses import fields
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_prices import (
    COMPLETION_WINDOWS,
    PRICES,
    READ_ON,
    Cost,
    ModelPrice,
    Rates,
    ToolRates,
    ToolUses,
    price_of,
)


SHORT = 272_000
TIERS = (None, "default", "flex", "priority", "fast", "ultrafast", "scale")
each_model = pytest.mark.parametrize("model", PRICES)
models = st.sampled_from(sorted(PRICES))
tiers = st.sampled_from(TIERS)
windows = st.sampled_from((None, *COMPLETION_WINDOWS, "24h"))


@st.composite
def usages(draw: st.DrawFn, most: int = 2_000_000) -> dict[str, int]:
    """Draw the tokens of a call, whose parts are no more than their wholes."""
    tokens = draw(st.integers(0, most))
    cached = draw(st.integers(0, tokens))
    written = draw(st.integers(0, tokens - cached))
    return {
        "input_tokens": tokens,
        "cached_tokens": cached,
        "cache_write_tokens": written,
        "cache_write_12h_tokens": draw(st.integers(0, written)),
        "output_tokens": draw(st.integers(0, 128_000)),
    }


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("gpt-6.1-terra", {"input_tokens": 1_000_000}, "2"),
        ("gpt-6.1-terra", {"input_tokens": 272_000, "output_tokens": 1_000}, "0.277"),
        ("gpt-6.1-terra", {"input_tokens": 272_001, "output_tokens": 1_000}, "0.551502"),
        ("gpt-6.1-sol", {"input_tokens": 1_000, "cached_tokens": 1_000}, "0.0001"),
        ("gpt-6.1-sol", {"input_tokens": 1_000, "cached_tokens": 400, "cache_write_tokens": 500}, "0.00149"),
        ("gpt-6.1-sol", {"input_tokens": 1_000, "cache_write_tokens": 1_000, "cache_write_12h_tokens": 400}, "0.0035"),
        ("gpt-6.1-sol", {"input_tokens": 100, "cached_tokens": 900, "cache_write_tokens": 900, "cache_write_12h_tokens": 900}, "0.00001"),
        ("gpt-5.6-sol", {"input_tokens": 300_000, "cached_tokens": 100_000, "cache_write_tokens": 50_000, "output_tokens": 1_000, "service_tier": "flex"}, "0.905"),
        ("gpt-5.5", {"input_tokens": 1_000, "output_tokens": 1_000, "service_tier": "priority"}, "0.0875"),
        ("gpt-5-mini", {"input_tokens": 1_000, "output_tokens": 1_000, "service_tier": "fast"}, "0.00405"),
        ("gpt-6.2-sol", {"input_tokens": 1_000, "service_tier": "ultrafast"}, "0.006"),
        ("gpt-6.1-sol", {"input_tokens": 1_000, "service_tier": "ultrafast"}, "0.012"),
        ("gpt-5-nano", {"input_tokens": 1_000, "service_tier": "priority"}, "0.00005"),
        ("gpt-5.2", {"input_tokens": 1_000, "cache_write_tokens": 1_000, "cache_write_12h_tokens": 1_000}, "0.00175"),
        ("gpt-5.2", {"input_tokens": 1_000, "service_tier": "default"}, "0.00175"),
        ("gpt-5.2", {"input_tokens": 1_000, "service_tier": "a new one"}, "0.00175"),
        ("gpt-5.2", {"input_tokens": 1_000, "completion_window": "2h"}, "0.001225"),
        ("gpt-5.2", {"input_tokens": 1_000, "completion_window": "8h", "service_tier": "flex"}, "0.00105"),
        ("gpt-5.2", {"input_tokens": 1_000, "completion_window": "24h"}, "0.00175"),
        ("gpt-5.5-2026-04-23", {"input_tokens": 1_000, "service_tier": "flex"}, "0.0025"),
        ("gpt-5.5-2026-04-23", {"input_tokens": 1_000, "service_tier": "priority"}, "0.0125"),
        ("gpt-5.5-2026-04-23", {"input_tokens": 300_000, "service_tier": "priority"}, "3"),
        ("gpt-5.4-nano-2026-03-17", {"input_tokens": 1_000, "service_tier": "priority"}, "0.0002"),
        ("gpt-5-2025-08-07", {"output_tokens": 1_000}, "0.01"),
        ("ft:gpt-5-mini:org::id", {"output_tokens": 1_000, "service_tier": "fast"}, "0.0036"),
        ("ft:gpt-5-mini:org::id", {"output_tokens": 1_000}, "0.002"),
        (" OpenAI/GPT-6-luna ", {"output_tokens": 1_000}, "0.0005"),
        ("openai.gpt-5.5", {"output_tokens": 1_000}, "0.03"),
        ("gpt-5-latest", {"output_tokens": 1_000}, "0.01"),
    ],
)  # fmt: skip
def test_each_token_has_its_rate(model, usage, dollars):
    assert price_of(model).cost(**usage).total == Decimal(dollars)


@pytest.mark.parametrize(
    "model", ["gpt-6.3-sol", "gpt-7", "my-deployment", "gpt-5-pro", "gpt-5.2-chat-latest", ""]
)
def test_a_model_that_is_not_in_the_list_has_no_price(model):
    assert price_of(model) is None


@pytest.mark.parametrize(
    ("uses", "dollars"),
    [
        ({}, "0"),
        ({"web_searches": 1_000}, "10"),
        ({"file_searches": 1_000}, "2.5"),
        ({"containers": 1}, "0.03"),
        ({"image_input_text_tokens": 1_000_000}, "5"),
        ({"image_input_image_tokens": 1_000_000}, "8"),
        ({"image_output_tokens": 1_000_000}, "30"),
        ({"web_searches": 2, "file_searches": 1, "containers": 1}, "0.0525"),
    ],
)
@pytest.mark.parametrize("tier", TIERS)
def test_each_use_of_a_tool_has_its_price_at_every_tier(uses, dollars, tier):
    cost = price_of("gpt-5.5").cost(service_tier=tier, completion_window="8h", **uses)

    assert cost == Cost(input=0, output=0, tools=Decimal(dollars), currency="USD")


def test_every_use_of_a_tool_has_a_rate():
    assert [rate.name for rate in fields(ToolRates)] == list(ToolUses.__annotations__)


def test_a_price_of_one_s_own_may_be_of_any_currency():
    half = Decimal("0.5")
    rates = Rates(input=1, cached_input=half, cache_write=1, cache_write_12h=1, output=4)
    price = ModelPrice(rates=rates, tool_rates=ToolRates(web_searches=half), currency="EUR")

    cost = price.cost(input_tokens=900_000, output_tokens=1, service_tier="flex", web_searches=1)

    assert cost == Cost(
        input=Decimal("0.9"), output=Decimal("0.000004"), tools=half, currency="EUR"
    )
    assert hash(price) == hash(ModelPrice(rates=rates, tool_rates=price.tool_rates, currency="EUR"))


def test_the_list_says_of_which_day_it_is():
    assert date(2026, 11, 1) < READ_ON <= date.today()  # noqa: DTZ011 - a day is all there is


@each_model
def test_rates_make_sense(model):
    price = PRICES[model]
    for rates in filter(None, (price.rates, price.long_rates)):
        assert 0 < rates.cached_input <= rates.input < rates.output
        assert rates.input <= rates.cache_write <= rates.cache_write_12h
    assert price_of(model) is price_of(f"{model}-2027-01-31") is price
    assert price.long_rates is None or price.long_rates.output > price.rates.output


@given(models, usages(SHORT // 2), usages(SHORT // 2), tiers, windows)
def test_costs_add_up_below_a_long_input(model, one, other, tier, window):
    price, at = PRICES[model], {"service_tier": tier, "completion_window": window}
    both = {name: one[name] + other[name] for name in one}

    assert price.cost(**both, **at).total == sum(
        price.cost(**each, **at).total for each in (one, other)
    )


# Not at a faster tier: those of gpt-5.4 and gpt-5.5 end where a long input begins.
@given(models, usages(), st.integers(0, 1_000_000), st.sampled_from((None, "flex", "ultrafast")))
def test_more_tokens_never_cost_less(model, usage, more, tier):
    price = PRICES[model]
    least = price.cost(**usage, service_tier=tier).total

    for name in ("input_tokens", "output_tokens"):
        assert price.cost(**usage | {name: usage[name] + more}, service_tier=tier).total >= least


@given(models, usages(), tiers, windows)
def test_cached_input_is_never_dearer_and_written_input_never_cheaper(model, usage, tier, window):
    price, at = PRICES[model], {"service_tier": tier, "completion_window": window}
    tokens = usage["input_tokens"]
    cached, plain, written, longer = (
        price.cost(input_tokens=tokens, **parts, **at).total
        for parts in (
            {"cached_tokens": usage["cached_tokens"]},
            {},
            {"cache_write_tokens": usage["cache_write_tokens"]},
            {
                "cache_write_tokens": usage["cache_write_tokens"],
                "cache_write_12h_tokens": usage["cache_write_12h_tokens"],
            },
        )
    )

    assert 0 <= cached <= plain <= written <= longer


@given(models, usages())
def test_flex_and_windows_never_cost_more_and_faster_tiers_never_less(model, usage):
    price = PRICES[model]
    standard = price.cost(**usage).total

    assert price.cost(**usage, service_tier="flex").total <= standard
    assert price.cost(**usage, service_tier="priority").total >= standard
    for window, factor in COMPLETION_WINDOWS.items():
        assert price.cost(**usage, completion_window=window).total == standard * factor
