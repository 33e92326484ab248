"""Requests for runs in protocol 1, of Dify 1.16 and 1.17, and their conversion to ours.

Source: docs/contracts/dify-agent.md, C58; the client and the models of dify-agent 1.16.0.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from agent_server.executor import JsonObject
from dify_agent.compositor import FEW_MEMBERS, MOST_LAYERS
from dify_agent.dify_versions import DifyVersion
from dify_agent.protocol import DeferredToolResultsPayload, LayerExitSignals, ProtocolModel

from .layers import CONTEXT_KIND, MODEL_KIND, to_layer, to_layer_snapshot


class LayerRequest(ProtocolModel):
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


class Composition(ProtocolModel):
    """The layers of a run.

    Attributes:
        schema_version: The version of this format.
        layers: The layers, in the order in which they are entered.
    """

    schema_version: Literal[1] = 1
    layers: list[LayerRequest] = Field(max_length=MOST_LAYERS)


class LayerSnapshot(ProtocolModel):
    """One layer's state.

    Attributes:
        name: The layer's name.
        type_id: Its kind, if the snapshot is one of ours; Dify's has none.
        lifecycle_state: Its state in the lifecycle; one that is `new` is entered like a suspended one.
        runtime_state: Its state.
    """

    name: str
    type_id: str | None = None
    lifecycle_state: Literal["new", "suspended", "closed"]
    runtime_state: dict[str, Any] = Field(default_factory=dict[str, Any], repr=False)


class Snapshot(ProtocolModel):
    """The states that a run continues from.

    Attributes:
        schema_version: The version of this format.
        layers: The layers' states.
    """

    schema_version: Literal[1] = 1
    layers: list[LayerSnapshot] = Field(default_factory=list[LayerSnapshot], max_length=MOST_LAYERS)

    def to_snapshot(self, kinds: Mapping[str, str]) -> JsonObject:
        """Return it as a `CompositorSessionSnapshot`, with the layers' kinds by their names."""
        layers = [
            to_layer_snapshot(
                layer.name,
                layer.type_id or kinds.get(layer.name, ""),
                layer.runtime_state,
                is_closed=layer.lifecycle_state == "closed",
            )
            for layer in self.layers
        ]
        return {"schema_version": 1, "layers": layers}


class RunRequest(ProtocolModel):
    """The request of Dify's API for a run, in protocol 1.

    Attributes:
        composition: The layers of the run.
        idempotency_key: Read only if the settings say so: Dify gives the same key to different requests.
        metadata: Not read, here as in Dify's own server.
        session_snapshot: The snapshot of an earlier run.
        deferred_tool_results: The results of the calls with which that run has ended.
        on_exit: The exit intents of the layers.
    """

    composition: Composition
    idempotency_key: str | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    session_snapshot: Snapshot | None = None
    deferred_tool_results: DeferredToolResultsPayload | None = None
    on_exit: LayerExitSignals = Field(default_factory=LayerExitSignals)

    @property
    def version(self) -> DifyVersion:
        """The version of Dify that it seems to come from.

        Up to 1.16 a request has the model's credentials, and there are requests without a model.
        """
        models = [layer for layer in self.composition.layers if layer.type == MODEL_KIND]
        is_new = models and not any("credentials" in (layer.config or {}) for layer in models)
        return DifyVersion.parse("1.17.1" if is_new else "1.16.0")

    @property
    def places(self) -> Sequence[int]:
        """The place here of each layer of ours: the same."""
        return range(len(self.composition.layers))

    def to_request(self, version: DifyVersion) -> JsonObject:
        """Return the request in the shape of `CreateRunRequest`, with the layers in the same order.

        Args:
            version: The version of Dify, which decides about the way to the model.
        """
        layers = self.composition.layers
        contexts = {layer.name for layer in layers if layer.type == CONTEXT_KIND}
        converted = [
            to_layer(
                layer.name,
                layer.type,
                layer.config,
                layer.deps,
                by_gateway=version.has_model_gateway
                and not contexts.isdisjoint(layer.deps.values()),
            )
            for layer in layers
        ]
        request: JsonObject = {
            "composition": {"schema_version": 1, "layers": converted},
            "on_exit": self.on_exit.model_dump(mode="json"),
        }
        if self.session_snapshot is not None:
            kinds = {layer["name"]: layer["type"] for layer in converted}
            request["session_snapshot"] = self.session_snapshot.to_snapshot(kinds)
        if self.deferred_tool_results is not None:
            request["deferred_tool_results"] = self.deferred_tool_results.model_dump(mode="json")
        return request


def build_snapshot(snapshot: Mapping[str, Any]) -> JsonObject:
    """Return a `CompositorSessionSnapshot` as protocol 1 has it, without the kinds of layers."""
    layers = [
        {name: value for name, value in layer.items() if name != "type_id"}
        for layer in snapshot["layers"]
    ]
    return {**snapshot, "layers": layers}
