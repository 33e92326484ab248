"""The parameters of a call, as far as the model declares them."""

from collections.abc import Iterable, Mapping
from typing import Any


def known_parameters(parameters: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the parameters with these names; what they hold is for the request builder to judge."""
    known = {name: parameters[name] for name in names if name in parameters}
    # `JSON` and `XML` in capitals would make the SDK rewrite the prompt.
    response_format = known.get("response_format")
    if isinstance(response_format, str):
        known["response_format"] = response_format.lower()
    elif response_format is None and known.get("json_schema"):
        # Dify's workflow runtime sends a schema without saying that the answer shall follow it.
        known["response_format"] = "json_schema"
    return known
