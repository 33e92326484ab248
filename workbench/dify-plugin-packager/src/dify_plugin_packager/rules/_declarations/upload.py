"""The daemon's steps at an upload: it decodes the declarations, builds the identifier and looks for the icons.

Source: `pkg/plugin_packager/decoder/helper.go`, `internal/core/plugin_manager/` and `pkg/entities/plugin_entities/` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11; its verdicts in `tests/rules/verdicts.json`.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dify_plugin_packager.declarations import (
    KINDS,
    MANIFEST,
    POSITIONS,
    DeclarationError,
    GoType,
    build_identifier,
    is_identifier,
    read_yaml_declaration,
)
from dify_plugin_packager.json_access import JsonObject, list_at, object_at
from dify_plugin_packager.packaging import ContentError, Contents
from dify_plugin_packager.rules._names import find_author_problem, find_name_problem


type Stage = Literal["manifest.yaml", "unique identifier", "providers", "declarations", "icons"]

_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}(-\w{1,16})?", re.ASCII)
_MODEL_ICONS = ("icon_small", "icon_large", "icon_small_dark", "icon_large_dark")


@dataclass(frozen=True, slots=True)
class Declared:
    """A file of declarations that the daemon can read.

    Attributes:
        kind: The key under `plugins` in the manifest that leads to it.
        role: The role of its declaration; an item is a tool, a strategy or an endpoint.
        path: Its path.
    """

    kind: str
    role: Literal["provider", "item", "model", "position"]
    path: str


class Upload:
    """An upload of a package to the daemon, with the daemon's reasons for refusing it.

    Args:
        contents: The files of the package.

    Attributes:
        declared: The declarations that the daemon reads, in its order.
        manifest: The content of manifest.yaml as it decodes it; None if it cannot be read.
        problems: Its reasons for refusing the package, by stage.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.declared: list[Declared] = []
        self.problems: dict[Stage, list[str]] = {}
        self.manifest: JsonObject | None = None
        if "manifest.yaml" not in contents.files:
            self._refuse("manifest.yaml", "expected a file 'manifest.yaml'")
            return
        self.manifest = self._read("manifest.yaml", "manifest.yaml", MANIFEST)
        if self.manifest is not None:
            self._play(self.manifest)

    def _play(self, manifest: JsonObject) -> None:
        providers: dict[str, JsonObject | None] = {
            key: manifest.get(key) for key, _, _ in KINDS.values()
        }
        for kind, (key, provider_type, item_type) in KINDS.items():
            for path in list_at(object_at(manifest, "plugins"), kind):
                where = f"manifest.yaml: 'plugins.{kind}'"
                declared = Declared(kind, "provider", path)
                found = self._declare("providers", declared, provider_type, named_by=where)
                # Of several files of a kind the last one counts.
                provider = providers[key] = {**(found or {}), "path": path}
                self._read_items(kind, path, provider, item_type)
        self._refuse("manifest.yaml", *_iter_manifest_problems(manifest, providers))
        identifier = build_identifier(*_names(manifest), self._contents.files)
        if not is_identifier(identifier):
            problem = f"expected author/name:version@checksum, got {identifier!r}"
            self._refuse("unique identifier", problem)
        for field, icon in _iter_icons(manifest, providers):
            if icon and f"_assets/{icon}" not in self._contents.files:
                self._refuse("icons", f"{field}: expected a file '_assets/{icon}'")

    def _read_items(self, kind: str, path: str, provider: JsonObject, item_type: GoType) -> None:
        """Read the files that a provider names, and store their contents under `items`."""
        declare = functools.partial(self._declare, "declarations")
        provider["items"] = [
            (named, declare(Declared(kind, "item", named), item_type, named_by=path))
            for named in provider.get("files", ())
        ]
        for key, position in provider.get("positions", {}).items():
            where = f"{path}: 'models.{key}.position'"
            declare(Declared(kind, "position", position), POSITIONS, named_by=where)
        for pattern in provider.get("patterns", ()):
            try:
                found = self._contents.matching(pattern)
            except ContentError as error:
                self._refuse("providers", f"{path}: 'models': predefined: {error}")
            else:
                for model in found:
                    declare(Declared(kind, "model", model), item_type, named_by=path)

    def _declare(self, stage: Stage, declared: Declared, wanted: GoType, *, named_by: str) -> Any:
        if declared.path not in self._contents.files:
            return self._refuse(stage, f"{named_by}: expected a file {declared.path!r}")
        found = self._read(stage, declared.path, wanted)
        if found is not None:
            self.declared.append(declared)
        return found

    def _read(self, stage: Stage, path: str, wanted: GoType) -> Any:
        """Return the content of a file; note a problem and return None if the daemon cannot read it."""
        try:
            return read_yaml_declaration(self._contents.files[path], wanted) or {}
        except DeclarationError as error:
            self._refuse(stage, *(f"{path}: {problem}" for problem in error.problems))
            return None

    def _refuse(self, stage: Stage, *problems: str) -> None:
        self.problems.setdefault(stage, []).extend(problems)


def _names(manifest: JsonObject) -> tuple[str, str, str]:
    author, name, version = (str(manifest.get(key) or "") for key in ("author", "name", "version"))
    return author, name, version


def _iter_manifest_problems(
    manifest: JsonObject, declared: Mapping[str, JsonObject | None]
) -> Iterator[str]:
    author, name, version = _names(manifest)
    if problem := find_author_problem(author):
        yield f"manifest.yaml: 'author': {problem}"
    if problem := find_name_problem(name):
        yield f"manifest.yaml: 'name': {problem}"
    if not _VERSION.fullmatch(version):
        yield f"manifest.yaml: 'version': expected a version such as 1.2.3, got {version!r:.80}"
    kinds = [key for key, provider in declared.items() if provider is not None]
    if not kinds:
        yield "manifest.yaml: 'plugins': expected at least one provider"
    if len(kinds) > 1 and set(kinds) != {"tool", "endpoint"}:
        yield f"manifest.yaml: 'plugins': expected one kind of provider, got {' and '.join(kinds)}"


def _iter_icons(
    manifest: JsonObject, providers: Mapping[str, JsonObject | None]
) -> Iterator[tuple[str, str]]:
    """Yield the fields that name an icon, each with its file in `_assets`; an empty name means no icon."""
    for key, declared in providers.items():
        provider = declared or {}
        path = str(provider.get("path", "manifest.yaml"))
        if key == "model":
            for field in _MODEL_ICONS:
                for language, icon in object_at(provider, field).items():
                    yield f"{path}: {field}.{language}", icon or ""
        else:
            yield from _icons_of(f"{path}: identity.", object_at(provider, "identity"))
        if key == "datasource":
            for named, item in list_at(provider, "items"):
                yield from _icons_of(f"{named}: identity.", object_at(item or {}, "identity"))
    yield from _icons_of("manifest.yaml: ", manifest)


def _icons_of(prefix: str, names: JsonObject) -> Iterator[tuple[str, str]]:
    for key in ("icon", "icon_dark"):
        yield f"{prefix}{key}", names.get(key) or ""
