"""The layer that asks for an answer of a certain shape.

The model is asked to call an output tool with this schema, and is told what is wrong when its answer does not fit.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from pydantic import JsonValue, field_validator
from pydantic_ai import ModelRetry, StructuredDict, ToolOutput
from pydantic_ai.output import OutputSpec

from dify_agent.compositor import EmptyRuntimeState, LayerConfig, NoLayerDeps, PlainLayer

from ._json_schema import find_problems, validate_object_schema


__all__ = [
    "OUTPUT_LAYER_TYPE_ID",
    "OUTPUT_TOOL_NAME",
    "OutputLayer",
    "OutputLayerConfig",
]


OUTPUT_LAYER_TYPE_ID: Final = "dify.output"
"""Type id of the layer with the shape of the answer."""

OUTPUT_TOOL_NAME: Final = "final_result"
"""Name of the tool through which the model gives its answer; no other tool of the run may have it."""

_MAX_PROBLEMS: Final = 10


class OutputLayerConfig(LayerConfig):
    """The shape of the answer.

    Attributes:
        json_schema: A JSON Schema of type `object` that refers to nothing outside itself; its draft is what `$schema`
            names, 2020-12 otherwise.
        name: What the model is told the answer is called.
        description: What the model is told the answer is.
    """

    json_schema: dict[str, JsonValue]
    name: str | None = None
    description: str | None = None

    @field_validator("json_schema")
    @classmethod
    def _validate_schema(cls, schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
        validate_object_schema(schema)
        return schema


@dataclass(slots=True, eq=False)
class OutputLayer(PlainLayer[NoLayerDeps, OutputLayerConfig, EmptyRuntimeState]):
    """A wish for an answer of a certain shape, to which the model is held.

    Attributes:
        config: The shape.
    """

    type_id: ClassVar[str] = OUTPUT_LAYER_TYPE_ID

    config: OutputLayerConfig

    @property
    def output_type(self) -> OutputSpec[dict[str, Any]]:
        """Return the shape as Pydantic AI takes it."""
        shape = StructuredDict(
            dict(self.config.json_schema),
            name=self.config.name,
            description=self.config.description,
        )
        return ToolOutput(shape, name=OUTPUT_TOOL_NAME)

    def validate_output(self, output: dict[str, Any]) -> dict[str, Any]:
        """Return the answer if it fits.

        Raises:
            ModelRetry: If it does not; the model is told where.
        """
        problems = find_problems(output, self.config.json_schema)
        if problems:
            raise ModelRetry("\n".join(problems[:_MAX_PROBLEMS]))
        return output
