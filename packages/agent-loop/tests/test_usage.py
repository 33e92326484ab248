from decimal import Decimal

from agent_loop import Usage


FIRST = Usage(
    prompt_tokens=10,
    prompt_unit_price=Decimal("1.25"),
    prompt_price_unit=Decimal("0.000001"),
    prompt_price=Decimal("0.0000125"),
    completion_tokens=2,
    completion_unit_price=Decimal(10),
    completion_price_unit=Decimal("0.000001"),
    completion_price=Decimal("0.00002"),
    total_tokens=12,
    total_price=Decimal("0.0000325"),
    currency="USD",
    latency=0.5,
)


def test_counts_prices_and_latency_add_up_while_unit_prices_stay():
    assert (
        Usage(
            prompt_tokens=20,
            prompt_unit_price=Decimal("1.25"),
            prompt_price_unit=Decimal("0.000001"),
            prompt_price=Decimal("0.000025"),
            completion_tokens=4,
            completion_unit_price=Decimal(10),
            completion_price_unit=Decimal("0.000001"),
            completion_price=Decimal("0.00004"),
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
