"""What a package holds, read the way the checks need it: as decoded YAML and TOML, by the path in the archive."""

import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

import yaml

from dify_plugin_host._errors import PluginHostError
from dify_plugin_host._json import JsonObject, is_object, list_at, object_at


type ProviderKind = Literal["models", "agent_strategies", "tools"]

_SAFE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ContentError(PluginHostError):
    """A file of a package that cannot be read."""


class Contents:
    """The files of a package, decoded when they are asked for.

    Args:
        files: The content of each, by its path.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    @property
    def manifest(self) -> JsonObject:
        """The content of manifest.yaml."""
        return self.mapping("manifest.yaml")

    @property
    def pyproject(self) -> JsonObject:
        """The content of pyproject.toml."""
        return self.toml("pyproject.toml")

    @property
    def wheels(self) -> list[str]:
        """The paths of the bundled wheels."""
        return [path for path in self.files if path.endswith(".whl")]

    def providers(self, kind: ProviderKind) -> Iterator[tuple[str, JsonObject]]:
        """Iterate over path and content of the provider files of one kind."""
        for path in list_at(object_at(self.manifest, "plugins"), kind):
            yield str(path), self.mapping(str(path))

    def models(self) -> Iterator[tuple[str, JsonObject]]:
        """Iterate over path and content of the predefined models' files."""
        for _, provider in self.providers("models"):
            for declared in object_at(provider, "models").values():
                for path in self.matching(list_at(declared, "predefined")):
                    yield path, self.mapping(path)

    def strategies(self) -> Iterator[tuple[str, JsonObject]]:
        """Iterate over path and content of the agent strategies' files."""
        for _, provider in self.providers("agent_strategies"):
            for path in list_at(provider, "strategies"):
                yield str(path), self.mapping(str(path))

    def tools(self) -> Iterator[tuple[str, JsonObject]]:
        """Iterate over path and content of the tools' files."""
        for _, provider in self.providers("tools"):
            for path in list_at(provider, "tools"):
                yield str(path), self.mapping(str(path))

    def matching(self, patterns: list[Any]) -> list[str]:
        """Return the paths that a pattern matches, folder by folder, position files left out."""
        return [
            path
            for path in self.files
            if not path.endswith("_position.yaml")
            and any(_matches(path, str(pattern)) for pattern in patterns)
        ]

    def text(self, path: str) -> str:
        """Return the text of a file.

        Raises:
            ContentError: If it is missing or no UTF-8.
        """
        if path not in self.files:
            raise ContentError(f"expected a file {path!r}")
        try:
            return self.files[path].decode()
        except UnicodeDecodeError:
            raise ContentError(f"{path}: expected UTF-8 text") from None

    def yaml(self, path: str) -> Any:
        """Return the content of a YAML file.

        Raises:
            ContentError: If it cannot be read.
        """
        try:
            return yaml.load(self.text(path), Loader=_UniqueKeyLoader)  # noqa: S506 - a safe loader
        except yaml.YAMLError as error:
            reason = " ".join(str(error).split())
            raise ContentError(f"{path}: expected YAML: {reason}") from None

    def mapping(self, path: str) -> JsonObject:
        """Return the mapping that a YAML file holds.

        Raises:
            ContentError: If it cannot be read or holds something else.
        """
        content = self.yaml(path)
        if not is_object(content):
            raise ContentError(f"{path}: expected a mapping")
        return content

    def toml(self, path: str) -> JsonObject:
        """Return the content of a TOML file.

        Raises:
            ContentError: If it cannot be read.
        """
        try:
            return tomllib.loads(self.text(path))
        except tomllib.TOMLDecodeError as error:
            raise ContentError(f"{path}: expected TOML: {error}") from None


class _UniqueKeyLoader(_SAFE_LOADER):
    """A loader that refuses a key which stands twice in a mapping: Python would take the last one, Go refuses the file."""


def _construct_mapping(loader: Any, node: Any) -> Any:
    keys = [key.value for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(
                problem=f"the key {key!r} appears twice", problem_mark=node.start_mark
            )
    return loader.construct_mapping(node, deep=True)


_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)  # pyright: ignore[reportUnknownMemberType] - chosen at run time


def _matches(path: str, pattern: str) -> bool:
    """Tell whether the daemon's globbing matches: a star never crosses a folder."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))
