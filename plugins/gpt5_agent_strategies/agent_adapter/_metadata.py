"""What the agent node gets to know of a run once it is over."""

from typing import Any

from agent_loop import Finished

from . import _budgets
from ._usage import to_figures


def build_execution_metadata(finished: Finished) -> dict[str, Any]:
    """Return the JSON message that Dify takes tokens, price and time of the node from.

    Token counts and the latency in seconds are numbers. `stop_reason`, `iterations`, `budgets` and `models` are ours.

    Source: docs/evidence/dify-platform.md, P19.
    """
    figures = to_figures(finished.usage)
    figures |= {"stop_reason": finished.reason, "iterations": finished.rounds}
    if len(set(finished.models)) > 1:
        figures["models"] = list(finished.models)
    if finished.budgets:
        figures["budgets"] = _budgets.to_figures(finished.budgets)
    return {"execution_metadata": figures}
