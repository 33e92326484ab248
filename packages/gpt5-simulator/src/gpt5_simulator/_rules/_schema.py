"""JSON schemas: resolving them, and the smallest values that they allow."""

import math

from gpt5_simulator._json import Json, is_array, is_object, object_at, objects_in


_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "PT0S",
    "email": "nobody@example.com",
    "hostname": "example.com",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_MAX_DEPTH = 32


def resolve(schema: object, *, root: Json) -> Json:
    """Return a schema with references followed and alternatives decided: the first that is not null.

    Args:
        schema: The schema; anything that is no object allows everything.
        root: The schema that `$ref` points into.
    """
    current = schema if is_object(schema) else {}
    for _ in range(_MAX_DEPTH):
        if "$ref" in current:
            rest = {key: value for key, value in current.items() if key != "$ref"}
            current = _target(str(current["$ref"]), root) | rest
        elif "allOf" in current:
            rest = {key: value for key, value in current.items() if key != "allOf"}
            current = _merged([*objects_in(current["allOf"]), rest], root)
        elif "anyOf" in current or "oneOf" in current:
            current = _alternative(current, root)
        else:
            break
    return current


def type_of(schema: Json) -> str:
    """Return the JSON type that a resolved schema asks for; `string` where it asks for none."""
    declared: object = schema.get("type")
    if is_array(declared):
        return str(next((one for one in declared if one != "null"), "null"))
    if declared is None and "properties" in schema:
        return "object"
    return "string" if declared is None else str(declared)


def is_nullable(schema: object) -> bool:
    """Return whether an unresolved schema allows null in so many words."""
    if not is_object(schema):
        return False
    declared: object = schema.get("type")
    kinds = declared if is_array(declared) else [declared]
    options = objects_in(schema.get("anyOf")) + objects_in(schema.get("oneOf"))
    return "null" in kinds or any(is_nullable(option) for option in options)


def fixed_values(schema: Json) -> list[object]:
    """Return the values of `const` or `enum`, if the schema has one."""
    if "const" in schema:
        return [schema["const"]]
    values: object = schema.get("enum")
    return list(values) if is_array(values) else []


def fit_string(text: str, schema: Json) -> str:
    """Return a string of the schema's format and length, `text` itself if it is one."""
    fixed = _FORMATS.get(str(schema.get("format")))
    return fit_length(text, schema) if fixed is None else fixed


def fit_length(text: str, schema: Json) -> str:
    """Return a string of the schema's length, `text` itself if it is one."""
    padded = text.ljust(int(schema.get("minLength") or 0), ".")
    limit: int | None = schema.get("maxLength")
    return padded if limit is None else padded[:limit]


def fit_number(number: float, schema: Json) -> float:
    """Return the number in a resolved schema's range that is nearest to `number`, a whole one where it says `integer`."""
    is_integer = type_of(schema) == "integer"
    step = float(schema.get("multipleOf") or (1 if is_integer else 0))
    lowest, highest = _bounds(schema, step or 0.5)
    bounded = min(max(number, lowest), highest)
    if step:
        bounded = math.floor(bounded / step) * step
        bounded += step if bounded < lowest else 0
    return int(bounded) if is_integer else bounded


def _bounds(schema: Json, step: float) -> tuple[float, float]:
    lowest = [float(schema["minimum"])] if "minimum" in schema else []
    highest = [float(schema["maximum"])] if "maximum" in schema else []
    if "exclusiveMinimum" in schema:
        lowest.append(float(schema["exclusiveMinimum"]) + step)
    if "exclusiveMaximum" in schema:
        highest.append(float(schema["exclusiveMaximum"]) - step)
    return max(lowest, default=-math.inf), min(highest, default=math.inf)


def _target(reference: str, root: Json) -> Json:
    found: object = root
    for step in reference.lstrip("#").strip("/").split("/"):
        if step:
            found = (
                object_at(found, step.replace("~1", "/").replace("~0", "~"))
                if is_object(found)
                else {}
            )
    return found if is_object(found) else {}


def _merged(schemas: list[Json], root: Json) -> Json:
    merged: Json = {}
    for schema in schemas:
        part = resolve(schema, root=root)
        properties = object_at(merged, "properties") | object_at(part, "properties")
        required = [*(merged.get("required") or ()), *(part.get("required") or ())]
        merged = merged | part
        merged |= {"properties": properties} if properties else {}
        merged |= {"required": required} if required else {}
    return merged


def _alternative(schema: Json, root: Json) -> Json:
    options = objects_in(schema.get("anyOf")) + objects_in(schema.get("oneOf"))
    rest = {key: value for key, value in schema.items() if key not in {"anyOf", "oneOf"}}
    useful = [option for option in options if option.get("type") != "null"]
    chosen = next(iter(useful or options), {"type": "null"})
    return _merged([chosen, rest], root) if "properties" in rest else rest | chosen
