"""Plugins side by side, with Dify's part in between."""

import asyncio
import contextlib
import functools
import itertools
import os
from collections.abc import AsyncGenerator, Callable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dify_plugin_host._errors import PluginHostError, UnknownNameError
from dify_plugin_host._files.links import FileLinks
from dify_plugin_host._files.local_file import LocalFile
from dify_plugin_host._plugin.declarations import ModelProvider, Strategy, ToolProvider
from dify_plugin_host._plugin.source import PluginSource
from dify_plugin_host._process.connection import NoticeHandler
from dify_plugin_host._process.debugger import Debugger, without_sdk_limit, without_time_limits
from dify_plugin_host._process.plugin_process import PluginProcess, ignore_notice
from dify_plugin_host._process.session import BackwardsRequest, FindAnswer
from dify_plugin_host._running import Running
from dify_plugin_host._settings import HostSettings
from dify_plugin_host._tools.tool import PythonTool
from dify_plugin_host._tools.tool_file import builtin_tools
from dify_plugin_packager.declarations import PluginFolder
from dify_plugin_packager.json_access import JsonObject, list_at

from .agent_node import AgentRequest, StrategyRequest
from .backwards import Backwards
from .llm_node import build_user_message, validate_features
from .model_calls import ModelRequest
from .models import LLMRequest, Models
from .plugin_tools import PluginTools
from .polling import PollingClock, PollingStep, RealClock, poll
from .strategies import Strategies
from .tool_node import ToolRequest


