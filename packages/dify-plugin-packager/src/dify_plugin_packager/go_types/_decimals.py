"""Decimals as `shopspring/decimal` reads and writes them: text without trailing zeros.

Source: github.com/shopspring/decimal 1.4.0 (`NewFromString`, `UnmarshalJSON`, `String`), read 2026-11.
"""

import re
from decimal import Decimal


_WHOLE = re.compile(r"[+-]?[0-9]+")
_INT32 = 2**31
_MOST_DIGITS = 100_000  # our choice: a small text must not become a huge one


class DecimalError(ValueError):
    """A text that is not a decimal, with Go's message."""


def parse_decimal(text: str) -> str:
    """Return the decimal in a JSON string or number, without superfluous zeros.

    Raises:
        DecimalError: If it is not a decimal.
    """
    if len(text) > 2 and text[0] == text[-1] == '"':  # noqa: PLR2004 - two quotes
        text = text[1:-1]
    try:
        return _canonical(*_split(text))
    except DecimalError as error:
        raise DecimalError(f"error decoding string '{text}': {error}") from None


def _split(text: str) -> tuple[int, int]:
    """Return a decimal as an integer and an exponent."""
    mantissa, exponent = text, 0
    if found := re.search("[Ee]", text):
        mantissa, written = text[: found.start()], text[found.end() :]
        if not _WHOLE.fullmatch(written):
            raise DecimalError(f"can't convert {text} to decimal: exponent is not numeric")
        exponent = int(written)
        if not -_INT32 <= exponent < _INT32:
            raise DecimalError(f"can't convert {text} to decimal: fractional part too long")
    whole, _, fraction = mantissa.partition(".")
    if "." in fraction:
        raise DecimalError(f"can't convert {mantissa} to decimal: too many .s")
    if not _WHOLE.fullmatch(whole + fraction):
        raise DecimalError(f"can't convert {mantissa} to decimal")
    exponent -= len(fraction)
    if max(abs(exponent), len(mantissa)) > _MOST_DIGITS:
        raise DecimalError(f"can't convert {text} to decimal: fractional part too long")
    return int(whole + fraction), exponent


def _canonical(number: int, exponent: int) -> str:
    text = f"{Decimal(f'{number}e{exponent}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
