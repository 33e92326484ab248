"""Pydantic AI's model settings as a plugin's model parameters."""

from collections.abc import Mapping
from typing import Final, cast

from pydantic_ai.exceptions import UserError
from pydantic_ai.settings import ModelSettings


_ELSEWHERE: Final = frozenset(
    {
        "cache",
        "citations",
        "extra_body",
        "extra_headers",
        "first_event_timeout",
        "framing_announcement",
        "max_retries",
        "request_timeout",
        "stop_sequences",
        "timeout",
        "tool_choice",
    }
)
"""Settings that Pydantic AI applies itself, that have a field of their own, or that are about HTTP requests."""


def build_model_parameters(
    settings: ModelSettings, *, tool_choice: str | None = None
) -> dict[str, object]:
    """Build the model parameters of a request; a plugin drops those that its model does not have.

    `extra_body` holds parameters under the names that the plugin gives them, and counts before everything else.

    Raises:
        UserError: If `extra_body` is no mapping.
    """
    known = cast("Mapping[str, object]", settings).items()
    parameters = {
        name: value for name, value in known if value is not None and name not in _ELSEWHERE
    }
    if tool_choice is not None:
        parameters["tool_choice"] = tool_choice
    return {**parameters, **_extra_body(settings)}


def build_stop(settings: ModelSettings) -> list[str] | None:
    """Build the stop sequences of a request; None if there are none."""
    return list(settings.get("stop_sequences") or []) or None


def _extra_body(settings: ModelSettings) -> Mapping[str, object]:
    extra = settings.get("extra_body")
    if extra is None:
        return {}
    if not isinstance(extra, Mapping):
        raise UserError(
            f"extra_body: expected a mapping of model parameters, got {type(extra).__name__}"
        )
    return cast("Mapping[str, object]", extra)