class PluginHost(Running):
    """Plugins that run together, with Dify's part in between: it answers their calls to each other as Dify would.

    Use it as an asynchronous context manager; leaving it ends every plugin.

    Args:
        folders: The plugin folders, or sources of plugins, which are started again, between calls, once they have changed.
        credentials: The credentials for model providers; the defaults of their schemas are filled in.
        tools: The tools that strategies may use.
        settings: The platform's limits and rules.
        on_notice: Gets the plugins' notices, which come outside of any call.
        on_model_error: Gets the error of a strategy's failed model call, of which the strategy gets only the text.
        environment: The environment of the plugins, `os.environ` by default.
        restarts: Whether a plugin that ended by itself is started again for the next call.
        answers: Answers plugins' calls back before models and tools do, unless a plugin's own call has brought answers.
        debugger: The debugger that the first plugin waits for; no plugin has limits of time then.

    Raises:
        PluginFolderError: If a folder is not a plugin, or a declaration in it cannot be read.
    """

    def __init__(  # noqa: PLR0913 - a host has these settings
        self,
        *folders: PluginFolder | PluginSource | Path | str,
        credentials: Mapping[str, str] | None = None,
        tools: Sequence[PythonTool] | None = None,
        settings: HostSettings | None = None,
        on_notice: NoticeHandler = ignore_notice,
        on_model_error: Callable[[PluginHostError], None] = lambda _: None,
        environment: Mapping[str, str] | None = None,
        restarts: bool = False,
        answers: FindAnswer | None = None,
        debugger: Debugger | None = None,
    ) -> None:
        self.settings = settings or HostSettings()
        if debugger:
            self.settings = without_time_limits(self.settings)
            environment = without_sdk_limit(os.environ if environment is None else environment)
        self.tools = builtin_tools() if tools is None else tuple(tools)
        start = functools.partial(
            PluginProcess,
            settings=self.settings,
            on_notice=on_notice,
            environment=environment,
            restarts=restarts,
        )
        debuggers = itertools.chain([debugger], itertools.repeat(None))
        self.plugins = tuple(
            self._prepare(folder, functools.partial(start, debugger=one))
            for folder, one in zip(folders, debuggers, strict=False)
        )
        rules = self.settings.rules
        self._models = Models(processes=self.plugins, credentials=credentials or {}, rules=rules)
        self._plugin_tools = PluginTools(processes=self.plugins, rules=rules)
        self._links = FileLinks(lifetime_seconds=self.settings.file_link_seconds)
        self._strategies = Strategies(
            processes=self.plugins,
            models=self._models,
            tools=self.tools,
            links=self._links,
            rules=rules,
        )
        self._backwards = Backwards(
            models=self._models,
            tools={tool.name: tool for tool in self.tools},
            plugin_tools=self._plugin_tools,
            links=self._links,
            settings=self.settings,
            on_model_error=on_model_error,
            answers=answers,
        )

    @property
    def model_providers(self) -> tuple[ModelProvider, ...]:
        """The model providers that the plugins declare."""
        return self._models.providers

    @property
    def tool_providers(self) -> tuple[ToolProvider, ...]:
        """The tool providers that the plugins declare."""
        return self._plugin_tools.providers

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """The agent strategies that the plugins declare."""
        return self._strategies.declared

    def has_provider(self, name: str) -> bool:
        """Tell whether one of the plugins declares a provider of models or tools with that name, short or long."""
        return any(
            one.answers_to(name)
            for process in self.plugins
            for one in process.declarations.providers
        )

    async def start(self) -> None:
        """Start all plugins at the same time.

        Raises:
            PluginStartError: If one of them does not start; then none is left running.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for plugin in self.plugins:
                    group.create_task(plugin.start())
        except BaseExceptionGroup as failures:
            await self.stop()
            # One failure is enough: the group has cancelled the other starts.
            raise failures.exceptions[0] from None
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End all plugins, and all links to files."""
        await asyncio.gather(*(plugin.stop() for plugin in self.plugins))
        await self._links.stop()

    async def refresh(self) -> None:
        """Restart the plugins whose files have changed; running calls continue to their end."""
        await asyncio.gather(*(plugin.refresh() for plugin in self.plugins))

    async def model_schema(self, model: str, *, provider: str | None = None) -> JsonObject:
        """Return the schema of a model from its plugin.

        Raises:
            UnknownNameError: If the plugin does not know the model.
            PluginHostError: If the call fails.
        """
        return await self._models.schema(model, provider=provider)

    async def model_value(
        self,
        model: str,
        *,
        provider: str | None = None,
        completion_params: Mapping[str, Any] | None = None,
    ) -> JsonObject:
        """Return the value of a strategy's parameter that chooses a model, as Dify's agent node sends it.

        Raises:
            UnknownNameError: If there is no such model, or it lacks a parameter.
            PluginHostError: If its plugin cannot be asked.
        """
        return await self._strategies.model_value(
            model, provider=provider, completion_params=completion_params
        )

    def invoke_llm(self, request: LLMRequest) -> AsyncGenerator[JsonObject]:
        """Call a model and yield the chunks of its answer, as the daemon would hand them on.

        Raises:
            UnknownNameError: If there is no such provider.
            PluginHostError: If the daemon would refuse the request; or, while iterating, if the call fails or a chunk breaks a rule of the platform.
        """
        return self._models.invoke(request)

    def poll_llm(
        self, request: LLMRequest, *, clock: PollingClock | None = None
    ) -> AsyncGenerator[PollingStep]:
        """Make a model that declares the feature `polling` begin an answer, and ask for it until it is there.

        It does so like Dify's LLM node and within Dify's limits.

        Args:
            request: The request; Dify sends no tools here.
            clock: The clock to measure the waits by; the machine's own by default.

        Raises:
            PollingError: If the model fails, or takes too long, while iterating.
            PluginHostError: If a call fails, while iterating.
        """
        check = functools.partial(self._models.check_polling, request)
        start = functools.partial(self._models.start_polling, request)
        return poll(start, check, limits=self.settings.polling, clock=clock or RealClock())

    def invoke_model(self, request: ModelRequest) -> AsyncGenerator[JsonObject]:
        """Call a model of any type and yield the objects of its answer.

        Raises:
            UnknownNameError: If there is no such provider or type of models.
            PluginHostError: If the call fails, or an object breaks a rule of the platform, while iterating.
        """
        return self._models.call(request)

    async def invoke_tool(self, request: ToolRequest) -> AsyncGenerator[JsonObject]:
        """Call a tool of a plugin as Dify's tool node does, and yield its messages; blobs come whole.

        Raises:
            UnknownNameError: If there is no such tool, or it does not declare a parameter.
            ParameterError: If a parameter is missing.
            PluginHostError: If Dify would refuse a value, or the call fails.
        """
        # First, because the request is checked against what the plugins declare now.
        await self.refresh()
        given = {
            name: await self._links.share_all(value) for name, value in request.parameters.items()
        }
        answer = self._plugin_tools.call(replace(request, parameters=given))
        async with contextlib.aclosing(answer) as messages:
            async for message in messages:
                yield message

    async def validate_credentials(
        self,
        credentials: Mapping[str, Any],
        *,
        provider: str | None = None,
        model: str | None = None,
        model_type: str = "llm",
    ) -> None:
        """Make a plugin check credentials as Dify does when a user saves them.

        Args:
            credentials: The credentials; the defaults of the provider's form are filled in.
            provider: The provider's name, short or long; None if there is only one.
            model: The model whose credentials they are; None for those of the provider.
            model_type: The model's type.

        Raises:
            UnknownNameError: If there is no such provider of models or tools.
            PluginInvokeError: If the plugin refuses them, with its reason.
            PluginHostError: If the call fails.
        """
        entry, process = self._find_provider(provider)
        given = {**entry.credential_defaults, **credentials}
        data: JsonObject = {"provider": entry.name, "credentials": given}
        kind, action = "model", "validate_provider_credentials"
        if isinstance(entry, ToolProvider):
            kind, action = "tool", "validate_tool_credentials"
        elif model is not None:
            action = "validate_model_credentials"
            data |= {"model": model, "model_type": model_type}
        answer = await process.call(kind, action, data)
        if not answer.get("result"):
            raise PluginHostError(f"provider {entry.name!r} did not accept the credentials")

    async def share_file(self, file: LocalFile) -> JsonObject:
        """Put a file behind a short-lived link; return the object that a strategy or a tool gets for it as a parameter."""
        return (await self._links.share(file)).to_dict()

    def find_file(self, url: str) -> LocalFile | None:
        """Return the file behind a link of this host; None if the link is unknown or has expired."""
        return self._links.find(url)

    def storage(self, plugin: PluginFolder, tenant_id: str = "local") -> MutableMapping[str, bytes]:
        """Return the values that a plugin has stored in the name of a tenant, by key."""
        return self._backwards.storage(plugin, tenant_id).values

    async def user_message(
        self, text: str, files: Sequence[LocalFile], *, model: str, provider: str | None = None
    ) -> JsonObject:
        """Build the user's message of a model call with files, as Dify's LLM node does.

        Raises:
            FileInputError: If the model has no feature for a file.
            UnknownNameError: If there is no such model.
            PluginHostError: If its plugin cannot be asked.
        """
        schema = await self.model_schema(model, provider=provider)
        validate_features(model, list_at(schema, "features"), files)
        by_url = self.settings.send_format == "url"
        urls = [(await self._links.share(file)).url if by_url else None for file in files]
        return build_user_message(text, files, urls)

    async def run(self, request: AgentRequest) -> AsyncGenerator[JsonObject]:
        """Run an agent strategy and yield its messages, as Dify would see them.

        Raises:
            UnknownNameError: If a name in the request is not declared.
            FileInputError: If the strategy takes no files, or not as many.
            PluginHostError: If the run fails.
        """
        # First, because the request is checked against what the plugins declare now.
        await self.refresh()
        async with contextlib.aclosing(await self._strategies.run(request)) as messages:
            async for message in messages:
                yield message

    async def invoke_strategy(self, request: StrategyRequest) -> AsyncGenerator[JsonObject]:
        """Call an agent strategy with parameters of its own names and yield its messages; nothing is filled in but what Dify's agent node fills in.

        Raises:
            UnknownNameError: If the strategy or a parameter is not declared.
            PluginHostError: If Dify would refuse a value, or the call fails.
        """
        await self.refresh()
        async with contextlib.aclosing(await self._strategies.invoke(request)) as messages:
            async for message in messages:
                yield message

    def _prepare(
        self, plugin: PluginFolder | PluginSource | Path | str, start: Callable[..., PluginProcess]
    ) -> PluginProcess:
        # A plugin calls back only while it runs, and by then `process` is set.
        def answer(request: BackwardsRequest) -> AsyncGenerator[JsonObject]:
            return self._backwards.answer(process.folder, request)

        process = start(plugin, backwards=answer)
        process.declarations.validate()
        return process

    def _find_provider(
        self, name: str | None
    ) -> tuple[ModelProvider | ToolProvider, PluginProcess]:
        providers = [
            (entry, process) for process in self.plugins for entry in process.declarations.providers
        ]
        for entry, process in providers:
            if name is None or entry.answers_to(name):
                return entry, process
        known = tuple(entry.long_name for entry, _ in providers)
        raise UnknownNameError("provider of tools or models", name or "-", known)
