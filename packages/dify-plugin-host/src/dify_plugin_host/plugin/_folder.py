"""A plugin folder: its manifest and its YAML files, read without starting it."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError, model_validator

from dify_plugin_host._errors import PluginFolderError
from dify_plugin_host._json import JsonObject, is_object
from dify_plugin_host._yaml import load_yaml


type PluginKind = Literal[
    "models", "tools", "agent_strategies", "endpoints", "datasources", "triggers"
]
"""What a plugin brings, as its manifest calls it."""


class _Part(BaseModel):
    """A part of a manifest, in which null means the same as nothing, as in Go."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, given: Any) -> Any:
        if not is_object(given):
            return given
        return {name: value for name, value in given.items() if value is not None}


class _Toggle(_Part):
    enabled: bool = False


class _ModelPermission(_Toggle):
    llm: bool = False
    text_embedding: bool = False
    rerank: bool = False
    tts: bool = False
    speech2text: bool = False
    moderation: bool = False


class _StoragePermission(_Toggle):
    size: int | None = None


class Permission(_Part):
    """What a manifest asks permission for."""

    tool: _Toggle = _Toggle()
    model: _ModelPermission = _ModelPermission()
    node: _Toggle = _Toggle()
    app: _Toggle = _Toggle()
    storage: _StoragePermission = _StoragePermission()


class _Resource(_Part):
    permission: Permission = Permission()


class _Plugins(_Part):
    models: list[str] = []
    tools: list[str] = []
    agent_strategies: list[str] = []
    endpoints: list[str] = []
    datasources: list[str] = []
    triggers: list[str] = []


class _Runner(_Part):
    entrypoint: str


class _Meta(_Part):
    runner: _Runner


class Manifest(_Part):
    """The part of a manifest that starting and serving a plugin needs; other keys are not looked at."""

    author: str
    name: str
    version: str
    meta: _Meta
    plugins: _Plugins
    resource: _Resource = _Resource()
    description: JsonObject = {}
    tags: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFolder:
    """A plugin folder.

    Attributes:
        path: The folder, absolute.
        manifest: Its manifest.
    """

    path: Path
    manifest: Manifest

    @classmethod
    def read(cls, path: Path | str) -> "PluginFolder":
        """Read a folder's manifest.

        Raises:
            PluginFolderError: If there is no folder, no manifest, or one without what starting needs.
        """
        folder = Path(path).absolute()
        if not folder.is_dir():
            raise PluginFolderError(folder, "no such folder; expected a Dify plugin folder")
        try:
            manifest = Manifest.model_validate(_load_yaml(folder, "manifest.yaml"))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            where = f"manifest.yaml: {field!r}" if field else "manifest.yaml"
            raise PluginFolderError(folder, f"{where}: {first['msg']}") from None
        return cls(path=folder, manifest=manifest)

    @property
    def author(self) -> str:
        """The plugin's author."""
        return self.manifest.author

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.manifest.name

    @property
    def entrypoint(self) -> str:
        """The module that starts the plugin."""
        return self.manifest.meta.runner.entrypoint

    @property
    def permission(self) -> Permission:
        """What the manifest asks permission for."""
        return self.manifest.resource.permission

    @property
    def python(self) -> str:
        """The interpreter that runs the plugin: its own environment's, else the host's."""
        own = self.path / ".venv" / "bin" / "python"
        return str(own) if own.exists() else sys.executable

    def has(self, kind: PluginKind) -> bool:
        """Tell whether the plugin declares anything of a kind."""
        return bool(getattr(self.manifest.plugins, kind))

    def providers(self, kind: PluginKind) -> Iterator[JsonObject]:
        """Iterate over the contents of the provider YAML files of one kind."""
        return (self.read_yaml(relative) for relative in getattr(self.manifest.plugins, kind))

    def read_yaml(self, relative: str) -> JsonObject:
        """Return the mapping that one of the folder's YAML files holds.

        Raises:
            PluginFolderError: If the file is missing, is not YAML or holds no mapping.
        """
        content = _load_yaml(self.path, relative)
        if not is_object(content):
            raise PluginFolderError(self.path, f"expected a mapping in {relative!r}")
        return content

    def read_names(self, relative: str) -> list[str]:
        """Return the list of names that one of the folder's YAML files holds.

        Raises:
            PluginFolderError: If the file is missing, is not YAML or holds no list.
        """
        content = _load_yaml(self.path, relative)
        if not isinstance(content, list):
            raise PluginFolderError(self.path, f"expected a list in {relative!r}")
        return [str(name) for name in content]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - decoded YAML


def _load_yaml(folder: Path, relative: str) -> Any:
    try:
        return load_yaml((folder / relative).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PluginFolderError(folder, f"expected a file {relative!r}") from None
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise PluginFolderError(folder, f"{relative!r} cannot be read: {reason}") from None
