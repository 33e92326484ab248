"""What plugins declare: tools and strategies with their parameters, as the daemon's management API tells of them.

Source: `tool_declaration.go`, `agent_declaration.go`, `config.go` and `plugin_declaration.go` in `pkg/entities/plugin_entities` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from ._fields import field, struct
from ._models import LABEL, MODEL_SCHEMA
from ._types import ANY, FLAG, OBJECT, REAL, TEXT, WHOLE, Field, ListOf, Optional, Struct, text


def _named(name: str, *fields: Field | Struct) -> Struct:
    return struct(f"plugin_entities.{name}", *fields)


_TEXTS = ListOf(of=TEXT)
_AUTO = _named(
    "ParameterAutoGenerate",
    field("Type", text("plugin_entities.ParameterAutoGenerateType")),
)
_OPTION = _named(
    "ParameterOption",
    field("Value", TEXT),
    field("Label", LABEL),
    field("Icon", TEXT),
)
_TEMPLATE = Optional(of=_named("ParameterTemplate", field("Enabled", FLAG)))
_NUMBERS = (
    field("Min", Optional(of=REAL)),
    field("Max", Optional(of=REAL)),
)
_PRECISION = field("Precision", Optional(of=WHOLE))
_OPTIONS = field("Options", ListOf(of=_OPTION))
_SCOPE = field("Scope", Optional(of=TEXT))
TOOL_PARAMETER = _named(
    "ToolParameter",
    field("Name", TEXT),
    field("Label", LABEL),
    field("HumanDescription", LABEL),
    field("Type", text("plugin_entities.ToolParameterType")),
    _SCOPE,
    field("Form", text("plugin_entities.ToolParameterForm")),
    field("LLMDescription", TEXT),
    field("Required", FLAG),
    field("AutoGenerate", Optional(of=_AUTO)),
    field("Template", _TEMPLATE),
    field("Default", ANY),
    *_NUMBERS,
    field("Multiple", FLAG),
    _PRECISION,
    _OPTIONS,
)

_IDENTITY = (field("Author", TEXT), field("Name", TEXT), field("Label", LABEL))
_PROVIDER_IDENTITY = _named(
    "ToolProviderIdentity",
    field("Author", TEXT),
    field("Name", TEXT),
    field("Description", LABEL),
    field("Icon", TEXT),
    field("IconDark", TEXT),
    field("Label", LABEL),
    field("Tags", _TEXTS),
)
_CREDENTIAL_OPTION = _named("ConfigOption", field("Value", TEXT), field("Label", LABEL))
_CREDENTIALS = ListOf(
    of=_named(
        "ProviderConfig",
        field("Name", TEXT),
        field("Type", TEXT),
        field("Scope", Optional(of=TEXT)),
        field("Required", FLAG),
        field("Default", ANY),
        field("Options", ListOf(of=_CREDENTIAL_OPTION)),
        field("Multiple", FLAG),
        field("Label", LABEL),
        field("Help", Optional(of=LABEL)),
        field("URL", Optional(of=TEXT)),
        field("Placeholder", Optional(of=LABEL)),
    )
)
_OAUTH = _named(
    "OAuthSchema", field("ClientSchema", _CREDENTIALS), field("CredentialsSchema", _CREDENTIALS)
)
_TOOL = _named(
    "ToolDeclaration",
    field("Identity", _named("ToolIdentity", *_IDENTITY)),
    field(
        "Description",
        _named("ToolDescription", field("Human", LABEL), field("LLM", TEXT)),
    ),
    field("Parameters", ListOf(of=TOOL_PARAMETER)),
    field("OutputSchema", OBJECT, omits=True),
    field("HasRuntimeParameters", FLAG),
)
TOOL_PROVIDER = _named(
    "ToolProviderDeclaration",
    field("Identity", _PROVIDER_IDENTITY),
    field("CredentialsSchema", _CREDENTIALS),
    field("OAuthSchema", Optional(of=_OAUTH), json="oauth_schema"),
    field("Tools", ListOf(of=_TOOL)),
)
"""The declaration of a provider of tools."""

_STRATEGY = _named(
    "AgentStrategyDeclaration",
    field("Identity", _named("AgentStrategyIdentity", *_IDENTITY)),
    field("Description", LABEL),
    field(
        "Parameters",
        ListOf(
            of=_named(
                "AgentStrategyParameter",
                field("Name", TEXT),
                field("Label", LABEL),
                field("Help", LABEL),
                field("Type", TEXT),
                field("AutoGenerate", Optional(of=_AUTO)),
                field("Template", _TEMPLATE),
                _SCOPE,
                field("Required", FLAG),
                field("Default", ANY),
                *_NUMBERS,
                _PRECISION,
                _OPTIONS,
            )
        ),
    ),
    field("OutputSchema", OBJECT),
    field("Features", _TEXTS),
)
STRATEGY_PROVIDER = _named(
    "AgentStrategyProviderDeclaration",
    field("Identity", _PROVIDER_IDENTITY),
    field("Strategies", ListOf(of=_STRATEGY)),
)
"""The declaration of a provider of agent strategies."""

META = _named(
    "PluginMeta",
    field("Version", TEXT),
    field("Arch", _TEXTS),
    field(
        "Runner",
        _named(
            "PluginRunner",
            field("Language", TEXT),
            field("Version", TEXT),
            field("Entrypoint", TEXT),
        ),
    ),
    field("MinimumDifyVersion", Optional(of=TEXT)),
)
"""The part `meta` of a manifest."""

_SHOWN = ListOf(
    of=_named("ModelProviderFormShowOnObject", field("Variable", TEXT), field("Value", TEXT))
)
_CREDENTIAL_FIELDS = ListOf(
    of=_named(
        "ModelProviderCredentialFormSchema",
        field("Variable", TEXT),
        field("Label", LABEL),
        field("Type", TEXT),
        field("Required", FLAG),
        field("Default", Optional(of=TEXT)),
        field(
            "Options",
            ListOf(
                of=_named(
                    "ModelProviderFormOption",
                    field("Label", LABEL),
                    field("Value", TEXT),
                    field("ShowOn", _SHOWN),
                )
            ),
        ),
        field("Help", Optional(of=LABEL)),
        field("URL", Optional(of=TEXT)),
        field("Placeholder", Optional(of=LABEL)),
        field("MaxLength", WHOLE),
        field("ShowOn", _SHOWN),
    )
)
_FORM = field("CredentialFormSchemas", _CREDENTIAL_FIELDS)
_MODEL_LABEL = _named(
    "FieldModelSchema", field("Label", LABEL), field("Placeholder", Optional(of=LABEL))
)
MODEL_PROVIDER = _named(
    "ModelProviderDeclaration",
    field("Provider", TEXT),
    field("Label", LABEL),
    *(
        field(name, Optional(of=LABEL))
        for name in ("Description", "IconSmall", "IconLarge", "IconSmallDark", "IconLargeDark")
    ),
    field("Background", Optional(of=TEXT)),
    field(
        "Help",
        Optional(of=_named("ModelProviderHelpEntity", field("Title", LABEL), field("URL", LABEL))),
    ),
    field("SupportedModelTypes", _TEXTS),
    field("ConfigurateMethods", _TEXTS),
    field("ProviderCredentialSchema", Optional(of=_named("ModelProviderCredentialSchema", _FORM))),
    field(
        "ModelCredentialSchema",
        Optional(of=_named("ModelCredentialSchema", field("Model", _MODEL_LABEL), _FORM)),
    ),
    field("Position", Optional(of=_named("ModelPosition", field("LLM", _TEXTS))), omits=True),
    field("Models", ListOf(of=MODEL_SCHEMA)),
)
"""The declaration of a provider of models."""


def _permitted(name: str, *fields: Field) -> Field:
    granted = _named(f"PluginPermission{name}Requirement", field("Enabled", FLAG), *fields)
    return field(name, Optional(of=granted), omits=True)


_PERMISSION = _named(
    "PluginPermissionRequirement",
    _permitted("Tool"),
    _permitted(
        "Model",
        *(
            field(name, FLAG)
            for name in ("LLM", "TextEmbedding", "Rerank", "TTS", "Speech2text", "Moderation")
        ),
    ),
    _permitted("Node"),
    _permitted("Endpoint"),
    _permitted("App"),
    _permitted("Storage", field("Size", WHOLE)),
)
PLUGIN = _named(
    "PluginDeclaration",
    *(field(name, TEXT) for name in ("Version", "Type", "Author", "Name")),
    field("Label", LABEL),
    field("Description", LABEL),
    field("Icon", TEXT),
    field("IconDark", TEXT),
    field(
        "Resource",
        _named(
            "PluginResourceRequirement",
            field("Memory", WHOLE),
            field("Permission", Optional(of=_PERMISSION), omits=True),
        ),
    ),
    field(
        "Plugins",
        _named(
            "PluginExtensions",
            *(
                field(name, _TEXTS)
                for name in (
                    "Tools",
                    "Models",
                    "Endpoints",
                    "AgentStrategies",
                    "Datasources",
                    "Triggers",
                )
            ),
        ),
    ),
    field("Meta", META),
    field("Tags", _TEXTS),
    field("CreatedAt", TEXT),
    field("Privacy", Optional(of=TEXT), omits=True),
    field("Repo", Optional(of=TEXT), omits=True),
    field("Verified", FLAG),
    field("Model", Optional(of=MODEL_PROVIDER), omits=True),
    field("Tool", Optional(of=TOOL_PROVIDER), omits=True),
    field("AgentStrategy", Optional(of=STRATEGY_PROVIDER), omits=True),
)
"""A manifest, with the declarations of what it names."""
