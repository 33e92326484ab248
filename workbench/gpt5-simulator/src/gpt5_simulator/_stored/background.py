"""Background responses: queued, then in progress, then done or cancelled, as time passes.

The final response is known from the start; the clock decides how much of it can be seen. It is queued for the first
quarter of its time, and its events are spread evenly over the rest.

Source: a recorded background stream and its resumption. The end of a cancelled stream has not been recorded, so here it ends without a last event.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpt5_simulator._json import Json
from gpt5_simulator._reply import Pause, Step
from gpt5_simulator._responses.events import begun, encode_event, iter_events


_QUEUED_SHARE = 0.25
_TICK_SECONDS = 0.02  # how soon a stream notices that its response is cancelled
_AT_ONCE = 2  # the events that say that it was created and queued


@dataclass(slots=True, kw_only=True)
class BackgroundRun:
    """A response that is made in the background.

    Attributes:
        started: When it was asked for, in seconds since 1970.
        seconds: How long it takes.
        cancelled: When it was cancelled, or None.
    """

    started: float
    seconds: float
    cancelled: float | None = None

    def is_over(self, now: float) -> bool:
        """Return whether it is done or cancelled."""
        return self.cancelled is not None or now >= self.started + self.seconds

    def at(self, now: float, response: Json) -> Json:
        """Return the state of a response at a time, made from the final response."""
        if self.cancelled is not None:
            return begun(response, status="cancelled")
        if self.is_over(now):
            return response
        is_queued = now < self.started + self.seconds * _QUEUED_SHARE
        return begun(response, status="queued" if is_queued else "in_progress")

    def cancel(self, now: float) -> None:
        """Cancel it unless it is over."""
        if not self.is_over(now):
            self.cancelled = now

    def iter_steps(
        self, response: Json, *, after: int, clock: Callable[[], float], obfuscate: bool
    ) -> Iterator[Step]:
        """Yield its stream, each event when it is due.

        Args:
            response: The final response.
            after: The number of the last event that the client has; -1 for none.
            clock: Returns the time in seconds since 1970.
            obfuscate: Whether deltas carry padding.
        """
        events = list(iter_events(response, obfuscate=obfuscate))
        for number, event in enumerate(events):
            if number <= after:
                continue
            due = self._due(number, len(events))
            while self.cancelled is None and (wait := due - clock()) > 0:
                yield Pause(seconds=min(wait, _TICK_SECONDS))
            # Events that were due before the cancellation are still sent to a stream that is late.
            if self.cancelled is not None and due > self.cancelled:
                return
            yield encode_event(event)

    def _due(self, number: int, amount: int) -> float:
        if number < _AT_ONCE:
            return self.started
        share = (number - _AT_ONCE) / max(amount - 1 - _AT_ONCE, 1)
        return self.started + self.seconds * (_QUEUED_SHARE + (1 - _QUEUED_SHARE) * share)
