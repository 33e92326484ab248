from decimal import Decimal

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
