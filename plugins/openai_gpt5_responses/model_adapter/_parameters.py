"""The parameters of a call, as far as the model declares them."""

from collections.abc import Iterable, Mapping
from typing import Any

from dify_plugin.entities.model.schema import ParameterRule


def known_parameters(
    parameters: Mapping[str, Any], rules: Iterable[ParameterRule]
) -> dict[str, Any]:
    """Return the parameters that have a rule; what they hold is for the request builder to judge."""
    known = {rule.name: parameters[rule.name] for rule in rules if rule.name in parameters}
    # `JSON` and `XML` in capitals would make the SDK rewrite the prompt.
    response_format = known.get("response_format")
    if isinstance(response_format, str):
        known["response_format"] = response_format.lower()
    return known
