"""The event for a client when a run fails."""

from collections.abc import Mapping
from typing import Final

from pydantic_ai.exceptions import ModelHTTPError, UsageLimitExceeded

from dify_agent._inner_api import InnerApiError
from dify_agent.compositor import CompositorSessionSnapshot
from dify_agent.exceptions import DifyAgentError
from dify_agent.layers.dify_plugin._secrets import ConfigSecrets
from dify_agent.protocol import RunComposition, RunFailedEvent
from stream_text import is_object


MODEL_REQUEST_LIMIT: Final = "model_request_limit"
"""The error type of a run that would make more model requests than allowed."""

RUN_TIME_LIMIT: Final = "run_time_limit"
"""The error type of a run that has taken longer than allowed."""


class RunTimeError(DifyAgentError):
    """A run that has taken longer than allowed, with the seconds."""


def build_run_failed(
    run_id: str,
    error: Exception,
    *,
    secrets: ConfigSecrets,
    session_snapshot: CompositorSessionSnapshot | None = None,
) -> RunFailedEvent:
    """Build the event that says why a run failed.

    Args:
        run_id: The run.
        error: The error that ended it.
        secrets: Texts that must not be shown.
        session_snapshot: What a later run continues from.
    """
    if isinstance(error, UsageLimitExceeded):
        return RunFailedEvent(
            run_id=run_id,
            error="The run has made as many model requests as it may.",
            error_type=MODEL_REQUEST_LIMIT,
            session_snapshot=session_snapshot,
        )
    if isinstance(error, RunTimeError):
        return RunFailedEvent(
            run_id=run_id,
            error=f"The run has taken longer than the {error.args[0]:g} seconds that it may.",
            error_type=RUN_TIME_LIMIT,
            session_snapshot=session_snapshot,
        )
    known: Mapping[str, object] = {}
    if isinstance(error, InnerApiError):
        known = {"error_type": error.error_type, "message": error.message}
    # The daemon's own sentence and type, where `to_model_error` left them.
    if isinstance(error, ModelHTTPError) and is_object(error.body):
        known = error.body
    message = known.get("message") or str(error) or type(error).__name__
    return RunFailedEvent(
        run_id=run_id,
        error=secrets.known.redact(str(message)),
        error_type=secrets.known.redact(str(known.get("error_type") or type(error).__name__)),
        session_snapshot=session_snapshot,
    )


def composition_secrets(composition: RunComposition) -> ConfigSecrets:
    """Return the texts of a composition that must not be shown."""
    return ConfigSecrets(
        layer.model_dump(mode="json", include={"config"})["config"] or {}
        for layer in composition.layers
    )
