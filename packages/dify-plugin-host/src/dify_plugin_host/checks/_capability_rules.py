"""What the plugin SDK wants of the YAML files of tools, agent strategies and endpoints when a plugin starts.

Source: `entities/tool.py`, `entities/agent.py`, `entities/endpoint.py` and `entities/provider_config.py` of dify-plugin 0.10.2, read 2026-11.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from ._manifest_rules import Rules, Translated


type _Tag = Literal[
    "search",
    "image",
    "videos",
    "weather",
    "finance",
    "design",
    "travel",
    "social",
    "news",
    "medical",
    "productivity",
    "education",
    "business",
    "entertainment",
    "utilities",
    "rag",
    "other",
]
type _ToolType = Literal[
    "string",
    "number",
    "boolean",
    "select",
    "secret-input",
    "file",
    "files",
    "app-selector",
    "model-selector",
    "any",
    "dynamic-select",
    "array",
    "object",
    "checkbox",
    "date",
    "date-range",
]
type _StrategyType = Literal[
    "string",
    "number",
    "boolean",
    "select",
    "secret-input",
    "file",
    "files",
    "app-selector",
    "model-selector",
    "array[tools]",
    "any",
    "object",
    "array",
]
type _CredentialType = Literal[
    "secret-input",
    "text-input",
    "select",
    "boolean",
    "model-selector",
    "app-selector",
    "array[tools]",
]


class _Python(Rules):
    source: str


class _Extra(Rules):
    python: _Python


class _ProviderIdentity(Rules):
    author: str
    name: str
    label: Translated
    description: Translated
    icon: str
    icon_dark: str | None = None
    tags: list[_Tag] = Field(default=[])


class _Identity(Rules):
    author: str
    name: str
    label: Translated


class _ShowOn(Rules):
    variable: str
    value: str


class _Option(Rules):
    value: Annotated[str, BeforeValidator(str)]
    label: Translated
    icon: str | None = None
    show_on: list[_ShowOn] = Field(default=[])


class _AutoGenerate(Rules):
    type: Literal["prompt_instruction"]


class _Template(Rules):
    enabled: bool


class _Parameter(Rules):
    name: str
    label: Translated
    type: Any  # each kind says which
    required: bool | None = False
    min: float | None = None
    max: float | None = None
    precision: int | None = None
    options: list[_Option] | None = None
    auto_generate: _AutoGenerate | None = None
    template: _Template | None = None
    scope: str | None = None


class _ToolParameter(_Parameter):
    type: _ToolType
    human_description: Translated
    form: Literal["schema", "form", "llm"]
    llm_description: str | None = None
    multiple: bool = False
    default: JsonValue = None
    show_on: list[_ShowOn] = Field(default=[])

    @model_validator(mode="after")
    def _multiple_fits(self) -> Self:
        if self.type not in {"select", "dynamic-select"}:
            if self.multiple:
                raise ValueError(f"expected no 'multiple' for the type {self.type!r}")
        elif self.default is not None and isinstance(self.default, list) != self.multiple:
            raise ValueError("expected a list as default exactly when 'multiple' is true")
        return self


class _StrategyParameter(_Parameter):
    type: _StrategyType
    help: Translated | None = None
    default: int | float | str | None = None


class _Description(Rules):
    human: Translated
    llm: str


class ToolRules(Rules):
    """A tool's file."""

    identity: _Identity
    description: _Description
    parameters: list[_ToolParameter] | None = None
    output_schema: dict[str, Any] | None = None
    extra: _Extra


class StrategyRules(Rules):
    """An agent strategy's file."""

    identity: _Identity
    description: Translated
    parameters: list[_StrategyParameter] | None = None
    features: list[Literal["history-messages"]] = Field(default=[])
    extra: _Extra


class _ConfigOption(Rules):
    value: str
    label: Translated


class _Credential(Rules):
    type: _CredentialType
    label: Translated
    required: bool = False
    default: int | float | str | bool | list[Any] | None = None
    options: list[_ConfigOption] | None = None
    multiple: bool | None = False
    scope: str | None = None
    help: Translated | None = None
    url: str | None = None
    placeholder: Translated | None = None


class _NamedCredential(_Credential):
    name: str


class _OAuth(Rules):
    client_schema: list[_NamedCredential] = Field(default=[])
    credentials_schema: list[_NamedCredential] = Field(default=[])


class ToolProviderRules(Rules):
    """A tool provider's file. The SDK knows its credentials as a mapping, and by this name alone."""

    identity: _ProviderIdentity
    credentials_for_provider: dict[str, _Credential] = Field(default={})
    oauth_schema: _OAuth | None = None
    tools: list[str] = Field(default=[])
    extra: _Extra


class StrategyProviderRules(Rules):
    """An agent strategy provider's file."""

    identity: _ProviderIdentity
    strategies: list[str] = Field(default=[])


class EndpointRules(Rules):
    """An endpoint's file."""

    path: str
    method: str
    hidden: bool = False
    extra: _Extra


class EndpointProviderRules(Rules):
    """The file of a group of endpoints."""

    settings: list[_NamedCredential] = Field(default=[])
    endpoints: list[str | EndpointRules] = Field(default=[])
