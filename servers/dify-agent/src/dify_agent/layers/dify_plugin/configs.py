"""A client's configurations of plugins: the shared context, the model, and the prepared tools.

These values travel from the side that knows the declarations to the side that runs the agent. They carry neither the
daemon's address nor its key: a server adds those.

Source: docs/contracts/dify-agent.md, C5 to C14.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, override

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationInfo,
    field_validator,
)
from pydantic_ai.settings import ModelSettings

from dify_agent.compositor import FEW_MEMBERS, LayerConfig


__all__ = [
    "DIFY_PLUGIN_LAYER_TYPE_ID",
    "DIFY_PLUGIN_LLM_LAYER_TYPE_ID",
    "DIFY_PLUGIN_TOOLS_LAYER_TYPE_ID",
    "DifyPluginCredentialValue",
    "DifyPluginLLMLayerConfig",
    "DifyPluginLayerConfig",
    "DifyPluginToolConfig",
    "DifyPluginToolCredentialType",
    "DifyPluginToolOption",
    "DifyPluginToolParameter",
    "DifyPluginToolParameterForm",
    "DifyPluginToolParameterType",
    "DifyPluginToolValue",
    "DifyPluginToolsLayerConfig",
]

DIFY_PLUGIN_LAYER_TYPE_ID: Final = "dify.plugin"
"""Type id of the layer with the tenant and user that calls are made for."""

DIFY_PLUGIN_LLM_LAYER_TYPE_ID: Final = "dify.plugin.llm"
"""Type id of the layer with the model."""

DIFY_PLUGIN_TOOLS_LAYER_TYPE_ID: Final = "dify.plugin.tools"
"""Type id of the layer with tools."""

MOST_TOOLS: Final = 1_024
"""The most plugin tools of a run: more than any model takes, and few enough to be made at once."""

type DifyPluginCredentialValue = str | int | float | bool | None
"""One field of a plugin's credentials."""

type DifyPluginToolCredentialType = Literal["api-key", "oauth2", "unauthorized"]
"""The way in which the daemon hands a tool its credentials; the caller says it, and nothing infers it."""

type DifyPluginToolValue = JsonValue
"""A value of a tool parameter."""


type _Address = Annotated[str, StringConstraints(max_length=500)]
# Part of a path or a header of a call. A text with a limit is refused if it holds half of a character, too.


class DifyPluginLayerConfig(LayerConfig):
    """The tenant and the user that plugins are called for.

    Attributes:
        tenant_id: The workspace, which is part of the daemon's paths.
        user_id: The end user, if there is one.
    """

    tenant_id: _Address
    user_id: str | None = None


class DifyPluginLLMLayerConfig(LayerConfig):
    """The choice of a model that a plugin serves.

    Attributes:
        plugin_id: The plugin that the daemon calls, such as `langgenius/openai`.
        model_provider: The provider inside that plugin, such as `openai`.
        model: The model's name at the provider.
        credentials: The provider's credentials, scalars only.
        model_settings: Pydantic AI's settings for every request of the run.
    """

    plugin_id: _Address
    model_provider: _Address
    model: str
    credentials: dict[str, DifyPluginCredentialValue] = Field(default_factory=dict, repr=False)
    model_settings: ModelSettings | None = None


class DifyPluginToolOption(BaseModel):
    """One value of a selection; a label and other fields of a declaration are ignored.

    Attributes:
        value: The value; anything that is not a string is written as one.
    """

    model_config = ConfigDict(extra="ignore", from_attributes=True)

    value: Annotated[str, BeforeValidator(str)]


