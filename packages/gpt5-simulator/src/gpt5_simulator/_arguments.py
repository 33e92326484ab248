"""Values for a JSON schema, filled with what a text says."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from gpt5_simulator._extract import (
    find_dates,
    find_emails,
    find_expressions,
    find_numbers,
    find_quotations,
    find_urls,
)
from gpt5_simulator._json import Json, object_at
from gpt5_simulator._places import find_cities, find_zones
from gpt5_simulator._schema import (
    fit_number,
    fit_string,
    fixed_values,
    is_nullable,
    resolve,
    type_of,
)


_ABSENT: Final = object()
_MAX_DEPTH = 8
_PLACE = re.compile(r"\b(?:in|at|for|near|from|of|to)\s+((?:[A-Z][\w.'-]*\s*)+)")
_AFTER_PREPOSITION = re.compile(r"\b(?:in|at|for|near|from)\s+(.+)$", re.IGNORECASE)
_LANGUAGE = re.compile(r"\b(?:in|into|to)\s+([A-Z]\w+)")
_LEAD_IN = re.compile(r"^(?:please|can you|could you|would you|i want you to)\s+", re.IGNORECASE)
_KINDS: tuple[tuple[re.Pattern[str], Callable[[str], list[str]]], ...] = (
    (re.compile(r"time[ _-]?zone|\btz\b|\biana\b", re.IGNORECASE), find_zones),
    (
        re.compile(
            r"\bexpr|expression|formula|equation|calculation|arithmetic|\bmath", re.IGNORECASE
        ),
        find_expressions,
    ),
    (re.compile(r"\b(?:url|uri|link|href)\b", re.IGNORECASE), find_urls),
    (re.compile(r"e-?mail", re.IGNORECASE), find_emails),
    (re.compile(r"\bdate\b", re.IGNORECASE), find_dates),
    (
        re.compile(r"\b(?:city|location|place|town|destination|origin|country)\b", re.IGNORECASE),
        lambda text: find_places(text),
    ),
    (re.compile(r"\b(?:language|lang|locale)\b", re.IGNORECASE), _LANGUAGE.findall),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Be what values are taken from.

    Attributes:
        text: The words of the clause, with what they refer to put in.
        result: The earlier result that the clause is about; it goes into free strings.
        names: Words in the text that are names of tools, and so never values.
    """

    text: str
    result: str | None = None
    names: frozenset[str] = frozenset()


def find_places(text: str) -> list[str]:
    """Return the places in a text: known cities, else capitalised words after a preposition, else whatever follows one."""
    for found in (find_cities(text), _PLACE.findall(text), _AFTER_PREPOSITION.findall(text)):
        if found:
            return [place.strip() for place in found]
    return []


def find_values(parameter: Json, name: str, text: str) -> list[str] | None:
    """Return what a text has for a string parameter of a known kind; None when its kind is not known."""
    words = name.replace("_", " ") + " " + name
    for label in (words, str(parameter.get("description") or "")):
        for pattern, find in _KINDS:
            if pattern.search(label):
                return find(text)
    return None


def build_arguments(schema: Json, evidence: Evidence) -> list[Json]:
    """Build the arguments of the calls that a clause asks for: one, or one for each zone, sum or city that it lists."""
    filler = _Filler(schema, evidence)
    first = filler.object(schema, depth=0)
    for name, parameter in object_at(schema, "properties").items():
        values = find_values(resolve(parameter, root=schema), name, evidence.text) or []
        if name in first and first[name] in values and len(values) > 1:
            return [first | {name: value} for value in dict.fromkeys(values)]
    return [first]


def build_value(schema: Json, evidence: Evidence) -> object:
    """Build one value that the schema allows."""
    return _Filler(schema, evidence).required(schema, "value", depth=0)


class _Filler:
    """Fill one schema; every number of the text is used once."""

    def __init__(self, root: Json, evidence: Evidence) -> None:
        self._root = root
        self._evidence = evidence
        self._numbers = iter(find_numbers(evidence.text))

    def object(self, schema: Json, *, depth: int) -> Json:
        """Return an object with the required properties, and those optional ones that the text speaks of."""
        required = set(schema.get("required") or ())
        filled: Json = {}
        for name, inner in object_at(schema, "properties").items():
            value = self._evident(inner, name, depth)
            if value is _ABSENT and name in required:
                value = self.required(inner, name, depth=depth)
            if value is not _ABSENT:
                filled[name] = value
        return filled

    def required(self, schema: object, name: str, *, depth: int) -> object:
        """Return what the text says for a value that has to be there, or the least that the schema allows."""
        value = self._evident(schema, name, depth)
        if value is not _ABSENT:
            return value
        if is_nullable(schema):
            return None
        return self._least(resolve(schema, root=self._root), depth)

    def _evident(self, schema: object, name: str, depth: int) -> object:
        """Return the value that the text speaks of, if it does."""
        plain = resolve(schema, root=self._root)
        fixed = fixed_values(plain)
        if fixed:
            return next((value for value in fixed if self._mentions(value)), _ABSENT)
        match type_of(plain):
            case "integer" | "number" as kind:
                return self._number(plain, is_integer=kind == "integer")
            case "string":
                return self._string(plain, name)
            case "boolean":
                return True if self._mentions(name.replace("_", " ")) else _ABSENT
            case "array":
                return self._array(plain, name, depth)
            case _:
                return _ABSENT

    def _number(self, schema: Json, *, is_integer: bool) -> object:
        number = next(self._numbers, None)
        return _ABSENT if number is None else fit_number(number, schema, is_integer=is_integer)

    def _string(self, schema: Json, name: str) -> object:
        values = find_values(schema, name, self._evidence.text)
        if values is None:
            quoted = find_quotations(self._evidence.text)
            values = [text for text in quoted if text not in self._evidence.names]
            values = [self._evidence.result] if self._evidence.result is not None else values
        if not values:
            return _ABSENT
        return values[0] if "format" in schema else fit_string(values[0], schema)

    def _array(self, schema: Json, name: str, depth: int) -> object:
        value = (
            self._evident(schema.get("items"), name, depth + 1) if depth < _MAX_DEPTH else _ABSENT
        )
        return _ABSENT if value is _ABSENT else [value]

    def _least(self, schema: Json, depth: int) -> object:
        fixed = fixed_values(schema)
        if fixed or "default" in schema:
            return schema.get("default", fixed[0] if fixed else None)
        match type_of(schema):
            case "integer" | "number" as kind:
                return fit_number(0, schema, is_integer=kind == "integer")
            case "boolean":
                return False
            case "null":
                return None
            case "array":
                return self._least_array(schema, depth)
            case "object":
                return self.object(schema, depth=depth + 1) if depth < _MAX_DEPTH else {}
            case _:
                return fit_string(_LEAD_IN.sub("", self._evidence.text), schema)

    def _least_array(self, schema: Json, depth: int) -> list[object]:
        size = int(schema.get("minItems") or 0) if depth < _MAX_DEPTH else 0
        items = (self.required(schema.get("items"), "item", depth=depth + 1) for _ in range(size))
        return list(islice(items, size))

    def _mentions(self, value: object) -> bool:
        pattern = rf"(?<!\w){re.escape(str(value))}(?!\w)"
        return re.search(pattern, self._evidence.text, re.IGNORECASE) is not None
