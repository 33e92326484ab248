"""jsonschema validators and their findings."""

from typing import Any, Final

from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema, path_text, shorten

from .patterns import bound_patterns


_MAX_CHARACTERS: Final = 300


def find_finding(validator: Any, value: object) -> Any:
    """Return the outermost of jsonschema's findings about a value; None if there is none.

    For a reference that leads nowhere or in a circle, or a broken pattern, jsonschema raises errors of many kinds.
    """
    return min(validator.iter_errors(value), key=lambda item: len(item.path), default=None)


def build_validator(schema: JsonSchema, *, field: str) -> Any:
    """Return jsonschema's validator for a schema; None if that is not installed. It never fetches references, and no pattern takes it long.

    Args:
        schema: The schema.
        field: What it is the schema of, for the error.

    Raises:
        DeclarationError: If it is not a valid schema.
    """
    try:
        import jsonschema  # noqa: PLC0415 - an extra, and slow to import
        from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415 - comes with it
    except ImportError:
        return None
    library: Any = jsonschema
    kind = library.validators.validator_for(schema, default=library.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except library.SchemaError as error:
        place = f"{path_text(error.path)} of {field}" if error.path else field
        found = shorten(error.message, _MAX_CHARACTERS)
        raise DeclarationError(place, "a valid JSON schema", found=found) from error
    kind, schema = bound_patterns(kind, schema)
    return kind(schema, registry=EMPTY_REGISTRY)  # Else it would fetch remote references.
