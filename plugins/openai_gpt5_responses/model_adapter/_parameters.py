"""The parameters of a call that the model supports."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from gpt5_payloads import profile_for


_LOGGER = logging.getLogger("dify_plugin.plugin.openai_gpt5_responses")
_LOGGER.setLevel(logging.INFO)
_MOST_CHARACTERS = 200  # Of the names in a log line.
_OTHER_NAMES = ("max_tokens", "max_completion_tokens")  # For `max_output_tokens`.
_FEW_TOKENS = 1_000  # Reasoning at medium effort may use up as many.
# OpenAI refuses these tools with minimal effort.
_NOT_WITH_MINIMAL = ("web_search", "image_generation")


def known_parameters(
    parameters: Mapping[str, Any], names: Iterable[str], *, model: str
) -> dict[str, Any]:
    """Return the parameters with these names; the request builder checks their values.

    Other names, such as those of nodes made for other models, and parameters in which the model leaves no choice are left out and named in the plugin's log.

    Args:
        parameters: The parameters of the node.
        names: The names in the model's form.
        model: The model behind the name, whose profile counts.
    """
    given = _with_max_output_tokens(_with_least_effort(parameters, model))
    declared = list(names)
    known = {name: given[name] for name in declared if name in given}
    left_out = set(map(str, given)) - set(declared) | known.keys() & _without_choice(model)
    if left_out:
        names_left_out = ", ".join(sorted(left_out))[:_MOST_CHARACTERS]
        _LOGGER.info("Parameters that the model does not take were left out: %s", names_left_out)
    # `JSON` and `XML` in capitals would make the SDK rewrite the prompt.
    response_format = known.get("response_format")
    if isinstance(response_format, str):
        known["response_format"] = response_format.lower()
    elif response_format is None and known.get("json_schema"):
        # Dify's workflow runtime sends a schema without a response format.
        known["response_format"] = "json_schema"
    return known


def _with_least_effort(parameters: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    """Set the lowest effort for a call with a small `max_tokens`, which is Dify's own name, and no effort.

    Dify's own calls, such as those that name conversations, would get no answer, because reasoning counts as output. The lowest effort of an unknown model is unknown, too.
    """
    max_tokens, max_output_tokens, effort = map(
        parameters.get, ("max_tokens", "max_output_tokens", "reasoning_effort")
    )
    if max_output_tokens is not None or str(effort or "").strip() or not _is_few(max_tokens):
        return parameters
    profile = profile_for(model)
    # A tuple, not a set: the value may be a list, which has no hash, and which the request builder
    # refuses by its name.
    has_tools = any(
        parameters.get(name) not in (None, "", "off", False) for name in _NOT_WITH_MINIMAL
    )
    efforts = [one for one in profile.efforts if not (has_tools and one == "minimal")]
    if profile.family == "default" or not efforts:
        return parameters
    return {**parameters, "reasoning_effort": efforts[0]}


def _is_few(tokens: object) -> bool:
    try:
        return float(str(tokens)) < _FEW_TOKENS
    except ValueError:
        return False


def _with_max_output_tokens(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Read `max_output_tokens` from its names in other models and older workflows, unless it is set."""
    given = dict(parameters)
    for name in _OTHER_NAMES:
        most = given.pop(name, None)
        if given.get("max_output_tokens") is None and most is not None:
            given["max_output_tokens"] = most
    return given


def _without_choice(model: str) -> set[str]:
    """Return the parameters that the request builder leaves out for a model, whatever their values."""
    profile = profile_for(model)
    choices = {
        "reasoning_effort": profile.efforts,
        "reasoning_summary": profile.summaries,
        "verbosity": profile.verbosities,
        "image_detail": profile.images,
        "parallel_tool_calls": profile.parallel_tool_calls,
    }
    return {name for name, choice in choices.items() if not choice}
