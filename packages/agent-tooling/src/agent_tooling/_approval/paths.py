"""Dotted paths through the arguments of a call, and through the schema of a tool's arguments.

A name may contain dots itself. In a list it is an index, or a name in each item. A text may hold the JSON of an object or a list.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from agent_tooling._json_text import JsonSchema, listed, members
from agent_tooling._schemas.parameters import NAMES_ELSEWHERE, parts_of
from agent_tooling._schemas.references import find_referenced
from stream_text import InvalidJsonError, find_repeated_key, is_list, is_object, parse_json


NOWHERE: Final = object()
"""The end of a way through the arguments that stops before the path does."""

UNSURE: Final = object()
"""The value of a text that readers of JSON understand in different ways, or not at all."""

MAX_VALUES: Final = 10_000
"""How many values are looked at for one condition; what lies beyond is unknown.

No honest call has that many, and each costs about ten microseconds.
"""

# No list has an index with more digits, and Python refuses to read thousands of them.
_INDEX: Final = re.compile(r"\d{1,9}", re.ASCII)
# What readers of JSON skip before a value; some skip a byte order mark, others do not.
_BEFORE_JSON: Final = "\ufeff \t\r\n"
_PARTS: Final = ("allOf", "anyOf", "dependencies", "dependentSchemas", "oneOf")
_CONDITIONS: Final = ("else", "if", "then")
_OF_OBJECTS: Final = frozenset({"additionalProperties", "patternProperties", "properties"})
_OF_LISTS: Final = frozenset({"items", "prefixItems"})

# A value or a schema, and how many names of the path lead to it.
type _Step = tuple[object, int]


def find_values(arguments: object, path: str) -> list[object]:
    """Return every value that a path can lead to in the arguments of a call.

    `NOWHERE` for each way that ends early or exceeds `MAX_VALUES`, `UNSURE` for text that JSON readers disagree on.
    """
    names = path.split(".")
    values: list[object] = []
    steps = _walk(arguments, lambda value, at: _iter_steps(value, names, at))
    for count, (value, at, onward) in enumerate(steps):
        if count > MAX_VALUES:
            return [*values, NOWHERE]
        if at == len(names):
            values.append(value)
        elif not onward:
            values.append(NOWHERE)
    return values


def can_lead(schema: JsonSchema, path: str) -> bool:
    """Return whether arguments that fit a tool's schema can have a path; True when unsure.

    An object that names properties, and does not say whether it takes others, takes none.
    """
    names = path.split(".")
    if NAMES_ELSEWHERE.isdisjoint(schema):
        schema = {"additionalProperties": False, **schema}
    steps = _walk(schema, lambda part, at: _iter_schema_steps(schema, part, names, at))
    return any(at == len(names) and part is not False for part, at, _ in steps)


def _walk(
    start: object, step: Callable[[object, int], Iterator[_Step]]
) -> Iterator[tuple[object, int, list[_Step]]]:
    """Yield every step of all ways, each once, with the steps that follow from it."""
    waiting: list[_Step] = [(start, 0)]
    seen: set[tuple[int, int]] = set()
    for value, at in waiting:  # It grows meanwhile, and keeps the objects alive behind the ids.
        if (id(value), at) not in seen:
            seen.add((id(value), at))
            onward = list(step(value, at))
            waiting += onward
            yield value, at, onward


def _iter_steps(value: object, names: list[str], at: int) -> Iterator[_Step]:
    if isinstance(value, str) and at < len(names):
        read = read_json(value)
        if read is UNSURE or (read is None and value.lstrip(_BEFORE_JSON)[:1] in {"{", "["}):
            yield UNSURE, len(names)
        value = read
    if is_object(value):
        yield from ((value[key], end) for key, end in _iter_keys(names, at) if key in value)
    if not is_list(value) or at == len(names):
        return
    if not _INDEX.fullmatch(names[at]):
        yield from ((item, at) for item in value)
        return
    yield from ((item, at + 1) for item in value[int(names[at]) :][:1])
    for item in filter(is_object, value):  # It may have a key that looks like an index.
        yield from _iter_steps(item, names, at)


def _iter_keys(names: list[str], at: int) -> Iterator[tuple[str, int]]:
    """Yield each key that the path may go on with, and how many names are used up after it."""
    for end in range(at + 1, len(names) + 1):
        yield ".".join(names[at:end]), end


def read_json(text: str) -> object:
    """Return the value of a JSON text; None if it is not JSON, `UNSURE` if a key appears twice, since readers disagree on which one counts."""
    try:
        value = parse_json(text)
    except InvalidJsonError:
        return None
    return value if find_repeated_key(text) is None else UNSURE


def _iter_schema_steps(
    schema: JsonSchema, part: object, names: list[str], at: int
) -> Iterator[_Step]:
    """Yield the steps that follow from a part of a schema; a part that allows anything leads to the end of the path."""
    if part is False or at == len(names):
        return
    node = members(part)
    beside = [*_iter_beside(schema, node)]
    declared = node.get("type")
    kinds = listed(declared)
    names_some = not _OF_OBJECTS.isdisjoint(node)
    has_items = not _OF_LISTS.isdisjoint(node)
    if declared is None and not (beside or names_some or has_items):
        yield True, len(names)
    yield from ((other, at) for other in beside)
    if "object" in kinds or (declared is None and names_some):
        yield from _iter_members(node, names, at)
    if "array" in kinds or (declared is None and has_items):
        yield from _iter_items(node, names, at)


def _iter_beside(schema: JsonSchema, node: Mapping[str, Any]) -> Iterator[object]:
    """Yield the other parts of a schema that describe the same value."""
    for key in _PARTS:
        yield from parts_of(node.get(key))
    yield from (node[key] for key in _CONDITIONS if key in node)
    if "$ref" in node:
        found = find_referenced(schema, node["$ref"])
        yield True if found is None else found


def _iter_members(node: Mapping[str, Any], names: list[str], at: int) -> Iterator[_Step]:
    properties = members(node.get("properties"))
    patterns = parts_of(node.get("patternProperties"))
    others = node.get("unevaluatedProperties", not properties)
    others = node.get("additionalProperties", others)
    for key, end in _iter_keys(names, at):
        yield properties.get(key, others), end
        yield from ((pattern, end) for pattern in patterns)


def _iter_items(node: Mapping[str, Any], names: list[str], at: int) -> Iterator[_Step]:
    first, rest = parts_of(node.get("prefixItems")), node.get("items", True)
    if is_list(rest):  # The form of drafts before 2020-12.
        first, rest = rest, node.get("additionalItems", True)
    if _INDEX.fullmatch(names[at]):
        yield next(iter(first[int(names[at]) :]), rest), at + 1
    yield from ((item, at) for item in (*first, rest))
