"""Statistics of this server since it started, for each tenant and for all."""

import logging
import time
from collections import Counter
from collections.abc import Mapping

from agent_server._store.endings import Ended, RunEnding
from agent_server._store.housekeeping import Count
from agent_server._store.records import now
from agent_server.logs import about
from agent_server.runs import RunStatus


_logger = logging.getLogger("agent_server")

_BUCKETS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, float("inf"))
_MOST_REASON = 300


class Tally:
    """The counts of the runs of one tenant, or of all.

    Attributes:
        ended: How many runs ended, by state.
        durations: How many runs took at most this many seconds.
        duration_sum: The sum of their durations, in seconds.
        tokens: Tokens used, by kind.
    """

    def __init__(self) -> None:
        self.ended: Counter[str] = Counter()
        self.durations: dict[float, int] = dict.fromkeys(_BUCKETS, 0)
        self.duration_sum = 0.0
        self.tokens: Counter[str] = Counter()

    def count(self, ending: RunEnding, seconds: float) -> None:
        """Count a run that ended here."""
        self.ended[ending.status] += 1
        self.duration_sum += seconds
        for bound in _BUCKETS:
            # Prometheus' buckets are cumulative.
            self.durations[bound] += seconds <= bound
        usage = None if ending.result is None else ending.result.usage
        if usage is not None:
            self.tokens["input"] += usage.input_tokens
            self.tokens["output"] += usage.output_tokens
            self.tokens["cached"] += usage.cached_tokens or 0
            self.tokens["reasoning"] += usage.reasoning_tokens or 0


class Tallies:
    """The counts of all tenants, and the last count of the database."""

    def __init__(self) -> None:
        self._all = Tally()
        self._tenants: dict[str, Tally] = {}
        self._counted = Count()
        self._counted_at = 0.0

    def take(self, counted: Count) -> None:
        """Note a new count of the database."""
        self._counted, self._counted_at = counted, time.monotonic()

    def count(self, run: Ended) -> None:
        """Count a run that ended here, and log its failure."""
        # The clock may have been set back, or be behind that of the server that began the run.
        seconds = max(now() - run.started_at, 0) / 1_000_000
        for tally in (self._all, self._tenants.setdefault(run.tenant, Tally())):
            tally.count(run.ending, seconds)
        if run.ending.status == "failed" and (result := run.ending.result) is not None:
            told = result.error_type, (result.error or "").partition("\n")[0][:_MOST_REASON]
            with about(run=run.run_id, tenant=run.tenant, agent=run.agent):
                _logger.warning("the run has failed after %.1f s: %s: %s", seconds, *told)

    def of(self, tenant: str | None) -> Tally:
        """Return the counts of a tenant, or of all for None."""
        return self._all if tenant is None else self._tenants.get(tenant, Tally())

    def tenants(self) -> Mapping[str, int]:
        """Return how many runs of each tenant ended here."""
        return {name: tally.ended.total() for name, tally in self._tenants.items()}

    def runs(self, tenant: str | None) -> Mapping[RunStatus, int]:
        """Return how many runs of a tenant, or of all for None, are in each state, as last counted."""
        found: Counter[RunStatus] = Counter()
        for (owner, status), number in self._counted.runs.items():
            if tenant in {None, owner}:
                found[status] += number
        return found

    def messages(self, tenant: str | None) -> int:
        """Return how many messages of a tenant, or of all for None, the webhook has yet to take, as last counted."""
        return sum(n for owner, n in self._counted.messages.items() if tenant in {None, owner})

    def waited_seconds(self, tenant: str | None, status: RunStatus) -> float:
        """Return how long the oldest run of a tenant, or of all for None, has been in a state, as last counted."""
        waited = [
            microseconds
            for (owner, one), microseconds in self._counted.oldest.items()
            if tenant in {None, owner} and one == status
        ]
        since = time.monotonic() - self._counted_at
        return max(0.0, max(waited) / 1_000_000 + since) if waited else 0.0
