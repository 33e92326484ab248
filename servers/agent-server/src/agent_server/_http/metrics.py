"""The server's metrics in Prometheus' format.

Source: https://prometheus.io/docs/instrumenting/exposition_formats/.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from agent_server.runs import Statistics


METRICS_TYPE: Final = CONTENT_TYPE_LATEST


@dataclass(slots=True, eq=False)
class _Figures(Collector):
    figures: Statistics
    refused: Mapping[str, int]

    def collect(self) -> Iterator[Metric]:
        """Yield each metric."""
        figures = self.figures
        for name, meaning, value in (
            (
                "oldest_queued_seconds",
                "How long the oldest queued run has waited for a server.",
                figures.oldest_queued_seconds,
            ),
            (
                "oldest_unanswered_seconds",
                "How long the oldest waiting run has waited for an answer.",
                figures.oldest_unanswered_seconds,
            ),
            ("executing", "Runs that this server executes now.", figures.executing),
            ("watchers", "Streams of events that are open here.", figures.watchers),
            ("database_away", "1 while the database is away.", figures.database_is_away),
            (
                "engine_away",
                "1 while another engine, such as Temporal, is away.",
                figures.engine_is_away,
            ),
            (
                "webhook_messages",
                "Messages that the webhook has not accepted yet.",
                figures.webhook_messages,
            ),
        ):
            yield GaugeMetricFamily(f"agent_server_{name}", meaning, value=float(value))
        gauge, counter = GaugeMetricFamily, CounterMetricFamily
        for kind, name, meaning, label, counts in (
            (gauge, "runs", "Runs of the database, as last counted.", "status", figures.runs),
            (
                gauge,
                "longest_step_seconds",
                "How long the oldest step under way has taken.",
                "kind",
                figures.longest_step_seconds,
            ),
            (
                counter,
                "requests_refused",
                "Requests answered with an error.",
                "status",
                self.refused,
            ),
            (
                counter,
                "tenant_runs_ended",
                "Runs that ended here, by tenant.",
                "tenant",
                figures.ended_by_tenant,
            ),
            (counter, "runs_ended", "Runs that ended here.", "status", figures.ended),
            (counter, "tokens", "Tokens used by the runs that ended here.", "kind", figures.tokens),
        ):
            family = kind(f"agent_server_{name}", meaning, labels=[label])
            for value, count in counts.items():
                family.add_metric([value], count)
            yield family
        buckets = [
            ("+Inf" if bound == float("inf") else str(bound), float(count))
            for bound, count in sorted(figures.duration_seconds.items())
        ]
        yield HistogramMetricFamily(
            "agent_server_run_duration_seconds",
            "Duration of the runs that ended here.",
            buckets=buckets,
            sum_value=figures.duration_sum_seconds,
        )


def render_metrics(figures: Statistics, refused: Mapping[str, int], *, with_process: bool) -> bytes:
    """Return the metrics as text, with the number of refused requests by status, and optionally with those of the process."""
    # One for each answer, since the figures differ between tenants.
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(figures, refused))
    if with_process:
        ProcessCollector(registry=registry)
    return generate_latest(registry)