class DifyPluginToolParameterType(StrEnum):
    """The kinds of tool parameters. A kind that a later version adds counts as `string`."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    SELECT = "select"
    SECRET_INPUT = "secret-input"  # noqa: S105 - a kind of parameter, not a password
    FILE = "file"
    FILES = "files"
    APP_SELECTOR = "app-selector"
    MODEL_SELECTOR = "model-selector"
    ANY = "any"
    DYNAMIC_SELECT = "dynamic-select"
    CHECKBOX = "checkbox"
    SYSTEM_FILES = "system-files"
    ARRAY = "array"
    OBJECT = "object"
    DATE = "date"
    DATE_RANGE = "date-range"

    @classmethod
    @override
    def _missing_(cls, value: object) -> "DifyPluginToolParameterType | None":
        # One parameter of a later version must not cost the whole tool:
        # docs/contracts/dify-agent.md, C46.
        return cls.STRING if isinstance(value, str) else None

    def as_normal_type(self) -> str:
        """Return the type that Dify shows for this kind.

        It is `string` for secrets, selections, checkboxes and dates, `object` for a range of dates, and otherwise the kind itself.
        """
        match self:
            case self.SECRET_INPUT | self.SELECT | self.CHECKBOX | self.DATE:
                return "string"
            case self.DATE_RANGE:
                return "object"
            case _:
                return self.value


class DifyPluginToolParameterForm(StrEnum):
    """The one who fills a parameter in: the person who sets the tool up, the workflow's author, or the model."""

    SCHEMA = "schema"
    FORM = "form"
    LLM = "llm"


class DifyPluginToolParameter(BaseModel):
    """One parameter as it is in effect for an invocation.

    A whole declaration of Dify's is accepted, as a mapping or an object; fields that an invocation does not need are ignored, and
    null counts as left out.

    Attributes:
        name: Its name in the payload.
        type: Its kind, which decides how a value is cast.
        form: The one who fills it in.
        required: Whether an invocation without a value is refused.
        default: The value to use without another; None means that there is no default.
        llm_description: Its description for the model.
        input_schema: Its own JSON schema, if it has one.
        options: The values of a selection.
        multiple: Whether a selection takes a list of its values.
    """

    model_config = ConfigDict(extra="ignore", from_attributes=True)

    name: str
    type: DifyPluginToolParameterType
    form: DifyPluginToolParameterForm
    required: bool = False
    default: DifyPluginToolValue = None
    llm_description: str | None = None
    input_schema: dict[str, JsonValue] | None = None
    options: list[DifyPluginToolOption] = Field(
        default_factory=list[DifyPluginToolOption], fail_fast=True
    )
    multiple: bool = False

    @field_validator("required", "options", "multiple", mode="before")
    @classmethod
    def _read_null(cls, value: object, info: ValidationInfo) -> object:
        if value is not None:
            return value
        return list[object]() if info.field_name == "options" else False


def no_parameters() -> dict[str, JsonValue]:
    """Return the schema of a tool without parameters."""
    return {"type": "object", "properties": {}, "required": []}


class DifyPluginToolConfig(LayerConfig):
    """One prepared tool for the agent.

    Attributes:
        plugin_id: The plugin that holds the tool.
        provider: The provider inside that plugin.
        tool_name: The tool's name in the daemon.
        credential_type: How the daemon hands the tool its credentials; it must match them.
        name: The name that the model sees, if it is a different one.
        description: The tool's description for the model; the name if left out.
        credentials: The provider's credentials, scalars only.
        runtime_parameters: Values for the parameters that the model does not fill in.
        parameters: The declarations in effect, for checks, defaults and casts at invocation.
        parameters_json_schema: The schema that the model sees, taken as it is.
        strict: Whether to ask the provider to enforce the schema; None leaves it to the provider.
    """

    plugin_id: _Address
    provider: str
    tool_name: str
    credential_type: DifyPluginToolCredentialType
    name: str | None = None
    description: str | None = None
    credentials: Annotated[dict[str, DifyPluginCredentialValue], FEW_MEMBERS] = Field(
        default_factory=dict, repr=False
    )
    runtime_parameters: Annotated[dict[str, DifyPluginToolValue], FEW_MEMBERS] = Field(
        default_factory=dict, repr=False
    )
    parameters: list[DifyPluginToolParameter] = Field(
        default_factory=list[DifyPluginToolParameter], fail_fast=True
    )
    parameters_json_schema: dict[str, JsonValue] = Field(default_factory=no_parameters)
    strict: bool | None = None


class DifyPluginToolsLayerConfig(LayerConfig):
    """The plugin tools of one layer; there may be none.

    Attributes:
        tools: The tools, each with a plugin of its own, in the order in which the model sees them; at most 1,024.
    """

    tools: list[DifyPluginToolConfig] = Field(
        default_factory=list[DifyPluginToolConfig], max_length=MOST_TOOLS
    )
