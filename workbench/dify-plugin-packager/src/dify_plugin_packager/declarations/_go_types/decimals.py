"""Decimals as `shopspring/decimal` reads and writes them: text without trailing zeros.

Source: github.com/shopspring/decimal 1.4.0 (`NewFromString`, `UnmarshalJSON`, `String`), read 2026-11.
"""

import re
from decimal import Decimal


_WHOLE = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 100_000  # our choice: `1e999999999` must not become a huge text


def parse_decimal(text: str) -> str:
    """Return a decimal without superfluous zeros.

    Raises:
        ValueError: If it is not a decimal; with Go's message.
    """
    mantissa, has_exponent, exponent = text.replace("E", "e").partition("e")
    if has_exponent and not _WHOLE.fullmatch(exponent):
        raise ValueError(f"can't convert {text} to decimal: exponent is not numeric")
    whole, _, fraction = mantissa.partition(".")
    if not _WHOLE.fullmatch(whole + fraction):
        raise ValueError(f"can't convert {mantissa} to decimal")
    shift = int(exponent or 0) - len(fraction)
    if max(abs(shift), len(mantissa)) > _MOST_DIGITS:
        raise ValueError(f"can't convert {text} to decimal: fractional part too long")
    written = f"{Decimal(f'{int(whole + fraction)}e{shift}'):f}"
    return written.rstrip("0").rstrip(".") if "." in written else written
