"""Function tools."""

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from stream_text import is_object, read_member

from ._errors import PayloadError
from ._mended_schema import mend_schema
from ._strict import exceeds_limits, is_strict, validate_strict
from ._strict_keywords import TYPES, named_types
from ._values import coerce_bool, copy_json, is_blank, quote


# Source: docs/evidence/responses-api.md, R14.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# Further fields of the API's functions. Source: openai 3.54.0, `types/responses/function_tool.py`.
_FURTHER_KEYS = ("defer_loading", "async", "allowed_callers", "output_schema")
_MOST_LOOSENED = 10  # that a description tells of


def function_tool(tool: object) -> dict[str, Any]:
    """Build a Responses function tool from a mapping or an object with `name`, `description` and `parameters`.

    A schema that the API would refuse is sent as one that it takes and that allows no less; where it allows more, the
    description says so, and what the model writes has to be checked by the original. A tool without `strict` is strict
    only if the API accepts its schema as strict, which most tools' optional parameters forbid; so is one whose schema
    had to allow more, or is beyond the limits of strict ones. `tool` itself stays as it is.

    Returns:
        `{"type": "function", "name": ..., "description": ..., "parameters": {...}, "strict": ...}`, with `defer_loading`,
        `async`, `allowed_callers` and `output_schema` if the tool has them.

    Raises:
        PayloadError: If the name is blank or one that the API does not take, if `parameters` is not a JSON schema of an object, or if the tool should
            be strict and the API would refuse it.

    Source: https://platform.openai.com/docs/api-reference/responses/create, `tools`; for the schema and `strict`
    docs/evidence/responses-api.md, R15, R18 and R40.
    """
    name = tool_name(read_member(tool, "name"))
    description = read_member(tool, "description")
    wanted = read_member(tool, "strict")
    strict = None if wanted is None else coerce_bool(wanted, field="tools.strict")
    written, loosened, is_closed = _mended(_parameters(read_member(tool, "parameters"), name))
    parameters = json.loads(written)
    if strict and not loosened:
        validate_strict(parameters, field="tools", name=f"parameters of tool {name!r}")
    is_free = strict is None or loosened or exceeds_limits(parameters)
    further = {key: read_member(tool, key) for key in _FURTHER_KEYS}
    return {
        "type": "function",
        "name": name,
        "description": _described("" if description is None else str(description), loosened),
        "parameters": parameters,
        "strict": is_closed if is_free and strict is not False else bool(strict),
    } | {key: copy_json(one, field="tools") for key, one in further.items() if one is not None}


def sendable_tools[T](tools: Iterable[T]) -> tuple[list[T], dict[str, str]]:
    """Return the tools that can be sent, each as it is, and why each of the others cannot be, by its name or else its place in the list.

    A tool cannot be sent that has no name or one that the API does not take, whose name an earlier one has, or whose
    parameters are not those of an object.
    """
    sendable: list[T] = []
    left_out: dict[str, str] = {}
    names: set[str] = set()
    for place, tool in enumerate(tools, start=1):
        try:
            name: str = function_tool(tool)["name"]
        except PayloadError as error:
            left_out[quote(read_member(tool, "name") or f"tool {place}")] = str(error)
            continue
        if name in names:
            left_out[name] = f"tool {place} has the name of an earlier one"
        else:
            names.add(name)
            sendable.append(tool)
    return sendable, left_out


def tool_name(value: object) -> str:
    """Return the name of a function, a custom tool or a group of them.

    Raises:
        PayloadError: If it is blank, or one that the API does not take.
    """
    if is_blank(value):
        raise PayloadError("tool name is required", field="tools")
    if not (isinstance(value, str) and _NAME.fullmatch(value)):
        raise PayloadError(
            f"tool name {quote(value)!r} must be 1 to 128 letters, digits, underscores or hyphens",
            field="tools",
        )
    return value


def _parameters(value: object, name: str) -> str:
    """Return the schema of parameters as JSON."""
    if not value or value is True:
        return "{}"
    if not is_object(value):
        raise _refused_parameters(name, "must be a JSON schema object")
    schema: dict[str, Any] = copy_json(value, field="tools")
    # Parameters are always those of an object, so a type that is missing, or none, can mean nothing else.
    types = {kind.lower() for kind in named_types(schema)}
    if types and types <= TYPES and "object" not in types:
        raise _refused_parameters(name, "must be a JSON schema of type 'object'")
    return json.dumps(schema)


# Agents send the same tools with every request.
@lru_cache(maxsize=256)
def _mended(schema: str) -> tuple[str, tuple[str, ...], bool]:
    """Return a schema as the API takes it, as JSON; what it does not say any more; and whether it can be strict."""
    mended, loosened = mend_schema(json.loads(schema))
    return json.dumps(mended), tuple(loosened), is_strict(mended)


def _described(description: str, loosened: Sequence[str]) -> str:
    """Return a description that also says which rules of the parameters their schema does not have any more."""
    if not loosened:
        return description
    rules = [*loosened[:_MOST_LOOSENED], *(["and more"] if loosened[_MOST_LOOSENED:] else [])]
    return f"{description}\n\nThe arguments are also checked by: {'; '.join(rules)}".lstrip()


def _refused_parameters(name: str, reason: str) -> PayloadError:
    return PayloadError(f"parameters of tool {name!r} {reason}", field="tools")
