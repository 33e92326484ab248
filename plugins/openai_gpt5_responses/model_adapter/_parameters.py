"""The parameters of a call that the model supports, fitted to what Dify does with its answer."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from gpt5_payloads import PayloadError, profile_for
from stream_text import InvalidJsonError, parse_json


_LOGGER = logging.getLogger("dify_plugin.plugin.openai_gpt5_responses")
_LOGGER.setLevel(logging.INFO)
_MOST_CHARACTERS = 200  # Of the names in a log line.
_OTHER_NAMES = ("max_tokens", "max_completion_tokens")  # For `max_output_tokens`.
# What Dify itself sets as `max_tokens` where it reads an answer by machine. Its 4,096 for planning a workflow leave enough room to reason.
# Source: langgenius/dify at its tags 1.10.1 to 1.16.1, and on main after it at dfac3e52; in `api/core/llm_generator/llm_generator.py` unless it says so.
_DIFYS_MAX_TOKENS = {
    256: "suggested questions, 1.10.1 to 1.13.3; choice of tools for a workflow, after 1.16.1 (`api/core/workflow/generator/runner.py`)",
    500: "names of conversations, 1.10.1 and later",
    512: "suggested instructions for a workflow, 1.16.0 and later",
    1_500: "choice of a knowledge base, 1.10.1 and later (`api/core/rag/retrieval/router/multi_dataset_function_call_router.py`)",
    2_000: "schemas of structured output, 1.10.1 and later",
    2_560: "suggested questions, 1.14.0 and later",
}
# The length to which Dify cuts a text with a workflow variable in it, without a word to anybody.
# Source: graphon 0.8.0, `nodes/llm/llm_utils.py`, MAX_RESOLVED_VALUE_LENGTH.
_CUT_CHARACTERS = 1_024
_LISTS = ("web_search_domains", "file_search_stores", "allowed_tools")
_JSON = ("json_schema", "mcp_servers", "extra_tools", "tool_choice")


def known_parameters(
    parameters: Mapping[str, Any], names: Iterable[str], *, model: str
) -> dict[str, Any]:
    """Return the parameters with these names; the request builder checks their values.

    Other names, such as those of nodes made for other models, and parameters in which the model leaves no choice are
    left out and named in the plugin's log.

    Args:
        parameters: The parameters of the node.
        names: The names in the model's form.
        model: The model behind the name, whose profile counts.
    """
    given = _with_max_output_tokens(parameters)
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
    if parameters.get("max_output_tokens") is None and "max_tokens" in parameters:
        # The request builder passes over it; it tells `with_least_effort` Dify's own calls.
        known["max_tokens"] = parameters["max_tokens"]
    return known


def with_least_effort(parameters: Mapping[str, Any], *, model: str) -> Mapping[str, Any]:
    """Set the lowest effort for an unstreamed call of Dify's own, which is known by its `max_tokens` and sets no effort.

    Such a call, for the name of a conversation for example, would get no answer, because reasoning counts as output.
    The lowest effort of an unknown model is unknown, too.

    Args:
        parameters: What `known_parameters` has returned.
        model: The model behind the name, whose profile counts.
    """
    effort = parameters.get("reasoning_effort")
    if str(effort or "").strip() or not _is_difys_own(parameters.get("max_tokens")):
        return parameters
    profile = profile_for(model)
    # A tuple, not a set: the value may be a list, which has no hash, and which the request builder
    # refuses by its name.
    given = (name for name, value in parameters.items() if value not in (None, "", "off", False))
    efforts = profile.efforts_with(given)
    if profile.family == "default" or not efforts:
        return parameters
    return {**parameters, "reasoning_effort": efforts[0]}


def _is_difys_own(max_tokens: object) -> bool:
    try:
        return float(str(max_tokens)) in _DIFYS_MAX_TOKENS
    except ValueError:
        return False


def validate_uncut(parameters: Mapping[str, Any]) -> None:
    """Refuse a list or JSON whose end Dify has most likely cut off: the last entry could be another than the user wrote.

    Raises:
        PayloadError: If it has exactly 1,024 characters and, if it should be JSON, is none.
    """
    for name in (*_LISTS, *_JSON):
        value = parameters.get(name)
        if not isinstance(value, str) or len(value) != _CUT_CHARACTERS:
            continue
        if name in _LISTS or not _is_json(value):
            problem = (
                f"{name} has exactly {_CUT_CHARACTERS:,} characters, after which Dify cuts a text that comes from a workflow variable, so its end may be missing. "
                "Make it shorter or enter it without a variable."
            )
            raise PayloadError(problem, field=name)


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except InvalidJsonError:
        return False
    return True


def wants_thoughts(parameters: Mapping[str, Any]) -> bool:
    """Return whether a summary of the reasoning was really asked for.

    The form's default, `auto`, does not count: newer versions of Dify send it as a value.
    """
    wanted = parameters.get("reasoning_summary")
    return str(wanted or "off").strip().lower() not in ("", "auto", "off")


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
