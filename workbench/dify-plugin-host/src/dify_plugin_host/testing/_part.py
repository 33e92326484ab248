"""A tool or an agent strategy of a plugin, ready to be called from tests."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from dify_plugin_host._process.session import CallBack, CallOrigin
from dify_plugin_packager.json_access import JsonObject

from ._caller import Caller, collect
from ._messages import Messages
from ._peers import Answers, Model, Peers


type Invoke = Callable[[Mapping[str, Any], CallOrigin], AsyncGenerator[JsonObject]]
"""A function that calls a tool or a strategy with parameters as a plugin gets them."""


class PluginPart:
    """A tool or an agent strategy of a plugin, ready to be called."""

    def __init__(self, caller: Caller, invoke: Invoke, answers: Answers | Model | None) -> None:
        self._caller = caller
        self._invoke = invoke
        self._answers = answers

    def invoke(self, /, **parameters: Any) -> Messages:
        """Call it with these parameters and return its messages.

        A file is given as `LocalFile`, a model as `ScriptedModel` or one of `Recording`, and a tool as a Python function with type hints.

        Raises:
            UnknownNameError: If it does not declare a parameter, or there is no tool or strategy of its name.
            ParameterError: If a parameter is missing.
            PluginInvokeError: If the plugin answers with an error.
            ScriptError: If a model was asked for more answers than it has.
            PluginHostError: If Dify would refuse a value, or the call fails.
        """
        __tracebackhide__ = True
        peers, calls_back = Peers(self._caller.host, self._answers), list[CallBack]()
        origin = CallOrigin(
            tenant_id=self._caller.tenant_id, answers=peers.find, calls_back=calls_back
        )

        async def call() -> list[JsonObject]:
            given = {name: await peers.convert(value) for name, value in parameters.items()}
            return await collect(self._invoke(given, origin))

        try:
            messages = self._caller.run(call())
        finally:
            # That a script was too short says more than what the plugin made of it.
            peers.finish(calls_back)
        self._caller.answered.append(answer := Messages(messages, calls_back))
        return answer
