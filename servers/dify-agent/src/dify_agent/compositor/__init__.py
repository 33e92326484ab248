"""A small compositor, which puts a run together from layers, each with one concern, that build on earlier ones.

A provider makes layers of one kind. A compositor holds a graph of named nodes, and `Compositor.enter` brings it to life
for one run. Only a snapshot of the layers' states outlives the run.
"""

from ._compositor import Compositor
from ._config import FEW_MEMBERS, LayerConfig, StrictModel
from ._graph import LayerNode
from ._layer import (
    EmptyRuntimeState,
    ExitIntent,
    Layer,
    LayerDeps,
    NoLayerDeps,
    Once,
    PlainLayer,
    RunEnd,
    RunStart,
    StepWork,
    UserPrompt,
    do_once,
)
from ._provider import LayerProvider
from ._run import CompositorRun
from ._snapshot import MOST_LAYERS, CompositorSessionSnapshot, LayerSessionSnapshot


__all__ = [
    "FEW_MEMBERS",
    "MOST_LAYERS",
    "Compositor",
    "CompositorRun",
    "CompositorSessionSnapshot",
    "EmptyRuntimeState",
    "ExitIntent",
    "Layer",
    "LayerConfig",
    "LayerDeps",
    "LayerNode",
    "LayerProvider",
    "LayerSessionSnapshot",
    "NoLayerDeps",
    "Once",
    "PlainLayer",
    "RunEnd",
    "RunStart",
    "StepWork",
    "StrictModel",
    "UserPrompt",
    "do_once",
]
