"""The base of every layer's public configuration."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, model_validator

from stream_text import is_object


_MOST_MEMBERS: Final = 1000
"""Far more than any model has fields."""


def _refuse_many(value: Any) -> Any:
    """Refuse too many members at once: listing the problems of each takes seconds in which no other thread runs."""
    if is_object(value) and len(value) > _MOST_MEMBERS:
        raise ValueError(f"expected at most {_MOST_MEMBERS} members")
    return value


FEW_MEMBERS: Final = BeforeValidator(_refuse_many)
"""A bound on the members of an object in a request: 1,000, more than anybody needs."""


class StrictModel(BaseModel):
    """A model that refuses unknown fields, and quotes no value in an error, since it may be a credential."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_many_members(cls, value: Any) -> Any:
        return _refuse_many(value)


class LayerConfig(StrictModel):
    """The base of the public configurations of layers.

    Unknown fields are refused. Errors name the field at fault and never quote its value, since a value may be a secret.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)


type LayerConfigInput = LayerConfig | Mapping[str, JsonValue] | None
"""A layer's configuration as a caller gives it: an instance, its JSON object, or None if everything has a default."""
