"""The tools of plugins, as Dify calls them for another plugin."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

from dify_plugin_host._errors import UnknownNameError
from dify_plugin_host._files.parameters import cast_files
from dify_plugin_host._plugin.declarations import ToolProvider
from dify_plugin_host._process.plugin_process import PluginProcess
from dify_plugin_host._process.session import CallOrigin
from dify_plugin_host._settings import PlatformRules
from dify_plugin_packager.declarations import TYPES, read_declaration
from dify_plugin_packager.json_access import JsonObject, list_at, object_at, objects_at

from .rules import node_decoder
from .tool_node import ToolRequest, arguments_called_back, tool_parameters


def tool_entities(provider: ToolProvider) -> Iterator[JsonObject]:
    """Yield the tools of a provider as Dify's agent node hands them to a strategy, each with the defaults of its settings."""
    for tool in read_declaration(
        TYPES["plugin_entities.ToolProviderDeclaration"], provider.declaration
    )["tools"]:
        declared = objects_at(tool, "parameters")
        parameters = [{**one, "options": list_at(one, "options")} for one in declared]
        yield {
            **tool,
            "identity": {**tool["identity"], "provider": provider.long_name, "icon": None},
            "parameters": parameters,
            "output_schema": object_at(tool, "output_schema"),
            "runtime_parameters": {
                one["name"]: one["default"]
                for one in parameters
                if one["form"] == "form" and one["default"] is not None
            },
            "credential_id": None,
            "provider_type": "builtin",
        }


class PluginTools:
    """The tools of plugins, each with the process that serves it.

    Args:
        processes: The plugins, whose declarations are read anew each time, since they may change.
        rules: The rules to apply.
    """

    def __init__(self, processes: Sequence[PluginProcess], rules: PlatformRules) -> None:
        self._processes = processes
        self._rules = rules

    @property
    def providers(self) -> tuple[ToolProvider, ...]:
        """The providers, in the order of their plugins."""
        return tuple(provider for provider, _ in self._entries())

    def call(self, request: ToolRequest) -> AsyncGenerator[JsonObject]:
        """Call a tool as Dify's tool node does, and yield its messages; blobs come whole.

        Raises:
            UnknownNameError: If there is no such tool, or it does not declare a parameter.
            ParameterError: If a parameter is missing.
            PluginHostError: If a value is refused, or the call fails.
        """
        entry, _ = self.find(request.provider, request.tool)
        return self._invoke(
            entry.long_name,
            request.tool,
            tool_parameters(entry, request.tool, request.parameters),
            credentials=request.credentials,
            user_id=request.user_id,
            origin=request.origin,
            joins_blobs=True,
        )

    def call_back(
        self,
        provider: str,
        tool: str,
        arguments: Mapping[str, Any] | None,
        *,
        credentials: Mapping[str, Any] | None,
        user_id: str,
    ) -> AsyncGenerator[JsonObject]:
        """Call a tool as Dify does for another plugin, and yield its messages.

        Raises:
            UnknownNameError: If there is no such tool.
            BackwardsError: If there are several files where the tool takes one.
            PluginHostError: If a value is refused, or the call fails.
        """
        entry, _ = self.find(provider, tool)
        if arguments is not None:
            arguments = arguments_called_back(entry, tool, arguments)
        return self._invoke(provider, tool, arguments, credentials=credentials, user_id=user_id)

    def _invoke(  # noqa: PLR0913 - a call has these parts
        self,
        provider: str,
        tool: str,
        parameters: Mapping[str, Any] | None,
        *,
        credentials: Mapping[str, Any] | None,
        user_id: str,
        origin: CallOrigin | None = None,
        joins_blobs: bool = False,
    ) -> AsyncGenerator[JsonObject]:
        """Call a tool and yield its messages.

        Args:
            provider: The provider's name, short or long.
            tool: The tool's name.
            parameters: Its arguments.
            credentials: Sent over the defaults of the provider's schema; None for none.
            user_id: The user on whose behalf the tool is called.
            origin: The conversation and the app that the call belongs to.
            joins_blobs: Whether to put blobs together, which come in chunks.

        Raises:
            UnknownNameError: If there is no such tool.
            BackwardsError: If there are several files where the tool takes one.
            PluginHostError: If the call fails.
        """
        entry, process = self.find(provider, tool)
        data = {
            "provider": entry.name,
            "tool": tool,
            "credentials": {**entry.credential_defaults, **(credentials or {})},
            "credential_type": "api-key" if credentials else "unauthorized",
            "tool_parameters": parameters
            if parameters is None
            else cast_files(objects_at(entry.tools[tool], "parameters"), parameters),
        }
        return process.invoke(
            "tool",
            "invoke_tool",
            data,
            user_id=user_id,
            context={},
            origin=origin,
            joins_blobs=joins_blobs,
            decode=node_decoder("invoke_tool", self._rules, process.advise),
        )

    def find(self, provider: str | None, tool: str) -> tuple[ToolProvider, PluginProcess]:
        """Return the provider of a tool, by its own name if that is given, with the plugin that serves it.

        Raises:
            UnknownNameError: If there is none.
        """
        for entry, process in self._entries():
            if tool in entry.tools and (provider is None or entry.answers_to(provider)):
                return entry, process
        known = [f"{entry.name}/{name}" for entry in self.providers for name in entry.tools]
        raise UnknownNameError("tool", f"{provider}/{tool}" if provider else tool, known)

    def _entries(self) -> Iterator[tuple[ToolProvider, PluginProcess]]:
        for process in self._processes:
            for provider in process.declarations.tool_providers:
                yield provider, process
