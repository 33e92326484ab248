"""The parameters of a call, as far as the model declares them."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any


_LOGGER = logging.getLogger("dify_plugin.plugin.openai_gpt5_responses")
_LOGGER.setLevel(logging.INFO)
_MOST_CHARACTERS = 200  # of the names that a log line tells


def known_parameters(parameters: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the parameters with these names; what they hold is for the request builder to judge.

    Other names, as nodes made for other models have them, are told in the plugin's log.
    """
    given = _with_max_output_tokens(parameters)
    declared = list(names)
    known = {name: given[name] for name in declared if name in given}
    if left_out := sorted(set(map(str, given)) - set(declared)):
        told = ", ".join(left_out)[:_MOST_CHARACTERS]
        _LOGGER.info("Parameters that the model does not take were left out: %s", told)
    # `JSON` and `XML` in capitals would make the SDK rewrite the prompt.
    response_format = known.get("response_format")
    if isinstance(response_format, str):
        known["response_format"] = response_format.lower()
    elif response_format is None and known.get("json_schema"):
        # Dify's workflow runtime sends a schema without saying that the answer shall follow it.
        known["response_format"] = "json_schema"
    return known


def _with_max_output_tokens(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Take `max_tokens`, as other models and older workflows call it, for `max_output_tokens`, unless that is set."""
    given = dict(parameters)
    most = given.pop("max_tokens", None)
    if given.get("max_output_tokens") is None and most is not None:
        given["max_output_tokens"] = most
    return given
