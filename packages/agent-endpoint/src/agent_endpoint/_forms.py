"""Forms of answer, compared: libraries write the schema of one class in several ways.

Source: openai 3.57.0, `lib/_pydantic.py`, which requires each property, inlines a `$ref` that has a neighbour, and drops a default that is null; pydantic 2.12, `GenerateJsonSchema`.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from agent_server.executor import JsonObject


# What allows and forbids nothing in an answer, or is in no schema of an agent's: `uniqueItems` and `discriminator`.
_UNSAID: Final = frozenset(
    {
        *("$defs", "$schema", "default", "definitions", "description", "discriminator"),
        *("examples", "title", "uniqueItems"),
    }
)
_COMPARED_APART: Final = frozenset({"additionalProperties", "properties", "required"})


def is_form_of(asked: Any, own: Mapping[str, Any]) -> bool:
    """Return whether a schema that a client asks for is an agent's own, in any way of writing it.

    A property may be required that the agent's schema does not require only if all of them are: so the strict form of a class says that a field has a default.
    """
    asking, owning = _Schema(asked), _Schema(own)
    waiting: list[tuple[Any, Any]] = [(asked, own)]
    seen: set[tuple[int, int]] = set()
    # Definitions may refer to each other in circles, and in chains that are longer than a stack is deep.
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            one, other = asking.read(cast("Any", one)), owning.read(cast("Any", other))
            pair = id(one), id(other)
            if pair in seen:
                continue
            seen.add(pair)
            if not _are_alike(one, other):
                return False
            waiting += _list_members(one, other)
        elif isinstance(one, list) and isinstance(other, list):
            ones, others = cast("list[Any]", one), cast("list[Any]", other)
            if len(ones) != len(others):
                return False
            waiting += zip(ones, others, strict=True)
        elif type(one) is not type(other) or one != other:
            return False
    return True


def _are_alike(asked: JsonObject, own: JsonObject) -> bool:
    """Return whether two schemas say something of the same, whatever they say of it."""
    if asked.keys() - _COMPARED_APART != own.keys() - _COMPARED_APART:
        return False
    names: Collection[str] = own.get("properties", {}).keys()
    given = asked.get("properties", {})
    if not isinstance(given, Mapping) or cast("JsonObject", given).keys() != names:
        return False
    required: Any = asked.get("required", [])
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        return False
    wanted = set(cast("list[str]", required))
    return wanted <= set(own.get("required", [])) or wanted == names


def _list_members(asked: JsonObject, own: JsonObject) -> list[tuple[Any, Any]]:
    pairs = [(one, own[name]) for name, one in asked.items() if name not in _COMPARED_APART]
    pairs += [(one, own["properties"][name]) for name, one in asked.get("properties", {}).items()]
    if "additionalProperties" in asked:
        pairs.append((asked["additionalProperties"], own.get("additionalProperties", True)))
    return pairs


class _Schema:
    """A schema whose parts are read as they are meant.

    Args:
        root: The whole schema.
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        # Each with the part, so that no other has its `id`.
        self._read: dict[int, tuple[Any, JsonObject]] = {}

    def read(self, part: Mapping[str, Any]) -> JsonObject:
        """Return a part without what says nothing and with what it refers to in the place of a reference."""
        if id(part) not in self._read:
            self._read[id(part)] = part, self._write(part)
        return self._read[id(part)][1]

    def _write(self, part: Mapping[str, Any]) -> JsonObject:
        said: JsonObject = {}
        found: set[str] = set()
        while True:
            said = {name: one for name, one in part.items() if name not in _UNSAID} | said
            reference = said.get("$ref")
            # One that leads round in a circle stays.
            if not isinstance(reference, str) or reference in found:
                break
            found.add(reference)
            target = self._find(reference)
            if target is None:
                break
            del said["$ref"]
            part = target
        if "oneOf" in said:
            said["anyOf"] = said.pop("oneOf")
        if "prefixItems" in said:
            said.pop("items", None)  # Says again what those are.
        return said

    def _find(self, reference: str) -> Mapping[str, Any] | None:
        found: Any = self._root
        for name in reference.removeprefix("#/").split("/"):
            if not isinstance(found, Mapping) or name not in found:
                return None
            found = cast("JsonObject", found)[name]
        return cast("JsonObject", found) if isinstance(found, Mapping) else None
