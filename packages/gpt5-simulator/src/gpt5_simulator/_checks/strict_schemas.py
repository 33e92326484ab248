"""The rules of strict mode for the schemas in a request: closed objects without optional properties."""

from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_object, object_at


def validate_closed(schema: Json, *, label: str, param: str, code: str, path: str = "") -> None:
    """Refuse a strict schema that contains an object that is open or has optional properties.

    Raises:
        ApiError: If there is such an object; it names the first one.
    """
    context = f"In context=({path})"
    if schema.get("type") == "object" or "properties" in schema:
        if schema.get("additionalProperties") is not False:
            text = f"{label}: {context}, 'additionalProperties' is required to be supplied and to be false."
            raise ApiError(text, param=param, code=code)
        optional = set(object_at(schema, "properties")) - set(schema.get("required") or ())
        if optional:
            text = (
                f"{label}: {context}, 'required' is required to be supplied and to be an array including "
                f"every key in properties. Missing '{min(optional)}'."
            )
            raise ApiError(text, param=param, code=code)
    for step, inner in _subschemas(schema):
        deeper = f"{path}, {step}" if path else step
        validate_closed(inner, label=label, param=param, code=code, path=deeper)


def _subschemas(schema: Json) -> list[tuple[str, Json]]:
    named = [
        (f"'{group}', '{name}'", inner)
        for group in ("properties", "$defs", "definitions")
        for name, inner in object_at(schema, group).items()
    ]
    listed = [
        (f"'{group}', '{index}'", inner)
        for group in ("anyOf", "oneOf", "allOf")
        for index, inner in enumerate(schema.get(group) or ())
    ]
    single = [("'items'", schema.get("items"))]
    return [(step, inner) for step, inner in (*named, *listed, *single) if is_object(inner)]
