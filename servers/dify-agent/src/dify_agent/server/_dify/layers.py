"""Conversion of Dify's layers and their states to ours.

Source: docs/contracts/dify-agent.md, C58.
"""

from collections.abc import Mapping
from typing import Any, Final

from agent_server.executor import JsonObject


CONTEXT_KIND: Final = "dify.execution_context"
"""The type id of the layer that the layers with models, tools and knowledge depend on."""

CONTEXT_DEP: Final = "execution_context"
"""The name by which they depend on it."""

MODEL_KIND: Final = "dify.plugin.llm"
"""The type id of the layer with the model, in Dify's requests and in ours where the request has its credentials."""

TOOLS_KIND: Final = "dify.plugin.tools"
"""The type id of the layer with plugin tools."""

_GATEWAY_KIND: Final = "dify.gateway.llm"

MODEL_KINDS: Final = frozenset({MODEL_KIND, _GATEWAY_KIND})
"""The type ids of our layers with a model."""

_PLUGIN: Final = "plugin"


def to_layer(
    name: str,
    kind: str,
    config: Mapping[str, Any] | None,
    deps: Mapping[str, str],
    *,
    by_gateway: bool,
) -> JsonObject:
    """Return one of our layers.

    Args:
        name: Its name.
        kind: Its type id in Dify.
        config: Its configuration.
        deps: The layers that it needs.
        by_gateway: Whether the model is called through Dify's API, which has its credentials.
    """
    if kind == MODEL_KIND and by_gateway:
        kind, config = _GATEWAY_KIND, _without(config, "credentials")
    elif kind in {MODEL_KIND, TOOLS_KIND}:
        deps = {_PLUGIN if dep == CONTEXT_DEP else dep: target for dep, target in deps.items()}
        config = _without(config, "context_window_tokens")
    return {"name": name, "type": kind, "deps": deps, "config": config}


def to_layer_snapshot(
    name: str, kind: str, state: Mapping[str, Any], *, is_closed: bool = False
) -> JsonObject:
    """Return the snapshot of one of our layers."""
    return {
        "name": name,
        "type_id": kind,
        "lifecycle_state": "closed" if is_closed else "suspended",
        "runtime_state": state,
    }


def _without(config: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    return {field: value for field, value in (config or {}).items() if field != name}
