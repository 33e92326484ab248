"""Dify's conversion of the value that a workflow's node has for a parameter.

Source: `api/core/workflow/nodes/agent/runtime_support.py` of langgenius/dify at 02b5705b, read 2026-10;
docs/evidence/dify-declarations.md, S1 to S16.
"""

from typing import Any, cast

from dify_plugin_packager._errors import DifyPluginError
from dify_plugin_packager.json_access import JsonObject, is_object, objects_at


_FALSE = frozenset({"false", "no", "n", "0", ""})


def initialize_parameter(declaration: JsonObject, value: Any) -> Any:
    """Return Dify's conversion of a node's value for a parameter of a strategy; the value may be missing.

    Raises:
        DifyPluginError: If a run in Dify would fail because of it; with the parameter's name and Dify's sentence.
    """
    name, kind = declaration.get("name"), declaration.get("type")
    # 0 and false are values; other empty ones, such as "" and [], are not.
    if not value and value != 0:
        value = declaration.get("default")
        if not value and declaration.get("required"):
            raise _failed(declaration, f"tool parameter {name} not found in tool config")
    options = [str(option.get("value")) for option in objects_at(declaration, "options")]
    if kind == "select" and value is not None and value not in options:
        raise _failed(declaration, f"tool parameter {name} value {value} not in options {options}")
    return cast_parameter(declaration, value)


def cast_parameter(declaration: JsonObject, value: Any) -> Any:
    """Return a value in the declared type, as Dify casts all that a tool gets; no default takes its place.

    Raises:
        DifyPluginError: If Dify fails to; with the parameter's name and Dify's sentence.
    """
    try:
        return _cast(str(declaration.get("type")), value)
    except ValueError as error:
        raise _failed(declaration, str(error)) from None


def _cast(kind: str, value: Any) -> Any:
    match kind:
        case "string" | "secret-input" | "select":
            return "" if value is None else str(value)
        case "boolean":
            is_text = isinstance(value, str)
            return value.lower() not in _FALSE if is_text else bool(value)
        case "number" if isinstance(value, str):
            return (float if "." in value else int)(value) if value else None
        case "number":
            return value if isinstance(value, int | float) else None
        case "model-selector" | "app-selector" if not is_object(value):
            raise ValueError("The selector must be a dictionary.")
        case "array[tools]" if value and not isinstance(value, list):
            raise ValueError("The tools selector must be a list.")
        case _:
            return cast("Any", value)


def _failed(declaration: JsonObject, problem: str) -> DifyPluginError:
    return DifyPluginError(f"parameter {declaration.get('name')!r}: {problem}")
