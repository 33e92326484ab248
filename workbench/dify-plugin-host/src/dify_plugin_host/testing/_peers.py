"""The other side of one call of a plugin: what a test puts in place of Dify's models and tools."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from dify_plugin_host._platform.answers import give
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._process.session import BackwardsRequest, CallBack
from dify_plugin_host._tools.tool import PROVIDER, PythonTool
from dify_plugin_host._tools.tool_file import to_tool
from dify_plugin_packager.json_access import JsonObject, is_object


type Answers = Callable[[str, JsonObject], JsonObject | Iterable[JsonObject] | None]
"""A function that gets the kind and the request of a call back and returns the objects of its answer, or None to leave it to Dify."""


class Model(ABC):
    """A model that a test puts in place of one of Dify's, as the value of a parameter."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    async def choose(self, host: PluginHost) -> JsonObject:
        """Return the value of a parameter that chooses this model."""

    @abstractmethod
    def find(self, request: BackwardsRequest) -> AsyncGenerator[JsonObject] | None:
        """Return the answer to a call back; None for one that is not for this model."""

    @abstractmethod
    def finish(self, calls_back: Sequence[CallBack]) -> None:
        """Take notice of the end of a call in which this model took part, and of the calls back in it.

        Raises:
            ScriptError: If it was asked for more answers than it has.
        """


class Peers:
    """The models and tools among the parameters of one call, which answer its calls back.

    Args:
        host: The plugins.
        answers: Answers the calls back that are for none of them.
    """

    def __init__(self, host: PluginHost, answers: Answers | Model | None = None) -> None:
        self._host = host
        self._answers = answers
        self._models: dict[str, Model] = {}
        self._tools: dict[str, PythonTool] = {}

    async def convert(self, value: Any) -> Any:
        """Return a parameter's value as a plugin gets it, and remember the models and tools in it.

        Raises:
            ToolFileError: If a function in it cannot become a tool.
            ValueError: If two models have the same name.
        """
        if inspect.isfunction(value):
            value = to_tool(value)
        if isinstance(value, PythonTool):
            self._tools[value.name] = value
            return value.to_entity()
        if isinstance(value, list | tuple):
            return [await self.convert(item) for item in cast("Iterable[Any]", value)]
        if not isinstance(value, Model):
            return value
        if self._models.setdefault(value.name, value) is not value:
            raise ValueError(
                f"two models are named {value.name!r}; expected another name=… for one of them"
            )
        return await value.choose(self._host)

    def find(self, request: BackwardsRequest) -> AsyncGenerator[JsonObject] | None:
        """Return the answer to a call back, or None if Dify has to answer it."""
        for model in self._all_models:
            if answer := model.find(request):
                return answer
        payload = request.request
        if request.type == "tool" and payload.get("provider") == PROVIDER:
            tool = self._tools.get(str(payload.get("tool")))
            return tool and self._call(tool, payload.get("tool_parameters") or {})
        if self._answers is None or isinstance(self._answers, Model):
            return None
        found = self._answers(request.type, payload)
        if found is None:
            return None
        return give([found] if is_object(found) else cast("Iterable[JsonObject]", found))

    def finish(self, calls_back: Sequence[CallBack]) -> None:
        """End the call.

        Raises:
            ScriptError: If a model was asked for more answers than it has.
        """
        __tracebackhide__ = True
        for model in self._all_models:
            model.finish(calls_back)

    @property
    def _all_models(self) -> list[Model]:
        models = list(self._models.values())
        return [*models, self._answers] if isinstance(self._answers, Model) else models

    async def _call(
        self, tool: PythonTool, arguments: Mapping[str, Any]
    ) -> AsyncGenerator[JsonObject]:
        for message in await tool.invoke(arguments, find_file=self._host.find_file):
            yield message
