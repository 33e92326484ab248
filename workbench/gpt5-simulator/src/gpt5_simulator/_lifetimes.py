"""The lifetimes of models: the days on which they are shut down, and whether that day has come."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from gpt5_simulator._profiles import plain_name, profile_for


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The days on which models are shut down.

    Attributes:
        given: The days that the caller has set, by model; from its day on a model is refused.
        clock: Returns the time in seconds since 1970.
    """

    given: Mapping[str, date]
    clock: Callable[[], float]

    def find_date(self, model: str) -> str | None:
        """Return the day on which a model is shut down, as `YYYY-MM-DD`; a dated id has the day of its alias."""
        given = self._given(model)
        if given is not None:
            return given.isoformat()
        profile = profile_for(model)
        return None if profile is None else profile.shutdown_date

    def is_over(self, model: str) -> bool:
        """Return whether a day that the caller has set has come, by UTC."""
        given = self._given(model)
        return given is not None and datetime.fromtimestamp(self.clock(), UTC).date() >= given

    def _given(self, model: str) -> date | None:
        return self.given.get(model, self.given.get(plain_name(model)))
