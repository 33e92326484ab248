"""What the YAML files of tools and of agent strategies have in common: both declare a capability with parameters.

Source: `entities/tool.py` and `entities/agent.py` of dify-plugin 0.10.2 and `pkg/entities/plugin_entities/` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from ._manifest_rules import IdentityName, PathText, Rules, Tag, Translated


type Text = Annotated[str, StringConstraints(min_length=1)]


class ProviderIdentity(Rules):
    """The names and pictures of a provider."""

    author: Text
    name: IdentityName
    label: Translated
    description: Translated
    icon: PathText
    icon_dark: PathText | None = None
    tags: list[Tag] = Field(default=[])


class _Identity(Rules):
    author: Text
    name: IdentityName
    label: Translated


class Option(Rules):
    """One of the values to choose from."""

    value: Text
    label: Translated


class _AutoGenerate(Rules):
    type: Literal["prompt_instruction"]


class _Template(Rules):
    enabled: bool


class _Python(Rules):
    source: PathText


class Extra(Rules):
    """The entry of a YAML file that says where the code lies."""

    python: _Python


class Parameter(Rules):
    """A parameter of a tool or of a strategy."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=1023)]
    label: Translated
    type: Any  # each kind says which
    required: bool = False
    default: Any = None
    min: float | None = None
    max: float | None = None
    precision: int | None = None
    options: list[Option] | None = None
    auto_generate: _AutoGenerate | None = None
    template: _Template | None = None
    scope: Annotated[str, StringConstraints(max_length=1024)] | None = None

    @model_validator(mode="after")
    def _select_has_options(self) -> Self:
        if self.type == "select" and not self.options:
            raise ValueError("expected options for the type 'select'")
        return self


class CapabilityRules(Rules):
    """A tool's or a strategy's file."""

    identity: _Identity
    parameters: list[Any] = Field(default=[])  # each kind says of which class
    output_schema: dict[str, Any] | None = None
    extra: Extra

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [str(parameter.name) for parameter in self.parameters]
        if len(names) != len(set(names)):
            raise ValueError("expected each parameter once")
        return self
