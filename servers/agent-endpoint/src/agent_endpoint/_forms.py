"""Forms of answer, compared: libraries write the schema of one class in several ways.

Source: openai 3.57.0, `lib/_pydantic.py`, which requires each property, inlines a `$ref` that has a neighbour, and
drops a default that is null; pydantic 2.12, `GenerateJsonSchema`; zod 4.6.7, `toJSONSchema`, as @ai-sdk/openai 4.0.118
sends it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from stream_text import is_list, is_object


type _Part = Mapping[Any, Any]
"""A part of a schema by its members, the elements of a list, or a schema's properties among its own."""
type _Place = tuple[_Place, Any] | None
"""Where a part stands: the place of what it is in, and its name there."""

# What allows and forbids nothing in an answer, or is in no schema of an agent's: `uniqueItems` and `discriminator`.
_UNSAID: Final = frozenset(
    {
        *("$defs", "$schema", "default", "definitions", "description", "discriminator"),
        *("additionalItems", "examples", "title", "uniqueItems"),
    }
)
# zod writes the bounds to which JavaScript counts for every whole number, and that names are texts.
_ALWAYS: Final = (
    ("minimum", 1 - 2**53),
    ("maximum", 2**53 - 1),
    ("propertyNames", {"type": "string"}),
)
_ANYTHING: Final[_Part] = {}
_CHOICES: Final = frozenset({"anyOf", "oneOf"})
_MAX_PLACE: Final = 200
_APART: Final = frozenset({"additionalProperties", "required"})


def find_difference(asked: Any, own: Mapping[str, Any]) -> str | None:
    """Return where a schema that a client asks for is another than an agent's own; None if it is that, in any way of writing it.

    A property may be required that the agent's schema does not require only if all of them are: so the strict form of a
    class says that a field has a default.
    """
    asking, owning = _Schema(asked), _Schema(own)
    waiting: list[tuple[Any, Any, _Place]] = [(asked, own, None)]
    seen: set[tuple[int, int]] = set()
    # Definitions may refer to each other in circles, and in chains that are longer than a stack is deep.
    while waiting:
        part, other, at = waiting.pop()
        part, other = asking.read(part), owning.read(other)
        if not is_object(part) or not is_object(other):
            if isinstance(part, bool) is not isinstance(other, bool) or part != other:
                return _tell(at)
        elif (id(part), id(other)) not in seen:
            seen.add((id(part), id(other)))
            if (name := _find_other(part, other)) is not None:
                return _tell((at, name))
            waiting += (
                (part[name], other.get(name, True), (at, name))
                for name in part
                if name != "required"
            )
    return None


def _find_other(asked: _Part, own: _Part) -> Any:
    """Return the name of a member that only one of two parts has, or of a property that only the first requires.

    None if both say something of the same.
    """
    if others := (asked.keys() ^ own.keys()) - _APART:
        return min(others, key=str)
    names = frozenset(one[1] for one in own if is_list(one))
    wanted: frozenset[str] = asked.get("required", frozenset())
    unmet = wanted - own.get("required", frozenset())
    return ("required", min(unmet)) if unmet and wanted != names else None


def _tell(at: _Place) -> str:
    names: list[str] = []
    while at is not None:
        at, name = at
        names.insert(0, ".".join(name) if is_list(name) else str(name))
    return ".".join(names)[:_MAX_PLACE]


class _Schema:
    """A schema whose parts are read as they are meant.

    Args:
        root: The whole schema.
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        # Each with the part, so that no other has its `id`.
        self._read: dict[int, tuple[Any, _Part]] = {}

    def read(self, part: Any) -> Any:
        """Return a part without what says nothing and with what it refers to in place of a reference."""
        part = _ANYTHING if part is True else part
        if not is_object(part) and not is_list(part):
            return part
        if id(part) not in self._read:
            meant = self._write(part) if is_object(part) else dict(enumerate(part))
            self._read[id(part)] = part, meant
        return self._read[id(part)][1]

    def _write(self, part: _Part) -> _Part:
        meant = _leave_choice(part)
        found: set[str] = set()
        # What refers to nothing, or round in a circle, stays.
        while "$ref" in meant and str(meant["$ref"]) not in found:
            found.add(reference := str(meant["$ref"]))
            beside = {name: meant[name] for name in meant if name != "$ref"}
            meant = _leave_choice({**self._find(reference), **beside})
        either = _list_alternatives(meant)
        said = _leave_out({"anyOf": either} if either else meant)
        if "const" in said:
            said["enum"] = [said.pop("const")]
        values: Any = said.get("enum")
        if is_list(values):
            said["enum"] = sorted(map(json.dumps, values))
            said["type"] = "number" if said.get("type") == "integer" else said.get("type")
        if "format" in said:
            said.pop("pattern", None)  # Says again what that is.
        if is_list(said.get("items")):
            said["prefixItems"] = said.pop("items")  # As JSON schema wrote it until 2020.
        if "prefixItems" in said:
            said.pop("items", None)  # Says again what those are.
        required: Any = said.get("required", [])
        said["required"] = frozenset(map(str, required if is_list(required) else [required]))
        if is_object(properties := said.get("properties")):
            said |= {("properties", name): one for name, one in properties.items()}
            del said["properties"]
        return said

    def _find(self, reference: str) -> _Part:
        """Return what a reference leads to; the reference itself if it leads nowhere."""
        first, *names = reference.split("/")
        found: Any = self._root if first == "#" else None
        for name in names:
            found = found.get(name) if is_object(found) else None
        return found if is_object(found) else {"$ref": reference}


def _leave_out(part: _Part) -> dict[Any, Any]:
    """Return a part without what says nothing."""
    return {
        name: one
        for name, one in part.items()
        if name not in _UNSAID and (name, one) not in _ALWAYS
    }


def _list_alternatives(part: Any) -> list[Any]:
    """Return what a part of a schema leaves the choice of; nothing if it leaves none."""
    said: _Part = _leave_out(part) if is_object(part) else {}
    kinds: Any = said.get("type")
    if is_list(kinds):
        return [{"type": kind} if kind == "null" else {**said, "type": kind} for kind in kinds]
    name, members = next(iter(said.items())) if len(said) == 1 else ("", None)
    if name not in _CHOICES or not is_list(members):
        return []
    return [one for member in members for one in _list_alternatives(member) or [member]]


def _leave_choice(part: _Part) -> _Part:
    """Return what a choice of one leaves; any other part as it is."""
    either = _list_alternatives(part)
    return either[0] if len(either) == 1 and is_object(either[0]) else part
