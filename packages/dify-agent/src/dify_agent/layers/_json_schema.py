"""JSON Schema: which schemas an answer may have, and what is wrong with an answer."""

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from pydantic import JsonValue
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from agent_tooling import DeclarationError, bound_patterns, validate_patterns


def validate_object_schema(schema: dict[str, JsonValue]) -> None:
    """Check that a schema is a valid one of type `object` that refers to nothing outside itself, and whose patterns take no long time to match.

    Its draft is what `$schema` names, 2020-12 otherwise.

    Raises:
        ValueError: If it is not.
    """
    if schema.get("type") != "object":
        raise ValueError("expected a JSON Schema of type 'object'")
    if not isinstance(schema.get("$schema", ""), str):
        raise ValueError("expected $schema to be the address of a draft")  # noqa: TRY004 - as for any other schema
    try:
        _validator_class(schema).check_schema(schema)
    except SchemaError as error:
        raise ValueError(
            f"expected a valid JSON Schema: {error.json_path}: {error.message}"
        ) from None
    _validate_references(schema)
    try:
        validate_patterns(schema, field="the JSON Schema")
    except DeclarationError as error:
        raise ValueError(str(error)) from None


def find_problems(value: JsonValue, schema: dict[str, JsonValue]) -> list[str]:
    """Return everything in which a value is not what the schema expects, each with the path that leads there.

    Nothing is fetched to resolve a `$ref`, and `format` is not checked.
    """
    kind, bounded = bound_patterns(_validator_class(schema), schema)
    validator: Validator = kind(bounded, registry=Registry[Any]())
    problems = sorted(validator.iter_errors(value), key=lambda error: error.json_path)
    return [f"{problem.json_path}: {problem.message}" for problem in problems]


def _validator_class(schema: dict[str, JsonValue]) -> type[Validator]:
    return validator_for(schema, default=Draft202012Validator)


def _validate_references(schema: dict[str, JsonValue]) -> None:
    resource = Resource[Any].from_contents(schema, default_specification=DRAFT202012)
    resolver = Registry[Any]().with_resource("", resource).resolver()
    for reference in _iter_references(schema):
        try:
            resolver.lookup(reference)
        except Unresolvable:
            raise ValueError(
                f"expected every $ref to lead into the schema, got {reference!r}"
            ) from None


def _iter_references(node: JsonValue) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(reference := node.get("$ref"), str):
            yield reference
        for child in node.values():
            yield from _iter_references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _iter_references(child)
