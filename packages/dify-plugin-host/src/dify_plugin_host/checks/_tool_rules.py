"""What a tool provider's YAML files must look like, to the plugin SDK and to the daemon at once.

Source: `entities/tool.py` and `entities/provider_config.py` of dify-plugin 0.10.2 and `pkg/entities/plugin_entities/tool_declaration.go` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from ._capability_rules import (
    AutoGenerate,
    Extra,
    Identity,
    Option,
    ParameterName,
    ProviderIdentity,
    Scope,
    Template,
    Text,
    require_unique_names,
)
from ._manifest_rules import PathText, Rules, Translated


class _CredentialField(Rules):
    type: Literal[
        "secret-input",
        "text-input",
        "select",
        "boolean",
        "model-selector",
        "app-selector",
        "array[tools]",
    ]
    label: Translated
    required: bool = False
    default: str | int | float | bool | None = None
    options: list[Option] | None = None
    help: Translated | None = None
    url: str | None = None
    placeholder: Translated | None = None


class ToolProviderRules(Rules):
    """A tool provider's file. The SDK knows its credentials as a mapping, and by this name alone."""

    identity: ProviderIdentity
    credentials_for_provider: dict[str, _CredentialField] = Field(default={})
    tools: list[PathText] = Field(min_length=1)
    extra: Extra


class _Description(Rules):
    human: Translated
    llm: Text


class _Parameter(Rules):
    name: ParameterName
    label: Translated
    human_description: Translated
    type: Literal[
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
    form: Literal["schema", "form", "llm"]
    llm_description: str = ""
    required: bool = False
    multiple: bool = False
    default: Any = None
    min: float | None = None
    max: float | None = None
    precision: int | None = None
    options: list[Option] | None = None
    auto_generate: AutoGenerate | None = None
    template: Template | None = None
    scope: Scope | None = None

    @model_validator(mode="after")
    def _select_is_whole(self) -> Self:
        if self.type == "select" and not self.options:
            raise ValueError("expected options for the type 'select'")
        if self.type not in {"select", "dynamic-select"}:
            if self.multiple:
                raise ValueError(f"expected no 'multiple' for the type {self.type!r}")
        elif self.default is not None and isinstance(self.default, list) != self.multiple:
            raise ValueError("expected a list as default exactly when 'multiple' is true")
        return self


class ToolRules(Rules):
    """A tool's file."""

    identity: Identity
    description: _Description
    parameters: list[_Parameter] = Field(default=[])
    output_schema: dict[str, Any] | None = None
    extra: Extra

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        require_unique_names(self.parameters)
        return self
