"""Layers whose tools wait for a person or for the client, and a command that serves them."""

from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import BaseModel
from pydantic_ai import ApprovalRequired, CallDeferred, RunContext, Tool

from agent_server import command
from dify_agent.compositor import LayerConfig, LayerProvider, NoLayerDeps, PlainLayer
from dify_agent.layers.dify_plugin.tools_layer import DifyPluginToolsLayer
from dify_agent.server import DifyAgentExecutor, DifyAgentSettings


class AskedToolsLayer(DifyPluginToolsLayer):
    """Plugin tools each of whose calls a person has to approve."""

    type_id: ClassVar[str] = "test.asked_tools"

    async def get_tools(self, *, http_client):
        tools = await super().get_tools(http_client=http_client)
        for tool in tools:
            tool.requires_approval = True
        return tools


class DeskConfig(LayerConfig):
    pass


class DeskState(BaseModel):
    entered: list[bool] = []


@dataclass(eq=False)
class DeskLayer(PlainLayer[NoLayerDeps, DeskConfig, DeskState]):
    """Tools that decide by themselves whether they wait."""

    type_id: ClassVar[str] = "test.desk"

    config: DeskConfig = field(default_factory=DeskConfig)

    async def on_enter(self, *, resumed):
        self.runtime_state.entered.append(resumed)

    @property
    def tools(self):
        return [Tool(self.pay), Tool(self.open_door), Tool(self.sign), Tool(self.look)]

    def pay(self, ctx: RunContext[object], q: str) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return f"paid {q}"

    def open_door(self, q: str) -> str:
        raise CallDeferred({"q": q})

    def sign(self, ctx: RunContext[object], q: str) -> str:
        """Ask a person, and have the client sign then."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        raise CallDeferred({"q": q})

    def look(self, q: str) -> str:
        return f"seen {q} on visit {len(self.runtime_state.entered)}"


PROVIDERS = [LayerProvider.from_layer_type(kind) for kind in (AskedToolsLayer, DeskLayer)]


def main():
    settings = command.read_settings(DifyAgentSettings, {"port": 0})
    command.serve(DifyAgentExecutor(settings, layer_providers=PROVIDERS), settings)
