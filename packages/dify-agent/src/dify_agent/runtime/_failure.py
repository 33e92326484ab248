"""The event for a client when a run fails."""

from collections.abc import Mapping
from typing import Final, cast

from pydantic_ai.exceptions import ModelHTTPError, UsageLimitExceeded

from dify_agent.layers.dify_plugin._secrets import ConfigSecrets
from dify_agent.protocol import RunComposition, RunFailedEvent


MODEL_REQUEST_LIMIT: Final = "model_request_limit"
"""The error type of a run that would make more model requests than allowed."""


def build_run_failed(run_id: str, error: Exception, *, secrets: ConfigSecrets) -> RunFailedEvent:
    """Build the event that says why a run failed.

    Args:
        run_id: The run.
        error: The error that ended it.
        secrets: Texts that must not be shown.
    """
    if isinstance(error, UsageLimitExceeded):
        return RunFailedEvent(
            run_id=run_id,
            error="The run has made as many model requests as it may.",
            error_type=MODEL_REQUEST_LIMIT,
        )
    known: Mapping[str, object] = {}
    # The daemon's own sentence and type, where `to_model_error` left them.
    if isinstance(error, ModelHTTPError) and isinstance(error.body, Mapping):
        known = cast("Mapping[str, object]", error.body)
    message = known.get("message") or str(error) or type(error).__name__
    return RunFailedEvent(
        run_id=run_id,
        error=secrets.known.redact(str(message)),
        error_type=secrets.known.redact(str(known.get("error_type") or type(error).__name__)),
    )


def composition_secrets(composition: RunComposition) -> ConfigSecrets:
    """Return the texts of a composition that must not be shown."""
    return ConfigSecrets(
        layer.model_dump(mode="json", include={"config"})["config"] or {}
        for layer in composition.layers
    )
