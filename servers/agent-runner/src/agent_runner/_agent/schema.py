"""Checking JSON Schemas, and inputs against them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from referencing.exceptions import Unresolvable

from agent_runner._errors import ConfigurationError, InputError, InputProblem
from agent_tooling import DeclarationError, find_findings, validate_schema
from stream_text import is_object


_SHOWN_CHARACTERS: Final = 200
_MOST_PROBLEMS: Final = (
    100  # A list may have a million wrong items, and each problem takes a kilobyte.
)
_MOST_STEPS: Final = 20_000_000  # An input may have megabytes.


def read_schema(schema: object, *, name: str) -> dict[str, Any]:
    """Return a schema by which inputs can be checked in bounded time.

    Its draft is the one that `$schema` names, or else 2020-12.

    Raises:
        ConfigurationError: If it is not an object, not a valid JSON Schema, or has a regular expression that cannot be matched in bounded time.
    """
    if not is_object(schema):
        raise ConfigurationError(name, "expected a JSON Schema, which is an object")
    if not isinstance(schema.get("$schema", ""), str):
        raise ConfigurationError(name, "expected $schema to be a string")
    fields = dict(schema)
    try:
        validate_schema(fields, field="the schema", may_lead_out=True)
    except DeclarationError as error:
        raise ConfigurationError(name, f"expected a valid JSON Schema: {error}") from None
    except RecursionError:
        raise ConfigurationError(name, "expected a schema of fewer levels") from None
    return fields


def validate_value(value: Any, schema: Mapping[str, Any], *, name: str, at: str = "") -> None:
    """Refuse a value that does not fit a schema.

    Nothing is fetched to resolve a `$ref`, and `format` is not checked.

    Args:
        value: The value.
        schema: The schema, as `read_schema` returns it.
        name: What errors call the schema.
        at: The path of the value, with which those of its fields begin; empty for the input.

    Raises:
        InputError: If the value does not fit the schema; the error names the first hundred problems.
        ConfigurationError: If the schema refers to something outside itself, or the check takes too many steps.
    """
    try:
        found = find_findings(dict(schema), value, most=_MOST_PROBLEMS, most_steps=_MOST_STEPS)
    except Unresolvable as error:
        raise ConfigurationError(
            name, f"expected every $ref to lead into the schema itself, got {error.ref!r}"
        ) from error
    except RecursionError:
        expected = (
            f"no $ref that leads to itself and at most {_MOST_STEPS:,} steps to check a value"
        )
        raise ConfigurationError(name, f"expected {expected}") from None
    if errors := sorted(found, key=lambda error: error.json_path):
        raise InputError(
            *dict.fromkeys(problem for error in errors for problem in _problems(error, at))
        )


def _problems(error: Any, at: str) -> Iterator[InputProblem]:
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
