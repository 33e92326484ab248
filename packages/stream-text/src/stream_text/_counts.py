"""Counts, as the many servers write them."""

import re
from typing import Final


MOST_COUNTED: Final = 10**15
"""The largest number that can be a count, our choice."""

_DIGITS: Final = re.compile(r"\d{1,20}(?:\.0{1,20})?", re.ASCII)


def read_count(value: object) -> int | None:
    """Return a count that is written as a whole number, as `12.0` or as a text; None for anything else.

    It may be negative or absurdly large, which the caller judges; a text is never negative.

    Example:
        >>> [read_count(value) for value in (12, 12.0, "12", "12.0", 12.5, True, None)]
        [12, 12, 12, 12, None, None, None]
    """
    if isinstance(value, str) and _DIGITS.fullmatch(value := value.strip()):
        return int(value.partition(".")[0])
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
