"""Providers, which make the layers, one per kind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from agent_tooling import find_path
from dify_agent.exceptions import CompositionError

from ._config import LayerConfig, LayerConfigInput
from ._layer import Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerProvider[LayerT: Layer[Any, Any, Any]]:
    """A maker of layers of one kind from configurations.

    Attributes:
        layer_type: The class of the layers that it makes.
        factory: Makes a fresh layer from a checked configuration; here a server adds its settings.
    """

    layer_type: type[LayerT]
    factory: Callable[[Any], LayerT]

    @staticmethod
    def from_layer_type[AnyLayerT: Layer[Any, Any, Any]](
        layer_type: type[AnyLayerT],
    ) -> "LayerProvider[AnyLayerT]":
        """Return a provider of layers that need nothing but their configuration."""
        return LayerProvider(layer_type=layer_type, factory=layer_type.from_config)

    @staticmethod
    def from_factory[AnyLayerT: Layer[Any, Any, Any]](
        layer_type: type[AnyLayerT], factory: Callable[[Any], AnyLayerT]
    ) -> "LayerProvider[AnyLayerT]":
        """Return a provider that calls `factory(config)`, which must make a fresh layer each time."""
        return LayerProvider(layer_type=layer_type, factory=factory)

    @property
    def type_id(self) -> str:
        """Return the name under which requests ask for these layers."""
        return self.layer_type.type_id

    def create(self, config: LayerConfigInput) -> LayerT:
        """Make a layer.

        Raises:
            CompositionError: If the configuration does not fit.
            TypeError: If the factory made anything other than a layer of this kind.
        """
        layer = self.factory(self.read_config(config))
        if not isinstance(cast("object", layer), self.layer_type):
            raise TypeError(
                f"The factory of {self.type_id!r} must return {self.layer_type.__name__}, got {type(layer).__name__}."
            )
        return layer

    def read_config(self, config: LayerConfigInput, *, layer: str | None = None) -> LayerConfig:
        """Return the configuration as an instance of the layers' own class.

        Args:
            config: The configuration.
            layer: The name of the layer that it belongs to, for the error.

        Raises:
            CompositionError: If it does not fit; the message names the field and quotes no value.
        """
        try:
            return self.layer_type.config_type.model_validate({} if config is None else config)
        except ValidationError as error:
            problem = _first_problem(error, config)
        except UnicodeEncodeError:  # Of an error that quotes a name.
            problem = "expected names without halves of characters"
        text = f"Layer type {self.type_id!r} got an invalid config: {problem}"
        raise CompositionError(text, layer=layer)


def _first_problem(error: ValidationError, config: LayerConfigInput) -> str:
    """Return the first problem with its path in the configuration, as agent-server's `find_problems`, which is an extra."""
    problem = error.errors(include_input=False, include_url=False, include_context=False)[0]
    path = find_path(problem["loc"], config, is_missing=problem["type"] == "missing")
    field = ".".join(map(str, path)) or "config"
    # Else they would tell the names of our classes.
    is_object = problem["type"] in {"model_type", "dataclass_type"}
    message = "expected an object" if is_object else problem["msg"].removeprefix("Value error, ")
    return f"{field}: {message}"
