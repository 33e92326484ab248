"""Serving agents: from a program, or from the command line."""

from collections.abc import Mapping
from typing import Any

from pydantic_settings import SettingsConfigDict

from agent_driver import Agent
from agent_server import command
from agent_server.settings import ServerSettings

from ._executor import AgentExecutor


class EndpointSettings(ServerSettings):
    """The settings of a server of agents, which are those of every server; see the README of gpt5-agent-server."""

    model_config = SettingsConfigDict(
        env_prefix="AGENT_ENDPOINT_", extra="ignore", hide_input_in_errors=True
    )


def serve(
    agents: Agent[Any, Any] | Mapping[str, Agent[Any, Any]],
    settings: EndpointSettings | None = None,
    *,
    deps: Mapping[str, Any] | None = None,
) -> None:
    """Serve agents until the process is asked to stop, and print the address.

    Args:
        agents: The agents by the names under which they are served; a single one is served as `agent`.
        settings: Address, keys, database and limits; by default from environment variables `AGENT_ENDPOINT_…`.
        deps: What the tools of an agent get by their `Context`, by the agent's name.

    Raises:
        Exit: If a setting, the address or the database cannot be used: code 2, after one sentence.
    """
    named = {"agent": agents} if isinstance(agents, Agent) else agents
    read = settings or command.read_settings(EndpointSettings, {})
    executor = AgentExecutor(named, deps=deps, run_logs=read.run_logs, traces=read.traces)
    command.serve(executor, read)
