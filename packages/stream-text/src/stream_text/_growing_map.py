"""Results for the values of a list that grows, so that those of values that were there before are not made again."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import is_


class GrowingMap[Value, Result]:
    """The results of a function for the values of a list that grows from one call to the next.

    Values that are the same objects as before have the same results, up to the first that is another. Safe to use from several threads.
    """

    def __init__(self) -> None:
        # Replaced as a whole, never changed.
        self._last: tuple[object, list[Value], list[Result]] = None, [], []

    def map(
        self, function: Callable[[Value], Result], values: Sequence[Value], *, by: object = None
    ) -> list[Result]:
        """Return the results for all values, in a new list.

        Args:
            function: Makes the result for a value.
            values: The values.
            by: What the results depend on besides; where that is not equal to what it was, all are made anew.
        """
        before, known, made = self._last
        same = sum(takewhile(bool, map(is_, known, values))) if before == by else 0
        results = [*made[:same], *map(function, values[same:])]
        self._last = by, list(values), results
        return list(results)
