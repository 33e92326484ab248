"""The log of whole runs in a folder, and their spans, if the administrator asks for them."""

import logging
import os
from functools import cache
from typing import TYPE_CHECKING

from ._turn import Turn


if TYPE_CHECKING:  # Few want a log, so its writer is only imported when it is needed.
    from run_log import RunFeed
    from run_log.traces import Traces

_VARIABLE = "GPT5_AGENT_RUN_LOG"
_TRACES = "GPT5_AGENT_TRACES"
_FLUSH_SECONDS = 0.5  # The answer is out already. A collector of one's own takes milliseconds.
_log = logging.getLogger("run_log")


def find_run_log(turn: Turn) -> "RunFeed | None":
    """Return the log and traces of a run; None if the administrator wants neither."""
    traces = _find_traces()
    if not os.environ.get(_VARIABLE) and traces is None:
        return None
    from run_log import RunFeed, RunLog  # noqa: PLC0415 - see above

    parameters, model, known = turn.parameters, turn.parameters.model, turn.known
    about = {
        "plugin": "gpt5_agent_strategies",
        "provider": model.provider,
        "model": model.name,
        "effort": model.completion_params.get("reasoning_effort"),
        "query": parameters.query,
        "instruction": parameters.instruction,
        "maximum_iterations": parameters.maximum_iterations,
    }
    observers = [] if traces is None else [traces]
    log = RunLog.from_env(_VARIABLE, os.environ, known=known, about=about, observers=observers)
    return log or RunFeed(observers, known=known, about=about)


def flush_traces() -> None:
    """Send the remaining spans of a run that has ended: the process may be stopped now."""
    traces = _find_traces()
    if traces is not None:
        traces.flush(_FLUSH_SECONDS)


def _find_traces() -> "Traces | None":
    wanted = os.environ.get(_TRACES, "").strip().lower()
    return _make_traces(wanted) if wanted in {"on", "content"} else None


@cache
def _make_traces(wanted: str) -> "Traces | None":
    """Return the exporter of spans, one per process, which sends from its own thread."""
    from run_log.traces import Traces  # noqa: PLC0415 - see above

    traces = Traces.from_env(
        os.environ, service="gpt5_agent_strategies", content=wanted == "content"
    )
    if traces is None:
        _log.warning("%s: no traces are sent: OTEL_EXPORTER_OTLP_ENDPOINT is not set", _TRACES)
    return traces
