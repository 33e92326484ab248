"""Checking JSON Schemas, and inputs against them."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from agent_runner._errors import ConfigurationError, InputError, InputProblem


_SHOWN_CHARACTERS = 200
_MOST_PROBLEMS = 100  # A list may have a million wrong items, and each problem takes a kilobyte.


def read_schema(schema: Any, *, name: str) -> dict[str, Any]:
    """Return a schema if it is valid.

    Its draft is the one that `$schema` names, or else 2020-12.

    Raises:
        ConfigurationError: If it is not an object, or not a valid JSON Schema.
    """
    if not isinstance(schema, dict):
        raise ConfigurationError(name, "expected a JSON Schema, which is an object")
    fields = cast("dict[str, Any]", schema)
    if not isinstance(fields.get("$schema", ""), str):
        raise ConfigurationError(name, "expected $schema to be a string")
    try:
        _validator_class(fields).check_schema(fields)
    except SchemaError as error:
        raise ConfigurationError(
            name, f"expected a valid JSON Schema: {error.json_path}: {_shortened(error.message)}"
        ) from error
    except RecursionError:
        raise ConfigurationError(name, "expected a schema of fewer levels") from None
    return fields


def validate_value(value: Any, schema: Mapping[str, Any], *, name: str, at: str = "") -> None:
    """Refuse a value that does not fit a schema.

    Nothing is fetched to resolve a `$ref`, and `format` is not checked.

    Args:
        value: The value.
        schema: The schema.
        name: What errors call the schema.
        at: The path of the value, with which those of its fields begin; empty for the input.

    Raises:
        InputError: If the value does not fit the schema; the error names the first hundred problems.
        ConfigurationError: If the schema refers to something outside itself, or has a broken pattern.
    """
    # With an empty registry: jsonschema's own would fetch a `$ref` from the network.
    validator = _validator_class(schema)(schema, registry=Registry())
    try:
        first = islice(validator.iter_errors(value), _MOST_PROBLEMS)
        errors = sorted(first, key=lambda error: error.json_path)
    except Unresolvable as error:
        raise ConfigurationError(
            name, f"expected every $ref to lead into the schema itself, got {error.ref!r}"
        ) from error
    except RecursionError:
        raise ConfigurationError(name, "expected no $ref that leads to itself") from None
    except re.error as error:
        raise ConfigurationError(
            name, f"expected every pattern to be a regular expression: {error}"
        ) from error
    if errors:
        raise InputError(
            *dict.fromkeys(problem for error in errors for problem in _problems(error, at))
        )


def _validator_class(schema: Mapping[str, Any]) -> type[Validator]:
    return validator_for(schema, default=Draft202012Validator)


def _problems(error: ValidationError, at: str) -> Iterator[InputProblem]:
    """Yield the problems that an error reports, without quoting the value, which may be long or private."""
    field = (at + error.json_path.removeprefix("$")).removeprefix(".")
    expected: Any = error.validator_value
    match error.validator:
        case "required":
            missing = [name for name in expected if name not in error.instance]
            for name in missing:
                yield InputProblem(
                    field=f"{field}.{name}" if field else name, message="expected to be present"
                )
        case "additionalProperties" | "unevaluatedProperties":
            yield InputProblem(field=field or "input", message=_shortened(error.message))
        case keyword:
            yield InputProblem(
                field=field or "input", message=_shortened(f"expected {keyword} {expected!r}")
            )


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
