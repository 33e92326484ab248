"""Values for a JSON schema from the words of a question, by the rules of `DemoModel`."""

import math
import re
from collections.abc import Mapping
from functools import reduce

from gpt5_simulator._json import Json, is_array, is_object, object_at, objects_in


_MAX_DEPTH = 8
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?!\w|\.\d)")
_QUOTED = re.compile(r"[\"“`]([^\"”`]+)[\"”`]")
_ZONES = {
    "London": "Europe/London",
    "New York": "America/New_York",
    "Paris": "Europe/Paris",
    "Tokyo": "Asia/Tokyo",
}
_CITY = re.compile("|".join(_ZONES))
_ZONE = re.compile(rf"\b[A-Z][a-z]+/[A-Z]\w+|{_CITY.pattern}")
_OPERAND = r"\(*-?\d+(?:\.\d+)?\)*"
# A minus needs blanks around it, or a date would be a sum.
_SUM = re.compile(rf"{_OPERAND}(?:(?:\s*(?:\*\*|//|[*/+%])\s*|\s+-\s+){_OPERAND})+")
_KINDS = {"timezone": _ZONE, "expression": _SUM, "city": _CITY, "location": _CITY}
_TOPICS = _KINDS | {"timezone": re.compile(r"\b[Tt]ime\b")}
_FALLBACKS = {"timezone": "UTC", "expression": "0"}


def is_asked_for(parameter: str, part: str) -> bool:
    """Return whether a part of a question mentions a value for a parameter of this name."""
    return parameter in _TOPICS and _TOPICS[parameter].search(part) is not None


class Values:
    """The values for a JSON schema, taken from `part`.

    Each number and quotation is used once, a number beside a parameter's name for that parameter, and `text` for a
    string that has none.
    """

    def __init__(self, root: Json, *, part: str, text: str) -> None:
        self._root, self._part, self._text = root, part, text
        # Iterators, so that two parameters get the first and the second number, and not twice the first.
        self._quotations = iter(_QUOTED.findall(part))
        numbers = {found.start(): found.group() for found in _NUMBER.finditer(part)}
        self._beside: dict[str, str] = {}
        for name, schema in object_at(root, "properties").items():
            may_precede = _resolve(schema, root)["type"] in {"integer", "number"}
            if (place := _find_beside(name, part, numbers, may_precede=may_precede)) is not None:
                self._beside[name] = numbers.pop(place)
        self._numbers = iter(numbers.values())

    def fields(self, schema: Json, depth: int = 0) -> Json:
        """Return an object with the fields of a schema that are required or found."""
        required: set[str] = set(schema.get("required") or ())
        return {
            name: self.value(name, inner, depth)
            for name, inner in object_at(schema, "properties").items()
            if name in required or self._found(name)
        }

    def value(self, name: str, schema: object, depth: int = 0) -> object:
        """Return a value for a schema."""
        plain = _resolve(schema, self._root)
        if plain.get("enum"):
            named = (value for value in plain["enum"] if _says(self._part, str(value)))
            return next(named, plain["enum"][0])
        match plain["type"]:
            case "string":
                text = self._string(name)[: plain.get("maxLength")]
                return text.ljust(plain.get("minLength") or 0, ".")
            case "integer" | "number":
                number = self._beside.get(name) or next(self._numbers, "0")
                return _fit_number(float(number) if "." in number else int(number), plain)
            case "array" if depth < _MAX_DEPTH:
                wanted = max(plain.get("minItems") or 0, 1)
                count = min(wanted, plain.get("maxItems", wanted))
                return [self.value(name, plain.get("items"), depth + 1) for _ in range(count)]
            case "object" if depth < _MAX_DEPTH:
                return self.fields(plain, depth + 1)
            case other:
                least: dict[str, object] = {"boolean": False, "array": [], "object": {}}
                return least.get(other)

    def _string(self, name: str) -> str:
        if found := self._found(name):
            return _ZONES.get(found, found) if name == "timezone" else found
        if name in self._beside:
            return self._beside[name]
        return _FALLBACKS.get(name) or next(self._quotations, self._text)

    def _found(self, name: str) -> str | None:
        match = _KINDS[name].search(self._part) if name in _KINDS else None
        return match and match.group()


def _find_beside(
    name: str, part: str, numbers: Mapping[int, str], *, may_precede: bool
) -> int | None:
    """Return the place of the number that stands beside a parameter's name, such as `30 euros` or `order 7`; None if none does."""
    words = r"[\s_-]+".join(map(re.escape, name.split("_")))
    sides = [rf"\b{words}(?:\s*[:=]\s*|\s+)({_NUMBER.pattern})"]
    if may_precede:
        sides.insert(0, rf"({_NUMBER.pattern})\s*{words}\b")
    found = (match.start(1) for side in sides for match in re.finditer(side, part, re.IGNORECASE))
    return next((place for place in found if place in numbers), None)


def _says(part: str, value: str) -> bool:
    """Return whether a text has a value as a word, which may be in the plural."""
    word = rf"(?<![a-z0-9_]){re.escape(value.lower())}s?(?![a-z0-9_])"
    return re.search(word, part.lower()) is not None


def _resolve(schema: object, root: Json) -> Json:
    """Return a schema without references and alternatives and with one type, which is null only if there is no other."""
    plain: Json = schema if is_object(schema) else {}
    for _ in range(_MAX_DEPTH):  # bounded, since references may lead in a circle
        options = objects_in(plain.get("anyOf", plain.get("oneOf")))
        if "$ref" in plain:
            steps = str(plain["$ref"]).split("/")[1:]
            plain = reduce(object_at, [step.replace("~1", "/") for step in steps], root)
        elif options:
            plain = next((one for one in options if one.get("type") != "null"), options[0])
    kinds: object = plain.get("type", "object" if "properties" in plain else "string")
    if is_array(kinds):
        kinds = next((kind for kind in kinds if kind != "null"), "null")
    fixed = {"enum": [plain["const"]]} if "const" in plain else {}
    return plain | {"type": kinds} | fixed


def _fit_number(number: float, schema: Json) -> float:
    lowest = schema.get("minimum", schema.get("exclusiveMinimum", -math.inf) + 1)
    highest = schema.get("maximum", schema.get("exclusiveMaximum", math.inf) - 1)
    fitting = min(max(number, lowest), highest)
    return int(fitting) if schema["type"] == "integer" else fitting
