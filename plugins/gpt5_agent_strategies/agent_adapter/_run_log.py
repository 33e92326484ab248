"""The log of whole runs, in a folder that the administrator names."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from stream_text import KnownSecrets

from ._parameters import Parameters


if TYPE_CHECKING:  # Hardly anybody has one written: nobody waits for what writes it.
    from run_log import RunLog

_VARIABLE = "GPT5_AGENT_RUN_LOG"


def find_run_log(
    environment: Mapping[str, str], *, parameters: Parameters, known: KnownSecrets
) -> "RunLog | None":
    """Return the log that runs are written to; None where the administrator names no folder for it."""
    if not environment.get(_VARIABLE):
        return None
    from run_log import RunLog  # noqa: PLC0415 - see above

    model = parameters.model
    about = {
        "plugin": "gpt5_agent_strategies",
        "provider": model.provider,
        "model": model.name,
        "effort": model.completion_params.get("reasoning_effort"),
        "query": parameters.query,
        "instruction": parameters.instruction,
        "maximum_iterations": parameters.maximum_iterations,
    }
    return RunLog.from_env(_VARIABLE, environment, known=known, about=about)
