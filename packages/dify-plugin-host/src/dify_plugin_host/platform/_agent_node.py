"""What Dify's agent node sends to a strategy.

Source: `api/core/workflow/nodes/agent/runtime_support.py` of langgenius/dify at 02b5705b, read 2026-10.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dify_plugin_host._errors import FileInputError, PluginHostError, UnknownNameError
from dify_plugin_host._json import JsonObject, list_at, object_at, objects_at
from dify_plugin_host.files import LocalFile, cast_files, file_parameter
from dify_plugin_host.plugin import ModelProvider, Strategy

from ._rules import agent_features


def build_model_value(
    provider: ModelProvider,
    schema: JsonObject,
    *,
    completion_params: Mapping[str, Any],
    history: Sequence[JsonObject],
    filter_features: bool,
) -> JsonObject:
    """Build the value of a model-selector parameter.

    Args:
        provider: The model's provider.
        schema: The model's schema, as its plugin gave it.
        completion_params: The parameters that the user set for the model.
        history: The prompt messages of earlier turns.
        filter_features: Whether to hide the features that the agent node hides.
    """
    features = list_at(schema, "features")
    entity = {**schema, "features": agent_features(features) if filter_features else features}
    return {
        "provider": provider.long_name,
        "model": schema["model"],
        "model_type": "llm",
        "mode": object_at(schema, "model_properties").get("mode") or "chat",
        "completion_params": dict(completion_params),
        "history_prompt_messages": list(history),
        "entity": entity,
    }


def build_strategy_parameters(strategy: Strategy, given: Mapping[str, Any]) -> JsonObject:
    """Build the parameters of a run: what was given, else the default of what is required, else null.

    Raises:
        UnknownNameError: If the strategy does not declare a given parameter.
        PluginHostError: If a required parameter has neither a value nor a default.
    """
    for name in given:
        if name not in strategy.parameters:
            kind = f"parameter of strategy {strategy.name!r} named"
            raise UnknownNameError(kind, name, tuple(strategy.parameters))
    found = {
        name: given[name] if given.get(name) is not None else _unset(strategy, name, declaration)
        for name, declaration in strategy.parameters.items()
    }
    return cast_files(strategy.parameters.values(), found)


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


def _unset(strategy: Strategy, name: str, declaration: JsonObject) -> Any:
    if not declaration.get("required"):
        return None
    if declaration.get("default") is None:
        raise PluginHostError(f"strategy {strategy.name!r} requires the parameter {name!r}")
    return declaration["default"]


def validate_completion_params(schema: JsonObject, params: Mapping[str, Any]) -> None:
    """Make sure that a model knows the parameters set for it, and their options.

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
