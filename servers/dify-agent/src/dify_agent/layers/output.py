"""The layer that asks for an answer of a certain shape.

The model has to call an output tool with this schema, and gets the problems if its answer does not fit.
"""

from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Final

from pydantic import JsonValue, field_validator
from pydantic_ai import ModelRetry, StructuredDict, ToolOutput
from pydantic_ai.output import OutputSpec

from agent_tooling import find_findings, validate_schema
from dify_agent.compositor import EmptyRuntimeState, LayerConfig, NoLayerDeps, PlainLayer


__all__ = ["OutputLayer", "OutputLayerConfig"]


OUTPUT_TOOL_NAME: Final = "final_output"
"""Name of the tool through which the model gives its answer; no other tool of the run may have it."""

_MAX_PROBLEMS: Final = 10


class OutputLayerConfig(LayerConfig):
    """The shape of the answer.

    Attributes:
        json_schema: A JSON Schema of type `object` that refers to nothing outside itself; its draft is the one that `$schema`
            names, or else 2020-12.
        name: The answer's name for the model.
        description: The answer's description for the model.
        strict: Whether the model's provider is to enforce the schema itself, where it can; None leaves it to Pydantic AI.
    """

    json_schema: dict[str, JsonValue]
    name: str | None = None
    description: str | None = None
    strict: bool | None = None

    @field_validator("json_schema")
    @classmethod
    def _validate_schema(cls, schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if schema.get("type") != "object":
            raise ValueError("expected a JSON Schema of type 'object'")
        if not isinstance(schema.get("$schema", ""), str):
            raise ValueError("expected $schema to be the address of a draft")  # noqa: TRY004 - as for any other schema
        # Here the author of the request reads the error; later the model's answer would fail.
        validate_schema(schema, field="the JSON Schema")
        return schema


@dataclass(slots=True, eq=False)
class OutputLayer(PlainLayer[NoLayerDeps, OutputLayerConfig, EmptyRuntimeState]):
    """The request for an answer of a certain shape, which is enforced.

    Attributes:
        config: The shape.
    """

    type_id: ClassVar[str] = "dify.output"

    config: OutputLayerConfig

    @property
    def output_type(self) -> OutputSpec[dict[str, Any]]:
        """Return the shape as an output type of Pydantic AI."""
        shape = StructuredDict(
            dict(self.config.json_schema),
            name=self.config.name,
            description=self.config.description,
        )
        return ToolOutput(shape, name=OUTPUT_TOOL_NAME, strict=self.config.strict)

    def validate_output(self, output: dict[str, Any]) -> dict[str, Any]:
        """Return the answer if it fits. Nothing is fetched to resolve a `$ref`, and `format` is not checked.

        Raises:
            ModelRetry: If it does not; the message lists the problems for the model.
        """
        try:
            # A pattern such as `(a+)+$` must not keep the process busy.
            found = find_findings(self.config.json_schema, output)
        except Exception:  # noqa: BLE001 - jsonschema raises many kinds
            raise ModelRetry("the answer could not be checked") from None
        problems = sorted(found, key=lambda error: error.json_path)
        if problems:
            texts = (f"{problem.json_path}: {problem.message}" for problem in problems)
            raise ModelRetry("\n".join(islice(texts, _MAX_PROBLEMS)))
        return output
