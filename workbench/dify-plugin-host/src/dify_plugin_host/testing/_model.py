"""A model of a plugin, ready to be called from tests."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from dify_plugin_host._files.local_file import LocalFile
from dify_plugin_host._platform.agent_node import validate_completion_params
from dify_plugin_host._platform.model_calls import ModelRequest
from dify_plugin_host._platform.models import LLMRequest
from dify_plugin_host._platform.polling import is_polled
from dify_plugin_packager.json_access import JsonObject

from ._caller import Caller
from ._messages import ModelAnswer


class PluginModel:
    """A model of a plugin, ready to be called."""

    def __init__(
        self,
        caller: Caller,
        name: str,
        *,
        model_type: str,
        provider: str | None,
        credentials: Mapping[str, Any] | None,
    ) -> None:
        self._caller = caller
        self._name = name
        self._type = model_type
        self._provider = provider
        self._credentials = credentials

    def invoke(
        self,
        prompt: str | Sequence[JsonObject],
        /,
        *,
        system: str = "",
        files: Sequence[LocalFile] = (),
        tools: Sequence[JsonObject | Callable[..., Any]] = (),
        stop: Sequence[str] = (),
        **parameters: Any,
    ) -> ModelAnswer:
        """Call an LLM as Dify's LLM node does, which polls a model that declares it, and return the answer.

        Args:
            prompt: The user's text, or the prompt messages.
            system: The instruction.
            files: The files that go with the user's text.
            tools: The tools, as functions with type hints or as JSON objects with `name`, `description` and `parameters`.
            stop: The stop sequences.
            parameters: The model's own parameters, such as `temperature`.

        Raises:
            UnknownNameError: If there is no such model, or it has no such parameter.
            FileInputError: If it has no feature for a file.
            PluginInvokeError: If the plugin answers with an error.
            PluginHostError: If the call fails.
        """
        __tracebackhide__ = True
        host = self._caller.host
        schema = self._caller.run(host.model_schema(self._name, provider=self._provider))
        validate_completion_params(schema, parameters)
        messages = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            making = host.user_message(prompt, files, model=self._name, provider=self._provider)
            messages.append(self._caller.run(making))
        else:
            messages += prompt
        request = LLMRequest(
            model=self._name,
            messages=messages,
            parameters=parameters,
            tools=[_to_prompt_tool(tool) for tool in tools],
            stop=stop,
            provider=self._provider,
            credentials=self._credentials,
        )
        chunks = self._poll(request) if is_polled(schema) else host.invoke_llm(request)
        self._caller.answered.append(answer := ModelAnswer(self._caller.collect(chunks)))
        return answer

    def call(self, **fields: Any) -> list[JsonObject]:
        """Call a model of any type with the fields of the protocol, such as `texts=["hello"]`, and return the objects of its answer.

        Raises:
            UnknownNameError: If there is no such provider or type of models.
            PluginInvokeError: If the plugin answers with an error.
            PluginHostError: If the call fails.
        """
        __tracebackhide__ = True
        request = ModelRequest(
            model=self._name,
            model_type=self._type,
            fields=fields,
            provider=self._provider,
            credentials=self._credentials,
        )
        return self._caller.collect(self._caller.host.invoke_model(request))

    async def _poll(self, request: LLMRequest) -> AsyncGenerator[JsonObject]:
        async for step in self._caller.host.poll_llm(request):
            if step.result is not None:
                yield {"model": self._name, "delta": step.result}


def _to_prompt_tool(tool: JsonObject | Callable[..., Any]) -> JsonObject:
    if not callable(tool):
        return tool
    parameters = TypeAdapter[Any](tool).json_schema()  # pyright: ignore[reportArgumentType] - pydantic takes functions as well
    return {"name": tool.__name__, "description": tool.__doc__ or "", "parameters": parameters}
