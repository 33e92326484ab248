"""The answer's shape: `text.format` from the `json_schema` parameter."""

import re
from collections.abc import Mapping
from typing import Any, cast

from ._errors import PayloadError
from ._values import coerce_bool, copy_json, is_blank, parse_json


_FIELD = "json_schema"
_DEFAULT_NAME = "structured_output"
# Source: openai-python 3.54, docstring of `ResponseFormatTextJSONSchemaConfig.name`.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def json_schema_format(raw: object) -> dict[str, Any]:
    """Build `text.format` from a JSON schema, as text or as a mapping.

    Two shapes are accepted: `{"name": ..., "schema": {...}, "strict": true}`, where only `schema` is required, and the same
    wrapped as Chat Completions has it: `{"type": "json_schema", "json_schema": {...}}`. A bare schema is refused, because its
    missing `schema` field cannot be told from a mistake.

    Returns:
        `{"type": "json_schema", "name": ..., "schema": {...}, "strict": ...}`, with `description` where there is one;
        `name` is `structured_output` and `strict` is true unless said otherwise.

    Raises:
        PayloadError: If it is blank or no JSON object, or if one of its fields is missing or unusable.

    Source: https://platform.openai.com/docs/api-reference/responses/create, `text.format`.
    """
    spec = _unwrapped(_json_object(raw))
    schema = spec.get("schema")
    if not isinstance(schema, Mapping):
        raise PayloadError(f"{_FIELD} must include an object field named 'schema'", field=_FIELD)
    result: dict[str, Any] = {
        "type": "json_schema",
        "name": _name(spec.get("name")),
        "schema": copy_json(cast("object", schema), field=f"{_FIELD}.schema"),
        "strict": coerce_bool(spec.get("strict", True), field=f"{_FIELD}.strict"),
    }
    description = spec.get("description")
    if isinstance(description, str) and description.strip():
        result["description"] = description
    return result


def _json_object(raw: object) -> Mapping[str, Any]:
    if is_blank(raw):
        raise PayloadError(
            f"{_FIELD} is required when response_format is json_schema", field=_FIELD
        )
    value = parse_json(raw, field=_FIELD) if isinstance(raw, str) else raw
    if not isinstance(value, Mapping):
        raise PayloadError(f"{_FIELD} must be a JSON object", field=_FIELD)
    return cast("Mapping[str, Any]", value)


def _unwrapped(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = spec.get("json_schema")
    if spec.get("type") == "json_schema" and isinstance(inner, Mapping):
        return cast("Mapping[str, Any]", inner)
    return spec


def _name(value: object) -> str:
    if is_blank(value):
        return _DEFAULT_NAME
    if isinstance(value, str) and _NAME.fullmatch(value.strip()):
        return value.strip()
    raise PayloadError(
        f"{_FIELD}.name must be 1 to 64 letters, digits, underscores or hyphens",
        field=f"{_FIELD}.name",
    )
