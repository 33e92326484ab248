"""A plugin folder: its manifest and what it declares, read without starting it."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ValidationError

from dify_plugin_host._errors import PluginFolderError


type PluginKind = Literal["models", "agent_strategies", "tools"]


class _Runner(BaseModel):
    entrypoint: str


class _Meta(BaseModel):
    runner: _Runner
    version: str = "0.0.1"


class _Toggle(BaseModel):
    enabled: bool = False


class _ModelPermission(_Toggle):
    llm: bool = False
    text_embedding: bool = False
    rerank: bool = False
    tts: bool = False
    speech2text: bool = False
    moderation: bool = False


class Permission(BaseModel):
    """Hold what a manifest asks permission for."""

    tool: _Toggle = _Toggle()
    model: _ModelPermission = _ModelPermission()
    node: _Toggle = _Toggle()
    app: _Toggle = _Toggle()
    storage: _Toggle = _Toggle()


class _Resource(BaseModel):
    permission: Permission = Permission()


class _Plugins(BaseModel):
    models: list[str] = []
    agent_strategies: list[str] = []
    tools: list[str] = []


class _Manifest(BaseModel):
    author: str
    name: str
    version: str
    meta: _Meta
    plugins: _Plugins
    resource: _Resource = _Resource()


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFolder:
    """Describe a plugin folder.

    Attributes:
        path: The folder, absolute.
        author: The manifest's author.
        name: The manifest's name.
        version: The manifest's version.
        entrypoint: The module that starts the plugin.
        permission: What the manifest asks permission for.
        declarations: The provider YAML files by kind, relative to the folder.
    """

    path: Path
    author: str
    name: str
    version: str
    entrypoint: str
    permission: Permission
    declarations: dict[PluginKind, tuple[str, ...]]

    @classmethod
    def read(cls, path: Path | str) -> "PluginFolder":
        """Read a folder's manifest.

        Raises:
            PluginFolderError: If there is no folder, no manifest, or one without what starting needs.
        """
        folder = Path(path).absolute()
        if not folder.is_dir():
            raise PluginFolderError(folder, "no such folder; expected a Dify plugin folder")
        manifest = _parse_manifest(folder)
        return cls(
            path=folder,
            author=manifest.author,
            name=manifest.name,
            version=manifest.version,
            entrypoint=manifest.meta.runner.entrypoint,
            permission=manifest.resource.permission,
            declarations={
                "models": tuple(manifest.plugins.models),
                "agent_strategies": tuple(manifest.plugins.agent_strategies),
                "tools": tuple(manifest.plugins.tools),
            },
        )

    @property
    def python(self) -> str:
        """The interpreter that runs the plugin: its own environment's, else the host's."""
        own = self.path / ".venv" / "bin" / "python"
        return str(own) if own.exists() else sys.executable

    def read_yaml(self, relative: str) -> dict[str, Any]:
        """Read one of the folder's YAML files.

        Raises:
            PluginFolderError: If the file is missing, is not YAML or holds no mapping.
        """
        try:
            content: Any = yaml.safe_load((self.path / relative).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise PluginFolderError(self.path, f"expected a file {relative!r}") from None
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            reason = " ".join(str(error).split())
            raise PluginFolderError(self.path, f"{relative!r} cannot be read: {reason}") from None
        if not isinstance(content, dict):
            raise PluginFolderError(self.path, f"expected a mapping in {relative!r}")
        return content  # pyright: ignore[reportUnknownVariableType] - decoded YAML

    def providers(self, kind: PluginKind) -> Iterator[dict[str, Any]]:
        """Iterate over the contents of the provider YAML files of one kind."""
        return (self.read_yaml(relative) for relative in self.declarations[kind])


def _parse_manifest(folder: Path) -> _Manifest:
    try:
        content: Any = yaml.safe_load((folder / "manifest.yaml").read_text(encoding="utf-8"))
        return _Manifest.model_validate(content)
    except FileNotFoundError:
        raise PluginFolderError(folder, "expected a file 'manifest.yaml'") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise PluginFolderError(folder, f"manifest.yaml: {field!r}: {first['msg']}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise PluginFolderError(folder, f"manifest.yaml cannot be read: {reason}") from None
