"""Rewriting pydantic's JSON schemas into a form that every model API takes.

Source: docs/evidence/responses-api.md, R15 and R18 to R22.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agent_tooling._json_text import JsonSchema
from stream_text import is_list, is_object


_PREFIX: Final = "#/$defs/"
# `title` repeats a name, `uniqueItems` is refused in strict schemas and not enforced for sets,
# `discriminator` is not JSON schema.
_LEFT_OUT: Final = frozenset({"$defs", "discriminator", "title", "uniqueItems"})
_SCHEMAS_BY_NAME: Final = frozenset({"patternProperties", "properties"})
_LISTS_OF_SCHEMAS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SCHEMAS: Final = frozenset({"additionalProperties", "contains", "items", "not", "propertyNames"})


def to_portable_schema(schema: Mapping[str, Any], *, closed: bool) -> JsonSchema:
    """Return a pydantic schema without the parts that models do not need and APIs refuse.

    A definition is moved to where it is used; only an object that is used more than once, or inside itself, remains a definition. `oneOf`, which
    pydantic writes for unions whose members exclude each other, becomes `anyOf`, and each array gets `items`.

    Args:
        schema: The schema, which is not used afterwards.
        closed: Whether objects with known properties take no others.
    """
    definitions: Mapping[str, JsonSchema] = schema.get("$defs", {})
    uses = Counter(_iter_references(schema))
    kept = {
        name
        for name, definition in definitions.items()
        if (uses[name] > 1 and "properties" in definition) or _is_recursive(name, definitions)
    }
    writer = _Writer({name: item for name, item in definitions.items() if name not in kept}, closed)
    portable = writer.write(schema)
    if kept:
        portable["$defs"] = {name: writer.write(definitions[name]) for name in sorted(kept)}
    return portable


def is_closed(schema: Mapping[str, Any]) -> bool:
    """Return whether no object in a schema takes more properties than the schema names."""
    return not any(map(_is_open, iter_objects(schema)))


def _is_open(schema: Mapping[str, Any]) -> bool:
    return "properties" in schema and schema.get("additionalProperties", False) is not False


class _Writer:
    """A writer of schemas that inlines definitions."""

    def __init__(self, inlined: Mapping[str, JsonSchema], closed: bool) -> None:  # noqa: FBT001 - private, and named by its only caller
        self._inlined = inlined
        self._closed = closed

    def write(self, schema: object) -> Any:
        if not is_object(schema):
            return schema
        definition = self._inlined.get(str(schema.get("$ref")).removeprefix(_PREFIX))
        if definition is not None:
            # For instance this field's own description. APIs would refuse it beside a `$ref` (R21).
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return self.write(definition | beside)
        written: JsonSchema = {
            key: self._write_member(key, value)
            for key, value in schema.items()
            if key not in _LEFT_OUT
        }
        if "oneOf" in written:
            written["anyOf"] = written.pop("oneOf")
        # Strict schemas need `items` in every list (R19), and pydantic writes none for a tuple.
        if written.get("type") == "array" and "items" not in written:
            written["items"] = _any_of(written.get("prefixItems", []))
        if "properties" in written and self._closed:
            written.setdefault("additionalProperties", False)
        return written

    def _write_member(self, key: str, value: Any) -> object:
        if key in _SCHEMAS_BY_NAME:
            return {name: self.write(item) for name, item in value.items()}
        if key in _LISTS_OF_SCHEMAS:
            return [self.write(item) for item in value]
        return self.write(value) if key in _SCHEMAS else value


def _any_of(schemas: list[JsonSchema]) -> JsonSchema:
    distinct = [schema for index, schema in enumerate(schemas) if schema not in schemas[:index]]
    return {"anyOf": distinct} if len(distinct) > 1 else (distinct or [{}])[0]


def _is_recursive(name: str, definitions: Mapping[str, JsonSchema]) -> bool:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        for used in _iter_references(definitions[waiting.pop()]):
            if used == name:
                return True
            if used not in seen:
                seen.add(used)
                waiting.append(used)
    return False


def _iter_references(value: object) -> Iterator[str]:
    """Yield the name of a definition for each reference to it."""
    references = (node.get("$ref") for node in iter_objects(value))
    return (one.removeprefix(_PREFIX) for one in references if isinstance(one, str))


def iter_objects(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in a JSON value, itself included."""
    if is_object(value):
        yield value
        value = list(value.values())
    if is_list(value):
        for item in value:
            yield from iter_objects(item)
