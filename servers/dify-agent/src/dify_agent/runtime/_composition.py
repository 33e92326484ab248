"""Conversion of a request's composition to a graph that can be entered."""

from collections.abc import Mapping, Sequence
from typing import Any

from dify_agent.compositor import Compositor, LayerNode, LayerProvider
from dify_agent.compositor._graph import validate_node
from dify_agent.exceptions import CompositionError, UnknownLayerTypeError
from dify_agent.protocol import RunComposition, RunLayerSpec


def build_compositor(
    composition: RunComposition, layer_providers: Sequence[LayerProvider[Any]]
) -> Compositor:
    """Return the graph of a composition after checking its shape.

    Raises:
        UnknownLayerTypeError: If a layer's type has no provider.
        CompositionError: If a name or a dependency of a layer does not fit.
    """
    registry = _registry(layer_providers)
    return Compositor([_node(registry, spec) for spec in composition.layers])


def find_layer_problems(
    composition: RunComposition, layer_providers: Sequence[LayerProvider[Any]]
) -> Mapping[int, str]:
    """Return the problem of each layer that has one, by the layer's index; depending on a layer of an unknown type is not one.

    Raises:
        CompositionError: If two providers have the same type.
    """
    registry = _registry(layer_providers)
    earlier: dict[str, LayerNode] = {}
    unknown: set[str] = set()
    problems: dict[int, str] = {}
    for index, spec in enumerate(composition.layers):
        try:
            node = _node(registry, spec)
        except UnknownLayerTypeError as error:
            unknown.add(spec.name)
            problems[index] = str(error)
            continue
        try:
            if unknown.isdisjoint(spec.deps.values()):
                validate_node(node, earlier=earlier)
            node.provider.read_config(spec.config, layer=spec.name)
        except CompositionError as error:
            problems[index] = str(error)
        # Even with a problem, so that the layers that depend on it are not reported for its sake.
        earlier[spec.name] = node
    return problems


def _registry(providers: Sequence[LayerProvider[Any]]) -> dict[str, LayerProvider[Any]]:
    registry: dict[str, LayerProvider[Any]] = {}
    for provider in providers:
        if provider.type_id in registry:
            raise CompositionError(f"Layer type id {provider.type_id!r} is registered twice.")
        registry[provider.type_id] = provider
    return registry


def _node(registry: Mapping[str, LayerProvider[Any]], spec: RunLayerSpec) -> LayerNode:
    if spec.type not in registry:
        raise UnknownLayerTypeError(spec.type, layer=spec.name)
    return LayerNode(name=spec.name, provider=registry[spec.type], deps=spec.deps)
