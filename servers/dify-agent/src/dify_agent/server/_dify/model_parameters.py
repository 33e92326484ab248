"""Model parameters that Dify's agents cannot have, added to its requests by the names of models.

Source: docs/contracts/dify-agent.md, C78.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from agent_server.executor import JsonObject
from stream_text import is_object

from .layers import MODEL_KINDS


def add_model_parameters(
    request: JsonObject, parameters: Mapping[str, Mapping[str, Any]]
) -> JsonObject:
    """Return a request in the shape of `CreateRunRequest` with the parameters of its model added; what it sets itself stays.

    Args:
        request: The request.
        parameters: The parameters, by names of models in which `*` stands for anything; of several that fit, the later ones win.
    """
    composition = request["composition"]
    layers = [
        _with_parameters(layer, parameters) if layer["type"] in MODEL_KINDS else layer
        for layer in composition["layers"]
    ]
    return {**request, "composition": {**composition, "layers": layers}}


def _with_parameters(layer: JsonObject, parameters: Mapping[str, Mapping[str, Any]]) -> JsonObject:
    config = layer["config"]
    settings: object = config.get("model_settings") or {}
    if not is_object(settings) or not is_object(body := settings.get("extra_body") or {}):
        return layer  # The check of the request says what is wrong with it.
    added = {
        name: value
        for pattern, values in parameters.items()
        if fnmatchcase(str(config.get("model")), pattern)
        for name, value in values.items()
        if name not in settings
    }
    settings = {**settings, "extra_body": {**added, **body}} if added else settings
    return {**layer, "config": {**config, "model_settings": settings}}
