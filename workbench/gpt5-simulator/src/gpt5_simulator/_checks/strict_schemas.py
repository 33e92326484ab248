"""The rules of strict mode for the schemas in a request: closed objects without optional properties, few keywords, and limits of size.

Source: docs/evidence/responses-api.md, R19 and R20; strict_schema.json says more.
"""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

from gpt5_simulator._checks.function_schemas import iter_faults
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_array, is_object, object_at


_RULES: Final = json.loads(Path(__file__).with_name("strict_schema.json").read_text("utf-8"))
_DEFINITIONS = ("$defs", "definitions")
# One of them says what a value is.
_KINDS = frozenset({"type", "$ref", "anyOf", "enum", "const"})


def validate_closed(schema: Json, *, label: str, param: str, code: str) -> None:
    """Refuse a strict schema for the first fault that the API finds in it.

    Raises:
        ApiError: If there is a fault; it names the place.
    """
    nodes = list(_iter_nodes(schema, ""))
    worded = (fault for _, _, node in nodes for fault in iter_faults(node, schema))
    faults = (
        f"In context=({place}), {fault}" for place, _, node in nodes for fault in _iter_faults(node)
    )
    if schema.get("type") != "object" or "anyOf" in schema:
        kind = None if "anyOf" in schema else schema.get("type")
        fault = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
    else:
        fault = next(chain(worded, faults, _iter_excesses(nodes)), None)
    if fault is not None:
        raise ApiError(f"{label}: {fault}", param=param, code=code)


def _iter_nodes(schema: Json, place: str, level: int = 1) -> Iterator[tuple[str, int, Json]]:
    """Yield each schema in a schema, outermost first, with its place and level."""
    yield place, level, schema
    for word, value in schema.items():
        members: list[tuple[str, Any]] = []
        if word in ("properties", *_DEFINITIONS) and is_object(value):
            members = [(f"'{word}', '{name}'", one) for name, one in value.items()]
        elif word in ("anyOf", "oneOf", "allOf") and is_array(value):
            members = [(f"'{word}', '{index}'", one) for index, one in enumerate(value)]
        elif word == "items":
            members = [("'items'", value)]
        inner = 1 if word in _DEFINITIONS else level + (word in ("properties", "items"))
        for step, one in members:
            if is_object(one):
                yield from _iter_nodes(one, f"{place}, {step}" if place else step, inner)


def _iter_faults(node: Json) -> Iterator[str]:
    """Yield what is wrong with a schema itself."""
    if node.get("type") == "object" or "properties" in node:
        if node.get("additionalProperties") is not False:
            yield "'additionalProperties' is required to be supplied and to be false."
        optional = set(object_at(node, "properties")) - set(node.get("required") or ())
        if optional:
            yield (
                "'required' is required to be supplied and to be an array including "
                f"every key in properties. Missing '{min(optional)}'."
            )
    if "$ref" in node and len(node) > 1:
        yield f"$ref cannot have keywords {set(node) - {'$ref'}}."
    yield from (f"'{word}' is not permitted." for word in _RULES["not permitted"] if word in node)
    if _KINDS.isdisjoint(node):
        yield "schema must have a 'type' key."
    if "array" in _types(node) and "items" not in node:
        yield "array schema missing items."
    if node.get("format") not in (None, *_RULES["formats"]):
        yield f"'{node['format']}' is not a valid format."


def _iter_excesses(nodes: list[tuple[str, int, Json]]) -> Iterator[str]:
    """Yield the limits that a schema exceeds with all schemas in it."""
    schemas = [node for _, _, node in nodes]
    properties, definitions = (
        [name for node in schemas for group in groups for name in object_at(node, group)]
        for groups in (("properties",), _DEFINITIONS)
    )
    enums: list[list[Any]] = [node["enum"] for node in schemas if is_array(node.get("enum"))]
    constants = [node["const"] for node in schemas if "const" in node]
    large = [_characters(enum) for enum in enums if len(enum) > _RULES["large enum"]]
    amounts = (
        max(level for _, level, node in nodes if {"array", "object"} & set(_types(node))),
        len(properties),
        sum(map(len, enums)),
        _characters(chain(properties, definitions, constants, *enums)),
        max(large, default=0),
    )
    for amount, (what, most) in zip(amounts, _RULES["at most"].items(), strict=True):
        if amount > most:
            yield f"{amount} {what} exceeds limit of {most}."


def _types(node: Json) -> list[Any]:
    kinds: Any = node.get("type")
    return kinds if is_array(kinds) else [kinds]


def _characters(values: Any) -> int:
    return sum(len(value) for value in values if isinstance(value, str))
