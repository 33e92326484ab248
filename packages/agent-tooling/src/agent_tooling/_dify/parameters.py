"""Tool parameters as a frozen value, whatever shape they arrive in."""

import copy
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import plain_value
from stream_text import is_list, is_object, read_member


type ParameterForm = Literal["schema", "form", "llm"]

FILE_TYPES: Final = frozenset({"file", "files", "system-files"})
_CHOICE_TYPES: Final = frozenset({"select", "dynamic-select"})
_INTEGRAL_FLOAT_LIMIT: Final = 1e15  # Above it a float no longer says which integer was meant.


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolParameter:
    """One declared parameter of a Dify tool.

    Attributes:
        name: Key of the argument.
        type: Dify's parameter type, such as `string`, `number`, `select` or `array`; one that is not known here is treated as `string`.
        form: Who supplies the value: `llm` the model, `form` and `schema` the person who configures the tool.
        required: Whether a call without the value is refused.
        default: Value that is used when none was given; None for no default.
        llm_description: Description for the model.
        input_schema: JSON schema that describes the value instead of `type`.
        options: Allowed values as text; empty for no restriction.
        minimum: Smallest allowed number, inclusive.
        maximum: Largest allowed number, inclusive.
        multiple: Whether a `select` or `dynamic-select` takes a list of its options.

    Source: Dify's plugin SDK, `entities/tool.py`, version 0.10.2; docs/evidence/dify-platform.md, P22.
    """

    name: str
    type: str = "string"
    form: ParameterForm = "llm"
    required: bool = False
    default: Any = None
    llm_description: str = ""
    input_schema: Mapping[str, Any] | None = None
    options: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    multiple: bool = False

    def __post_init__(self) -> None:
        """Validate the fields.

        Raises:
            DeclarationError: If the name is empty, the form is unknown, or name, type, description, input schema or options have the wrong type.
        """
        parameter_name(self)
        for field in ("type", "llm_description", "form"):
            _validate_text(field, getattr(self, field))
        if self.form not in {"schema", "form", "llm"}:
            raise DeclarationError("parameter form", "'schema', 'form' or 'llm'", self.form)
        if self.input_schema is not None and not is_object(self.input_schema):
            expected = "a JSON schema object"
            raise DeclarationError("parameter input_schema", expected, self.input_schema)
        if type(self.options) is not tuple:
            raise DeclarationError("parameter options", "a tuple of texts", self.options)
        for option in self.options:
            _validate_text("option", option)

    @classmethod
    def from_raw(cls, raw: object) -> Self:
        """Read a parameter from a mapping or an object with Dify's field names. A null field counts as left out.

        Raises:
            DeclarationError: If the name, type, form, description or input schema is not valid.
        """
        if isinstance(raw, cls):
            return raw
        kind = _read(raw, "type", default="string")
        _validate_text("type", kind)
        return cls(
            name=parameter_name(raw),
            type=kind,
            form=_read(raw, "form", default="llm"),
            required=bool(read_member(raw, "required")),
            default=_default(kind, read_member(raw, "default")),
            llm_description=_read(raw, "llm_description", default=""),
            input_schema=read_member(raw, "input_schema"),
            options=_read_options(raw),
            minimum=_number(read_member(raw, "min")),
            maximum=_number(read_member(raw, "max")),
            multiple=kind in _CHOICE_TYPES and bool(read_member(raw, "multiple")),
        )

    @property
    def is_visible(self) -> bool:
        """Whether the model sees the parameter and may supply it."""
        return self.form == "llm" and self.type not in FILE_TYPES


def to_parameters(raws: Iterable[object] | None) -> tuple[ToolParameter, ...]:
    """Read the parameters of a tool; None stands for a tool without any."""
    return tuple(ToolParameter.from_raw(raw) for raw in raws or ())


def parameter_name(raw: object) -> str:
    """Return a raw parameter's name.

    Raises:
        DeclarationError: If it has none.
    """
    name = read_member(raw, "name")
    if not isinstance(name, str) or not name:
        raise DeclarationError("parameter name", "text that is not empty", name)
    return name


def merge_parameters[Parameter](
    declared: Iterable[Parameter] | None, runtime: Iterable[Parameter] | None
) -> list[Parameter]:
    """Lay a tool's runtime parameters over its declared ones.

    A runtime parameter replaces the declared one of the same name as a whole, at its index; one with a new name is
    appended. Everything returned is a deep copy in the shape it came in.

    Raises:
        DeclarationError: If a parameter has no name.

    Source: docs/contracts/dify-agent.md, C1; docs/evidence/dify-platform.md, P16.
    """
    merged = {parameter_name(raw): raw for raw in declared or ()}
    # A name that is there already keeps its position.
    merged |= {parameter_name(raw): raw for raw in runtime or ()}
    return copy.deepcopy(list(merged.values()))


def option_text(value: object) -> str:
    """Return a value as the text that options are compared by: `true`, `3`, `1.5`, `text`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _INTEGRAL_FLOAT_LIMIT:
        return str(int(value))
    return str(value)


def _validate_text(field: str, value: object) -> None:
    if not isinstance(value, str):
        raise DeclarationError(f"parameter {field}", "text", value)


def _read(raw: object, field: str, *, default: str) -> Any:
    value = plain_value(read_member(raw, field))
    return default if value is None else value


def _read_options(raw: object) -> tuple[str, ...]:
    """Return the option values as text; like Dify, treat anything but a list as no options."""
    options = read_member(raw, "options")
    values = map(_option_value, options if is_list(options) else ())
    return tuple(option_text(value) for value in values if value is not None)


def _option_value(option: object) -> object:
    return option if isinstance(option, str) else plain_value(read_member(option, "value"))


def _default(kind: str, value: object) -> object:
    """Return a default as declared; the plugin SDK turns a YAML boolean into 0 or 1, so turn it back."""
    # Only 0 and 1, since any other number was declared as one.
    is_bit = kind == "boolean" and value in {0, 1} if isinstance(value, int) else False
    return bool(value) if is_bit else value


def _number(value: object) -> float | None:
    """Return a numeric bound; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None
