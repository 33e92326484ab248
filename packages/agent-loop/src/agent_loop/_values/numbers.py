"""Checks of numbers among the settings of a run."""

import math
from decimal import Decimal


def is_whole(value: object, *, least: int) -> bool:
    """Return whether this is a whole number of at least `least`; booleans are not numbers."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_number(value: object) -> bool:
    """Return whether this is a finite number, which can be compared and added; booleans are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    try:
        return value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)
    except OverflowError:  # an int too large for a float
        return False
