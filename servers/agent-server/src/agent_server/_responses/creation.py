"""Requests for a response, checked field by field."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict

from agent_server._http.bodies import build_model
from agent_server._http.documents import Metadata
from agent_server._http.problems import refuse
from agent_server._http.schemas import check_schemas
from agent_server.executor import JsonObject
from stream_text import is_object

from .fields import check_fields
from .input_items import read_input


_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
# Members of a function that change nothing of what its client does.
_FUNCTION: Final = frozenset({"type", "name", "description", "parameters", "strict"})
_MAX_TEXT: Final = 200
_FORM: Final = "text.format.schema"


class _Metadata(BaseModel):
    model_config = ConfigDict(strict=True)

    metadata: Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """A request for a response.

    Attributes:
        model: The agent's name.
        input: The items; each has a `type`. It may be emptied once it is read.
        instructions: The client's instructions; None for none.
        tools: The client's functions, with `name`, `description` and `parameters` each.
        text_format: The form of answer that it asks for; None for text.
        metadata: Names and texts to find the run by.
        previous: The id of the response that this one follows; None for none.
        max_output_tokens: A limit that the client would like, which is only repeated in responses; None for none.
        is_stored: Whether the run is kept.
        is_stream: Whether the answer is a stream.
        is_background: Whether the answer comes at once.
        given: The names of the fields that the request has.
        key: Its idempotency key; None for none.
        fingerprint: A digest of its body; empty without a key.
        size: The size of its body in bytes.
    """

    model: str
    input: list[JsonObject]
    instructions: str | None
    tools: Sequence[JsonObject]
    text_format: JsonObject | None
    metadata: Mapping[str, str]
    previous: str | None
    max_output_tokens: int | None
    is_stored: bool
    is_stream: bool
    is_background: bool
    given: frozenset[str] = field(default_factory=frozenset[str])
    key: str | None = None
    fingerprint: str = ""
    size: int = 0


def read_creation(value: Any) -> Creation:
    """Return the request in a body's JSON.

    Raises:
        RequestRefusedError: If a field is unknown, refused or wrong.
    """
    if not is_object(value):
        raise refuse("body", "expected an object", code="invalid_type")
    given: JsonObject = {name: one for name, one in value.items() if one is not None}
    check_fields(given)
    model = _read(given, "model", str)
    if not model or len(model) > _MAX_TEXT:
        raise refuse("model", "expected the name of an agent", code="missing_required_parameter")
    tools, text_format = _read_tools(given, model), _read_format(given)
    form = (text_format or {}).get("schema")
    check_schemas([*((at, tool["parameters"]) for at, tool in tools.items()), (_FORM, form)])
    return Creation(
        model=model,
        input=read_input(given.get("input")),
        instructions=_read(given, "instructions", str),
        tools=list(tools.values()),
        text_format=text_format,
        metadata=build_model(_Metadata, {"metadata": given.get("metadata", {})}).metadata,
        previous=_read(given, "previous_response_id", str),
        max_output_tokens=_read_limit(given, "max_output_tokens"),
        is_stored=_read(given, "store", bool) is not False,
        is_stream=_read(given, "stream", bool) is True,
        is_background=_read(given, "background", bool) is True,
        given=frozenset(given),
    )


def _read_limit(given: JsonObject, name: str) -> int | None:
    limit = given.get(name)
    if limit is not None and (type(limit) is not int or limit < 1):
        raise refuse(name, "expected a whole number of at least 1")
    return limit


_KINDS: Final = {"str": "a text", "bool": "true or false", "dict": "an object", "list": "a list"}


def _read[Kind](given: JsonObject, name: str, kind: type[Kind], at: str = "") -> Kind | None:
    value = given.get(name)
    if value is not None and not isinstance(value, kind):
        raise refuse(f"{at}{name}", f"expected {_KINDS[kind.__name__]}", code="invalid_type")
    return value


def _read_format(given: JsonObject) -> JsonObject | None:
    text = cast("JsonObject", _read(given, "text", dict) or {})
    form = cast("JsonObject", _read(text, "format", dict, "text.") or {})
    if form.get("type", "text") == "text":
        return None
    return form


def _read_tools(given: JsonObject, model: str) -> Mapping[str, JsonObject]:
    """Return the functions by the places of their parameters in the request."""
    tools: dict[str, JsonObject] = {}
    names: set[str] = set()
    for index, tool in enumerate(cast("list[Any]", _read(given, "tools", list) or [])):
        if _is_own_server(tool, model):
            continue
        one = _read_tool(tool, f"tools[{index}]")
        if one["name"] in names:
            raise refuse(f"tools[{index}].name", "expected a name that no other tool has")
        names.add(one["name"])
        tools[f"tools[{index}].parameters"] = one
    return tools


def _is_own_server(tool: Any, model: str) -> bool:
    """Return whether a tool stands for the agent's own ones: some clients take approvals only from a server that they have named."""
    if not is_object(tool) or not {*tool} <= {"type", "server_label", "require_approval"}:
        return False
    return (tool.get("type"), tool.get("server_label")) == ("mcp", model)


def _read_tool(tool: Any, at: str) -> JsonObject:
    if not is_object(tool):
        raise refuse(at, "expected an object", code="invalid_type")
    # What is null or false asks for nothing.
    given: JsonObject = {
        name: one for name, one in tool.items() if one is not None and one is not False
    }
    if given.get("type") != "function":
        message = "expected `function`: the agent's own tools are on the server"
        raise refuse(f"{at}.type", message, code="unsupported_value")
    for name in given.keys() - _FUNCTION:
        raise refuse(f"{at}.{name}", "is not supported", code="unsupported_parameter")
    name = _read(given, "name", str, f"{at}.") or ""
    if not _NAME.fullmatch(name):
        raise refuse(f"{at}.name", "expected 1 to 64 letters, digits, `_` and `-`")
    return {
        "name": name,
        "description": _read(given, "description", str, f"{at}."),
        "parameters": _read(given, "parameters", dict, f"{at}."),
    }
