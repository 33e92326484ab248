"""The layer with what Dify says of a run: for whom it is, and which app, workflow, node and conversation it belongs to.

It takes the place of the plugin layer, and makes clients of Dify's inner API as well.

Source: docs/contracts/dify-agent.md, C64 and C65; dify-agent 1.16.0, its `layers/execution_context/configs.py`; langgenius/dify at
0b5e5e672970, `api/services/entities/agent_llm_inner.py`.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

import httpx
from pydantic import Field

from dify_agent._inner_api import InnerApiClient
from dify_agent.compositor import LayerConfig
from dify_agent.exceptions import AgentRunValidationError

from .dify_plugin.configs import DifyPluginLayerConfig
from .dify_plugin.plugin_layer import DifyPluginLayer


__all__ = ["DifyExecutionContextLayer", "DifyExecutionContextLayerConfig"]


# Dify's inner API has no call without them.
_CALLER: Final = ("user_id", "user_from", "app_id")


class DifyExecutionContextLayerConfig(DifyPluginLayerConfig):
    """What Dify says of a run.

    Attributes:
        user_from: The kind of the user.
        app_id: The app.
        workflow_id: The workflow, and likewise below.
        workflow_run_id: The run of the workflow.
        node_id: The node in the workflow.
        node_execution_id: This time that the node is executed.
        conversation_id: The conversation.
        agent_id: The agent.
        agent_config_version_id: The version of the agent's configuration.
        agent_config_version_kind: The kind of this version.
        agent_mode: The reason for which the agent runs, such as `workflow_run` and `agent_app`.
        invoke_from: The place that the app was called from, such as `debugger` and `service-api`.
        trace_id: The trace that the run belongs to.
    """

    user_from: Literal["account", "end-user"] | None = None
    app_id: str | None = None
    workflow_id: str | None = None
    workflow_run_id: str | None = None
    node_id: str | None = None
    node_execution_id: str | None = None
    conversation_id: str | None = None
    agent_id: str | None = None
    agent_config_version_id: str | None = None
    agent_config_version_kind: Literal["snapshot", "draft", "build_draft"] | None = None
    # Of values that grow with Dify's versions; its API refuses those that it does not know.
    agent_mode: str = Field(min_length=1)
    invoke_from: str = Field(min_length=1)
    trace_id: str | None = None


@dataclass(slots=True, eq=False)
class DifyExecutionContextLayer(DifyPluginLayer):
    """What Dify says of a run, and the addresses and keys of the daemon and of Dify's inner API.

    Attributes:
        config: The public part.
        inner_api_url: The address of Dify's API, a server's setting; None if it has none.
        inner_api_key: The key of its inner part, a server's setting.
    """

    type_id: ClassVar[str] = "dify.execution_context"
    config_type: ClassVar[type[LayerConfig]] = DifyExecutionContextLayerConfig

    config: DifyExecutionContextLayerConfig  # pyright: ignore[reportIncompatibleVariableOverride] - of its `config_type`, and never replaced
    inner_api_url: str | None = None
    inner_api_key: str = field(default="", repr=False)

    def create_inner_api_client(self, *, http_client: httpx.AsyncClient) -> InnerApiClient:
        """Make the client of Dify's inner API.

        Args:
            http_client: The caller's client; it must be open, and stays the caller's.

        Raises:
            AgentRunValidationError: If the server has no address of Dify's API.
            RuntimeError: If the HTTP client is closed.
        """
        self._require_open(http_client, caller="create_inner_api_client")
        if self.inner_api_url is None:
            raise AgentRunValidationError(
                "This run needs Dify's inner API, whose address the server does not know: set --inner-api-url"
                " (DIFY_AGENT_INNER_API_URL)."
            )
        return InnerApiClient(
            url=self.inner_api_url,
            api_key=self.inner_api_key,
            http_client=http_client,
            silence=self.silence,
        )

    def build_caller(self) -> dict[str, str | None]:
        """Return all fields of the context, as Dify's inner API wants to know its caller.

        Raises:
            AgentRunValidationError: If one is missing without which there is no call.
        """
        caller: dict[str, str | None] = self.config.model_dump(mode="json")
        if missing := [name for name in _CALLER if not (caller[name] or "").strip()]:
            raise AgentRunValidationError(
                f"Layer type id {self.type_id!r} must have {', '.join(missing)} where a run needs Dify's inner API."
            )
        return caller
