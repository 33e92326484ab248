"""What the plugin SDK wants of a model provider's YAML files when a plugin starts.

Source: `entities/model` of dify-plugin 0.10.2, read 2026-11.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, RootModel, model_validator

from dify_plugin_host._json import is_object

from ._manifest_rules import Rules, Translated


type _ModelType = Literal[
    "llm", "text-embedding", "rerank", "speech2text", "moderation", "tts", "text2img"
]
type _Method = Literal["predefined-model", "customizable-model"]
type _Feature = Literal[
    "tool-call",
    "multi-tool-call",
    "agent-thought",
    "vision",
    "stream-tool-call",
    "document",
    "video",
    "audio",
    "structured-output",
    "polling",
]
type _PropertyKey = Literal[
    "mode",
    "context_size",
    "max_chunks",
    "file_upload_limit",
    "supported_file_extensions",
    "max_characters_per_chunk",
    "default_voice",
    "voices",
    "word_limit",
    "audio_type",
    "max_workers",
]
type _Label = Annotated[Translated | None, BeforeValidator(lambda label: label or None)]
"""An empty one is filled in: with the name."""


class _ShowOn(Rules):
    variable: str
    value: str


class _FormOption(Rules):
    label: Translated
    value: str
    show_on: list[_ShowOn] = Field(default=[])


class _FormField(Rules):
    variable: str
    label: Translated
    type: Literal["text-input", "secret-input", "select", "radio", "switch"]
    required: bool = True
    default: str | None = None
    options: list[_FormOption] | None = None
    placeholder: Translated | None = None
    max_length: int = 0
    show_on: list[_ShowOn] = Field(default=[])


class _CredentialSchema(Rules):
    credential_form_schemas: list[_FormField]


class _ModelField(Rules):
    label: Translated
    placeholder: Translated | None = None


class _ModelCredentialSchema(_CredentialSchema):
    model: _ModelField


class _Help(Rules):
    title: Translated
    url: Translated


class _Models(Rules):
    predefined: list[str] = Field(default=[])


class _Groups(Rules):
    llm: _Models = _Models()
    text_embedding: _Models = _Models()
    rerank: _Models = _Models()
    tts: _Models = _Models()
    speech2text: _Models = _Models()
    moderation: _Models = _Models()


class _Python(Rules):
    provider_source: str
    model_sources: list[str] = Field(default=[])


class _Extra(Rules):
    python: _Python


class ModelProviderRules(Rules):
    """A model provider's file."""

    provider: str
    label: Translated
    description: Translated | None = None
    icon_small: Translated | None = None
    icon_large: Translated | None = None
    icon_small_dark: Translated | None = None
    icon_large_dark: Translated | None = None
    background: str | None = None
    help: _Help | None = None
    supported_model_types: list[_ModelType]
    configurate_methods: list[_Method]
    provider_credential_schema: _CredentialSchema | None = None
    model_credential_schema: _ModelCredentialSchema | None = None
    models: _Groups = _Groups()
    extra: _Extra


class _ParameterRule(Rules):
    name: str
    use_template: str | None = None
    label: _Label = None
    type: Literal["float", "int", "string", "boolean", "text"] | None = None
    help: Translated | None = None
    required: bool = False
    min: float | None = None
    max: float | None = None
    precision: int | None = None
    options: list[str] = Field(default=[])

    @model_validator(mode="before")
    @classmethod
    def _has_a_type(cls, data: Any) -> Any:
        # Without a label the name is one; a template brings the type, unless the key stands there with nothing.
        if (
            is_object(data)
            and data.get("type") is None
            and ("type" in data or not data.get("use_template"))
        ):
            raise ValueError("expected a type, or a use_template")
        return data


class _Pricing(Rules):
    input: Decimal
    output: Decimal | None = None
    unit: Decimal
    currency: str


class ModelRules(Rules):
    """A predefined model's file."""

    model: str
    label: _Label = None
    model_type: _ModelType
    features: list[_Feature] | None = None
    fetch_from: _Method = "predefined-model"
    model_properties: dict[_PropertyKey, Any]
    deprecated: bool = False
    parameter_rules: list[_ParameterRule] = Field(default=[])
    pricing: _Pricing | None = None


class PositionRules(RootModel[list[str] | None]):
    """The file that puts models in order."""
