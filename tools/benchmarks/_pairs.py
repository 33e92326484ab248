"""The plugins that are measured: ours, and the official ones where a checkout of them is given."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dify_plugin_host import HostSettings, PlatformRules, PluginHost, PluginProcess, PythonTool
from gpt5_simulator import SIMULATOR_KEY


type Owner = Literal["official", "ours"]

MODEL = "gpt-5.2"  # in both catalogs
_PLUGINS = Path(__file__).parents[2] / "plugins"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A model plugin and an agent plugin that belong together.

    Attributes:
        owner: Whose they are.
        model_folder: The model plugin. Its own `.venv` runs it if it has one, and otherwise this environment.
        agent_folder: The agent plugin, run likewise.
        provider: The model provider's short name.
        strategy: The function calling strategy's name.
    """

    owner: Owner
    model_folder: Path
    agent_folder: Path
    provider: str
    strategy: str

    def model_plugin(self) -> PluginProcess:
        """Return the model plugin, ready to be started."""
        return PluginProcess(self.model_folder, environment=build_environment())

    def host(
        self, base_url: str, tools: Sequence[PythonTool], *, drops_opaque_body: bool = False
    ) -> PluginHost:
        """Return both plugins side by side, ready to be started.

        Args:
            base_url: The server that answers the model plugin.
            tools: The tools of the agent.
            drops_opaque_body: Whether to behave like a Dify that loses `opaque_body` on the way.
        """
        rules = PlatformRules(drop_opaque_body=drops_opaque_body)
        return PluginHost(
            self.model_folder,
            self.agent_folder,
            credentials=build_credentials(base_url),
            tools=tools,
            settings=HostSettings(rules=rules),
            environment=build_environment(),
        )


def build_environment() -> Mapping[str, str]:
    """Return this process's environment, in which modules are compiled once, as on any server, and not at every start."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def build_credentials(base_url: str) -> Mapping[str, str]:
    """Return what both model plugins ask for, under the names that they share."""
    return {"openai_api_key": SIMULATOR_KEY, "openai_api_base": base_url}


OURS = Pair(
    owner="ours",
    model_folder=_PLUGINS / "openai_gpt5_responses",
    agent_folder=_PLUGINS / "gpt5_agent_strategies",
    provider="openai_gpt5_responses",
    strategy="gpt5_function_calling",
)


def official_pair(checkout: Path) -> Pair:
    """Return the official pair in a checkout of langgenius/dify-official-plugins, or in any folder laid out like it."""
    return Pair(
        owner="official",
        model_folder=checkout / "models" / "openai",
        agent_folder=checkout / "agent-strategies" / "cot_agent",
        provider="openai",
        strategy="function_calling",
    )
