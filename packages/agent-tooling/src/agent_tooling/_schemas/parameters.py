"""A JSON schema as the parameters of a tool."""

import copy
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self, cast

from agent_tooling._arguments import AcceptedArguments, RefusedArguments, ToolArguments
from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema, path_text, shorten, value_text
from agent_tooling._sentences import validation_error_text

from .references import find_referenced, validate_references
from .validation import build_validator, find_finding


_MAX_CHARACTERS: Final = 300
# With one of these, `properties` alone does not say which names an object takes.
NAMES_ELSEWHERE: Final = frozenset(
    {
        "$ref",
        "allOf",
        "anyOf",
        "dependentSchemas",
        "if",
        "oneOf",
        "patternProperties",
        "unevaluatedProperties",
    }
)
# Keywords for parts of a schema about the same object: in a list or alone, and by the names that
# they depend on.
_PARTS: Final = ("allOf", "anyOf", "else", "if", "not", "oneOf", "then")
_CONDITIONS: Final = ("dependencies", "dependentRequired", "dependentSchemas")
_TYPES: Final[Mapping[object, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaParameters:
    """Parameters that a JSON schema describes.

    Attributes:
        schema: The schema, as the model sees it.
        validator: jsonschema's validator for it; None if that is not installed.
    """

    schema: JsonSchema
    validator: Any = field(repr=False)

    @classmethod
    def from_schema(
        cls, schema: object, *, hidden: Collection[str] = (), is_checked: bool = False
    ) -> Self:
        """Read the schema of an object.

        Args:
            schema: The schema.
            hidden: Properties to take out of it.
            is_checked: Whether it was read before, so that it need not be checked, which for a large one takes seconds.

        Raises:
            DeclarationError: If it is not the JSON schema of an object, or refers to something outside itself or to nothing; or if a hidden name is a path into a
                property, or appears where it cannot be taken out.
        """
        if not isinstance(schema, Mapping):
            raise DeclarationError("tool parameters", "a JSON schema object", schema)
        given = cast("Mapping[str, Any]", schema)
        read: JsonSchema = {"type": "object", "properties": {}}
        read |= copy.deepcopy(dict(given))
        if read["type"] != "object":
            raise DeclarationError(
                "type of the tool parameters", "'object'", found=repr(read["type"])
            )
        _validate_members(read)
        _hide(read, hidden)
        if not is_checked:
            validate_references(read, field="the tool parameters")
        if read.keys().isdisjoint(NAMES_ELSEWHERE):
            read.setdefault("additionalProperties", False)
        validator = build_validator(read, field="the tool parameters", is_checked=is_checked)
        return cls(schema=read, validator=validator)

    def bind(self, tool_name: str, args: dict[str, Any]) -> ToolArguments:  # noqa: ARG002 - other kinds of parameters tell it
        """Check a model's arguments."""
        # Our own checks come first: they work without jsonschema, too, and name every fault.
        findings = [*_check_names(self.schema, args), *_check_types(self.schema, args)]
        if not findings and self.validator is not None:
            findings = _check_all(self.validator, args)
        if findings:
            return RefusedArguments(error=validation_error_text("; ".join(findings)))
        return AcceptedArguments(args=args)

    def to_values(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values for a call: the arguments themselves."""
        return dict(args)


def _validate_members(schema: JsonSchema) -> None:
    """Refuse a schema with unreadable properties or names."""
    properties: object = schema["properties"]
    required = cast("list[object]", schema.get("required", []))
    if not isinstance(properties, dict):
        raise DeclarationError("properties of the tool parameters", "schemas by name", properties)
    if type(required) is not list or not all(isinstance(name, str) for name in required):
        raise DeclarationError("required of the tool parameters", "a list of names", required)
    try:
        json.dumps(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise DeclarationError("tool parameters", "JSON", found=type(error).__name__) from error


def _hide(schema: JsonSchema, hidden: Collection[str]) -> None:
    """Remove names from the outermost level of a schema, and refuse those that appear elsewhere."""
    properties: JsonSchema = schema["properties"]
    for name in hidden:
        first = name.partition(".")[0].partition("[")[0]
        if name not in properties and first in properties:
            place = f"hidden {shorten(name, _MAX_CHARACTERS)!r}"
            raise DeclarationError(place, "a parameter of its own", found=f"a path into {first!r}")
        properties.pop(name, None)
    if "required" in schema:
        schema["required"] = [name for name in schema["required"] if name not in hidden]
    for name in sorted(_find_names_elsewhere(schema).intersection(hidden)):
        place = f"hidden {shorten(name, _MAX_CHARACTERS)!r}"
        raise DeclarationError(
            place, "named in `properties` alone", found="one that a part of the schema names too"
        )


def _find_names_elsewhere(schema: JsonSchema) -> set[str]:
    """Return the names of parameters in other parts of a schema about the same object: in `allOf`, behind a reference and so on."""
    names: set[str] = set()
    waiting: list[object] = [schema]
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        node = cast("JsonSchema", part if isinstance(part, dict) else {})
        if not node or id(node) in seen:
            continue
        seen.add(id(node))
        if node is not schema:
            names.update(_texts(node.get("properties")), _texts(node.get("required")))
        for conditions in (node.get(key) for key in _CONDITIONS):
            names.update(_texts(conditions), *map(_texts, parts_of(conditions)))
        for members in (node.get(key) for key in (*_PARTS, *_CONDITIONS)):
            waiting += (members, *parts_of(members))
        # A reference may lead back to a part that was seen; the ids above end such a circle.
        waiting.append(find_referenced(schema, node.get("$ref")))
    return names


def parts_of(value: object) -> list[object]:
    """Return the items of a list or the values of an object; an empty list for anything else."""
    if isinstance(value, dict):
        return list(cast("JsonSchema", value).values())
    return cast("list[object]", value) if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    items = cast("Iterable[object]", value if isinstance(value, dict | list) else ())
    return [item for item in items if isinstance(item, str)]


def _check_names(schema: JsonSchema, args: Mapping[str, Any]) -> Iterator[str]:
    unknown = sorted(args.keys() - schema["properties"].keys())
    if (
        unknown
        and schema.get("additionalProperties") is False
        and "patternProperties" not in schema
    ):
        yield shorten(f"unknown parameters {unknown}", _MAX_CHARACTERS)
    for name in schema.get("required", ()):
        if name not in args:
            yield f"missing required parameter '{name}'"


def _check_types(schema: JsonSchema, args: Mapping[str, Any]) -> Iterator[str]:
    """Check the simple types of the arguments, but nothing inside them."""
    for name, value in args.items():
        part: object = schema["properties"].get(name)
        declared: object = cast("JsonSchema", part).get("type") if isinstance(part, dict) else None
        kinds = cast("list[object]", declared if isinstance(declared, list) else [declared])
        if declared is not None and not any(_is_of(value, kind) for kind in kinds):
            expected = " or ".join(map(str, kinds))
            yield f"parameter '{name}' must be {expected}, got {value_text(value)}"


def _is_of(value: object, kind: object) -> bool:
    # In Python a boolean is an integer.
    if isinstance(value, bool) and kind != "boolean":
        return False
    # In JSON schema 3.0 is an integer.
    if isinstance(value, float) and kind == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, ()))


def _check_all(validator: Any, args: Mapping[str, Any]) -> list[str]:
    try:
        finding = find_finding(validator, args)
    except Exception:  # noqa: BLE001 - jsonschema raises many kinds
        return ["the arguments could not be checked"]
    if finding is None:
        return []
    place = path_text(finding.absolute_path)
    subject = f"parameter '{place}'" if place else "the arguments"
    return [f"{subject}: {shorten(finding.message, _MAX_CHARACTERS)}"]
