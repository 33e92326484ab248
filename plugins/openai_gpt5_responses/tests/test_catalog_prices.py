"""What tokens cost by the catalog, to the last digit."""

from dataclasses import fields
from decimal import Decimal

import pytest

from catalog_prices import find_rates, find_tool_price
from gpt5_messages import ToolUsage


def price(model, tokens=0, *, output=0, tier=None, **parts):
    rates = find_rates(model, input_tokens=tokens, service_tier=tier)
    return rates.input_price(tokens, **parts) + rates.output_price(output)


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("gpt-6.1-terra", {"tokens": 1_000_000}, "2"),
        ("gpt-6.1-terra", {"tokens": 272_000, "output": 1_000}, "0.277"),
        ("gpt-6.1-terra", {"tokens": 272_001, "output": 1_000}, "0.551502"),
        ("gpt-6.1-sol", {"tokens": 1_000, "cached": 1_000}, "0.0001"),
        ("gpt-6.1-sol", {"tokens": 1_000, "cached": 400, "written": 500}, "0.00149"),
        ("gpt-6.1-sol", {"tokens": 1_000, "written": 1_000, "written_12h": 400}, "0.0035"),
        ("gpt-6.1-sol", {"tokens": 100, "cached": 900, "written": 900, "written_12h": 900}, "0.00001"),
        ("gpt-5.6-sol", {"tokens": 300_000, "cached": 100_000, "written": 50_000, "output": 1_000, "tier": "flex"}, "0.905"),
        ("gpt-5.5", {"tokens": 1_000, "output": 1_000, "tier": "priority"}, "0.0875"),
        ("gpt-5-mini", {"tokens": 1_000, "output": 1_000, "tier": "fast"}, "0.00405"),
        ("gpt-6.2-sol", {"tokens": 1_000, "tier": "ultrafast"}, "0.006"),
        ("gpt-6.1-sol", {"tokens": 1_000, "tier": "ultrafast"}, "0.012"),
        ("gpt-5-nano", {"tokens": 1_000, "tier": "priority"}, "0.00005"),
        ("gpt-5.2", {"tokens": 1_000, "written": 1_000, "written_12h": 1_000}, "0.00175"),
        ("gpt-5.2", {"tokens": 1_000, "tier": "default"}, "0.00175"),
        ("gpt-5.2", {"tokens": 1_000, "tier": "a new one"}, "0.00175"),
        ("gpt-5.5-2026-04-23", {"tokens": 1_000, "tier": "flex"}, "0.0025"),
        ("gpt-5.5-2026-04-23", {"tokens": 1_000, "tier": "priority"}, "0.0125"),
        ("gpt-5.5-2026-04-23", {"tokens": 300_000, "tier": "priority"}, "3"),
        ("gpt-5.4-nano-2026-03-17", {"tokens": 1_000, "tier": "priority"}, "0.0002"),
        ("ft:gpt-5-mini:org::id", {"output": 1_000, "tier": "fast"}, "0.0036"),
        ("ft:gpt-5-mini:org::id", {"output": 1_000}, "0.002"),
        ("openai/gpt-6-luna", {"output": 1_000}, "0.0005"),
        ("gpt-6.3-sol", {"tokens": 1_000, "tier": "priority"}, "0"),
        ("my-deployment", {"tokens": 1_000, "output": 1_000}, "0"),
    ],
)  # fmt: skip
def test_each_token_has_its_rate(model, usage, dollars):
    assert price(model, **usage) == Decimal(dollars)


@pytest.mark.parametrize(
    ("usage", "dollars"),
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
def test_each_use_of_a_tool_has_its_price(usage, dollars):
    assert find_tool_price(ToolUsage(**usage)) == Decimal(dollars)


def test_every_use_that_a_response_tells_has_a_price():
    for field in fields(ToolUsage):
        assert find_tool_price(ToolUsage(**{field.name: 1})) > 0
