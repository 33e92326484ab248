"""Checks for parameters that the model lacks or that exclude each other, before the request is sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._errors import PayloadError, refused
from ._hosted import plain_kind
from ._model_profile import HOSTED_TOOLS, NOT_WITH_MINIMAL, ModelProfile
from ._parameters import Parameters


def validate_settings(settings: Parameters, profile: ModelProfile) -> None:
    """Refuse a setting that the model does not have, or that needs another one.

    Raises:
        PayloadError: If there is one; `field` names it.
    """
    # Refused, and not fitted to the model as efforts are: see "The parameters" in the README.
    asked: tuple[tuple[str, str | None, Sequence[str]], ...] = (
        ("service_tier", settings.service_tier, profile.service_tiers),
        ("reasoning_mode", settings.reasoning_mode, profile.reasoning_modes),
        ("reasoning_context", settings.reasoning_context, profile.reasoning_contexts),
        ("prompt_cache_ttl", settings.prompt_cache_ttl, profile.cache_ttls),
    )
    for field, value, accepted in asked:
        if value is not None and value not in accepted:
            expected = f"; expected {', '.join(accepted)}" if accepted else ""
            raise refused(field, f"{value} is not available for this model{expected}")
    if settings.flex_fallback and settings.service_tier != "flex":
        raise refused("flex_fallback", "goes with service_tier flex")


def validate_tools(
    tools: Iterable[tuple[str, Mapping[str, Any]]],
    profile: ModelProfile,
    *,
    effort: str | None,
    text_format: str,
) -> None:
    """Refuse a tool that the model does not have, or that excludes the effort or the format of the answer; an unknown model may have any tool.

    Args:
        tools: Each tool with the name of the parameter that it comes from.
        profile: The profile of the model.
        effort: The effort that is sent.
        text_format: The type of the format that is sent.

    Raises:
        PayloadError: If there is one; `field` is the parameter's name.
    """
    for field, tool in () if profile.family == "default" else tools:
        kind = plain_kind(tool)
        name = kind if field == kind else f"{field} {kind}"
        if is_lacking(tool, profile):
            raise PayloadError(f"{name} is not available for this model", field=field)
        if effort == "minimal" and kind in NOT_WITH_MINIMAL:
            raise PayloadError(
                f"{name} needs a reasoning_effort above minimal, such as low", field=field
            )
        # Source: docs/evidence/responses-api.md, R31.
        if kind == "web_search" and text_format == "json_object":
            raise PayloadError(
                f"{name} does not go with response_format json_object; json_schema does",
                field=field,
            )


def is_lacking(tool: Mapping[str, Any], profile: ModelProfile) -> bool:
    """Return whether a model is known not to have a tool; an unknown model may have any."""
    kind = plain_kind(tool)
    return kind in HOSTED_TOOLS and kind not in profile.hosted_tools
