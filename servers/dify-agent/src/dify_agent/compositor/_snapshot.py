"""The snapshot of a run's layers for a later run: their states, and nothing else."""

from typing import Any, Final, Literal

from pydantic import ConfigDict, Field

from ._config import StrictModel


MOST_LAYERS: Final = 256
"""The most layers that a request may name and a snapshot may hold."""


class LayerSessionSnapshot(StrictModel):
    """One layer's state.

    Attributes:
        name: The layer's name in the graph.
        type_id: Its kind, so that a state is never given to a layer of another kind.
        lifecycle_state: Its state in the lifecycle; only a suspended layer can be entered again.
        runtime_state: Its state as JSON.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    type_id: str
    lifecycle_state: Literal["suspended", "closed"]
    # Any JSON, which a type that says so would copy.
    runtime_state: dict[str, Any] = Field(default_factory=dict, repr=False)


class CompositorSessionSnapshot(StrictModel):
    """The states of all layers of a graph, in its order.

    Attributes:
        schema_version: The version of this format.
        layers: One snapshot per layer; at most 256.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    layers: tuple[LayerSessionSnapshot, ...] = Field(
        default=(), max_length=MOST_LAYERS, fail_fast=True
    )
