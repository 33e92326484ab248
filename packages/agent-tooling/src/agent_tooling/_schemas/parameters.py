"""A JSON schema as the parameters of a tool."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from agent_tooling._arguments import AcceptedArguments, RefusedArguments, ToolArguments
from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema, listed, members, path_text, shorten, value_text
from agent_tooling._sentences import validation_error_text
from stream_text import is_list

from .found_schema import build_found_validator, is_of_type, read_object_schema
from .references import find_referenced, validate_references
from .validation import find_finding


_MAX_CHARACTERS: Final = 300
_UNCHECKED: Final = "the arguments could not be checked"
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
            DeclarationError: If it is not the JSON schema of an object; or if a hidden name is a path into a property,
                or appears where it cannot be taken out.
        """
        read = read_object_schema(schema)
        if hidden:
            _hide(read, hidden)
            validate_references(read, field="the tool parameters")
        if read.keys().isdisjoint(NAMES_ELSEWHERE):
            read.setdefault("additionalProperties", False)
        return cls(schema=read, validator=build_found_validator(read, is_checked=is_checked))

    def bind(self, tool_name: str, args: dict[str, Any]) -> ToolArguments:  # noqa: ARG002 - other kinds of parameters tell it
        """Check a model's arguments."""
        # Our own checks come first: they work without jsonschema, too, and name every fault.
        findings = [*_check_names(self.schema, args), *_check_types(self.schema, args)]
        if not findings and self.validator is not None:
            findings = self._check_all(args)
        if findings:
            return RefusedArguments(error=validation_error_text("; ".join(findings)))
        return AcceptedArguments(args=args)

    def to_values(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values for a call: the arguments themselves."""
        return dict(args)

    def _check_all(self, args: Mapping[str, Any]) -> list[str]:
        try:
            return _find_all(self.validator, args)
        except RecursionError:
            return [_UNCHECKED]
        except Exception:  # noqa: BLE001 - jsonschema raises many kinds
            # So does a schema that was said to be checked, where some part of it says nothing.
            validator = build_found_validator(self.schema)
        try:
            return _find_all(validator, args)
        except Exception:  # noqa: BLE001 - as above
            return [_UNCHECKED]


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
        node = members(part)
        if not node or id(node) in seen:
            continue
        seen.add(id(node))
        if node is not schema:
            names.update(_texts(node.get("properties")), _texts(node.get("required")))
        for conditions in (node.get(key) for key in _CONDITIONS):
            names.update(_texts(conditions), *map(_texts, parts_of(conditions)))
        for inner in (node.get(key) for key in (*_PARTS, *_CONDITIONS)):
            waiting += (inner, *parts_of(inner))
        # A reference may lead back to a part that was seen; the ids above end such a circle.
        waiting.append(find_referenced(schema, node.get("$ref")))
    return names


def parts_of(value: object) -> Sequence[Any]:
    """Return the items of a list or the values of an object; an empty list for anything else."""
    return value if is_list(value) else list(members(value).values())


def _texts(value: object) -> list[str]:
    items = value if is_list(value) else members(value)
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
        node = members(schema["properties"].get(name))
        # What stands beside a reference counts in newer drafts only; jsonschema knows in which.
        declared: object = None if "$ref" in node else node.get("type")
        is_null = value is None and node.get("nullable") is True
        if declared is not None and not is_null and not is_of_type(value, declared):
            expected = " or ".join(map(str, listed(declared)))
            yield f"parameter '{name}' must be {expected}, got {value_text(value)}"


def _find_all(validator: Any, args: Mapping[str, Any]) -> list[str]:
    finding = find_finding(validator, args)
    if finding is None:
        return []
    place = path_text(finding.absolute_path)
    subject = f"parameter '{place}'" if place else "the arguments"
    return [f"{subject}: {shorten(finding.message, _MAX_CHARACTERS)}"]
