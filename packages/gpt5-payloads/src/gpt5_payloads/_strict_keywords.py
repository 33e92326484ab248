"""The keywords that the API accepts in a strict schema, and the values that they may have.

Source: https://platform.openai.com/docs/guides/structured-outputs, "Supported schemas"; docs/evidence/responses-api.md, R20.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from stream_text import is_list, is_object

from ._values import quote


type Doubt = tuple[str, bool]
"""The sentence that says what the API wants, and whether it is known to refuse anything else."""

DEFINITIONS = ("$defs", "definitions")
TEXTS = frozenset({"description", "title"})
TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

_REFUSED = frozenset(
    {"allOf", "dependentRequired", "dependentSchemas", "else", "if", "not", "oneOf", "then"}
)
_FORMATS = frozenset(
    {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}
)
_LOOKAROUND = re.compile(r"\(\?<?[=!]")


def named_types(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the types that a schema names; none if it does not name them as it should."""
    kind = schema.get("type")
    names = [kind] if isinstance(kind, str) else kind
    return frozenset(names) if _is_names(names) else frozenset()


def enum_values(schema: Mapping[str, Any]) -> Sequence[object]:
    """Return the values of a schema's `enum`; none if there is no list of them."""
    values = schema.get("enum")
    return values if is_list(values) else ()


def check_keywords(schema: Mapping[str, Any], *, is_root: bool) -> Iterator[Doubt]:
    """Yield the doubts about the keywords of one schema, each by itself."""
    types = named_types(schema)
    for keyword, value in schema.items():
        if keyword in _REFUSED:
            yield f"the keyword {keyword} is not accepted", True
        elif keyword in DEFINITIONS:
            if not (is_root and _are_schemas(value)):
                yield f"{keyword} must stand at the root and hold schemas", False
        elif keyword not in _KEYWORDS:
            yield f"the keyword {quote(keyword)} is not known to be accepted", False
        else:
            of_types, is_usable = _KEYWORDS[keyword]
            if not is_usable(value):
                yield f"{keyword} has a value that is not accepted", keyword == "format"
            elif of_types and not types & of_types:
                yield f"{keyword} does not go with the type", False
    values = [*enum_values(schema), *([schema["const"]] if "const" in schema else [])]
    if not all(_is_of(value, types) for value in values):
        yield "values must be of the type that stands beside them", False


def _is_of(value: object, types: frozenset[str]) -> bool:
    return not types.isdisjoint(_TYPES_OF.get(type(value), ()))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_names(value: object) -> TypeGuard[Sequence[str]]:
    """Return whether a value is a list of different texts."""
    return is_list(value) and all(map(_is_text, value)) and len(set(value)) == len(value)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number of JSON."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_schemas(value: object) -> bool:
    """Return whether a value is schemas by name, or one or more in a list."""
    if is_object(value):
        return all(map(is_object, value.values()))
    return is_list(value) and bool(value) and all(map(is_object, value))


_NUMERIC = frozenset({"integer", "number"})
_TYPES_OF: Mapping[type, frozenset[str]] = {
    type(None): frozenset({"null"}),
    bool: frozenset({"boolean"}),
    int: _NUMERIC,
    float: frozenset({"number"}),
    str: frozenset({"string"}),
}
_ANY: frozenset[str] = frozenset()
# For each keyword the types that it goes with, all if empty, and a check of its value.
_KEYWORDS: Mapping[str, tuple[frozenset[str], Callable[[object], bool]]] = {
    "type": (_ANY, lambda value: _is_text(value) or (bool(value) and _is_names(value))),
    "title": (_ANY, _is_text),
    "description": (_ANY, _is_text),
    "enum": (_ANY, lambda value: is_list(value) and bool(value)),
    "const": (_ANY, lambda _: True),
    "anyOf": (_ANY, lambda value: is_list(value) and _are_schemas(value)),
    "properties": (frozenset({"object"}), lambda value: is_object(value) and _are_schemas(value)),
    "required": (frozenset({"object"}), _is_names),
    "additionalProperties": (frozenset({"object"}), lambda value: isinstance(value, bool)),
    "items": (frozenset({"array"}), lambda value: isinstance(value, dict)),
    "minItems": (frozenset({"array"}), _is_count),
    "maxItems": (frozenset({"array"}), _is_count),
    "pattern": (
        frozenset({"string"}),
        lambda value: isinstance(value, str) and not _LOOKAROUND.search(value),
    ),
    "format": (frozenset({"string"}), lambda value: value in _FORMATS),
    "minimum": (_NUMERIC, is_number),
    "maximum": (_NUMERIC, is_number),
    "exclusiveMinimum": (_NUMERIC, is_number),
    "exclusiveMaximum": (_NUMERIC, is_number),
    "multipleOf": (_NUMERIC, lambda value: is_number(value) and value > 0),
}
