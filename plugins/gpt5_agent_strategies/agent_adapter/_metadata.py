"""What the agent node gets to know of a run once it is over."""

from dataclasses import asdict
from decimal import Decimal
from typing import Any

from agent_loop import Finished


def build_execution_metadata(finished: Finished) -> dict[str, Any]:
    """Return the JSON message that Dify takes tokens, price and time of the node from.

    Prices are text, so that no digit is lost on the way; token counts and the latency in seconds are numbers. `stop_reason` and
    `iterations` are ours.

    Source: docs/evidence/dify-platform.md, P19.
    """
    figures = {
        name: format(value, "f") if isinstance(value, Decimal) else value
        for name, value in asdict(finished.usage).items()
    }
    figures |= {"stop_reason": finished.reason, "iterations": finished.rounds}
    return {"execution_metadata": figures}
