"""What counts as a number among the settings of a run."""

import math
from decimal import Decimal


def is_whole(value: object, *, least: int) -> bool:
    """Return whether this is a whole number and not too small; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_number(value: object) -> bool:
    """Return whether this can be compared and added: a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    try:
        return value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)
    except OverflowError:  # an int that no float can hold
        return False
