"""Values for a JSON schema from the words of a question, by the rules of `DemoModel`."""

import math
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from gpt5_simulator._json import Json, is_array, is_object, object_at, objects_in


_ABSENT: Final = object()
_MAX_DEPTH = 8
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?!\w|\.\d)")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|`([^`]+)`|「([^」]+)」")
_ZONES = {
    "Berlin": "Europe/Berlin",
    "London": "Europe/London",
    "New York": "America/New_York",
    "Paris": "Europe/Paris",
    "San Francisco": "America/Los_Angeles",
    "Sydney": "Australia/Sydney",
    "Tokyo": "Asia/Tokyo",
    "東京": "Asia/Tokyo",
}
_OPERAND = r"\(*-?\d+(?:\.\d+)?\)*"


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of text that a parameter asks for by its name.

    Attributes:
        label: What such a parameter is called.
        value: What it takes from a text.
        fallback: What it is where the text has no value; None takes the text.
        topic: The words that ask for a tool with such a parameter; None takes the value.
        written: How values are written that the text has in another form.
    """

    label: str
    value: str
    fallback: str | None = None
    topic: str | None = None
    written: Mapping[str, str] = field(default_factory=dict[str, str])

    def find(self, text: str) -> str | None:
        """Return the first value in a text."""
        found = re.search(self.value, text)
        return None if found is None else self.written.get(found.group(), found.group())


_KINDS = (
    ValueKind(
        r"time ?zone|\btz\b",
        rf"\b[A-Z][a-z]+/[A-Z]\w+|\bUTC\b|{'|'.join(_ZONES)}",
        fallback="UTC",
        topic=r"\b[Tt]ime\b|\u4f55\u6642|\u6642\u523b",
        written=_ZONES,
    ),
    ValueKind(
        "expression|formula|equation|calculation",
        rf"{_OPERAND}(?:(?:\s*(?:\*\*|//|[*/+%])\s*|\s+-\s+){_OPERAND})+",
        fallback="0",
    ),
    ValueKind(
        r"\b(?:city|location|place|town|country)\b",
        rf"{'|'.join(_ZONES)}|(?<=\b(?i:in|at) )[A-Z][\w'-]*(?: [A-Z][\w'-]*)*",
    ),
    ValueKind(
        r"\b(?:url|link)\b",
        r"https?://[^\s\"'<>]+[^\s\"'<>.,;:?!)]",
        fallback="https://example.com/",
    ),
    ValueKind(r"\bdate\b", r"\b\d{4}-\d{2}-\d{2}\b", fallback="2026-01-01"),
)


def kind_of(parameter: str) -> ValueKind | None:
    """Return the kind of text that a parameter of this name asks for; None where any text will do."""
    return next((kind for kind in _KINDS if re.search(kind.label, words_apart(parameter))), None)


def words_apart(text: str) -> str:
    """Return a text in lower case, with the words of `camelCase` and `snake_case` names apart."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text).lower()


class Values:
    """The values that a text has for a JSON schema; each number and each quotation is used once.

    Args:
        root: The schema that references point into.
        part: Where values are looked for.
        text: The string that takes the place of one that is not there.
    """

    def __init__(self, root: Json, *, part: str, text: str) -> None:
        self._root, self._part, self._text = root, part, text
        self._quotations = deque("".join(groups) for groups in _QUOTED.findall(part))
        numbers = _NUMBER.findall(part)
        self._numbers = deque(float(one) if "." in one else int(one) for one in numbers)

    def fields(self, schema: Json, depth: int = 0) -> Json:
        """Return an object for a schema."""
        required: set[str] = set(schema.get("required") or ())
        values = {
            name: self.value(name, inner, depth, is_required=name in required)
            for name, inner in object_at(schema, "properties").items()
        }
        return {name: value for name, value in values.items() if value is not _ABSENT}

    def value(
        self, name: str, schema: object, depth: int = 0, *, is_required: bool = True
    ) -> object:
        """Return a value for a schema, or `_ABSENT` where none is found and none is required."""
        plain, is_nullable = _resolve(schema, self._root)
        found = self._found(name, plain, is_required=is_required)
        if found is not _ABSENT or not is_required:
            return found
        return None if is_nullable else self._least(name, plain, depth)

    def _found(self, name: str, plain: Json, *, is_required: bool) -> object:
        if plain.get("enum"):
            named = (value for value in plain["enum"] if _has_word(self._part, str(value)))
            return next(named, _ABSENT)
        match plain["type"]:
            case "string":
                kind = kind_of(name)
                found = kind and kind.find(self._part)
                if kind is None and is_required and self._quotations:
                    found = self._quotations.popleft()
                return _ABSENT if found is None else _fit_text(found, plain)
            case "integer" | "number" if is_required and self._numbers:
                return _fit_number(self._numbers.popleft(), plain)
            case _:
                return _ABSENT

    def _least(self, name: str, plain: Json, depth: int) -> object:
        if "default" in plain or plain.get("enum"):
            return plain["default"] if "default" in plain else plain["enum"][0]
        match plain["type"]:
            case "string":
                kind = kind_of(name)
                return _fit_text((kind and kind.fallback) or self._text, plain)
            case "integer" | "number":
                return _fit_number(0, plain)
            case "array" if depth < _MAX_DEPTH:
                wanted = max(plain.get("minItems") or 0, 1)
                count = min(wanted, plain.get("maxItems", wanted))
                return [self.value(name, plain.get("items"), depth + 1) for _ in range(count)]
            case "object" if depth < _MAX_DEPTH:
                return self.fields(plain, depth + 1)
            case other:
                least: dict[str, object] = {"boolean": False, "array": [], "object": {}}
                return least.get(other)


def _resolve(schema: object, root: Json) -> tuple[Json, bool]:
    """Return a schema without references and alternatives and with one type, and whether it allows null beside it."""
    plain: Json = schema if is_object(schema) else {}
    is_nullable = False
    for _ in range(_MAX_DEPTH):
        options = objects_in(plain.get("anyOf", plain.get("oneOf")))
        if "$ref" in plain:
            steps = str(plain["$ref"]).split("/")[1:]
            plain = reduce(object_at, [step.replace("~1", "/") for step in steps], root)
        elif options:
            useful = [option for option in options if option.get("type") != "null"]
            is_nullable = is_nullable or len(useful) < len(options)
            plain = next(iter(useful), {"type": "null"})
    kinds: object = plain.get("type", "object" if "properties" in plain else "string")
    if is_array(kinds):
        is_nullable = is_nullable or "null" in kinds
        kinds = next((kind for kind in kinds if kind != "null"), "null")
    fixed = {"enum": [plain["const"]]} if "const" in plain else {}
    return plain | {"type": kinds} | fixed, is_nullable


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def _fit_text(text: str, schema: Json) -> str:
    return text[: schema.get("maxLength")].ljust(schema.get("minLength") or 0, ".")


def _fit_number(number: float, schema: Json) -> float:
    lowest = schema.get("minimum", schema.get("exclusiveMinimum", -math.inf) + 1)
    highest = schema.get("maximum", schema.get("exclusiveMaximum", math.inf) - 1)
    fitting = min(max(number, lowest), highest)
    return int(fitting) if schema["type"] == "integer" else fitting
