"""What a tool provider's YAML files must look like, to the plugin SDK and to the daemon at once.

Source: `entities/tool.py` and `entities/provider_config.py` of dify-plugin 0.10.2 and `pkg/entities/plugin_entities/tool_declaration.go` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from ._capability_rules import CapabilityRules, Extra, Option, Parameter, ProviderIdentity, Text
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


class _Parameter(Parameter):
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
    multiple: bool = False

    @model_validator(mode="after")
    def _multiple_fits(self) -> Self:
        if self.type not in {"select", "dynamic-select"}:
            if self.multiple:
                raise ValueError(f"expected no 'multiple' for the type {self.type!r}")
        elif self.default is not None and isinstance(self.default, list) != self.multiple:
            raise ValueError("expected a list as default exactly when 'multiple' is true")
        return self


class ToolRules(CapabilityRules):
    """A tool's file."""

    description: _Description
    parameters: list[_Parameter] = Field(default=[])
