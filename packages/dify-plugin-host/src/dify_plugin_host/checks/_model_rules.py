"""What a model provider's YAML files must look like, to the plugin SDK and to the daemon at once.

Source: `entities/model` of dify-plugin 0.10.2 and `pkg/entities/plugin_entities/model_declaration.go` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from ._manifest_rules import NameText, PathText, Rules, Translated


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
type _Template = Literal[
    "temperature",
    "top_p",
    "top_k",
    "presence_penalty",
    "frequency_penalty",
    "max_tokens",
    "response_format",
    "json_schema",
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
type _RuleType = Literal["float", "int", "string", "boolean", "text"]
# Unquoted, YAML makes a binary fraction of it.
type _PriceText = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+)?$")]

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "float": (int, float),
    "int": (int,),
    "string": (str,),
    "boolean": (bool,),
    "text": (str,),
}


def _validate_pattern(text: str) -> str:
    if "**" in text:
        raise ValueError("expected a pattern without '**', which the daemon does not know")
    return text


class _ShowOn(Rules):
    variable: NameText
    value: NameText


class _FormOption(Rules):
    label: Translated
    value: NameText
    show_on: list[_ShowOn] = Field(default=[], max_length=16)


class _FormField(Rules):
    variable: NameText
    label: Translated
    type: Literal["text-input", "secret-input", "select", "radio", "switch"]
    required: bool = True
    default: Annotated[str, StringConstraints(max_length=255)] | None = None
    options: list[_FormOption] | None = Field(default=None, max_length=128)
    help: Translated | None = None
    url: str | None = None
    placeholder: Translated | None = None
    max_length: int = 0
    show_on: list[_ShowOn] = Field(default=[], max_length=16)


class _CredentialSchema(Rules):
    credential_form_schemas: list[_FormField] = Field(max_length=32)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [field.variable for field in self.credential_form_schemas]
        if len(names) != len(set(names)):
            raise ValueError("expected each variable once")
        return self


class _ModelField(Rules):
    label: Translated
    placeholder: Translated | None = None


class _ModelCredentialSchema(_CredentialSchema):
    model: _ModelField


class _Help(Rules):
    title: Translated
    url: Translated


class _Models(Rules):
    predefined: list[Annotated[str, AfterValidator(_validate_pattern)]] = Field(default=[])
    position: str | None = None


class _Python(Rules):
    provider_source: PathText
    model_sources: list[PathText] = Field(min_length=1)


class _Extra(Rules):
    python: _Python


class ModelProviderRules(Rules):
    """A model provider's file."""

    provider: NameText
    label: Translated
    description: Translated | None = None
    icon_small: Translated | None = None
    icon_large: Translated | None = None
    icon_small_dark: Translated | None = None
    icon_large_dark: Translated | None = None
    background: str | None = None
    help: _Help | None = None
    supported_model_types: list[_ModelType] = Field(min_length=1, max_length=16)
    configurate_methods: list[_Method] = Field(min_length=1, max_length=16)
    provider_credential_schema: _CredentialSchema | None = None
    model_credential_schema: _ModelCredentialSchema | None = None
    models: dict[
        Literal["llm", "text_embedding", "rerank", "tts", "speech2text", "moderation"], _Models
    ] = Field(default={})
    extra: _Extra


class _ParameterRule(Rules):
    name: NameText
    use_template: _Template | None = None
    label: Translated | None = None
    type: _RuleType | None = None
    help: Translated | None = None
    required: bool = False
    default: Any = None
    min: float | None = None
    max: float | None = None
    precision: int | None = None
    options: list[NameText] = Field(default=[])

    @model_validator(mode="after")
    def _validate_parameter(self) -> Self:
        if self.use_template is None and (self.label is None or self.type is None):
            raise ValueError("expected a label and a type, or a use_template")
        if self.default is not None:
            self._validate_default()
        return self

    def _validate_default(self) -> None:
        wanted = _PYTHON_TYPES[self.type] if self.type else (str, int, float, bool)
        # Python counts a bool as an int; the platform does not.
        if not isinstance(self.default, wanted) or (
            isinstance(self.default, bool) and bool not in wanted
        ):
            raise ValueError(f"expected a default of type {self.type}, got {self.default!r}")
        if self.options and self.default not in self.options:
            raise ValueError(f"expected one of the options as default, got {self.default!r}")
        if isinstance(self.default, int | float) and not self._spans(self.default):
            raise ValueError(f"expected a default between min and max, got {self.default!r}")

    def _spans(self, number: float) -> bool:
        low = number if self.min is None else self.min
        high = number if self.max is None else self.max
        return low <= number <= high


class _Pricing(Rules):
    input: _PriceText
    output: _PriceText | None = None
    unit: _PriceText
    currency: Annotated[str, StringConstraints(min_length=1)]


class ModelRules(Rules):
    """A predefined model's file."""

    model: NameText
    label: Translated
    model_type: _ModelType
    features: list[_Feature] | None = Field(default=None, max_length=256)
    fetch_from: _Method = "predefined-model"
    model_properties: dict[_PropertyKey, Any]
    deprecated: bool = False
    parameter_rules: list[_ParameterRule] = Field(default=[], max_length=128)
    pricing: _Pricing | None = None

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [rule.name for rule in self.parameter_rules]
        if len(names) != len(set(names)):
            raise ValueError("expected each parameter once")
        return self
