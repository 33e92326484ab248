"""The nodes of a graph, and the rules for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from dify_agent.exceptions import CompositionError

from ._provider import LayerProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerNode:
    """A kind of layer in a graph.

    Attributes:
        name: The layer's name in the graph.
        provider: The maker of the layer.
        deps: For each field of the layer's dependencies, the name of an earlier node.
    """

    name: str
    provider: LayerProvider[Any]
    deps: Mapping[str, str] = field(default_factory=dict[str, str])


def validate_node(node: LayerNode, *, earlier: Mapping[str, LayerNode]) -> None:
    """Check that a node's name is new and its dependencies are met by earlier nodes of the right kind.

    Raises:
        CompositionError: If one of these does not hold.
    """
    if node.name in earlier:
        raise CompositionError(f"Layer name {node.name!r} is used twice.", layer=node.name)
    needed = get_type_hints(node.provider.layer_type.deps_type)
    if set(node.deps) != set(needed):
        raise CompositionError(
            f"Layer {node.name!r} needs the dependencies {sorted(needed)}, got {sorted(node.deps)}.",
            layer=node.name,
        )
    for name, target in node.deps.items():
        if target not in earlier:
            raise CompositionError(
                f"Layer {node.name!r} needs {target!r} as its {name!r}, but no earlier layer has this name.",
                layer=node.name,
            )
        actual = earlier[target].provider.layer_type
        if not issubclass(actual, needed[name]):
            raise CompositionError(
                f"Layer {node.name!r} needs a {needed[name].__name__} as its {name!r}, but {target!r} is a {actual.__name__}.",
                layer=node.name,
            )
