"""What a manifest must look like to the plugin SDK, which reads it at the plugin's start, and to Dify's own packager.

Source: `core/entities/plugin/setup.py` of dify-plugin 0.10.2 and `pkg/entities/plugin_entities/plugin_declaration.go` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, StringConstraints
from pydantic import ValidationError as RulesError


class Rules(BaseModel):
    """A mapping in a YAML file; keys that stand in no rule are the platform's to ignore."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=())


def _validate_version(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion:
        raise ValueError("expected a version such as 1.2.3") from None
    return text


type VersionText = Annotated[str, AfterValidator(_validate_version)]


class Translated(Rules):
    """A text in several languages."""

    en_US: str = Field(validation_alias=AliasChoices("en_US", "en_us"))  # noqa: N815 - Dify's key
    ja_JP: str | None = None  # noqa: N815 - Dify's key
    zh_Hans: str | None = None  # noqa: N815 - Dify's key
    pt_BR: str | None = None  # noqa: N815 - Dify's key


class _Toggle(Rules):
    enabled: bool | None = False


class _ModelPermission(_Toggle):
    llm: bool | None = False
    text_embedding: bool | None = False
    rerank: bool | None = False
    tts: bool | None = False
    speech2text: bool | None = False
    moderation: bool | None = False


class _StoragePermission(_Toggle):
    size: int = Field(default=1_048_576, ge=1024, le=1_073_741_824)


class _Permission(Rules):
    tool: _Toggle | None = None
    model: _ModelPermission | None = None
    node: _Toggle | None = None
    endpoint: _Toggle | None = None
    app: _Toggle | None = None
    storage: _StoragePermission | None = None


class _Resource(Rules):
    memory: int
    permission: _Permission | None = None


class _Plugins(Rules):
    tools: list[str] = Field(default=[])
    models: list[str] = Field(default=[])
    endpoints: list[str] = Field(default=[])
    agent_strategies: list[str] = Field(default=[])
    datasources: list[str] = Field(default=[])
    triggers: list[str] = Field(default=[])


class _Runner(Rules):
    language: Literal["python"]
    version: str
    entrypoint: str


class _Meta(Rules):
    version: str
    arch: list[Literal["amd64", "arm64"]]
    runner: _Runner
    minimum_dify_version: VersionText | None = None


class ManifestRules(Rules):
    """The whole of manifest.yaml, as a plugin reads it."""

    version: VersionText
    type: Literal["plugin"]
    author: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]{1,64}$")] | None
    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,128}$")]
    repo: str | None = None
    label: Translated
    description: Translated
    icon: str
    icon_dark: str | None = None
    created_at: datetime
    resource: _Resource
    plugins: _Plugins
    meta: _Meta


type _Path = Annotated[str, StringConstraints(min_length=1, max_length=128)]
type _Paths = list[Annotated[str, StringConstraints(max_length=128)]] | None
type _Version = Annotated[
    str, StringConstraints(pattern=r"^[0-9]{1,4}(\.[0-9]{1,4}){2}(-\w{1,16})?$")
]
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
    "agent",
    "rag",
    "other",
    "trigger",
]
type _Text = Annotated[str, StringConstraints(max_length=1023)] | None


class _PackedText(Rules):
    en_US: Annotated[str, StringConstraints(min_length=1, max_length=1023)]  # noqa: N815 - Dify's key
    ja_JP: _Text = None  # noqa: N815 - Dify's key
    zh_Hans: _Text = None  # noqa: N815 - Dify's key
    pt_BR: _Text = None  # noqa: N815 - Dify's key


class _PackedPlugins(Rules):
    tools: _Paths = None
    models: _Paths = None
    endpoints: _Paths = None
    agent_strategies: _Paths = None
    datasources: _Paths = None
    triggers: _Paths = None


class _PackedRunner(Rules):
    language: Literal["python"]
    version: _Path
    entrypoint: Annotated[str, StringConstraints(min_length=1, max_length=256)]


class _PackedMeta(Rules):
    version: _Version
    arch: list[Literal["amd64", "arm64"]]
    runner: _PackedRunner


class PackagerRules(Rules):
    """The manifest, as the daemon holds it, to be packed by Dify's own command line or debugged from afar."""

    version: _Version
    type: Literal["plugin"]
    label: _PackedText
    description: _PackedText
    icon: _Path
    icon_dark: _Path | None = None
    resource: dict[str, Any]
    plugins: _PackedPlugins
    meta: _PackedMeta
    tags: list[_Tag] | None = None
    created_at: str
    repo: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*:(//)?.")] | None = (
        None
    )


def iter_problems(rules: type[BaseModel], value: Any, file: str) -> Iterator[str]:
    """Iterate over what `value`, the content of a YAML file, breaks of its rules; one sentence each."""
    try:
        rules.model_validate(value)
    except RulesError as errors:
        for error in errors.errors(include_url=False):
            field = ".".join(str(part) for part in error["loc"])
            expected = error["msg"].removeprefix("Value error, ")
            got = (
                ""
                if error["type"] in {"missing", "value_error"}
                else f", got {error['input']!r:.80}"
            )
            where = f"{file}: {field!r}" if field else file
            yield f"{where}: {expected}{got}"
