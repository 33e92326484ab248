"""Requests for runs in the shape that Dify's API sends, and their conversion to ours.

Source: docs/contracts/dify-agent.md, C58; the client and the models of dify-agent 1.16.0.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, JsonValue

from agent_server.executor import JsonObject
from dify_agent.compositor import FEW_MEMBERS, MOST_LAYERS
from dify_agent.layers.dify_plugin.configs import DIFY_PLUGIN_LAYER_TYPE_ID
from dify_agent.protocol import LayerExitSignals, ProtocolModel


__all__ = [
    "CancelRequest",
    "DifyComposition",
    "DifyLayer",
    "DifyLayerSnapshot",
    "DifyRunRequest",
    "DifySnapshot",
    "without_type_ids",
]


_CONTEXT_TYPE_ID: Final = "dify.execution_context"
_CONTEXT_DEP: Final = "execution_context"
_PLUGIN_DEP: Final = "plugin"
_PLUGIN_FIELDS: Final = ("tenant_id", "user_id")


class DifyLayer(ProtocolModel):
    """The request for one layer; `RunLayerSpec` explains the type ids and `deps`.

    Attributes:
        name: Its name.
        type: Its type id.
        deps: The layers that it needs.
        metadata: Dify's note on its origin, which is not read.
        config: Its configuration.
    """

    name: str = Field(min_length=1)
    type: str = Field(min_length=1)
    deps: Annotated[dict[str, str], FEW_MEMBERS] = Field(default_factory=dict[str, str])
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    config: dict[str, JsonValue] | None = Field(default=None, repr=False)


class DifyComposition(ProtocolModel):
    """The layers of a run.

    Attributes:
        schema_version: The version of this format.
        layers: The layers, in the order in which they are entered.
    """

    schema_version: Literal[1] = 1
    layers: list[DifyLayer] = Field(max_length=MOST_LAYERS)


class DifyLayerSnapshot(ProtocolModel):
    """One layer's state.

    Attributes:
        name: The layer's name.
        type_id: Its kind, if the snapshot is one of ours; Dify's has none.
        lifecycle_state: Its state in the lifecycle.
        runtime_state: Its state.
    """

    name: str
    type_id: str | None = None
    lifecycle_state: str
    runtime_state: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue], repr=False)


class DifySnapshot(ProtocolModel):
    """The states that a run goes on from.

    Attributes:
        schema_version: The version of this format.
        layers: The layers' states.
    """

    schema_version: Literal[1] = 1
    layers: list[DifyLayerSnapshot] = Field(
        default_factory=list[DifyLayerSnapshot], max_length=MOST_LAYERS
    )


class DifyRunRequest(ProtocolModel):
    """The request of Dify's API for a run.

    Attributes:
        composition: The layers of the run.
        idempotency_key: Not read, here as in Dify's own server: Dify gives the same key to different requests.
        metadata: Not read, likewise.
        session_snapshot: The snapshot of an earlier run.
        deferred_tool_results: Must be null: a run that waits is answered, and goes on under its own id.
        on_exit: The exit intents of the layers.
    """

    composition: DifyComposition
    idempotency_key: str | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    session_snapshot: DifySnapshot | None = None
    deferred_tool_results: None = None
    on_exit: LayerExitSignals = Field(default_factory=LayerExitSignals)

    def to_request(self) -> JsonObject:
        """Return the request in the shape of `CreateRunRequest`, with the layers in the same order.

        Dify's layer of the execution context becomes the layer of the plugin context, from which it has grown.
        """
        layers = [_to_layer(layer) for layer in self.composition.layers]
        return {
            "composition": {"schema_version": 1, "layers": layers},
            "session_snapshot": None
            if self.session_snapshot is None
            else _to_snapshot(
                self.session_snapshot, {each["name"]: each["type"] for each in layers}
            ),
            "on_exit": self.on_exit.model_dump(mode="json"),
        }


class CancelRequest(ProtocolModel):
    """The request of Dify's API to stop a run.

    Attributes:
        reason: The reason, in a word.
        message: The reason, in a sentence.
    """

    reason: str | None = None
    message: str | None = None

    @property
    def text(self) -> str | None:
        """Both in one text; None if there is neither."""
        return ": ".join(filter(None, (self.reason, self.message))) or None


def without_type_ids(snapshot: Mapping[str, Any]) -> JsonObject:
    """Return a snapshot in the form that Dify's models read, without the type ids of layers."""
    layers = [
        {name: value for name, value in layer.items() if name != "type_id"}
        for layer in snapshot["layers"]
    ]
    return {**snapshot, "layers": layers}


def _to_layer(layer: DifyLayer) -> JsonObject:
    kind, config = layer.type, layer.config
    deps = {_PLUGIN_DEP if name == _CONTEXT_DEP else name: of for name, of in layer.deps.items()}
    if kind == _CONTEXT_TYPE_ID:
        kind = DIFY_PLUGIN_LAYER_TYPE_ID
        config = {name: value for name, value in (config or {}).items() if name in _PLUGIN_FIELDS}
    return {"name": layer.name, "type": kind, "deps": deps, "config": config}


def _to_snapshot(snapshot: DifySnapshot, kinds: Mapping[str, str]) -> JsonObject:
    layers = [
        layer.model_dump() | {"type_id": layer.type_id or kinds.get(layer.name, "")}
        for layer in snapshot.layers
    ]
    return {"schema_version": snapshot.schema_version, "layers": layers}
