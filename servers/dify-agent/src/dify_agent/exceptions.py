"""Errors around an agent run, by whose fault it is.

DifyAgentError
├── AgentRunValidationError (ValueError)   the run's caller: the request asks for something that cannot be run
├── CompositionError (ValueError)          the graph's author: layers, names or dependencies do not fit together
│   └── SnapshotError                      a session snapshot does not belong to this graph
├── UnknownLayerTypeError (KeyError)       no provider is registered under a layer's type id
├── LayerLifecycleError (RuntimeError)     a layer is used in a state that does not allow it
├── InnerApiError                          Dify's inner API (in `_inner_api`)
└── PluginDaemonError                      the daemon or a plugin behind it (in `plugin_daemon_transport`)
    └── DifyPluginToolClientError          the same, met while invoking a tool (in `layers.dify_plugin.tool_client`)

A failed run raises none of these to its caller: it ends with the event `run_failed`.
"""

from collections.abc import Mapping


__all__ = [
    "AgentRunValidationError",
    "CompositionError",
    "DifyAgentError",
    "LayerLifecycleError",
    "SnapshotError",
    "UnknownLayerTypeError",
]


class DifyAgentError(Exception):
    """The root of every error that this package raises."""


class AgentRunValidationError(DifyAgentError, ValueError):
    """A run request that cannot be run as it stands.

    Attributes:
        layers: The problem of each layer that is at fault, by the layer's index in the composition.
    """

    def __init__(self, message: str, *, layers: Mapping[int, str] | None = None) -> None:
        super().__init__(message)
        self.layers = layers or {}


class CompositionError(DifyAgentError, ValueError):
    """Layers that cannot be put together.

    Attributes:
        layer: The name of the layer that is at fault, if it is a single one.
    """

    def __init__(self, message: str, *, layer: str | None = None) -> None:
        super().__init__(message)
        self.layer = layer


class SnapshotError(CompositionError):
    """A session snapshot that does not belong to the layers it is given to."""


class UnknownLayerTypeError(DifyAgentError, KeyError):
    """A layer type that nobody provides.

    Attributes:
        type_id: The unknown type id.
        layer: The name of the layer that asks for it, if known.
    """

    def __init__(self, type_id: str, *, layer: str | None = None) -> None:
        super().__init__(f"Layer type id {type_id!r} is not registered.")
        self.type_id = type_id
        self.layer = layer

    def __str__(self) -> str:
        # KeyError would show the repr of the sentence.
        return str(self.args[0])


class LayerLifecycleError(DifyAgentError, RuntimeError):
    """A layer that is used in a state that does not allow it."""
