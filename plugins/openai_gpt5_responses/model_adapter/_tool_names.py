"""The names of tools: Dify's may be any text, the API's may not. What is sent has names of ours, and Dify gets its own back."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dify_plugin.entities.model.message import PromptMessage

from ._model_call import ModelCall, calls_of


def own_name(call: ModelCall, sent: str) -> str:
    """Return Dify's name of a tool that the model calls by the name that was sent."""
    return call.own_names.get(sent, sent)


def with_sent_names(call: ModelCall) -> ModelCall:
    """Return a call with the names that are sent in its tools, messages and choice of a tool."""
    names = call.sent_names
    if all(own == name for own, name in names.items()):
        return call
    choice = call.parameters.get("tool_choice")
    return replace(
        call,
        tools=[_renamed(tool, names) for tool in call.tools],
        messages=[_with_sent_names(message, names) for message in call.messages],
        parameters={**call.parameters, "tool_choice": names.get(str(choice), choice)},
    )


def _with_sent_names(message: PromptMessage, names: Mapping[str, str]) -> PromptMessage:
    if message.role.value == "tool":
        return _renamed(message, names)
    calls = [
        one.model_copy(update={"function": _renamed(one.function, names)})
        for one in calls_of(message)
    ]
    return message.model_copy(update={"tool_calls": calls}) if calls else message


def _renamed(named: Any, names: Mapping[str, str]) -> Any:
    return named.model_copy(update={"name": names.get(named.name, named.name)})
