"""Checks whether the API accepts a JSON schema with `strict: true`, without a change.

The API documents what a strict schema has to be, and refuses more than it documents. So a schema counts as strict only if nothing in it is in
doubt: the API is known to accept every keyword, and the value of each.

Source: https://platform.openai.com/docs/guides/structured-outputs, "Supported schemas"; docs/evidence/responses-api.md, R18 to R22;
docs/decisions/0010-strict-schemas.md.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stream_text import is_list, is_object

from ._errors import PayloadError
from ._strict_keywords import (
    DEFINITIONS,
    TEXTS,
    TYPES,
    Doubt,
    check_keywords,
    enum_values,
    named_types,
)
from ._values import quote


type _Schema = Mapping[str, Any]

MAX_LEVELS = 10  # of objects and lists inside one another; a definition is counted for itself
MAX_PATH = 100  # `anyOf` in `anyOf` is no level, and has no end
_MAX_PROPERTIES = 5_000
_MAX_ENUM_VALUES = 1_000
_MAX_CHARACTERS = 120_000  # of all names and values
_LARGE_ENUM_VALUES = 250
_MAX_LARGE_ENUM_CHARACTERS = 15_000
_REFERENCE = re.compile(r"#(?:/(\$defs|definitions)/([^/~%]+))?")


@dataclass(frozen=True, slots=True)
class StrictFinding:
    """A reason against sending a schema as strict.

    Attributes:
        path: Where in the schema, such as `properties.city`; empty for its root.
        expected: What the API wants there.
        is_certain: Whether the API is known to refuse the schema for it; otherwise it is only not known to accept it.
    """

    path: str
    expected: str
    is_certain: bool = False


def is_strict(schema: _Schema) -> bool:
    """Return whether there is no reason against sending a schema as strict."""
    return next(check_strict(schema), None) is None


def exceeds_limits(schema: _Schema) -> bool:
    """Return whether a schema is larger than a strict one may be."""
    schemas = [node.schema for node in _iter_nodes(schema)]
    return next(_check_size(schemas), None) is not None


def validate_strict(schema: _Schema, *, field: str, name: str) -> None:
    """Refuse a schema that a user wants strict and the API refuses as strict; doubtful schemas are left to the server.

    Args:
        schema: The schema as it will be sent.
        field: The field that it came in.
        name: Its name in the message.

    Raises:
        PayloadError: If the API is known to refuse it.
    """
    for finding in check_strict(schema):
        if finding.is_certain:
            where = f" (at {quote(finding.path)})" if finding.path else ""
            raise PayloadError(
                f"{name} cannot be strict: {finding.expected}{where}. Correct it, or leave strict out.",
                field=field,
            )


def check_strict(schema: _Schema) -> Iterator[StrictFinding]:
    """Yield the reasons against sending a schema as strict: those for which the API refuses it, and doubts."""
    if schema.get("type") != "object":
        yield StrictFinding("", "its root must be of type object", is_certain=True)
    if "anyOf" in schema:
        yield StrictFinding("", "its root must not be anyOf", is_certain=True)
    schemas: list[_Schema] = []
    for node in _iter_nodes(schema):
        for expected, is_certain in _check_node(node, schema):
            yield StrictFinding(".".join(node.path), expected, is_certain)
        schemas.append(node.schema)
    for expected in _check_size(schemas):
        yield StrictFinding("", expected)


@dataclass(frozen=True, slots=True)
class _Node:
    """A schema inside a schema."""

    schema: _Schema
    path: tuple[str, ...] = ()
    level: int = 1

    @property
    def is_too_deep(self) -> bool:
        is_level = not named_types(self.schema).isdisjoint({"array", "object"})
        return (is_level and self.level > MAX_LEVELS) or len(self.path) > MAX_PATH


def _iter_nodes(schema: _Schema) -> Iterator[_Node]:
    """Yield a schema and all schemas in it, in their order; a node that nests too deep is not entered."""
    waiting = [_Node(schema)]
    while waiting:
        node = waiting.pop()
        yield node
        if not node.is_too_deep:
            waiting += reversed(list(_iter_children(node)))


def _iter_children(node: _Node) -> Iterator[_Node]:
    for keyword, value in node.schema.items():
        level, members = node.level + 1, []
        # The API counts levels within one definition, wherever it is referred to.
        if keyword in DEFINITIONS:
            level = 1
        if keyword in ("properties", *DEFINITIONS) and is_object(value):
            members = list(value.items())
        elif keyword == "anyOf" and is_list(value):
            level = node.level
            members = [(str(index), one) for index, one in enumerate(value)]
        elif keyword == "items":
            members = [("", value)]
        for name, child in members:
            if is_object(child):
                path = (*node.path, keyword, name) if name else (*node.path, keyword)
                yield _Node(child, path, level)


def _check_node(node: _Node, root: _Schema) -> Iterator[Doubt]:
    schema = node.schema
    # Nothing else may stand beside a reference, so there is nothing else to check.
    if "$ref" in schema and node.path:
        yield from _check_reference(node, root)
        return
    if node.is_too_deep:
        yield f"objects and lists must nest at most {MAX_LEVELS} levels deep", False
    yield from check_keywords(schema, is_root=not node.path)
    types = named_types(schema)
    if "anyOf" in schema:
        yield from _check_union(schema, root)
    elif not types or not types <= TYPES:
        yield "it must have a type", schema.keys().isdisjoint({"type", "enum", "const"})
    if "object" in types or "properties" in schema:
        yield from _check_object(schema)
    if "array" in types and "items" not in schema:
        yield "a list must say what its items are", True


def _check_reference(node: _Node, root: _Schema) -> Iterator[Doubt]:
    if len(node.schema) > 1:
        yield "nothing may stand beside $ref", True
    if len(node.path) == 2 and node.path[0] in DEFINITIONS:  # noqa: PLR2004  the group and the name
        yield "a definition must be more than a reference", False
    if _resolved(node.schema, root) is None:
        yield "$ref must be # or name a definition at the root", False


def _resolved(schema: _Schema, root: _Schema) -> _Schema | None:
    """Return the schema that a schema refers to, or the schema itself; None if it cannot be found."""
    if "$ref" not in schema:
        return schema
    reference = schema["$ref"]
    found = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
    if found is None:
        return None
    if found[1] is None:
        return root
    group = root.get(found[1])
    target = group.get(found[2]) if is_object(group) else None
    return target if is_object(target) else None


def _check_object(schema: _Schema) -> Iterator[Doubt]:
    if schema.get("additionalProperties") is not False:
        yield "additionalProperties must be false", True
    properties, required = schema.get("properties"), schema.get("required")
    if not is_object(properties):
        yield "an object must have properties", False
    elif not is_list(required):
        yield "required must list every property", bool(properties)
    elif set(properties) != set(map(str, required)):
        yield "required must list every property and nothing else", True


def _check_union(schema: _Schema, root: _Schema) -> Iterator[Doubt]:
    if not schema.keys() <= {"anyOf", *DEFINITIONS, *TEXTS}:
        yield "only texts may stand beside anyOf", False
    members = schema["anyOf"]
    names: set[str] = set()
    seen: set[tuple[str, str | None]] = set()
    for member in members if is_list(members) else ():
        if (first := _first_property(member, root)) is None:
            continue
        name, value = first
        # Members may share a first property only if each fixes it to a value of its own. Source:
        # docs/evidence/responses-api.md, R22.
        if seen & {first, (name, None)} or (value is None and name in names):
            yield "objects in anyOf must begin with different properties", False
            return
        names.add(name)
        seen.add(first)


def _first_property(schema: object, root: _Schema) -> tuple[str, str | None] | None:
    """Return the first property of an object, and its value if that is fixed: the API distinguishes the members of `anyOf` by these."""
    target = _resolved(schema, root) if is_object(schema) else None
    properties = target.get("properties") if target else None
    if not is_object(properties) or not properties:
        return None
    name, child = next(iter(properties.items()))
    is_fixed = is_object(child) and "const" in child
    return name, repr(child["const"]) if is_fixed else None


def _check_size(schemas: list[_Schema]) -> Iterator[str]:
    """Yield the limits of the API that a schema exceeds, with all schemas in it."""
    names = [
        name
        for schema in schemas
        for keyword in ("properties", *DEFINITIONS)
        if is_object(group := schema.get(keyword))
        for name in group
    ]
    # For each schema the number of values in its enum, and of characters in these and its constant.
    sizes = [(len(enum_values(schema)), _count_characters(schema)) for schema in schemas]
    if len(names) > _MAX_PROPERTIES:
        yield f"it must have at most {_MAX_PROPERTIES} properties"
    if sum(values for values, _ in sizes) > _MAX_ENUM_VALUES:
        yield f"it must have at most {_MAX_ENUM_VALUES} values in enums"
    if sum(map(len, names)) + sum(characters for _, characters in sizes) > _MAX_CHARACTERS:
        yield f"its names and values must have at most {_MAX_CHARACTERS} characters"
    if any(
        values > _LARGE_ENUM_VALUES and characters > _MAX_LARGE_ENUM_CHARACTERS
        for values, characters in sizes
    ):
        yield f"a large enum must have at most {_MAX_LARGE_ENUM_CHARACTERS} characters"


def _count_characters(schema: _Schema) -> int:
    values = (*enum_values(schema), schema.get("const"))
    return sum(len(value) for value in values if isinstance(value, str))
