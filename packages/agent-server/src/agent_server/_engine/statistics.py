"""Figures of this server since it started."""

from collections import Counter
from collections.abc import Mapping

from agent_server._store.endings import Ending
from agent_server._store.records import now
from agent_server.runs import RunStatus


_BUCKETS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, float("inf"))


class Tally:
    """What is counted here.

    Attributes:
        ended: How many runs ended, by state.
        durations: How many took at most so many seconds.
        duration_sum: What they took together, in seconds.
        tokens: Tokens used, by kind.
        runs: How many runs of the database are in each state, as last counted.
        oldest_queued: When the oldest that waits was accepted, in microseconds since 1970; None if none waits.
    """

    def __init__(self) -> None:
        self.ended: Counter[str] = Counter()
        self.durations: dict[float, int] = dict.fromkeys(_BUCKETS, 0)
        self.duration_sum = 0.0
        self.tokens: Counter[str] = Counter()
        self.runs: Mapping[RunStatus, int] = {}
        self.oldest_queued: int | None = None

    def count(self, ending: Ending, started_at: int) -> None:
        """Count a run that ended here."""
        seconds = (now() - started_at) / 1_000_000
        self.ended[ending.status] += 1
        self.duration_sum += seconds
        for bound in _BUCKETS:
            self.durations[bound] += seconds <= bound
        usage = None if ending.result is None else ending.result.usage
        if usage is not None:
            self.tokens["input"] += usage.input_tokens
            self.tokens["output"] += usage.output_tokens
            self.tokens["cached"] += usage.cached_tokens or 0
            self.tokens["reasoning"] += usage.reasoning_tokens or 0

    def waited_seconds(self) -> float:
        """Return how long the oldest run has waited, as last counted."""
        if self.oldest_queued is None:
            return 0.0
        return max(0.0, (now() - self.oldest_queued) / 1_000_000)
