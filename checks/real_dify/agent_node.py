"""An agent node for graphon, which has none: reads its data and calls its strategy as Dify's own does.

Source: `api/core/workflow/nodes/agent/entities.py` of langgenius/dify at 020d801c, and `runtime_support.py` beside it at 02b5705b.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from graphon.dsl import importer
from graphon.dsl.node_factory import SlimDslNodeFactory
from graphon.entities.base_node_data import BaseNodeData
from graphon.enums import BuiltinNodeTypes, WorkflowNodeExecutionStatus
from graphon.node_events.base import NodeRunResult
from graphon.nodes.base.node import Node
from graphon.variables.template_resolution import convert_template
from pydantic import BaseModel

from client import DaemonClient
from dify import call_strategy, text_of
from dify_plugin_host import load_tools


type Json = dict[str, Any]

_TOOLS = {tool.name: tool for tool in load_tools(Path(__file__).with_name("builtin_tools.py"))}


class AgentInput(BaseModel):
    """A value of the node's form."""

    value: Any
    type: Literal["mixed", "variable", "constant"]


class AgentNodeData(BaseNodeData):
    """What a DSL file says of an agent node."""

    agent_strategy_provider_name: str
    agent_strategy_name: str
    agent_strategy_label: str
    tool_node_version: str | None = None
    agent_parameters: dict[str, AgentInput]


class AgentNode(Node[AgentNodeData]):
    """A node that runs a strategy.

    Attributes:
        client: The daemon that runs it.
        credentials: Those of the model's provider.
    """

    node_type = BuiltinNodeTypes.AGENT
    client: ClassVar[DaemonClient]
    credentials: ClassVar[Mapping[str, str]]

    @classmethod
    def version(cls) -> str:
        """Return the version of nodes that this one is for."""
        return "1"

    def _run(self) -> NodeRunResult:
        model = self._resolve("model")
        model_provider = model["provider"].rpartition("/")
        values = {
            **{name: self._resolve(name) for name in self.node_data.agent_parameters},
            "model": self._with_entity(model, model_provider[0], model_provider[2]),
            "tools": [_to_entity(tool) for tool in self._resolve("tools") if tool["enabled"]],
        }
        given = {model_provider[2]: dict(self.credentials)}
        context = {"credentials": {"tool_credentials": {}, "provider_credentials": given}}
        provider = self.node_data.agent_strategy_provider_name
        strategy = self.node_data.agent_strategy_name
        messages = call_strategy(self.client, provider, strategy, values, context=context)
        variables: dict[str, str] = {}
        for message in messages:
            if message["type"] == "variable":  # In pieces, as our strategies send them.
                name, piece = (message["message"][f"variable_{key}"] for key in ("name", "value"))
                variables[name] = variables.get(name, "") + piece
        return NodeRunResult(
            status=WorkflowNodeExecutionStatus.SUCCEEDED,
            outputs={"text": text_of(messages), **variables},
        )

    def _resolve(self, name: str) -> Any:
        """Return a parameter's value with its variables filled in."""
        given = self.node_data.agent_parameters[name]
        is_text = isinstance(given.value, str)
        template = given.value if is_text else json.dumps(given.value, ensure_ascii=False)
        text = convert_template(self.runtime_state.variable_pool, template).text
        return text if is_text else json.loads(text)

    def _with_entity(self, model: Json, plugin: str, provider: str) -> Json:
        data = {"provider": provider, "model_type": "llm", "model": model["model"]}
        [answer] = self.client.call(
            plugin, "model/schema", {**data, "credentials": dict(self.credentials)}
        )
        return {**model, "history_prompt_messages": [], "entity": answer["model_schema"]}


def _to_entity(tool: Json) -> Json:
    """Return a tool as a strategy gets it: what the user has set is kept from the model."""
    given = {**tool["settings"], **tool["parameters"]}
    values = {
        name: one["value"]["value"] for name, one in given.items() if one["value"] is not None
    }
    entity = _TOOLS[tool["tool_name"]].to_entity()
    for parameter in entity["parameters"]:
        parameter["form"] = "form" if parameter["name"] in values else "llm"
    description = {
        **entity["description"],
        "llm": tool["extra"]["description"] or entity["description"]["llm"],
    }
    return {**entity, "description": description, "runtime_parameters": values}


def offer_agent_node(monkeypatch: Any) -> None:
    """Have graphon import files with agent nodes."""
    builders = SlimDslNodeFactory.NODE_BUILDERS | {BuiltinNodeTypes.AGENT: _create}
    monkeypatch.setattr(SlimDslNodeFactory, "NODE_BUILDERS", builders)
    monkeypatch.setattr(importer, "SUPPORTED_DEFAULT_FACTORY_NODE_TYPES", frozenset(builders))


def _create(factory: Any, request: Any) -> AgentNode:
    return AgentNode(
        node_id=request.node_id,
        data=AgentNode.validate_node_data(request.data),
        init_params=factory.init_params,
        runtime_state=factory.runtime_state,
    )
