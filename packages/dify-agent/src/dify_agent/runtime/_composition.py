"""From what a request asks for to a graph that can be entered."""

from collections.abc import Mapping, Sequence
from typing import Any

from dify_agent.compositor import Compositor, LayerConfigInput, LayerNode, LayerProvider
from dify_agent.compositor._graph import validate_node
from dify_agent.exceptions import CompositionError, UnknownLayerTypeError
from dify_agent.protocol import RunComposition, RunLayerSpec


def build_compositor(
    composition: RunComposition, layer_providers: Sequence[LayerProvider[Any]]
) -> Compositor:
    """Return the graph of a composition, with its shape and configurations checked.

    Raises:
        UnknownLayerTypeError: If a layer's type has no provider.
        CompositionError: If a name, a dependency or a configuration of a layer does not fit.
    """
    registry = _registry(layer_providers)
    compositor = Compositor(
        [
            LayerNode(name=spec.name, provider=_provider(registry, spec), deps=spec.deps)
            for spec in composition.layers
        ]
    )
    compositor.validate_configs(layer_configs(composition))
    return compositor


def find_layer_problems(
    composition: RunComposition, layer_providers: Sequence[LayerProvider[Any]]
) -> Mapping[int, str]:
    """Return what is wrong with each layer, by its place; what depends on a layer of an unknown type is not to blame for that.

    Raises:
        CompositionError: If two providers have one type.
    """
    registry = _registry(layer_providers)
    earlier: dict[str, LayerNode] = {}
    unknown: set[str] = set()
    problems: dict[int, str] = {}
    for place, spec in enumerate(composition.layers):
        try:
            provider = _provider(registry, spec)
        except UnknownLayerTypeError as error:
            unknown.add(spec.name)
            problems[place] = str(error)
            continue
        node = LayerNode(name=spec.name, provider=provider, deps=spec.deps)
        try:
            if unknown.isdisjoint(spec.deps.values()):
                validate_node(node, earlier=earlier)
            provider.read_config(spec.config, layer=spec.name)
        except CompositionError as error:
            problems[place] = str(error)
        earlier[spec.name] = node
    return problems


def layer_configs(composition: RunComposition) -> dict[str, LayerConfigInput]:
    """Return the configurations by layer name."""
    return {spec.name: spec.config for spec in composition.layers}


def _registry(providers: Sequence[LayerProvider[Any]]) -> dict[str, LayerProvider[Any]]:
    registry: dict[str, LayerProvider[Any]] = {}
    for provider in providers:
        if provider.type_id in registry:
            raise CompositionError(f"Layer type id {provider.type_id!r} is registered twice.")
        registry[provider.type_id] = provider
    return registry


def _provider(registry: Mapping[str, LayerProvider[Any]], spec: RunLayerSpec) -> LayerProvider[Any]:
    try:
        return registry[spec.type]
    except KeyError:
        raise UnknownLayerTypeError(spec.type, layer=spec.name) from None
