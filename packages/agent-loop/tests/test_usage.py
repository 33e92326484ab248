from dataclasses import fields, replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_loop import Usage


FIRST = Usage(
    input_tokens=10,
    input_unit_price=Decimal("1.25"),
    input_price_unit=Decimal("0.000001"),
    input_price=Decimal("0.0000125"),
    output_tokens=2,
    output_unit_price=Decimal(10),
    output_price_unit=Decimal("0.000001"),
    output_price=Decimal("0.00002"),
    total_tokens=12,
    total_price=Decimal("0.0000325"),
    currency="USD",
    latency=0.5,
)


def test_counts_prices_and_latency_add_up_while_unit_prices_stay():
    assert (
        Usage(
            input_tokens=20,
            input_unit_price=Decimal("1.25"),
            input_price_unit=Decimal("0.000001"),
            input_price=Decimal("0.000025"),
            output_tokens=4,
            output_unit_price=Decimal(10),
            output_price_unit=Decimal("0.000001"),
            output_price=Decimal("0.00004"),
            total_tokens=24,
            total_price=Decimal("0.000065"),
            currency="USD",
            latency=1.0,
        )
        == FIRST + FIRST
    )


def test_nothing_changes_nothing():
    assert Usage() + FIRST == FIRST
    assert FIRST + Usage() == FIRST


@pytest.mark.parametrize(
    ("told", "total"),
    [
        ({"total_tokens": 20, "input_tokens": 10, "output_tokens": 5}, 20),
        ({"total_tokens": 1, "input_tokens": 10, "output_tokens": 5}, 15),
        ({"total_tokens": -7, "input_tokens": 10, "output_tokens": 5}, 15),
        ({"total_tokens": float("nan"), "output_tokens": 5}, 5),
        ({"input_tokens": 10, "output_tokens": 5}, 15),
        ({"total_tokens": -7}, 0),
        ({"total_tokens": 80, "input_tokens": -10, "output_tokens": 50}, 80),
        ({"total_tokens": 8, "input_tokens": -10, "output_tokens": 50}, 50),
        ({"total_tokens": 10**400, "input_tokens": 10, "output_tokens": 5}, 15),
        ({"input_tokens": -10, "output_tokens": 50}, 0),
        ({"input_tokens": float("inf"), "output_tokens": 50}, 0),
    ],
)
def test_of_a_total_and_those_of_its_parts_that_are_told_the_larger_counts(told, total):
    assert Usage(**told).counted().total_tokens == total
    assert Usage.read(told).counted().total_tokens == total


def test_a_number_that_is_too_large_for_any_use_counts_as_not_told():
    read = Usage.read({"latency": 10**400, "output_tokens": 10**400, "input_price": 10**400})
    assert read.counted() == Usage()


FIGURES = [known.name for known in fields(Usage) if known.name != "currency"]
NONE = ["-1", "-0.01", "NaN", "sNaN", "-Infinity", "Infinity", "9e999999", "1e-40"]


@given(st.dictionaries(st.sampled_from(FIGURES), st.sampled_from(NONE).map(Decimal)))
def test_a_figure_that_is_none_counts_as_not_told_and_nothing_raises(figures):
    counted = replace(FIRST, **figures).counted()

    told = {name: getattr(FIRST, name) for name in FIGURES if name not in figures}
    for name in figures:
        assert getattr(counted, name) >= 0
    for name in {*told} - {"total_tokens", "total_price"}:
        assert getattr(counted, name) == told[name]
    assert (counted + counted).total_price == 2 * counted.total_price
