"""The JSON schema of a tool's arguments, as the model sees it."""

import copy
from collections.abc import Iterable
from typing import Final

from agent_tooling._json_text import JsonSchema

from .parameters import ToolParameter, to_parameters


_PORTABLE_TYPES: Final[dict[str, JsonSchema]] = {
    "any": {},
    "app-selector": {"type": "object"},
    "array": {"type": "array", "items": {}},
    "boolean": {"type": "boolean"},
    "dynamic-select": {"type": "string"},
    "integer": {"type": "integer"},
    "model-selector": {"type": "object"},
    "number": {"type": "number"},
    "object": {"type": "object"},
}


def llm_json_schema(parameters: Iterable[object] | None, *, portable: bool = False) -> JsonSchema:
    """Build the JSON schema of the arguments that a model may supply.

    Only parameters of form `llm` are included, and no files, because a model has none to give. A parameter's own
    `input_schema` is used unchanged; otherwise the schema has type, description, options, bounds and default. Keys always
    come in the same order. The result shares nothing with the declarations.

    Args:
        parameters: The tool's parameters, merged with its runtime ones.
        portable: Whether types that only Dify knows (`any`, `dynamic-select`, the selectors) and arrays without items
            are written as JSON schema that every model API accepts, since one parameter could get a whole request
            refused. If False, the types are exactly Dify's own. An unknown type is text either way.

    Raises:
        DeclarationError: If a parameter cannot be read.

    Source: docs/contracts/dify-agent.md, C2 and C3; docs/evidence/dify-platform.md, P18. Bounds and defaults are our
    addition.
    """
    visible = [parameter for parameter in to_parameters(parameters) if parameter.is_visible]
    return {
        "type": "object",
        "properties": {
            parameter.name: _parameter_schema(parameter, portable=portable) for parameter in visible
        },
        "required": [parameter.name for parameter in visible if parameter.required],
    }


def _parameter_schema(parameter: ToolParameter, *, portable: bool) -> JsonSchema:
    """Build the schema of one parameter."""
    if parameter.input_schema is not None:
        schema: JsonSchema = copy.deepcopy(dict(parameter.input_schema))
        schema.setdefault("description", parameter.llm_description)
        return schema | _options_schema(parameter)
    schema = _type_schema(parameter, portable=portable)
    schema["description"] = parameter.llm_description
    return schema | _options_schema(parameter) | _bounds_schema(parameter)


def _type_schema(parameter: ToolParameter, *, portable: bool) -> JsonSchema:
    """Build the part that says which JSON type the value has."""
    if parameter.multiple:
        return {"type": "array"}
    if parameter.type == "date-range":
        ends = {"start": {"type": "string"}, "end": {"type": "string"}}
        return {"type": "object", "properties": ends}
    schema = _PORTABLE_TYPES.get(parameter.type)
    if schema is None:
        return {"type": "string"}
    return copy.deepcopy(schema) if portable else {"type": parameter.type}


def _options_schema(parameter: ToolParameter) -> JsonSchema:
    """Build the part that lists a select's options."""
    options = list(parameter.options) if parameter.type == "select" else []
    choices = {"enum": options} if options else {}
    if parameter.multiple:
        return {"items": {"type": "string", **choices}}
    return choices


def _bounds_schema(parameter: ToolParameter) -> JsonSchema:
    """Build the part with bounds and default, each only where it is declared."""
    facts = {
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
        "default": copy.deepcopy(parameter.default),
    }
    return {key: value for key, value in facts.items() if value is not None}
