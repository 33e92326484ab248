"""What a manifest must look like, to the plugin SDK and to the daemon at once.

Source: `core/entities/plugin/setup.py` of dify-plugin 0.10.2 and `pkg/entities/plugin_entities/plugin_declaration.go` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11. Where the two differ, the stricter rule stands here.
"""

import re
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from packaging.version import InvalidVersion, Version
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)


class Rules(BaseModel):
    """A mapping in a YAML file; keys that stand in no rule are the platform's to ignore."""

    model_config = ConfigDict(extra="ignore", strict=True, protected_namespaces=())


def _validate_version(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion:
        raise ValueError("expected a version such as 1.2.3") from None
    return text


def _validate_author(text: str) -> str:
    """Refuse an author that the daemon would take for a tenant who debugs."""
    try:
        uuid.UUID(text)
    except ValueError:
        return text
    raise ValueError("expected a name, not a UUID")


def _validate_time(value: Any) -> Any:
    if isinstance(value, datetime) or (isinstance(value, str) and _TIME.fullmatch(value)):
        return value
    raise ValueError("expected an RFC 3339 time such as 2026-11-21T00:00:00Z")


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_VERSION = r"^[0-9]{1,4}(\.[0-9]{1,4}){2}(-\w{1,16})?$"

type NameText = Annotated[str, StringConstraints(min_length=1, max_length=255)]
type TranslationText = Annotated[str, StringConstraints(max_length=1023)]
type IdentityName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]+$")]
type PathText = Annotated[str, StringConstraints(min_length=1, max_length=128)]
type VersionText = Annotated[
    str, StringConstraints(pattern=_VERSION), AfterValidator(_validate_version)
]
type Tag = Literal[
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
type Provided = Annotated[list[PathText], Field(max_length=1)]
"""Paths of provider files. Of several of a kind the daemon keeps the last one."""


class Translated(Rules):
    """A text in several languages."""

    en_US: Annotated[str, StringConstraints(min_length=1, max_length=1023)]  # noqa: N815 - Dify's key
    ja_JP: TranslationText = ""  # noqa: N815 - Dify's key
    zh_Hans: TranslationText = ""  # noqa: N815 - Dify's key
    pt_BR: TranslationText = ""  # noqa: N815 - Dify's key


class _Toggle(Rules):
    enabled: bool = False


class _ModelPermission(_Toggle):
    llm: bool = False
    text_embedding: bool = False
    rerank: bool = False
    tts: bool = False
    speech2text: bool = False
    moderation: bool = False


class _StoragePermission(_Toggle):
    size: int = Field(ge=1024, le=1_073_741_824)


class _Permission(Rules):
    tool: _Toggle | None = None
    model: _ModelPermission | None = None
    node: _Toggle | None = None
    endpoint: _Toggle | None = None
    app: _Toggle | None = None
    storage: _StoragePermission | None = None


class _Resource(Rules):
    memory: int = Field(gt=0)
    permission: _Permission | None = None


class _Plugins(Rules):
    tools: Provided = []
    models: Provided = []
    endpoints: Provided = []
    agent_strategies: Provided = []
    datasources: Provided = []
    triggers: Provided = []

    @model_validator(mode="after")
    def _kinds_that_go_together(self) -> Self:
        kinds = [kind for kind in type(self).model_fields if getattr(self, kind)]
        if not kinds:
            raise ValueError("expected at least one provider")
        if len(kinds) > 1 and set(kinds) != {"tools", "endpoints"}:
            raise ValueError(f"expected one kind of provider, got {' and '.join(kinds)}")
        return self


class _Runner(Rules):
    language: Literal["python"]
    version: PathText
    entrypoint: Annotated[str, StringConstraints(min_length=1, max_length=256)]


class _Meta(Rules):
    version: VersionText
    arch: list[Literal["amd64", "arm64"]] = Field(min_length=1)
    runner: _Runner
    minimum_dify_version: Annotated[str, AfterValidator(_validate_version)] | None = None


class ManifestRules(Rules):
    """The whole of manifest.yaml."""

    version: VersionText
    type: Literal["plugin"]
    author: Annotated[
        str, StringConstraints(pattern=r"^[a-z0-9_-]{1,64}$"), AfterValidator(_validate_author)
    ]
    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,128}$")]
    label: Translated
    description: Translated
    icon: PathText
    icon_dark: PathText | None = None
    created_at: Annotated[Any, AfterValidator(_validate_time)]
    resource: _Resource
    plugins: _Plugins
    meta: _Meta
    tags: list[Tag] = []
    privacy: str | None = None
    repo: Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+")] | None = None
    verified: bool = False


def iter_problems(rules: type[Rules], value: Any, file: str) -> Iterator[str]:
    """Iterate over what `value`, the content of a YAML file, breaks of its rules; one sentence each."""
    try:
        rules.model_validate(value)
    except ValidationError as errors:
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
