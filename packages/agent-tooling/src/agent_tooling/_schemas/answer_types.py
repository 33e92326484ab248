"""The JSON schema of an answer's Python type, and reading an answer as a value of the type.

Only imported when the first type is read, because it imports pydantic.
"""

import json
from collections.abc import Callable
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema, path_text, shorten
from stream_text import is_object

from .portable_schema import is_closed, to_portable_schema
from .schema_writer import SchemaWriter


_WRAPPING: Final = "answer"  # For a type that is not an object: APIs take no other schema.
_MAX_CHARACTERS: Final = 300


def read_type(
    kind: Any, *, field: str
) -> tuple[JsonSchema, Callable[[Any], tuple[Any, str | None]], Callable[[Any], str | None]]:
    """Return a type's schema, a function that reads an answer's JSON value, and one that writes a value as an answer.

    The reader returns a value of the type, or says what is wrong.

    Raises:
        DeclarationError: If pydantic cannot check the type, or JSON schema cannot express it.
    """
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        raw = adapter.json_schema(schema_generator=SchemaWriter)
    except Exception as error:
        expected = "a type that pydantic can check and JSON schema can say"
        raise DeclarationError(field, expected, found=repr(kind)) from error
    if "$ref" in raw:  # As pydantic writes a class that holds itself.
        raw = raw["$defs"][raw["$ref"].rpartition("/")[2]] | {"$defs": raw["$defs"]}
    schema = to_portable_schema(raw, closed=is_closed(raw))
    is_whole = schema.get("type") == "object"

    def read(value: Any) -> tuple[Any, str | None]:
        if not is_whole:
            if not is_object(value) or _WRAPPING not in value:
                return None, f"it must be an object with the key {_WRAPPING!r}"
            value = value[_WRAPPING]
        try:
            # As JSON, where a date is text. The type decides whether the check is strict.
            return adapter.validate_json(json.dumps(value)), None
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            place = path_text(first["loc"])
            message = shorten(first["msg"], _MAX_CHARACTERS)
            return None, f"{place}: {message}" if place else message
        except Exception:  # noqa: BLE001 - a validator may raise anything; its text may hold secrets
            return None, "it could not be checked"

    def write(value: Any) -> str | None:
        try:
            # What a guardrail has made of an answer may be anything; whether it is of the type, `check` says.
            text = adapter.dump_json(value, warnings=False).decode()
        except Exception:  # noqa: BLE001 - a serializer of the type may raise anything
            return None
        return text if is_whole else f'{{"{_WRAPPING}":{text}}}'

    return (schema if is_whole else _wrap(schema)), read, write


def _wrap(schema: JsonSchema) -> JsonSchema:
    definitions = schema.pop("$defs", None)
    wrapped: JsonSchema = {
        "type": "object",
        "properties": {_WRAPPING: schema},
        "required": [_WRAPPING],
        "additionalProperties": False,
    }
    return wrapped if definitions is None else {**wrapped, "$defs": definitions}
