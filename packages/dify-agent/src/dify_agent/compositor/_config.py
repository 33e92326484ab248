"""What every layer's public configuration has in common."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, JsonValue


class LayerConfig(BaseModel):
    """The base of the public configurations of layers.

    Unknown fields are refused. Errors name the field at fault and never quote its value, since a value may be a secret.
    """

    model_config = ConfigDict(
        extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True
    )


type LayerConfigInput = LayerConfig | Mapping[str, JsonValue] | None
"""A layer's configuration as a caller gives it: an instance, its JSON object, or nothing where all has defaults."""
