"""Arguments as Dify's own tool layer prepares them: cast leniently, with the model's values taking precedence.

These rules are a contract with existing tools. For calls that must fail closed, use `bind_arguments` instead.

Source: docs/contracts/dify-agent.md, C21 to C23; docs/evidence/dify-platform.md, P17.
"""

import copy
import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from agent_tooling._errors import ArgumentError
from stream_text import InvalidJsonError, is_list, is_object, parse_json

from .parameters import ToolParameter, to_parameters


_FALSE_TEXTS: Final = frozenset({"false", "no", "n", "0"})


def missing_hidden_parameters(
    parameters: Iterable[object] | None, runtime_parameters: Mapping[str, Any] | None
) -> list[str]:
    """Return the sorted names of required parameters that can no longer get a value.

    These are hidden from the model, have no default and are absent from `runtime_parameters`; a null that is present
    counts as supplied.

    Raises:
        DeclarationError: If a parameter cannot be read.
    """
    supplied = (runtime_parameters or {}).keys()
    return sorted(
        parameter.name
        for parameter in to_parameters(parameters)
        if parameter.form != "llm"
        and parameter.required
        and parameter.default is None
        and parameter.name not in supplied
    )


def prepare_arguments(
    parameters: Iterable[object] | None,
    runtime_parameters: Mapping[str, Any] | None,
    arguments: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Combine configured values, a model's arguments and defaults into the arguments of a call.

    The model's arguments replace configured values of the same name, even hidden ones, as the tool layer's contract
    says. Declared parameters come first, each cast to its type; other keys follow unchanged.

    Raises:
        ArgumentError: If a required value is missing or cannot be cast.
        DeclarationError: If a parameter cannot be read.
    """
    merged = {**(runtime_parameters or {}), **(arguments or {})}
    prepared: dict[str, Any] = {}
    for parameter in to_parameters(parameters):
        # Whether the name is there, not its value: a null that is present counts as supplied.
        if parameter.name in merged:
            prepared[parameter.name] = cast_value(parameter, merged[parameter.name])
        elif parameter.default is not None:
            prepared[parameter.name] = cast_value(parameter, copy.deepcopy(parameter.default))
        elif parameter.required:
            raise ArgumentError(
                parameter.name, f"tool parameter {parameter.name} not found in tool config"
            )
    return prepared | {name: value for name, value in merged.items() if name not in prepared}


def cast_value(parameter: object, value: object) -> Any:
    """Return a value in the shape that the plugin daemon expects for the parameter's type.

    Raises:
        ArgumentError: If the value cannot be cast to the type.
        DeclarationError: If the parameter cannot be read.
    """
    declared = ToolParameter.from_raw(parameter)
    cast_type = _cast_choices if declared.multiple else _CASTS.get(declared.type, _cast_text)
    try:
        return cast_type(value)
    except ValueError as error:
        raise ArgumentError(declared.name, str(error)) from error


def _cast_text(value: object) -> str:
    return "" if value is None else str(value)


def _cast_choices(value: object) -> list[str]:
    """Return the chosen options, which may be JSON text; empty text means no choice."""
    if value is None or value == "":
        return []
    return [_cast_text(item) for item in _cast_array(value)]


def _cast_date(value: object) -> str:
    if value is None or value == "":
        return ""
    # `fromisoformat` also reads other forms of a date.
    if isinstance(value, str) and _find_date(value) == value:
        return value
    raise ValueError("The date must be a day of the calendar, written as YYYY-MM-DD.")


def _find_date(text: str) -> str | None:
    try:
        return dt.date.fromisoformat(text).isoformat()
    except ValueError:
        return None


def _cast_date_range(value: object) -> dict[str, str]:
    """Return a range of days without its open ends. A single day is the start of the range."""
    parsed = _find_json(value)
    ends = parsed if is_object(parsed) else {"start": value}
    days = {name: day for name in ("start", "end") if (day := _cast_date(ends.get(name)))}
    if list(days.values()) != sorted(days.values()):
        raise ValueError("The date range must not end before it starts.")
    return days


def _cast_boolean(value: object) -> bool:
    """Read a boolean leniently: unknown text is true unless it is empty."""
    text = value.lower() if isinstance(value, str) else None
    return text not in _FALSE_TEXTS and bool(value)


def _cast_number(value: object) -> object:
    """Convert text to a number, and leave everything else to the tool."""
    if not isinstance(value, str) or not value:
        return value
    return float(value) if "." in value else int(value)


def _cast_files(value: object) -> object:
    return value if is_list(value) else [value]


def _cast_file(value: object) -> object:
    if not is_list(value):
        return value
    if len(value) != 1:
        raise ValueError(
            "This parameter only accepts one file but got multiple files while invoking."
        )
    return value[0]


def _cast_selector(value: object) -> object:
    if not is_object(value):
        raise ValueError("The selector must be a dictionary.")  # The contract says ValueError.
    return value


def _cast_any(value: object) -> object:
    if value is None or is_object(value) or is_list(value) or isinstance(value, str | int | float):
        return value
    raise ValueError("The var selector must be a string, dictionary, list or number.")


def _cast_array(value: object) -> Sequence[object]:
    parsed = _find_json(value)
    return parsed if is_list(parsed) else [value]


def _cast_object(value: object) -> object:
    parsed = _find_json(value)
    return parsed if is_object(parsed) else {}


def _find_json(value: object) -> object:
    """Return the value of JSON text; None for text that is not JSON, and any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except InvalidJsonError:
        return None


# The value of every other type, known or not, becomes text.
_CASTS: Final[Mapping[str, Callable[[object], object]]] = {
    "any": _cast_any,
    "app-selector": _cast_selector,
    "array": _cast_array,
    "boolean": _cast_boolean,
    "date": _cast_date,
    "date-range": _cast_date_range,
    "file": _cast_file,
    "files": _cast_files,
    "integer": _cast_number,
    "model-selector": _cast_selector,
    "number": _cast_number,
    "object": _cast_object,
    "system-files": _cast_files,
}
