"""The requests of a client for runs, and the answers to them."""

from collections import Counter
from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    JsonValue,
    SerializeAsAny,
    model_validator,
)

from dify_agent.compositor import (
    FEW_MEMBERS,
    MOST_LAYERS,
    CompositorSessionSnapshot,
    ExitIntent,
    LayerConfig,
    StrictModel,
)


__all__ = [
    "CreateRunRequest",
    "DeferredToolCall",
    "DeferredToolResultsPayload",
    "LayerExitSignals",
    "ProtocolModel",
    "RunComposition",
    "RunLayerSpec",
]


class ProtocolModel(StrictModel):
    """The base of requests, answers and events; unknown fields are refused, and errors quote no value."""


class RunLayerSpec(ProtocolModel):
    """The request for one layer.

    Attributes:
        name: Its name in the composition; the model is the layer named `llm`.
        type: Its type id, such as `dify.plugin.tools`.
        deps: For each layer that it needs, the name of an earlier layer of the composition.
        config: Its configuration: an object of the type's own class, kept as it is, or the same as a JSON object.
    """

    name: str = Field(min_length=1)
    type: str = Field(min_length=1)
    deps: Annotated[dict[str, str], FEW_MEMBERS] = Field(default_factory=dict)
    # JSON stays a mapping, because only the server knows the class; an instance is dumped with all
    # of its fields.
    config: Annotated[
        dict[str, JsonValue] | SerializeAsAny[LayerConfig] | None,
        Field(union_mode="left_to_right", repr=False),
    ] = None


class RunComposition(ProtocolModel):
    """The layers of a run, each after those that it needs.

    Attributes:
        schema_version: The version of this format.
        layers: The layers, each with a name of its own; at most 256.
    """

    schema_version: Literal[1] = 1
    layers: list[RunLayerSpec] = Field(default_factory=list[RunLayerSpec], max_length=MOST_LAYERS)

    @model_validator(mode="after")
    def _validate_names(self) -> Self:
        names = Counter(layer.name for layer in self.layers)
        duplicates = sorted(name for name, count in names.items() if count > 1)
        if duplicates:
            raise ValueError(
                f"layers must have unique names, got duplicates: {', '.join(duplicates)}"
            )
        return self


class LayerExitSignals(ProtocolModel):
    """The exit intents of the layers, which decide about their states at the end of a run.

    Attributes:
        default: The intent for every layer that `layers` does not name.
        layers: The intents for single layers, by name.
    """

    default: ExitIntent = "suspend"
    layers: Annotated[dict[str, ExitIntent], FEW_MEMBERS] = Field(
        default_factory=dict[str, ExitIntent]
    )


class DeferredToolCall(ProtocolModel):
    """A call of a tool whose result has to come with the request for a later run.

    Attributes:
        tool_call_id: Ties the result to the call.
        tool_name: The tool's name as the model knows it.
        args: The arguments; without credentials.
        metadata: What the call is: `layer_type`, `tool_name` and the `schema_version` of the arguments.
    """

    tool_call_id: str
    tool_name: str
    args: JsonValue
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class DeferredToolResultsPayload(ProtocolModel):
    """The results of deferred tool calls with which the earlier run has ended.

    Attributes:
        calls: The result of each call, by its id: any JSON.
        metadata: More about each of them, which tools can read.
    """

    calls: Annotated[dict[str, JsonValue], FEW_MEMBERS] = Field(
        default_factory=dict[str, JsonValue], repr=False
    )
    metadata: Annotated[dict[str, dict[str, JsonValue]], FEW_MEMBERS] = Field(
        default_factory=dict[str, dict[str, JsonValue]], repr=False
    )


class CreateRunRequest(ProtocolModel):
    """The request for a run.

    Attributes:
        composition: The layers of the run.
        session_snapshot: The snapshot that an earlier run of the same composition ended with, to continue from.
        deferred_tool_results: The results of the calls that were open at that run's end; its history layer holds the calls.
        on_exit: The exit intents of the layers.
    """

    composition: RunComposition
    session_snapshot: CompositorSessionSnapshot | None = None
    deferred_tool_results: DeferredToolResultsPayload | None = None
    on_exit: LayerExitSignals = Field(default_factory=LayerExitSignals)
