"""The nodes of a graph, and the rules for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import NoneType
from typing import Any, cast, get_args, get_type_hints

from dify_agent.exceptions import CompositionError

from ._layer import Layer, LayerDeps
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
    needed, optional = _read_deps(node.provider.layer_type.deps_type)
    if not needed.keys() <= node.deps.keys() <= (needed | optional).keys():
        more = f" and may have {sorted(optional)}" if optional else ""
        raise CompositionError(
            f"Layer {node.name!r} needs the dependencies {sorted(needed)}{more}, got {sorted(node.deps)}.",
            layer=node.name,
        )
    kinds = needed | optional
    for name, target in node.deps.items():
        if target not in earlier:
            raise CompositionError(
                f"Layer {node.name!r} needs {target!r} as its {name!r}, but no earlier layer has this name.",
                layer=node.name,
            )
        actual = earlier[target].provider.layer_type
        if not issubclass(actual, kinds[name]):
            raise CompositionError(
                f"Layer {node.name!r} needs a {kinds[name].__name__} as its {name!r}, but {target!r} is a {actual.__name__}.",
                layer=node.name,
            )


def _read_deps(
    deps_type: type[LayerDeps],
) -> tuple[dict[str, type[Layer[Any, Any, Any]]], dict[str, type[Layer[Any, Any, Any]]]]:
    """Return the classes of the layers that are needed, and of those that a layer does without where they are missing."""
    hints = get_type_hints(deps_type)
    has_default = {each.name: each.default is None for each in fields(cast("Any", deps_type))}
    needed = {name: hint for name, hint in hints.items() if not has_default[name]}
    optional = {
        name: next(kind for kind in get_args(hint) if kind is not NoneType)
        for name, hint in hints.items()
        if has_default[name]
    }
    return needed, optional
