"""A plugin as the daemon shows it once it is installed: its declarations, in which ids stand for icons, its assets and its README.

Source: `internal/core/plugin_manager`, `internal/service` and `internal/types/models` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11,
and its answers in `tests/exchanges`.
"""

import hashlib
import re
import uuid
from collections.abc import Callable, Mapping, Sequence

from dify_plugin_host._plugin.declarations import provider_contents
from dify_plugin_packager.declarations import (
    TYPES,
    PluginFolder,
    build_identifier,
    read_declaration,
)
from dify_plugin_packager.json_access import JsonObject, object_at, objects_at

from .envelope import RefusalError


_ICONS = ("icon", "icon_dark")
_MODEL_ICONS = ("icon_small", "icon_large", "icon_small_dark", "icon_large_dark")
# In the order in which the daemon looks for the one of a plugin with several kinds of providers.
_KINDS = ("tool", "model", "datasource", "agent_strategy", "trigger")
_EXTENSION = "extension"
CATEGORIES = (*(kind.replace("_", "-") for kind in _KINDS), _EXTENSION)
"""The categories of plugins."""

_LANGUAGES = frozenset({"ja_JP", "pt_BR", "zh_Hans"})
_NO_TIME = "0001-01-01T00:00:00Z"
# What Go does not write in a time: a zone of zero, and the zeros at the end of a fraction of a second.
_UTC = re.compile(r"[+-]00:00\Z")
_ZEROS = re.compile(r"(?:\.0+|(\.\d*[1-9])0+)(?=(?:Z|[+-]\d\d:\d\d)\Z)")


class InstalledPlugin:
    """A plugin as the management API shows it.

    Args:
        folder: The plugin.
        installed: When it was installed, in ISO 8601.

    Attributes:
        folder: The plugin.
        id: Its id, `author/name`.
        identifier: Its unique identifier.
        decoded: All its declarations as they stand in its files.
        declaration: The same with ids in place of icons.
        icons: The contents of its icons by their ids.
    """

    def __init__(self, folder: PluginFolder, installed: str) -> None:
        self.folder = folder
        self.id = f"{folder.author}/{folder.name}"
        # Only the form of a checksum: that of a package covers wheels and a lock as well.
        content = {"manifest.yaml": (folder.path / "manifest.yaml").read_bytes()}
        version = folder.version
        self.identifier = build_identifier(folder.author, folder.name, version, content)
        self.decoded = _decode(folder)
        self.icons: dict[str, bytes] = {}
        self.declaration = _with_icons(self.decoded, self._add_icon)
        self._installed = installed

    @property
    def categories(self) -> tuple[str, ...]:
        """Its categories; it is listed in the first one."""
        found = zip(CATEGORIES, _KINDS, strict=False)
        return tuple(one for one, kind in found if kind in self.declaration) or (_EXTENSION,)

    def fits(self, asked: JsonObject) -> bool:
        """Tell whether it has one of the tags of a question, and its text in the id, the name, the label or the description."""
        declared, language = self.declaration, asked["language"] or "en_US"
        if asked["tags"] and not set(asked["tags"]) & set(declared["tags"]):
            return False
        texts = (declared["label"], declared["description"])
        shown = [text.get(language) or text["en_US"] for text in texts]
        places = (self.id, declared["name"], *shown)
        return any(asked["query"].lower() in place.lower() for place in places)

    def provider(self, kind: str, tenant_id: str) -> JsonObject | None:
        """Return the entry of the plugin's provider of a kind for a tenant, if it has one."""
        if kind not in self.declaration:
            return None
        declared = self.declaration[kind]
        name = declared.get("provider") or object_at(declared, "identity").get("name")
        entry = {
            "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.id}/{name}")),
            "created_at": self._installed,
            "updated_at": self._installed,
            "tenant_id": tenant_id,
            "provider": name,
            "plugin_unique_identifier": self.identifier,
            "plugin_id": self.id,
            "declaration": declared,
        }
        return {**entry, "meta": self.declaration["meta"]} if kind == "agent_strategy" else entry

    def installation(self, tenant_id: str) -> JsonObject:
        """Return the plugin's installation for a tenant, with all its declarations."""
        return {
            "id": str(uuid.uuid5(uuid.NAMESPACE_URL, self.id)),
            "created_at": self._installed,
            "updated_at": self._installed,
            "tenant_id": tenant_id,
            "plugin_id": self.id,
            "plugin_unique_identifier": self.identifier,
            "runtime_type": "local",
            "endpoints_setups": 0,
            "endpoints_active": 0,
            "source": "package",
            "meta": {},
            "version": self.folder.version,
            "checksum": self.identifier.partition("@")[2],
            "declaration": self.declaration,
        }

    def readme(self, language: str) -> JsonObject:
        """Return the plugin's README in a language, or else in English.

        Raises:
            RefusalError: If it has none.
        """
        files = {"en_US": "README.md"}
        if language in _LANGUAGES:
            files = {language: f"readme/README_{language}.md", **files}
        for shown, relative in files.items():
            if (path := self.folder.path / relative).is_file():
                return {"content": path.read_text(encoding="utf-8"), "language": shown}
        problem = "no readme content available for this plugin"
        raise RefusalError("PluginDaemonNotFoundError", problem)

    def asset(self, path: str) -> bytes | None:
        """Return a file of the folder of assets by its path there; None if there is none."""
        assets = self.folder.path / "_assets"
        # Looked for among what is there, so that no path leads out of the folder.
        for found in assets.rglob("*"):
            if found.relative_to(assets).as_posix() == path and found.is_file():
                return found.read_bytes()
        return None

    def _add_icon(self, name: str) -> str:
        """Return the id of an icon; the name itself if there is no such file, with which the daemon would refuse the package."""
        content = self.asset(name)
        if content is None:
            return name
        _, dot, extension = name.rpartition("/")[2].rpartition(".")
        checksum = hashlib.sha256(content + name.encode()).hexdigest()
        asset_id = f"{checksum}.{extension}" if dot else checksum
        self.icons[asset_id] = content
        return asset_id


