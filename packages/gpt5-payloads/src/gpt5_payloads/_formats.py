"""The answer's shape: `text.format` from the `json_schema` parameter."""

import re
from collections.abc import Mapping
from typing import Any

from stream_text import is_object

from ._errors import refused
from ._strict import is_strict, validate_strict
from ._strict_keywords import TYPES, named_types
from ._values import coerce_bool, copy_json, is_blank, parse_json


_FIELD = "json_schema"
_DEFAULT_NAME = "structured_output"
_BARE_NAME = "llm_response"  # the name in chat applications that give a schema alone
# A mapping without a `schema` that has one of these is a schema itself.
_SCHEMA_KEYWORDS = frozenset({"$ref", "allOf", "anyOf", "enum", "items", "oneOf", "properties"})
# Source: openai-python 3.54, docstring of `ResponseFormatTextJSONSchemaConfig.name`.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def json_schema_format(raw: object) -> dict[str, Any]:
    """Build `text.format` from a JSON schema, as text or as a mapping.

    Three shapes are accepted: `{"name": ..., "schema": {...}, "strict": true}`, where only `schema` is required; the same
    wrapped as in Chat Completions, `{"type": "json_schema", "json_schema": {...}}`; and the schema alone, as some runtimes send it.

    Returns:
        `{"type": "json_schema", "name": ..., "schema": {...}, "strict": ...}`, and `description` if there is one. The default name is
        `structured_output`, or `llm_response` for a schema alone. If `strict` is missing, it is true only for a schema that the API accepts as strict
        without a change; false is sent too, because the API takes a missing `strict` for true.

    Raises:
        PayloadError: If it is blank or not a JSON object, if one of its fields is missing or unusable, or if it should be strict and its root is not
            an object. The other schemas that the API refuses as strict are refused by `build_request`.

    Source: https://platform.openai.com/docs/api-reference/responses/create, `text.format`; docs/evidence/responses-api.md, R18.
    """
    spec = _named(_unwrapped(_json_object(raw)))
    schema = spec.get("schema")
    if not is_object(schema):
        raise refused(_FIELD, "must include an object field named 'schema'")
    field = f"{_FIELD}.schema"
    copied = copy_json(schema, field=field)
    result: dict[str, Any] = {
        "type": "json_schema",
        "name": _name(spec.get("name")),
        "schema": copied,
        "strict": coerce_bool(spec["strict"], field=f"{_FIELD}.strict")
        if "strict" in spec
        else is_strict(copied),
    }
    if copied.get("type", "object") != "object":
        validate_format(result)
    description = spec.get("description")
    if isinstance(description, str) and description.strip():
        result["description"] = description
    return result


def validate_format(text_format: Mapping[str, Any]) -> None:
    """Refuse a format that a user wants strict and the API refuses as strict.

    Raises:
        PayloadError: If its schema is one that the API is known to refuse as strict.
    """
    if text_format["strict"]:
        field = f"{_FIELD}.schema"
        validate_strict(text_format["schema"], field=field, name=field)


def _json_object(raw: object) -> Mapping[str, Any]:
    if is_blank(raw):
        raise refused(_FIELD, "is required when response_format is json_schema")
    value = parse_json(raw, field=_FIELD) if isinstance(raw, str) else raw
    if not is_object(value):
        raise refused(_FIELD, "must be a JSON object")
    return value


def _unwrapped(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = spec.get("json_schema")
    if spec.get("type") == "json_schema" and is_object(inner):
        return inner
    return spec


def _named(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema alone wrapped with a name, and anything else as it is."""
    is_schema = bool(_SCHEMA_KEYWORDS & spec.keys() or TYPES & named_types(spec))
    if "schema" in spec or not is_schema:
        return spec
    return {"name": _BARE_NAME, "schema": spec}


def _name(value: object) -> str:
    if is_blank(value):
        return _DEFAULT_NAME
    if isinstance(value, str) and _NAME.fullmatch(value.strip()):
        return value.strip()
    raise refused(f"{_FIELD}.name", "must be 1 to 64 letters, digits, underscores or hyphens")
