"""Requests for runs in protocol 2, of Dify 1.18 and later, and their conversion to ours.

Source: docs/contracts/dify-agent.md, C74: read in langgenius/dify, where no release of it could be run.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field, JsonValue

from agent_server.executor import JsonObject, Problem, RequestRefusedError
from dify_agent.compositor import FEW_MEMBERS, MOST_LAYERS
from dify_agent.dify_versions import DifyVersion
from dify_agent.protocol import ProtocolModel

from . import protocol_1
from .layers import CONTEXT_DEP, CONTEXT_KIND, MODEL_KIND, TOOLS_KIND, to_layer, to_layer_snapshot


SCHEMA_VERSION: Final = 2
"""The version of compositions and snapshots."""

_KINDS: Final[Mapping[str, str]] = {
    "agent_soul_prompt": "plain.prompt",
    "workflow_node_job_prompt": "plain.prompt",
    "workflow_user_prompt": "plain.prompt",
    "prompt": "plain.prompt",
    "agent_app_user_prompt": "dify.user_prompt",
    "user_prompt": "dify.user_prompt",
    "execution_context": CONTEXT_KIND,
    "runtime": "dify.runtime",
    "shell": "dify.shell",
    "config": "dify.config",
    "history": "pydantic_ai.history",
    "llm": MODEL_KIND,
    "tools": TOOLS_KIND,
    "core_tools": "dify.core.tools",
    "knowledge": "dify.knowledge_base",
    "output": "dify.output",
}
"""The kind of each layer, by its name."""

_WITHOUT_CONFIG: Final = "history"
"""The layer that has no configuration, so that null is one."""

_REFERENCES: Final[Mapping[str, Sequence[str]]] = {
    "llm": ("execution_context",),
    "tools": ("execution_context", "shell"),
    "core_tools": ("execution_context",),
    "knowledge": ("execution_context",),
    "shell": ("execution_context", "runtime"),
    "config": ("shell",),
}
"""The fields of a configuration that name other layers. Each kind that is referred to has a single name."""


class LayerRequest(ProtocolModel):
    """The request for one layer in which the name says the kind.

    Attributes:
        name: Its name.
        config: Its configuration, with the names of the layers that it needs; may be None for a history, which has none.
    """

    name: str = Field(min_length=1)
    config: dict[str, JsonValue] | None = Field(default_factory=dict[str, JsonValue], repr=False)


class Composition(ProtocolModel):
    """The layers of a run in protocol 2.

    Attributes:
        schema_version: The version of this format.
        layers: The layers; a layer may stand before one that it needs.
    """

    schema_version: Literal[2] = 2
    layers: list[LayerRequest] = Field(max_length=MOST_LAYERS)


class Snapshot(ProtocolModel):
    """The states that a run continues from, in protocol 2.

    Attributes:
        schema_version: The version of this format.
        layers: The layers' states by their names; those of layers that the composition lacks are not read.
    """

    schema_version: Literal[2] = 2
    layers: Annotated[dict[str, dict[str, Any]], FEW_MEMBERS] = Field(
        default_factory=dict[str, dict[str, Any]], repr=False
    )


class RunRequest(ProtocolModel):
    """The request of Dify's API for a run, in protocol 2.

    Attributes:
        composition: The layers of the run.
        idempotency_key: As in protocol 1.
        metadata: Likewise.
        session_snapshot: The snapshot of an earlier run.
    """

    composition: Composition
    idempotency_key: str | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    session_snapshot: Snapshot | None = None

    @property
    def version(self) -> DifyVersion:
        """The version of Dify that it seems to come from: the first of this protocol."""
        return DifyVersion.parse("1.18.0")

    @property
    def places(self) -> Sequence[int]:
        """The place here of each layer of ours: what others depend on comes first."""
        kinds = [_KINDS.get(layer.name) for layer in self.composition.layers]
        return sorted(range(len(kinds)), key=lambda at: kinds[at] != CONTEXT_KIND)

    def to_request(self, version: DifyVersion) -> JsonObject:  # noqa: ARG002 - as in protocol 1
        """Return the request in the shape of `CreateRunRequest`.

        Raises:
            RequestRefusedError: If protocol 2 knows no layer of a name, or a reference names none that it could mean.
        """
        names = {layer.name for layer in self.composition.layers}
        converted = [
            _convert(layer, names, field=f"composition.layers.{at}")
            for at, layer in enumerate(self.composition.layers)
        ]
        layers = [converted[at] for at in self.places]
        request: JsonObject = {"composition": {"schema_version": 1, "layers": layers}}
        if self.session_snapshot is not None:
            states = self.session_snapshot.layers
            kept = [
                to_layer_snapshot(layer["name"], layer["type"], states.get(layer["name"], {}))
                for layer in layers
            ]
            request["session_snapshot"] = {"schema_version": 1, "layers": kept}
        return request


def build_snapshot(snapshot: Mapping[str, Any]) -> JsonObject:
    """Return a `CompositorSessionSnapshot` as protocol 2 has it: states by the names of layers."""
    return {
        "schema_version": 2,
        "layers": {layer["name"]: layer["runtime_state"] for layer in snapshot["layers"]},
    }


def migrate_snapshot(snapshot: protocol_1.Snapshot) -> JsonObject:
    """Return a snapshot of protocol 1, in which layers may be closed, as one of protocol 2, in which they are empty."""
    states = {
        layer.name: {} if layer.lifecycle_state == "closed" else layer.runtime_state
        for layer in snapshot.layers
    }
    return {"schema_version": 2, "layers": states}


def _convert(layer: LayerRequest, names: Collection[str], *, field: str) -> JsonObject:
    kind = _KINDS.get(layer.name)
    if kind is None:
        expected = f"expected one of {', '.join(_KINDS)}"
        raise RequestRefusedError(Problem(field=f"{field}.name", message=expected))
    if layer.config is None and layer.name != _WITHOUT_CONFIG:
        raise RequestRefusedError(Problem(field=f"{field}.config", message="expected an object"))
    config, deps = dict(layer.config or {}), dict[str, str]()
    for reference in _REFERENCES.get(layer.name, ()):
        # Left out, it is the layer of that name; null is none.
        target = config.pop(reference, reference if reference in names else None)
        if target is None:
            continue
        if target != reference or target not in names:
            expected = f"expected {reference}, and a layer of this name"
            problem = Problem(field=f"{field}.config.{reference}", message=expected)
            raise RequestRefusedError(problem)
        if reference == CONTEXT_DEP:  # Nothing is needed of the others, which are not offered.
            deps[reference] = reference
    return to_layer(layer.name, kind, config, deps, by_gateway=True)