def _decode(folder: PluginFolder) -> JsonObject:
    """Return all of a plugin's declarations as the daemon decodes them."""
    created: str = folder.manifest.get("created_at") or _NO_TIME
    # Only a signature verifies a plugin, whatever its manifest says.
    own = {"created_at": _ZEROS.sub(r"\1", _UTC.sub("Z", created)), "verified": False}
    declared = {**folder.manifest, **own, **provider_contents(folder)}
    found = read_declaration(TYPES["plugin_entities.PluginDeclaration"], declared)
    _fill_in(found)
    return found


def _fill_in(declared: JsonObject) -> None:
    """Put an empty list in the place of each null for which the daemon does so."""
    owners = [(declared, "tags")]
    if strategies := declared.get("agent_strategy"):
        owners.append((strategies["identity"], "tags"))
    for schema in ("provider_credential_schema", "model_credential_schema"):
        for field in objects_at(object_at(declared, "model", schema), "credential_form_schemas"):
            owners += [(field, "options"), (field, "show_on")]
            owners += [(option, "show_on") for option in objects_at(field, "options")]
    for owner, key in owners:
        owner[key] = owner[key] or []


def _with_icons(declared: JsonObject, remap: Callable[[str], str]) -> JsonObject:
    """Return declarations with their icons' names replaced."""
    shown = _replaced(declared, _ICONS, remap)
    for kind in ("tool", "agent_strategy"):
        if provider := declared.get(kind):
            shown[kind] = {**provider, "identity": _replaced(provider["identity"], _ICONS, remap)}
    if model := declared.get("model"):
        texts = {field: model[field] for field in _MODEL_ICONS if model[field]}
        shown["model"] = {
            **model,
            **{field: _replaced(names, tuple(names), remap) for field, names in texts.items()},
        }
    return shown


def _replaced(
    names: Mapping[str, str], fields: Sequence[str], remap: Callable[[str], str]
) -> JsonObject:
    return {**names, **{field: remap(names[field]) for field in fields if names[field]}}
