"""The agent strategies of plugins, run as Dify's agent node runs them."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dify_plugin_host._errors import UnknownNameError
from dify_plugin_host._files.links import FileLinks
from dify_plugin_host._plugin.declarations import Strategy
from dify_plugin_host._process.plugin_process import PluginProcess
from dify_plugin_host._settings import PlatformRules
from dify_plugin_host._tools.tool import PythonTool
from dify_plugin_packager.json_access import JsonObject, list_at, object_at

from .agent_node import (
    AgentRequest,
    StrategyRequest,
    find_file_parameter,
    initialize_parameters,
    validate_completion_params,
)
from .models import Models
from .rules import node_decoder, through_go


# The agent node's own list of features; a newer one, such as "structured-output", never reaches a
# strategy.
_AGENT_NODE_FEATURES = frozenset(
    {
        "agent-thought",
        "audio",
        "document",
        "multi-tool-call",
        "stream-tool-call",
        "tool-call",
        "video",
        "vision",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategies:
    """The strategies of plugins, each with the process that serves it.

    Attributes:
        processes: The plugins, whose declarations are read anew each time, since they may change.
        models: The models that a run can have.
        tools: The tools that a run has.
        links: The links by which files are handed over.
        rules: The rules to apply.
    """

    processes: Sequence[PluginProcess]
    models: Models
    tools: Sequence[PythonTool]
    links: FileLinks
    rules: PlatformRules

    @property
    def declared(self) -> tuple[Strategy, ...]:
        """The strategies, in the order of their plugins."""
        return tuple(strategy for strategy, _ in self._entries().values())

    async def run(self, request: AgentRequest) -> AsyncGenerator[JsonObject]:
        """Run a strategy with the host's models and tools, and return its messages to come.

        Raises:
            UnknownNameError: If a name in the request is not declared.
            FileInputError: If the strategy takes no files, or not as many.
            PluginHostError: If the model's plugin cannot be asked.
        """
        strategy, _ = self._find(request.strategy)
        files = request.files
        given = {
            "model": await self.model_value(
                request.model,
                provider=request.provider,
                completion_params=request.completion_params,
                history=request.history,
            ),
            "tools": [tool.to_entity() for tool in self.tools],
            "instruction": request.instruction,
            "query": request.query,
            **({find_file_parameter(strategy, files): list(files)} if files else {}),
            **request.parameters,
        }
        return await self.invoke(
            StrategyRequest(
                strategy=request.strategy,
                parameters=given,
                user_id=request.user_id,
                origin=request.origin,
            )
        )

    async def invoke(self, request: StrategyRequest) -> AsyncGenerator[JsonObject]:
        """Call a strategy with parameters of its own names, and return its messages to come.

        Raises:
            UnknownNameError: If the strategy or a parameter is not declared.
            PluginHostError: If Dify would refuse a value.
        """
        strategy, process = self._find(request.strategy)
        for name in request.parameters:
            if name not in strategy.parameters:
                kind = f"parameter of strategy {strategy.name!r} named"
                raise UnknownNameError(kind, name, tuple(strategy.parameters))
        given = {
            name: await self.links.share_all(value) for name, value in request.parameters.items()
        }
        params = initialize_parameters(strategy.parameters.values(), given)
        context: JsonObject = {"credentials": {"tool_credentials": {}}}
        return process.invoke(
            "agent_strategy",
            "invoke_agent_strategy",
            {
                "agent_strategy_provider": strategy.provider,
                "agent_strategy": strategy.name,
                "agent_strategy_params": through_go(params) if self.rules.float_numbers else params,
            },
            user_id=request.user_id,
            context=context,
            origin=request.origin,
            decode=node_decoder("invoke_agent_strategy", self.rules, process.advise),
        )

    def _entries(self) -> dict[str, tuple[Strategy, PluginProcess]]:
        return {
            strategy.name: (strategy, process)
            for process in self.processes
            for strategy in process.declarations.strategies
        }

    def _find(self, name: str) -> tuple[Strategy, PluginProcess]:
        known = self._entries()
        if name not in known:
            raise UnknownNameError("strategy", name, tuple(known))
        return known[name]

    async def model_value(
        self,
        model: str,
        *,
        provider: str | None = None,
        completion_params: Mapping[str, Any] | None = None,
        history: Sequence[JsonObject] = (),
    ) -> JsonObject:
        """Return the value of a parameter that chooses a model.

        Raises:
            UnknownNameError: If there is no such model, or it lacks a parameter.
            PluginHostError: If its plugin cannot be asked.
        """
        entry, _ = self.models.find(provider)
        schema = await self.models.schema(model, provider=provider)
        validate_completion_params(schema, completion_params or {})
        features = list_at(schema, "features")
        if self.rules.filter_features:
            features = [feature for feature in features if feature in _AGENT_NODE_FEATURES]
        return {
            "provider": entry.long_name,
            "model": schema["model"],
            "model_type": "llm",
            "mode": object_at(schema, "model_properties").get("mode") or "chat",
            "completion_params": dict(completion_params or {}),
            "history_prompt_messages": list(history),
            "entity": {**schema, "features": features},
        }
