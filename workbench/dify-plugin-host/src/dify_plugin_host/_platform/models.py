"""Calls of model plugins in the way of Dify: requests and chunks change on the way as they do in the daemon."""

import math
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dify_plugin_host._errors import BackwardsError, PollingError, UnknownNameError
from dify_plugin_host._plugin.declarations import ModelProvider
from dify_plugin_host._process.plugin_process import PluginProcess
from dify_plugin_host._settings import PlatformRules
from dify_plugin_packager.declarations import (
    REQUESTS,
    ShapeError,
    dump_json,
    parse_json,
    read_request,
)
from dify_plugin_packager.json_access import JsonObject, is_object

from .model_calls import ModelRequest, action_of
from .rules import answer_decoder, without_opaque_body


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMRequest:
    """One LLM call.

    Attributes:
        model: The model's name.
        messages: The prompt messages, as JSON objects with `role` and `content`.
        parameters: The model parameters.
        tools: The tools: JSON objects with `name`, `description` and `parameters`.
        stop: The stop sequences.
        stream: Whether to stream.
        json_schema: The schema that the answer has to match; only a model that is polled gets it.
        provider: The provider's name, short or long; None if there is only one.
        credentials: The credentials to send; None sends those of the host.
        user_id: The user on whose behalf the call is made.
    """

    model: str
    messages: Sequence[JsonObject]
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tools: Sequence[JsonObject] = ()
    stop: Sequence[str] = ()
    stream: bool = True
    json_schema: Mapping[str, Any] | None = None
    provider: str | None = None
    credentials: Mapping[str, Any] | None = field(default=None, repr=False)
    user_id: str = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of plugins, each provider with the process that serves it.

    Attributes:
        processes: The plugins, whose declarations are read anew each time, since they may change.
        credentials: Sent to every provider, over the defaults of its credential schema.
        rules: The rules to apply.
    """

    processes: Sequence[PluginProcess]
    credentials: Mapping[str, str] = field(repr=False)
    rules: PlatformRules

    @property
    def providers(self) -> tuple[ModelProvider, ...]:
        """The providers, in the order of their plugins."""
        return tuple(provider for provider, _ in self._entries())

    def find(self, name: str | None) -> tuple[ModelProvider, PluginProcess]:
        """Return the provider of that name with the plugin that serves it; the first one for None.

        Raises:
            UnknownNameError: If there is none.
        """
        for provider, process in self._entries():
            if name is None or provider.answers_to(name):
                return provider, process
        known = tuple(provider.long_name for provider in self.providers)
        raise UnknownNameError("model provider", name or "-", known)

    async def schema(self, model: str, *, provider: str | None = None) -> JsonObject:
        """Return the schema of a model from its plugin.

        Raises:
            UnknownNameError: If the plugin does not know the model.
            PluginHostError: If the call fails.
        """
        entry, process = self.find(provider)
        data = {"model": model, **self._addressed(entry, self.credentials)}
        answer = await process.call("model", "get_ai_model_schemas", data)
        schema = answer.get("model_schema")
        if not is_object(schema):
            raise UnknownNameError("model", model, entry.models)
        return schema

    def invoke(self, request: LLMRequest) -> AsyncGenerator[JsonObject]:
        """Call a model and yield the chunks of its answer.

        Raises:
            UnknownNameError: If there is no such provider.
            BackwardsError: If the daemon would refuse the request.
            PluginHostError: If the call fails, or a chunk breaks a rule of the platform, while iterating.
        """
        entry, process = self.find(request.provider)
        return self._invoke(process, "invoke_llm", self._request_data(entry, request), request)

    def call(self, request: ModelRequest) -> AsyncGenerator[JsonObject]:
        """Call a model of any type and yield its answer's objects.

        Raises:
            UnknownNameError: If there is no such provider or type of models.
            PluginHostError: If the call fails, while iterating.
        """
        entry, process = self.find(request.provider)
        action, fields = action_of(request)
        data = {**self._addressed(entry, self._given(request)), **fields}
        return self._invoke(process, action, data, request)

    async def start_polling(self, request: LLMRequest) -> JsonObject:
        """Make a model begin an answer to be fetched later; return its polling result.

        Raises:
            PluginHostError: If the call fails, or its answer breaks a rule of the platform.
        """
        entry, process = self.find(request.provider)
        data = self._request_data(entry, replace(request, stream=False))
        return await self._polled(process, "start_polling", data, request)

    async def check_polling(self, request: LLMRequest, state: JsonObject) -> JsonObject:
        """Ask for an answer that was begun, by the plugin's state; return its polling result.

        Raises:
            PluginHostError: If the call fails, or its answer breaks a rule of the platform.
        """
        entry, process = self.find(request.provider)
        credentials = self._given(request)
        data = {"model": request.model, **self._addressed(entry, credentials)}
        data |= {"plugin_state": state}
        return await self._polled(process, "check_polling", data, request)

    async def _polled(
        self, process: PluginProcess, action: str, data: JsonObject, request: LLMRequest
    ) -> JsonObject:
        # No limit, like the daemon.
        call = self._invoke(process, action, data, request, timeout_seconds=math.inf)
        answers = [answer async for answer in call]
        if not answers:
            raise PollingError("no polling result received from plugin")
        return answers[-1]

    def _invoke(
        self,
        process: PluginProcess,
        action: str,
        data: JsonObject,
        request: LLMRequest | ModelRequest,
        *,
        timeout_seconds: float | None = None,
    ) -> AsyncGenerator[JsonObject]:
        return process.invoke(
            "model",
            action,
            data,
            user_id=request.user_id,
            context={},
            timeout_seconds=timeout_seconds,
            decode=answer_decoder(action, self.rules),
        )

    def _given(self, request: LLMRequest | ModelRequest) -> Mapping[str, Any]:
        return self.credentials if request.credentials is None else request.credentials

    def _entries(self) -> Iterator[tuple[ModelProvider, PluginProcess]]:
        for process in self.processes:
            for provider in process.declarations.model_providers:
                yield provider, process

    def _addressed(self, provider: ModelProvider, given: Mapping[str, Any]) -> JsonObject:
        # If nothing was configured, Dify does not fill in defaults, either.
        credentials = {**provider.credential_defaults, **given} if given else {}
        return {"provider": provider.name, "model_type": "llm", "credentials": credentials}

    def _request_data(self, provider: ModelProvider, request: LLMRequest) -> JsonObject:
        """Build the data for the model plugin, which Dify sends to the daemon and the daemon hands on."""
        data: JsonObject = {
            "model": request.model,
            **self._addressed(provider, self._given(request)),
            "prompt_messages": list(request.messages),
            "model_parameters": dict(request.parameters),
            "tools": list(request.tools),
            "stop": list(request.stop),
            "stream": request.stream,
        }
        if request.json_schema is not None:
            data["json_schema"] = dict(request.json_schema)
        if self.rules.drop_opaque_body:
            data["prompt_messages"] = without_opaque_body(data["prompt_messages"])
        if not self.rules.chunk_rules:
            return data
        try:
            body = read_request(REQUESTS["RequestInvokeLLM"], parse_json(dump_json({"data": data})))
        except ShapeError as error:
            raise BackwardsError(f"invoke llm model failed: {error}") from None
        return body["data"]
