"""Binding a model's arguments to a declaration, or refusing them.

It fails closed: arguments that do not fit are never repaired into a call. The lenient rules of the tool layer are in `coercion`.
"""

import copy
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from agent_tooling._arguments import MAX_DIGITS, AcceptedArguments, RefusedArguments, ToolArguments
from agent_tooling._errors import ArgumentError
from agent_tooling._sentences import validation_error_text
from stream_text import is_list

from .parameters import FILE_TYPES, ToolParameter, option_text, to_parameters


# ASCII only, since Python would read digits of any script.
_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER_TYPES: Final = frozenset({"number", "integer"})
_BOOLEANS: Final = {"true": True, "false": False}


def bind_arguments(
    tool_name: str,
    parameters: Iterable[object] | None,
    arguments: Mapping[str, Any],
    runtime_parameters: Mapping[str, Any] | None = None,
) -> ToolArguments:
    """Bind a model's parsed arguments to a tool's parameters, and refuse what does not fit.

    The model may supply only what `llm_json_schema` shows it, so a hidden parameter keeps its configured value or its
    default; an argument for one of the form, or for a configured one, is dropped. Null counts as not given. Numbers and
    booleans written as text are converted; scalars for text parameters become text.

    Args:
        tool_name: Name of the tool, for the message.
        parameters: The tool's parameters.
        arguments: The model's arguments, parsed.
        runtime_parameters: The values that the tool was configured with; they are passed on unchanged.

    Returns:
        All arguments of the call, or, in `error`, the full sentence for the model.

    Raises:
        DeclarationError: If a parameter cannot be read.
    """
    declared = to_parameters(parameters)
    try:
        configured = runtime_parameters or {}
        dropped = _find_formal(declared, arguments, configured)
        kept = {name: value for name, value in arguments.items() if name not in dropped}
        given = _known_only(tool_name, declared, kept)
        args = _complete(declared, {**configured, **given})
        # Only the model's values are converted: configured ones are passed on unchanged.
        for parameter in declared:
            if parameter.name in given:
                args[parameter.name] = _accept(parameter, given[parameter.name])
    except ArgumentError as error:
        return RefusedArguments(error=validation_error_text(str(error)))
    reported = tuple(name for name in dropped if arguments[name] is not None)
    return AcceptedArguments(args=args, dropped=reported)


def option_violation(parameters: Iterable[object] | None, args: Mapping[str, Any]) -> str | None:
    """Return the sentence that names the first argument outside its parameter's options; None if all fit.

    Raises:
        DeclarationError: If a parameter cannot be read.
    """
    for parameter in to_parameters(parameters):
        try:
            _validate_options(parameter, args.get(parameter.name))
        except ArgumentError as error:
            return validation_error_text(str(error))
    return None


def _find_formal(
    declared: tuple[ToolParameter, ...],
    arguments: Mapping[str, Any],
    configured: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return the arguments' names for what the tool's form sets, by its defaults too.

    Models know tools from their training, and fill those in, too.
    """
    formal = {
        parameter.name
        for parameter in declared
        if not parameter.is_visible
        and (parameter.type not in FILE_TYPES or configured.get(parameter.name) is not None)
    }
    return tuple(sorted(arguments.keys() & formal))


def _known_only(
    tool_name: str, declared: tuple[ToolParameter, ...], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the model's arguments without nulls; refuse names that it was not shown."""
    if arguments and not declared:
        raise ArgumentError(min(arguments), f"schema is required for tool '{tool_name}'")
    visible = {parameter.name for parameter in declared if parameter.is_visible}
    unknown = sorted(arguments.keys() - visible)
    if unknown:
        raise ArgumentError(unknown[0], f"unknown parameters {unknown}")
    return {name: value for name, value in arguments.items() if value is not None}


def _complete(declared: tuple[ToolParameter, ...], given: dict[str, Any]) -> dict[str, Any]:
    """Apply defaults, and refuse a call in which a required value is still missing."""
    declared_names = {parameter.name for parameter in declared}
    complete = {name: value for name, value in given.items() if name not in declared_names}
    for parameter in declared:
        value = given.get(parameter.name)
        # Copied, so that a tool cannot change the declaration through its arguments.
        value = copy.deepcopy(parameter.default) if value is None else value
        if value is not None:
            complete[parameter.name] = value
        elif parameter.required:
            raise ArgumentError(parameter.name, f"missing required parameter '{parameter.name}'")
    return complete


def _accept(parameter: ToolParameter, value: object) -> object:
    """Return a model's value, converted to the parameter's type."""
    if parameter.multiple:
        accepted = _accept_list(parameter, value)
    else:
        accepted = _accept_type(parameter, value)
    # A number is compared by its value, anything else as the model wrote it, since the message
    # quotes it.
    _validate_options(parameter, accepted if parameter.type in _NUMBER_TYPES else value)
    return accepted


def _accept_list(parameter: ToolParameter, value: object) -> list[object]:
    if not is_list(value):
        raise _requires(parameter, "array")
    return [_accept_text(parameter, item) for item in value]


def _accept_type(parameter: ToolParameter, value: object) -> object:
    match parameter.type:
        case "number" | "integer":
            return _accept_number(parameter, value)
        case "boolean":
            return _accept_boolean(parameter, value)
        case "array":
            return _accept_container(parameter, value, list, "array")
        case "object" | "model-selector" | "app-selector" | "date-range":
            return _accept_container(parameter, value, dict, "object")
        case "any":
            return value
        case _:
            return _accept_text(parameter, value)


def _accept_number(parameter: ToolParameter, value: object) -> float:
    number = _find_number(value) if isinstance(value, str) else value
    # In Python a boolean is an integer.
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise _requires(parameter, parameter.type)
    if parameter.type == "number" or isinstance(number, int):
        return number
    if not number.is_integer():
        raise _requires(parameter, "integer")
    return int(number)


def _find_number(text: str) -> float | None:
    """Return the finite number that `text` spells; None for anything else."""
    text = text.strip()
    if _INTEGER.fullmatch(text):
        # One character more, for the sign.
        return int(text) if len(text) <= MAX_DIGITS + 1 else None
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def _accept_boolean(parameter: ToolParameter, value: object) -> bool:
    accepted = _BOOLEANS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(accepted, bool):
        raise _requires(parameter, "boolean")
    return accepted


def _accept_container(
    parameter: ToolParameter, value: object, container: type, name: str
) -> object:
    if not isinstance(value, container):
        raise _requires(parameter, name)
    return value


def _accept_text(parameter: ToolParameter, value: object) -> str:
    if not isinstance(value, str | bool | int | float):
        raise _requires(parameter, "string")
    return option_text(value)


def _requires(parameter: ToolParameter, kind: str) -> ArgumentError:
    return ArgumentError(parameter.name, f"parameter '{parameter.name}' requires {kind}")


def _validate_options(parameter: ToolParameter, value: object) -> None:
    """Raise an error for a value, or an item of a multiple choice, that is not among the parameter's options."""
    if value is None or not parameter.options:
        return
    chosen = value if parameter.multiple and is_list(value) else [value]
    options = list(parameter.options)
    for item in chosen:
        if option_text(item) not in options:
            raise ArgumentError(
                parameter.name,
                f"parameter '{parameter.name}' value {item!r} not in options {options}",
            )
