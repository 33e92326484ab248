"""A plugin folder: its manifest and its YAML files, read without starting it."""

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dify_plugin_packager._errors import PluginFolderError
from dify_plugin_packager.json_access import JsonObject, is_list, is_object, list_at, object_at
from dify_plugin_packager.yaml_documents import load_yaml

from ._go_types.yaml_declarations import MANIFEST, read_yaml_declaration


type PluginKind = Literal[
    "models", "tools", "agent_strategies", "endpoints", "datasources", "triggers"
]
"""A kind of provider, by the manifest's name."""


# Without these no plugin can be started and called.
_NEEDED = ("author", "name", "version", "plugins", "meta.runner.entrypoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFolder:
    """A plugin folder.

    Attributes:
        path: The folder, absolute.
        manifest: Its manifest, as the daemon decodes it: a missing value is None or has no key.
    """

    path: Path
    manifest: JsonObject

    @classmethod
    def read(cls, path: Path | str) -> "PluginFolder":
        """Read a folder's manifest.

        Raises:
            PluginFolderError: If there is no folder or no manifest, or the manifest lacks a field that starting needs.
        """
        folder = Path(path).absolute()
        if not folder.is_dir():
            raise PluginFolderError(folder, "no such folder; expected a Dify plugin folder")
        decode = functools.partial(read_yaml_declaration, kind=MANIFEST)
        manifest: JsonObject = _read(folder, "manifest.yaml", decode) or {}
        for field in _NEEDED:
            *outer, key = field.split(".")
            if object_at(manifest, *outer).get(key) is None:
                raise PluginFolderError(folder, f"manifest.yaml: {field!r}: expected a value")
        return cls(path=folder, manifest=manifest)

    @property
    def author(self) -> str:
        """The plugin's author."""
        return self.manifest["author"]

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.manifest["name"]

    @property
    def version(self) -> str:
        """The plugin's version."""
        return self.manifest["version"]

    @property
    def entrypoint(self) -> str:
        """The module that starts the plugin."""
        return self.manifest["meta"]["runner"]["entrypoint"]

    @property
    def permission(self) -> JsonObject:
        """The permissions that the manifest asks for."""
        return object_at(self.manifest, "resource", "permission")

    @property
    def python(self) -> str:
        """The interpreter that runs the plugin: that of its own environment, else the host's."""
        own = self.path / ".venv" / "bin" / "python"
        return str(own) if own.exists() else sys.executable

    @property
    def setup_command(self) -> str:
        """The command that installs, in the folder, what the plugin asks for into its own environment."""
        names = ("pyproject.toml", "requirements.txt", ".venv")
        is_project, has_list, is_there = ((self.path / name).exists() for name in names)
        if is_project or not has_list:
            return "uv sync"
        installing = "uv pip install -r requirements.txt"
        return installing if is_there else f"uv venv --python 3.12 && {installing}"

    def has(self, kind: PluginKind) -> bool:
        """Tell whether the plugin declares anything of a kind."""
        return bool(self._provider_files(kind))

    def providers(self, kind: PluginKind) -> Iterator[JsonObject]:
        """Iterate over the contents of the provider YAML files of one kind."""
        return map(self.read_yaml, self._provider_files(kind))

    def _provider_files(self, kind: PluginKind) -> list[str]:
        return list_at(self.manifest["plugins"], kind)

    def read_yaml(self, relative: str) -> JsonObject:
        """Return the mapping that one of the folder's YAML files holds.

        Raises:
            PluginFolderError: If the file is missing, is not YAML or does not hold a mapping.
        """
        content = _read(self.path, relative, load_yaml)
        if not is_object(content):
            raise PluginFolderError(self.path, f"expected a mapping in {relative!r}")
        return content

    def read_names(self, relative: str) -> list[str]:
        """Return the list of names that one of the folder's YAML files holds.

        Raises:
            PluginFolderError: If the file is missing, is not YAML or does not hold a list.
        """
        content = _read(self.path, relative, load_yaml)
        if not is_list(content):
            raise PluginFolderError(self.path, f"expected a list in {relative!r}")
        return [str(name) for name in content]


def _read(folder: Path, relative: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse((folder / relative).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PluginFolderError(folder, f"expected a file {relative!r}") from None
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise PluginFolderError(folder, f"{relative!r} cannot be read: {reason}") from None
