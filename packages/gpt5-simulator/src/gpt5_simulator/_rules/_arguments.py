"""Values for a JSON schema, filled with what a text says."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gpt5_simulator._json import Json, object_at
from gpt5_simulator._rules._extract import find_numbers, find_quotations
from gpt5_simulator._rules._kinds import kind_of
from gpt5_simulator._rules._schema import (
    fit_length,
    fit_number,
    fit_string,
    fixed_values,
    is_nullable,
    resolve,
    type_of,
)


_ABSENT: Final = object()
_MAX_DEPTH = 8
_LEAD_IN = re.compile(r"^(?:please|can you|could you|would you|i want you to)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Be what values are taken from.

    Attributes:
        text: The words of the clause, with what they refer to put in.
        context: The words around it, in which places and zones are looked for that the clause leaves out.
        result: The earlier result that the clause is about; it goes into free strings.
        names: Words in the text that are names of tools, and so never values.
    """

    text: str
    context: str = ""
    result: str | None = None
    names: frozenset[str] = frozenset()


def build_arguments(schema: Json, evidence: Evidence) -> list[Json]:
    """Build the arguments of the calls that a clause asks for: one, or one for each zone, sum or city that it lists."""
    first = _Filler(schema, evidence).fields(schema, depth=0)
    for name, inner in object_at(schema, "properties").items():
        kind = kind_of(name, resolve(inner, root=schema))
        values = [] if kind is None else kind.find(evidence.text)
        if values and first.get(name) == values[0]:
            return [first | {name: value} for value in dict.fromkeys(values)]
    return [first]


def build_value(schema: Json, evidence: Evidence) -> object:
    """Build one value that the schema allows."""
    return _Filler(schema, evidence).required(schema, "value", depth=0)


class _Filler:
    """Fill one schema; every number and every quotation of the text is used once."""

    def __init__(self, root: Json, evidence: Evidence) -> None:
        quotations = find_quotations(evidence.text)
        self._root = root
        self._text = evidence.text
        self._context = evidence.context
        self._result = evidence.result
        self._numbers = iter(find_numbers(evidence.text))
        self._quotations = iter([text for text in quotations if text not in evidence.names])

    def fields(self, schema: Json, *, depth: int) -> Json:
        """Return an object with the required properties, and those optional ones that the text speaks of."""
        required: set[str] = set(schema.get("required") or ())
        filled: Json = {}
        for name, inner in object_at(schema, "properties").items():
            if name in required:
                filled[name] = self.required(inner, name, depth=depth)
            elif (value := self._optional(inner, name)) is not _ABSENT:
                filled[name] = value
        return filled

    def required(self, schema: object, name: str, *, depth: int) -> object:
        """Return what the text says for a value that has to be there, or the least that the schema allows."""
        plain = resolve(schema, root=self._root)
        value = self._evident(plain, name, depth=depth)
        if value is not _ABSENT:
            return value
        return None if is_nullable(schema) else self._least(plain)

    def _optional(self, schema: object, name: str) -> object:
        """Return a value only if the text has it beyond doubt."""
        plain = resolve(schema, root=self._root)
        if fixed_values(plain):
            return self._mentioned_of(plain)
        match type_of(plain):
            case "string":
                kind = kind_of(name, plain)
                values = kind.find(self._text) if kind else []
                return fit_length(values[0], plain) if values else _ABSENT
            case "integer" | "number":
                return self._named_number(plain, name)
            case "boolean":
                return True if self._mentions(name.replace("_", " ")) else _ABSENT
            case _:
                return _ABSENT

    def _evident(self, schema: Json, name: str, *, depth: int) -> object:
        """Return the value that the text has for a resolved schema, if it has one."""
        if fixed_values(schema):
            return self._mentioned_of(schema)
        match type_of(schema):
            case "integer" | "number":
                return self._number(schema, name)
            case "string":
                return self._string(schema, name)
            case "array" if depth < _MAX_DEPTH:
                return self._array(schema, name, depth)
            case "object" if depth < _MAX_DEPTH:
                return self.fields(schema, depth=depth + 1)
            case _:
                return self._optional(schema, name)

    def _number(self, schema: Json, name: str) -> object:
        named = self._named_number(schema, name)
        if named is not _ABSENT:
            return named
        number = next(self._numbers, None)
        return _ABSENT if number is None else fit_number(number, schema)

    def _named_number(self, schema: Json, name: str) -> object:
        """Return the number that follows the parameter's name in the text."""
        spoken = re.escape(name).replace("_", r"[\s_-]")
        match = re.search(
            rf"(?<!\w){spoken}(?!\w)\W{{0,3}}(?:is |of |to )?", self._text, re.IGNORECASE
        )
        numbers = find_numbers(self._text[match.end() :][:24]) if match else []
        return fit_number(numbers[0], schema) if numbers else _ABSENT

    def _string(self, schema: Json, name: str) -> object:
        kind = kind_of(name, schema)
        if kind is not None:
            values = kind.find(self._text) or kind.find(self._context) or kind.guess(self._text)
            values += [] if kind.fallback is None else [kind.fallback]
            return next((fit_length(value, schema) for value in values), _ABSENT)
        return next((fit_string(text, schema) for text in self._free_texts()), _ABSENT)

    def _free_texts(self) -> list[str]:
        if self._result is not None:
            return [self._result]
        return [text for text in (next(self._quotations, None),) if text is not None]

    def _array(self, schema: Json, name: str, depth: int) -> list[object]:
        inner = resolve(schema.get("items"), root=self._root)
        found = [] if fixed_values(inner) else list(self._listed(inner, name))
        lowest, highest = int(schema.get("minItems") or 0), schema.get("maxItems")
        missing = range(max(lowest - len(found), 0))
        found += [self.required(inner, name, depth=depth + 1) for _ in missing]
        return found if highest is None else found[:highest]

    def _listed(self, inner: Json, name: str) -> Iterator[object]:
        """Yield every value that the text has for the items of an array."""
        kind = kind_of(name, inner)
        if type_of(inner) in {"integer", "number"}:
            yield from (fit_number(number, inner) for number in self._numbers)
        elif type_of(inner) == "string":
            texts = kind.find(self._text) if kind else self._quotations
            yield from (fit_length(text, inner) for text in texts)

    def _mentioned_of(self, schema: Json) -> object:
        return next((value for value in fixed_values(schema) if self._mentions(value)), _ABSENT)

    def _least(self, schema: Json) -> object:
        """Return the smallest value that a resolved schema allows; the text itself for a string."""
        if "default" in schema:
            return schema["default"]
        if fixed := fixed_values(schema):
            return fixed[0]
        kind = type_of(schema)
        if kind in {"integer", "number"}:
            return fit_number(0, schema)
        if kind == "string":
            return fit_string(_LEAD_IN.sub("", self._text), schema)
        empty: dict[str, object] = {"boolean": False, "array": [], "object": {}}
        return empty.get(kind)

    def _mentions(self, value: object) -> bool:
        pattern = rf"(?<!\w){re.escape(str(value))}(?!\w)"
        return re.search(pattern, self._text, re.IGNORECASE) is not None
