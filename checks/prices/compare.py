"""Compares the prices of gpt5-prices with genai-prices, for `nox -s prices`."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, time
from decimal import Decimal
from itertools import product
from typing import Any

from genai_prices import Usage, calc_price

from gpt5_prices import PRICES, READ_ON, ModelPrice


SMALLEST = Decimal("1e-7")
TIERS = ("default", "flex", "priority", "fast")  # All that genai-prices knows.
# On both sides of the 272,000 tokens above which most models cost more.
INPUTS = (1_000, 272_000, 272_001, 900_000)
# Input tokens, how many of them came from and were written to the cache, and output tokens.
SHAPES = [
    (tokens, tokens * cached // 10, tokens * written // 10, output)
    for tokens, cached, written, output in product(INPUTS, (0, 4), (0, 3), (0, 1_000))
]
# The reasons for differences that are correct, by model and tier.
REASONS = {
    ("gpt-6.2-sol", None): "not in genai-prices 0.2.3",
    ("gpt-6.2-astra", None): "not in genai-prices 0.2.3",
    **dict.fromkeys(
        product(("gpt-5.4", "gpt-5.5"), ("fast", "priority")),
        "no such tier above 272,000 tokens: the server bills and names the default one",
    ),
    ("gpt-5.4", "flex"): "cached input is published rounded, as 0.13 instead of 0.125",
    ("gpt-5.5-pro", "flex"): "no flex price of a long input is published",
}


def iter_differences() -> Iterator[tuple[str, str | None]]:
    """Yield each model and tier whose prices differ by 1e-7 USD or more or are unknown to genai-prices, with the reason if there is one."""
    for name, price in PRICES.items():
        try:
            for tier in TIERS:
                found = list(_iter_shapes(name, price, tier))
                if found:
                    difference = f"{name}, {tier}, {len(found)} of {len(SHAPES)} shapes: {found[0]}"
                    yield difference, REASONS.get((name, tier))
        except LookupError:
            yield f"{name}: not known", REASONS.get((name, None))


def _iter_shapes(name: str, price: ModelPrice, tier: str) -> Iterator[str]:
    """Yield each shape of usage that has another price in genai-prices.

    Raises:
        LookupError: If genai-prices does not know the model.
    """
    for shape in SHAPES:
        tokens, cached, written, output = shape
        ours = price.cost(
            input_tokens=tokens,
            cached_tokens=cached,
            cache_write_tokens=written,
            output_tokens=output,
            service_tier=tier,
        ).total
        theirs = _their_price(shape, name, tier)
        if abs(ours - theirs) >= SMALLEST:
            yield f"{tokens} in, {cached} cached, {written} written, {output} out cost {ours} here and {theirs} there"


def _their_price(shape: tuple[int, int, int, int], name: str, tier: str) -> Decimal:
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    price: Any = calc_price(
        Usage(**dict(zip(names, shape, strict=True))),
        name,
        provider_id="openai",
        # It has prices by date, and the list those of this day.
        genai_request_timestamp=datetime.combine(READ_ON, time(), UTC),
        price_context={"service_tier": tier},
    )
    return price.total_price


def main() -> int:
    """Print the differences; return 1 if one of them has no reason."""
    unexplained = 0
    for difference, reason in iter_differences():
        sys.stdout.write(f"{difference}: {reason or 'no reason is known'}\n")
        unexplained += reason is None
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
