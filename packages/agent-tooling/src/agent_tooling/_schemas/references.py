"""References in a JSON schema.

Source: JSON Schema 2020-12, core, 8.2; RFC 6901 (JSON pointers).
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema, is_schema, members
from stream_text import is_list, is_object


REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
"""The schema keywords that lead to another place in the schema."""

# Such as `%20` or `%C3%A4`: decoded as a run, since a character may take several bytes.
_ENCODED: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
UNREAD: Final = "(unread)"
"""The keyword of a schema that has lost another, which could not be read."""

VALUES: Final = frozenset({"const", "default", "enum", "example", "examples"})
"""The schema keywords that hold a plain value, whatever it looks like."""

SCHEMAS_BY_NAME: Final = frozenset(
    {
        "$defs",
        "definitions",
        "dependencies",
        "dependentSchemas",
        "patternProperties",
        "properties",
    }
)


def validate_references(schema: JsonSchema, *, field: str) -> None:
    """Refuse a schema with a reference to something outside it or missing in it.

    Args:
        schema: The schema.
        field: What it is the schema of, for the error.

    Raises:
        DeclarationError: If it has one; the message names it.
    """
    for node, key in _iter_lost(schema):
        raise DeclarationError(f"$ref of {field}", "a place in the schema", found=repr(node[key]))


def drop_lost_references(schema: JsonSchema) -> None:
    """Take out of a schema the references to something outside it or missing in it."""
    for node, key in list(_iter_lost(schema)):
        del node[key]
        node[UNREAD] = {}


def _iter_lost(schema: JsonSchema) -> Iterator[tuple[JsonSchema, str]]:
    """Yield each schema in a schema that has such a reference, and its keyword."""
    anchors: dict[int, Collection[object]] = {}
    for resource, node in _iter_nodes(schema, schema):
        for key in REFERENCES:
            reference = node.get(key)
            is_text = isinstance(reference, str)
            if is_text and not (reference[:1] == "#" and _is_there(resource, reference, anchors)):
                yield node, key


def _is_there(resource: JsonSchema, reference: str, anchors: dict[int, Collection[object]]) -> bool:
    """Return whether a reference leads to something; `anchors` caches those of each resource.

    Looking for each anew would take time that grows with the square.
    """
    fragment = _to_fragment(reference)
    if not fragment or fragment.startswith("/"):
        return find_referenced(resource, reference) is not None
    if (known := anchors.get(id(resource))) is None:
        known = anchors[id(resource)] = {
            name for node in iter_schemas(resource) for name in _iter_names(node)
        }
    return fragment in known


def find_referenced(schema: JsonSchema, reference: object) -> object:
    """Return what a reference such as `#/$defs/Room` or `#room` leads to; None if that is missing."""
    if not isinstance(reference, str):
        return None
    fragment = _to_fragment(reference)
    if fragment and not fragment.startswith("/"):
        anchors = (node for _, node in _iter_nodes(schema, schema) if fragment in _iter_names(node))
        return next(anchors, None)
    place: object = schema
    for name in fragment.split("/")[1:]:
        # In this order (RFC 6901, 4): the other would turn `~01`, which means `~1`, into `/`.
        key = name.replace("~1", "/").replace("~0", "~")
        if is_list(place):
            place = place[int(key)] if key.isdecimal() and int(key) < len(place) else None
        else:
            place = members(place).get(key)
    return place


def iter_schemas(schema: JsonSchema) -> Iterator[JsonSchema]:
    """Yield a schema and every schema inside it."""
    for _, node in _iter_nodes(schema, schema):
        yield node


def _to_fragment(reference: str) -> str:
    return _ENCODED.sub(_decode, reference.removeprefix("#"))


def _decode(encoded: re.Match[str]) -> str:
    return bytes.fromhex(encoded[0].replace("%", "")).decode(errors="replace")


def _iter_names(node: JsonSchema) -> Iterator[str]:
    for key in _ANCHORS:
        if isinstance(name := node.get(key), str):
            yield name
    if isinstance(address := node.get("$id"), str) and address.startswith("#"):
        yield address[1:]


def _iter_nodes(value: object, resource: JsonSchema) -> Iterator[tuple[JsonSchema, JsonSchema]]:
    """Yield each schema in a schema, with the one that its references are resolved in: the nearest with an `$id` of its own."""
    if is_list(value):
        for item in value:
            yield from _iter_nodes(item, resource)
    if not is_schema(value):
        return
    address = value.get("$id")
    if isinstance(address, str) and not address.startswith("#"):
        resource = value
    yield resource, value
    for key, member in value.items():
        if key in SCHEMAS_BY_NAME and is_object(member):
            for named in member.values():
                yield from _iter_nodes(named, resource)
        elif key not in VALUES:
            yield from _iter_nodes(member, resource)
