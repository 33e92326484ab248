"""Forms of answer, compared: libraries write the schema of one class in several ways.

Source: openai 3.57.0, `lib/_pydantic.py`, which requires each property, inlines a `$ref` that has a neighbour, and drops a default that is null; pydantic 2.12, `GenerateJsonSchema`.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeGuard, cast


type _Part = dict[Any, Any]
"""A part of a schema by its members, the elements of a list, or a schema's properties among its own."""

# What allows and forbids nothing in an answer, or is in no schema of an agent's: `uniqueItems` and `discriminator`.
_UNSAID: Final = frozenset(
    {
        *("$defs", "$schema", "default", "definitions", "description", "discriminator"),
        *("examples", "title", "uniqueItems"),
    }
)
_APART: Final = frozenset({"additionalProperties", "required"})


def is_form_of(asked: Any, own: Mapping[str, Any]) -> bool:
    """Return whether a schema that a client asks for is an agent's own, in any way of writing it.

    A property may be required that the agent's schema does not require only if all of them are: so the strict form of a class says that a field has a default.
    """
    asking, owning = _Schema(asked), _Schema(own)
    waiting: list[tuple[Any, Any]] = [(asked, own)]
    seen: set[tuple[int, int]] = set()
    # Definitions may refer to each other in circles, and in chains that are longer than a stack is deep.
    while waiting:
        part, other = waiting.pop()
        part, other = asking.read(part), owning.read(other)
        if not _is_object(part) or not _is_object(other):
            if type(part) is not type(other) or part != other:
                return False
        elif (id(part), id(other)) not in seen:
            seen.add((id(part), id(other)))
            if not _are_alike(part, other):
                return False
            waiting += ((part[name], other.get(name, True)) for name in part if name != "required")
    return True


def _are_alike(asked: _Part, own: _Part) -> bool:
    """Return whether two parts say something of the same, whatever they say of it."""
    wanted: frozenset[str] = asked.get("required", frozenset())
    names = {cast("tuple[str, str]", one)[1] for one in own if isinstance(one, tuple)}
    is_required = wanted <= own.get("required", frozenset()) or set(wanted) == names
    return is_required and asked.keys() - _APART == own.keys() - _APART


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
        """Return a part without what says nothing and with what it refers to in the place of a reference."""
        if not _is_object(part) and not _is_list(part):
            return part
        if id(part) not in self._read:
            meant = (
                self._write(part) if _is_object(part) else dict(enumerate(cast("list[Any]", part)))
            )
            self._read[id(part)] = part, meant
        return self._read[id(part)][1]

    def _write(self, part: _Part) -> _Part:
        said = dict(part)
        found: set[str] = set()
        # What refers to nothing, or round in a circle, stays.
        while "$ref" in said and str(said["$ref"]) not in found:
            found.add(reference := str(said["$ref"]))
            said = self._find(reference) | {name: said[name] for name in said if name != "$ref"}
        said = {name: one for name, one in said.items() if name not in _UNSAID}
        if "oneOf" in said:
            said["anyOf"] = said.pop("oneOf")
        if "prefixItems" in said:
            said.pop("items", None)  # Says again what those are.
        required: Any = said.get("required", [])
        said["required"] = frozenset(map(str, required if _is_list(required) else [required]))
        if _is_object(properties := said.get("properties")):
            said |= {("properties", name): one for name, one in properties.items()}
            del said["properties"]
        return said

    def _find(self, reference: str) -> _Part:
        """Return what a reference leads to; the reference itself if it leads nowhere."""
        found: Any = self._root
        for name in reference.removeprefix("#/").split("/"):
            found = found.get(name) if _is_object(found) else None
        return found if _is_object(found) else {"$ref": reference}


def _is_object(value: Any) -> TypeGuard[_Part]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
