"""The names of tools: Dify's may be any text, the API's may not. What is sent has names of ours, and Dify gets its own back."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dify_plugin.entities.model.message import PromptMessage

from stream_text import valid_tool_names

from ._model_call import ModelCall


def sent_names(call: ModelCall) -> Mapping[str, str]:
    """Return the names under which the tools of a call, and those in its messages, are sent, by Dify's. A blank name has none."""
    called = [one.function for message in call.messages for one in _calls(message)]
    names = dict.fromkeys(one.name for one in (*call.tools, *called) if one.name.strip())
    return dict(zip(names, valid_tool_names(("", name) for name in names), strict=True))


def own_name(call: ModelCall, sent: str) -> str:
    """Return Dify's name of a tool that the model calls by the name that was sent."""
    return next((own for own, name in sent_names(call).items() if name == sent), sent)


def with_sent_names(call: ModelCall) -> ModelCall:
    """Return a call with the names that are sent in its tools, messages and choice of a tool."""
    names = sent_names(call)
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
        for one in _calls(message)
    ]
    return message.model_copy(update={"tool_calls": calls}) if calls else message


def _renamed(named: Any, names: Mapping[str, str]) -> Any:
    return named.model_copy(update={"name": names.get(named.name, named.name)})


def _calls(message: PromptMessage) -> list[Any]:
    return getattr(message, "tool_calls", None) or []
