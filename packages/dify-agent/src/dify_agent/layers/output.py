"""The layer that asks for an answer of a given shape.

The model is asked to call an output tool with this schema, and is told what is wrong when its answer does not fit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from pydantic import JsonValue, field_validator
from pydantic_ai import ModelRetry, StructuredDict
from pydantic_ai.output import OutputSpec
from referencing import Registry

from dify_agent.compositor import EmptyRuntimeState, LayerConfig, NoLayerDeps, PlainLayer


OUTPUT_LAYER_TYPE_ID: Final = "dify.output"
"""Type id of the layer with the shape of the answer."""

_MAX_PROBLEMS: Final = 10


class OutputLayerConfig(LayerConfig):
    """Describe the answer.

    Attributes:
        json_schema: A JSON Schema of type `object`; its draft is what `$schema` names, 2020-12 otherwise.
        name: What the model is told the answer is called.
        description: What the model is told the answer is.
    """

    json_schema: dict[str, JsonValue]
    name: str | None = None
    description: str | None = None

    @field_validator("json_schema")
    @classmethod
    def _check_schema(cls, schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if schema.get("type") != "object":
            raise ValueError("expected a JSON Schema of type 'object'")
        try:
            _validator_class(schema).check_schema(schema)
        except SchemaError as error:
            raise ValueError(
                f"expected a valid JSON Schema: {error.json_path}: {error.message}"
            ) from None
        return schema


@dataclass(slots=True, eq=False)
class OutputLayer(PlainLayer[NoLayerDeps, OutputLayerConfig, EmptyRuntimeState]):
    """Ask for an answer of a given shape, and hold the model to it.

    Attributes:
        config: The shape.
    """

    type_id: ClassVar[str] = OUTPUT_LAYER_TYPE_ID

    config: OutputLayerConfig

    @property
    def output_type(self) -> OutputSpec[dict[str, Any]]:
        """Return the shape as Pydantic AI takes it."""
        return StructuredDict(
            dict(self.config.json_schema),
            name=self.config.name,
            description=self.config.description,
        )

    def validate_output(self, output: dict[str, Any]) -> dict[str, Any]:
        """Return the answer if it fits.

        Nothing is fetched to resolve a `$ref`.

        Raises:
            ModelRetry: It does not; the model is told where.
        """
        schema = self.config.json_schema
        validator = _validator_class(schema)(schema, registry=Registry())
        problems = sorted(validator.iter_errors(output), key=lambda error: error.json_path)
        if problems:
            raise ModelRetry("\n".join(_describe(problem) for problem in problems[:_MAX_PROBLEMS]))
        return output


def _validator_class(schema: Mapping[str, Any]) -> type[Validator]:
    return validator_for(schema, default=Draft202012Validator)


def _describe(problem: ValidationError) -> str:
    return f"{problem.json_path}: {problem.message}"
