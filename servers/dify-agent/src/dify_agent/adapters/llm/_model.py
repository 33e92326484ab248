"""The model of a Dify plugin as a model of Pydantic AI."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, override

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import (
    Model,
    ModelRequestParameters,
    StreamedResponse,
    check_allow_model_requests,
)
from pydantic_ai.providers import Provider
from pydantic_ai.settings import ModelSettingName, ModelSettings

from ._chunks import Chunk
from ._client import LLMClient
from ._files import fit_files, has_files, replace_unreadable
from ._messages import build_prompt_messages
from ._provider import DifyPluginProvider
from ._reader import ChunkReader
from ._settings import build_model_parameters, build_stop, build_tools
from ._stream import DifyStreamedResponse


@dataclass(init=False)
class DifyLLMAdapterModel(Model[LLMClient]):
    """A model that a Dify plugin serves.

    Args:
        model: The model's name at the provider, such as `gpt-5`.
        daemon_provider: The plugin, and the way to it: through the daemon, or through Dify's API.
        model_provider: The provider inside the plugin, such as `openai`.
        credentials: The provider's credentials; never shown.
        model_settings: Pydantic AI's settings for every request.
    """

    unsupported_settings: ClassVar[frozenset[ModelSettingName]] = frozenset(
        {"cache", "citations", "extra_headers", "max_retries", "timeout"}
    )
    # Tells Pydantic AI that `_request_messages` moves files of tool results into a user message.
    _relocates_tool_files: ClassVar[bool] = True

    _model_name: str = field(repr=False)
    _provider: Provider[LLMClient] = field(repr=False)
    _model_provider: str = field(repr=False)
    _credentials: dict[str, object] = field(repr=False)

    def __init__(
        self,
        model: str,
        daemon_provider: DifyPluginProvider,
        *,
        model_provider: str,
        credentials: Mapping[str, object],
        model_settings: ModelSettings | None = None,
    ) -> None:
        self._model_name = model
        self._provider = daemon_provider
        self._model_provider = model_provider
        self._credentials = dict(credentials)
        super().__init__(settings=model_settings)

    @property
    @override
    def model_name(self) -> str:
        """The model's name at the provider."""
        return self._model_name

    @property
    @override
    def system(self) -> str:
        """Name of the provider, `DifyPlugin/` and the plugin's id."""
        return self._provider.name

    @override
    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Call the model, and return its whole answer.

        Raises:
            ModelHTTPError: If the daemon or the plugin refused or failed the call.
            ModelAPIError: If it failed in another way, could not be reached, or answered with anything other than chunks.
            UserError: If the messages or settings cannot be sent, or the plugin is not set up.
        """
        async with self._open(
            messages, model_settings, model_request_parameters, stream=False
        ) as response:
            async for _ in response:
                pass
            return response.get()

    @override
    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Call the model, and open its answer; leaving the context closes the connection.

        Raises:
            ModelHTTPError: If the call fails as in `request`, also while the answer is being read.
            ModelAPIError: If it fails in another way, also while the answer is being read.
            UserError: If the messages or settings cannot be sent, or the plugin is not set up.
        """
        async with self._open(
            messages, model_settings, model_request_parameters, stream=True
        ) as response:
            yield response

    @asynccontextmanager
    async def _open(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        *,
        stream: bool,
    ) -> AsyncGenerator[DifyStreamedResponse]:
        check_allow_model_requests()
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        prompts = await self._build_prompts(messages, parameters)
        client = self._provider.client.for_request(messages)
        chunks = self._invoke(
            client, prompts, settings or ModelSettings(), parameters, stream=stream
        )
        async with aclosing(ChunkReader(chunks, model_name=self._model_name)) as reader:
            await reader.open()
            yield DifyStreamedResponse(
                model_request_parameters=parameters,
                _reader=reader,
                _model_name=self._model_name,
                _model_provider=self._model_provider,
                _provider_name=self._provider.name,
            )

    async def _build_prompts(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> list[dict[str, object]]:
        prompts = build_prompt_messages(
            messages,
            instructions=self._get_instruction_parts(messages, parameters) or [],
            provider_name=self.system,
            model_provider=self._model_provider,
        )
        if not has_files(prompts):
            return prompts
        # Only now: without files the plugin need not be asked for its model's features.
        features = await self._provider.client.features(
            provider=self._model_provider, model=self._model_name, credentials=self._credentials
        )
        if features is not None:
            prompts = replace_unreadable(prompts, features, model_name=self._model_name)
        return fit_files(prompts)

    def _invoke(
        self,
        client: LLMClient,
        prompts: list[dict[str, object]],
        settings: ModelSettings,
        parameters: ModelRequestParameters,
        *,
        stream: bool,
    ) -> AsyncGenerator[Chunk]:
        tools, tool_choice = build_tools(parameters, settings)
        return client.invoke(
            provider=self._model_provider,
            model=self._model_name,
            credentials=self._credentials,
            prompt_messages=prompts,
            model_parameters=build_model_parameters(settings, tool_choice=tool_choice),
            tools=tools,
            stop=build_stop(settings),
            stream=stream,
        )
