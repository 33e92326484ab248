"""Runs of a strategy as Dify's agent node makes them, with the parameters that it sends.

Source: `api/core/workflow/nodes/agent/runtime_support.py` of langgenius/dify at 02b5705b, read 2026-10;
docs/evidence/dify-declarations.md, S1 to S16.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dify_plugin_host._errors import FileInputError, UnknownNameError
from dify_plugin_host._files.local_file import LocalFile
from dify_plugin_host._files.parameters import cast_files, file_parameter
from dify_plugin_host._plugin.declarations import Strategy
from dify_plugin_host._process.session import CallOrigin
from dify_plugin_packager.declarations import initialize_parameter
from dify_plugin_packager.json_access import JsonObject, list_at, objects_at


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """One agent run.

    Attributes:
        query: The question.
        strategy: The strategy's name.
        model: The model's name.
        instruction: The agent's instruction.
        completion_params: The model's parameters, such as `{"reasoning_effort": "low"}`.
        history: The prompt messages of earlier turns.
        parameters: Further parameters of the strategy, such as `{"maximum_iterations": 3}`.
        provider: The model's provider, by its short or long name; None if there is only one.
        files: The files of the question, for the strategy's parameter that takes files.
        user_id: The user on whose behalf the run is.
        origin: The conversation and the app that it belongs to; none by default.
    """

    query: str
    strategy: str
    model: str
    instruction: str = "You are a helpful assistant."
    completion_params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    history: Sequence[JsonObject] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    provider: str | None = None
    files: Sequence[LocalFile] = ()
    user_id: str = "host"
    origin: CallOrigin = field(default_factory=CallOrigin)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyRequest:
    """One call of a strategy.

    Attributes:
        strategy: The strategy's name.
        parameters: Its parameters, by their own names, in the form of `initialize_parameters`; a file, or a list of files, as `LocalFile`.
        user_id: The user on whose behalf the call is made.
        origin: The conversation and the app that it belongs to; none by default.
    """

    strategy: str
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    user_id: str = "host"
    origin: CallOrigin = field(default_factory=CallOrigin)


def initialize_parameters(declared: Iterable[JsonObject], given: Mapping[str, Any]) -> JsonObject:
    """Return the parameters that Dify sends to a strategy: a value for each that it declares, whether the node sets it or not.

    A parameter that the node leaves empty gets its default, or else Dify's conversion of null: an empty text, false, or
    null. A name that is not declared gets null.

    Args:
        declared: The declarations of the strategy's parameters.
        given: The node's values, with models and tools in the form of `PluginHost.model_value` and `PythonTool.to_entity`.

    Raises:
        PluginHostError: If the run would fail in Dify before the strategy is called; with the parameter's name and Dify's sentence.
    """
    values = {str(declaration.get("name")): declaration for declaration in declared}
    found = {name: initialize_parameter(one, given.get(name)) for name, one in values.items()}
    return cast_files(values.values(), dict.fromkeys(given) | found)


def find_file_parameter(strategy: Strategy, files: Sequence[LocalFile]) -> str:
    """Return the name of the parameter by which a strategy gets files.

    Raises:
        FileInputError: If it has none, or takes fewer.
    """
    name = file_parameter(strategy.parameters.values())
    if name is None:
        expected = "expected one with a parameter of type files, or any with the scope array[file]"
        raise FileInputError(
            files[0].name, f"strategy {strategy.name!r} takes no files; {expected}"
        )
    if len(files) > 1 and strategy.parameters[name].get("type") == "file":
        problem = f"parameter {name!r} of strategy {strategy.name!r} takes one file"
        raise FileInputError(files[1].name, problem)
    return name


def validate_completion_params(schema: JsonObject, params: Mapping[str, Any]) -> None:
    """Check that a model knows the parameters set for it, and their options.

    Raises:
        UnknownNameError: If it does not.
    """
    rules = {str(rule.get("name")): rule for rule in objects_at(schema, "parameter_rules")}
    for name, value in params.items():
        if name not in rules:
            kind = f"parameter of model {schema['model']!r} named"
            raise UnknownNameError(kind, name, tuple(rules))
        options = list_at(rules[name], "options")
        if options and value not in options:
            raise UnknownNameError(name, str(value), options)
