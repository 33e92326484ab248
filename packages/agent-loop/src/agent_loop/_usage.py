"""Tokens and money of model calls, and their sums."""

from dataclasses import dataclass
from decimal import Decimal


_ZERO = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens and the money that model calls used. `Usage()` is nothing at all.

    Counts, prices and latency add up. A unit price, a price unit and the currency stay those of the first call that named them.

    Attributes:
        prompt_tokens: Input tokens.
        prompt_unit_price: Price of a unit of input tokens, in `currency`.
        prompt_price_unit: What the unit price is multiplied by: `0.000001` for a price per million tokens.
        prompt_price: Price of the input tokens.
        completion_tokens: Output tokens, reasoning included.
        completion_unit_price: As `prompt_unit_price`.
        completion_price_unit: As `prompt_price_unit`.
        completion_price: Price of the output tokens.
        total_tokens: Input and output tokens.
        total_price: Price of both.
        currency: ISO 4217 code; empty when nobody named one.
        latency: Seconds spent in model calls.
    """

    prompt_tokens: int = 0
    prompt_unit_price: Decimal = _ZERO
    prompt_price_unit: Decimal = _ZERO
    prompt_price: Decimal = _ZERO
    completion_tokens: int = 0
    completion_unit_price: Decimal = _ZERO
    completion_price_unit: Decimal = _ZERO
    completion_price: Decimal = _ZERO
    total_tokens: int = 0
    total_price: Decimal = _ZERO
    currency: str = ""
    latency: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        """Return the usage of both."""
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            prompt_unit_price=self.prompt_unit_price or other.prompt_unit_price,
            prompt_price_unit=self.prompt_price_unit or other.prompt_price_unit,
            prompt_price=self.prompt_price + other.prompt_price,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            completion_unit_price=self.completion_unit_price or other.completion_unit_price,
            completion_price_unit=self.completion_price_unit or other.completion_price_unit,
            completion_price=self.completion_price + other.completion_price,
            total_tokens=self.total_tokens + other.total_tokens,
            total_price=self.total_price + other.total_price,
            currency=self.currency or other.currency,
            latency=self.latency + other.latency,
        )
