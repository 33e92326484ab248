"""What a tool gets in Dify: of a workflow's tool node, and of a plugin that calls it back.

Source: docs/evidence/dify-declarations.md, S1 to S12, T5 and T6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dify_plugin_host._errors import ParameterError, UnknownNameError
from dify_plugin_host._plugin.declarations import ToolProvider
from dify_plugin_host._process.session import CallOrigin
from dify_plugin_packager import DifyPluginError
from dify_plugin_packager.declarations import cast_parameter, initialize_parameter
from dify_plugin_packager.json_access import JsonObject, is_list, is_object, objects_at


_FILES = frozenset({"file", "files", "system-files"})
_SINGLE = frozenset({"boolean", "number", "secret-input", "select", "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """One call of a tool.

    Attributes:
        tool: The tool's name.
        parameters: Its parameters; a file, or a list of files, as `LocalFile`.
        provider: The provider's name, short or long; None if only one has a tool of that name.
        credentials: The credentials to send over the defaults of the provider's form; None for none.
        user_id: The user on whose behalf the call is made.
        origin: The conversation and the app that it belongs to; none by default.
    """

    tool: str
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    provider: str | None = None
    credentials: Mapping[str, Any] | None = field(default=None, repr=False)
    user_id: str = "host"
    origin: CallOrigin = field(default_factory=CallOrigin)


def tool_parameters(provider: ToolProvider, tool: str, given: Mapping[str, Any]) -> JsonObject:
    """Return the parameters that a tool node sends: those that are given, cast to their types, and the defaults of the others.

    Dify's editor writes the defaults into a node when the tool is chosen. An empty text is sent, also for what is
    required: a node's variable may hold one.

    Raises:
        UnknownNameError: If the tool does not declare a parameter, and asks for none at run time.
        ParameterError: If one is missing, or Dify would refuse its value.
    """
    content = provider.tools[tool]
    declared = {str(one.get("name")): one for one in objects_at(content, "parameters")}
    unknown = [name for name in given if name not in declared]
    if unknown and not content.get("has_runtime_parameters"):
        raise UnknownNameError(f"parameter of tool {tool!r} named", unknown[0], tuple(declared))
    for name, one in declared.items():
        if one.get("required") and given.get(name, one.get("default")) is None:
            raise ParameterError(name, f"expected a value, which tool {tool!r} requires")
    return {name: given[name] for name in unknown} | {
        name: _value(name, one, given.get(name))
        for name, one in declared.items()
        if name in given or one.get("default") is not None
    }


def _value(name: str, declaration: JsonObject, value: Any) -> Any:
    kind = declaration.get("type")
    items = value if is_list(value) else [value]
    if kind in _FILES and not all(is_object(item) or item is None for item in items):
        raise ParameterError(name, "expected a file, as LocalFile or as name=@FILE")
    if kind in _SINGLE and is_list(value):
        raise ParameterError(name, f"expected one value of the type {kind}, got several")
    try:
        return (
            cast_parameter(declaration, "")
            if value == ""
            else initialize_parameter(declaration, value)
        )
    except DifyPluginError as error:
        raise ParameterError(name, str(error).removeprefix(f"parameter {name!r}: ")) from None


def arguments_called_back(
    provider: ToolProvider, tool: str, given: Mapping[str, Any]
) -> JsonObject:
    """Return the arguments that Dify hands to a tool for a plugin that calls it back: all that it gave, cast to their types, and every setting.

    An argument that the model has left out is missing, whether it is required or has a default.

    Raises:
        PluginHostError: If Dify would refuse a value, or lacks a setting, with its sentence.
    """
    arguments = dict(given)
    for one in objects_at(provider.tools[tool], "parameters"):
        name = str(one.get("name"))
        if one.get("form") == "form":
            arguments[name] = initialize_parameter(one, given.get(name))
        elif name in given:
            arguments[name] = cast_parameter(one, given[name])
    return arguments
