"""The tools of plugins, as Dify calls them for another plugin."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass

from dify_plugin_host._errors import UnknownNameError
from dify_plugin_host._files.parameters import cast_files
from dify_plugin_host._plugin.declarations import ToolProvider
from dify_plugin_host._process.plugin_process import PluginProcess
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginTools:
    """The tools of plugins, each with the process that serves it.

    Attributes:
        processes: The plugins, whose declarations are read anew each time, since they may change.
        rules: The rules to apply.
    """

    processes: Sequence[PluginProcess]
    rules: PlatformRules

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
        entry, process = self._find(request.provider, request.tool)
        parameters = tool_parameters(entry, request.tool, request.parameters)
        return self._invoke(entry, process, request, parameters, joins_blobs=True)

    def call_back(
        self, request: ToolRequest, arguments: JsonObject | None
    ) -> AsyncGenerator[JsonObject]:
        """Call a tool with these arguments as Dify does for another plugin, and yield its messages.

        Raises:
            UnknownNameError: If there is no such tool.
            BackwardsError: If there are several files where the tool takes one.
            PluginHostError: If a value is refused, or the call fails.
        """
        entry, process = self._find(request.provider, request.tool)
        if arguments is not None:
            arguments = arguments_called_back(entry, request.tool, arguments)
        return self._invoke(entry, process, request, arguments, joins_blobs=False)

    def _invoke(
        self,
        entry: ToolProvider,
        process: PluginProcess,
        request: ToolRequest,
        parameters: JsonObject | None,
        *,
        joins_blobs: bool,
    ) -> AsyncGenerator[JsonObject]:
        """Call a tool with parameters in the place of those in the request, and yield its messages."""
        if parameters is not None:
            declared = objects_at(entry.tools[request.tool], "parameters")
            parameters = cast_files(declared, parameters)
        data = {
            "provider": entry.name,
            "tool": request.tool,
            "credentials": {**entry.credential_defaults, **(request.credentials or {})},
            "credential_type": "api-key" if request.credentials else "unauthorized",
            "tool_parameters": parameters,
        }
        return process.invoke(
            "tool",
            "invoke_tool",
            data,
            user_id=request.user_id,
            context={},
            origin=request.origin,
            joins_blobs=joins_blobs,
            decode=node_decoder("invoke_tool", self.rules, process.advise),
        )

    def _find(self, provider: str | None, tool: str) -> tuple[ToolProvider, PluginProcess]:
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
        for process in self.processes:
            for provider in process.declarations.tool_providers:
                yield provider, process
