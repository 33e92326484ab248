"""The shapes into which the daemon decodes what its dispatch API is asked.

Keys that stand in no shape are dropped, and what is absent or null becomes empty, as in Go. What has the wrong type is refused
here; the daemon goes on with an empty value.

Source: `pkg/entities/plugin_entities/request.go` and `pkg/entities/requests` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from dify_plugin_host._json import JsonObject
from dify_plugin_host.platform import PromptMessage


type _Name = Annotated[str, StringConstraints(min_length=1)]
type _Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
type _Flag = Annotated[bool, BeforeValidator(lambda value: False if value is None else value)]
type _ModelType = Literal[
    "llm", "text-embedding", "rerank", "speech2text", "moderation", "tts", "text2img"
]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, protected_namespaces=())


class DispatchBody(_Shape):
    """The body of every dispatch."""

    user_id: _Text = ""
    conversation_id: str | None = None
    message_id: str | None = None
    app_id: str | None = None
    endpoint_id: str | None = None
    context: JsonObject | None = None
    data: JsonObject


class DispatchData(_Shape):
    """What all kinds of `data` have in common."""

    def to_fields(self) -> JsonObject:
        """Return the fields for the plugin; Go leaves out the two that are marked so when they are empty."""
        fields = self.model_dump()
        return {
            name: value
            for name, value in fields.items()
            if value or name not in {"credential_type", "tool_choice"}
        }


class ProviderData(DispatchData):
    """`data` for a provider of models or tools."""

    provider: _Name
    credentials: JsonObject | None = None
    credential_type: _Text = ""


class _NamedModelData(ProviderData):
    model: _Name


class ModelData(_NamedModelData):
    """`data` for a model of any kind."""

    model_type: _ModelType


class PassedModelData(ModelData):
    """`data` for a model whose further fields go on as they are."""

    model_config = ConfigDict(extra="allow")


class PollingData(_NamedModelData):
    """`data` that asks how a slow model call is going."""

    model_type: Literal["llm"]
    plugin_state: JsonObject = Field(min_length=1)


class _PromptTool(_Shape):
    name: _Name
    description: _Text = ""
    parameters: JsonObject | None = None


class _ToolChoice(_Shape):
    mode: Literal["auto", "none", "required", "tool"]
    name: _Text = ""


class TokensData(_NamedModelData):
    """`data` for counting the tokens of an LLM's input."""

    model_type: Literal["llm"]
    prompt_messages: list[PromptMessage] | None = None
    tools: list[_PromptTool] | None = None


class LLMData(TokensData):
    """`data` for an LLM call."""

    model_parameters: JsonObject | None = None
    tool_choice: _ToolChoice | None = None
    stop: list[str] | None = None
    json_schema: JsonObject | None = None
    stream: _Flag = False


class ToolData(ProviderData):
    """`data` for a tool."""

    tool: _Name
    tool_parameters: JsonObject | None = None


class ToolProviderData(DispatchData):
    """`data` for the credentials of a tool provider."""

    provider: _Name
    credentials: JsonObject | None = None


class RuntimeParametersData(ToolProviderData):
    """`data` that asks which parameters a tool takes just now."""

    tool: _Name


class StrategyData(DispatchData):
    """`data` for an agent strategy."""

    agent_strategy_provider: _Name
    agent_strategy: _Name
    agent_strategy_params: dict[str, Any] | None = None
