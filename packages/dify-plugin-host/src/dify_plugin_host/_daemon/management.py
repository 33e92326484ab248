"""The daemon's management API, for the plugins that are served.

Source: `internal/server/controllers`, `internal/service/manage_plugin.go` and `internal/types/models` of langgenius/dify-plugin-daemon at
bdb5642a, read 2026-11.
"""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._plugin.declarations import provider_contents
from dify_plugin_packager.go_types import (
    PAGE,
    PROVIDER,
    README,
    TYPES,
    read_declaration,
    read_query,
)
from dify_plugin_packager.json_access import JsonObject, object_at
from dify_plugin_packager.plugin import PluginFolder, build_identifier

from .envelope import failure, success


_SHAPES = {
    "agent_strategy": TYPES["plugin_entities.AgentStrategyProviderDeclaration"],
    "model": TYPES["plugin_entities.ModelProviderDeclaration"],
    "tool": TYPES["plugin_entities.ToolProviderDeclaration"],
}
# The kind of provider for each path; datasources and triggers are not served.
_LISTS = {
    "agent_strategies": "agent_strategy",
    "datasources": "datasource",
    "models": "model",
    "tools": "tool",
    "triggers": "trigger",
}
_SINGLES = ("agent_strategy", "datasource", "tool", "trigger")
_LANGUAGES = frozenset({"ja_JP", "pt_BR", "zh_Hans"})

PATHS = (*_LISTS, *_SINGLES, "list", "fetch/readme")
"""The paths below `/plugin/{tenant}/management/`."""


class Management:
    """The management API, in which every tenant has all plugins.

    Args:
        host: The plugins.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._started = datetime.now(UTC).isoformat()
        self._read = [_Plugin(process.folder, self._started) for process in host.plugins]

    async def answer(self, path: str, tenant_id: str, query: Mapping[str, str]) -> JsonObject:
        """Return the envelope of an answer about the plugins as they are now.

        Raises:
            ShapeError: If the query breaks a rule.
        """
        await self._refresh()
        if path == "fetch/readme":
            return self._show_readme(read_query(README, query))
        if path in _SINGLES:
            asked = read_query(PROVIDER, query)
            for entry in self._providers(path):
                if all(entry[key] == asked[key] for key in asked):
                    return success({**entry, "tenant_id": tenant_id})
            return failure("PluginNotFoundError", "plugin not found")
        asked = read_query(PAGE, query)
        first = (asked["page"] - 1) * asked["page_size"]
        page = slice(first, first + asked["page_size"])
        if path in _LISTS:
            listed = self._providers(_LISTS[path])[page]
            return success([{**entry, "tenant_id": tenant_id} for entry in listed])
        shown = [{**plugin.installation(), "tenant_id": tenant_id} for plugin in self._read]
        return success({"list": shown[page], "total": len(shown)})

    async def _refresh(self) -> None:
        await self._host.refresh()
        for number, process in enumerate(self._host.plugins):
            if process.folder is not self._read[number].folder:
                self._read[number] = _Plugin(process.folder, self._started)

    def _providers(self, kind: str) -> list[JsonObject]:
        found = (plugin.provider(kind) for plugin in self._read)
        return [entry for entry in found if entry]

    def _show_readme(self, asked: Mapping[str, Any]) -> JsonObject:
        for plugin in self._read:
            if plugin.identifier == asked["plugin_unique_identifier"]:
                return plugin.readme(asked["language"])
        problem = "failed to get readme from database: no such plugin"
        return failure("PluginDaemonInternalServerError", problem)


class _Plugin:
    """A plugin as the management API shows it."""

    def __init__(self, folder: PluginFolder, started: str) -> None:
        self.folder = folder
        self._id = f"{folder.author}/{folder.name}"
        self._manifest = folder.read_yaml("manifest.yaml")
        self._declarations = provider_contents(folder)
        # Only the form of a checksum: that of a package covers wheels and a lock as well.
        content = {"manifest.yaml": (folder.path / "manifest.yaml").read_bytes()}
        version = folder.version
        self.identifier = build_identifier(folder.author, folder.name, version, content)
        self._started = started

    def provider(self, kind: str) -> JsonObject | None:
        """Return the entry of the plugin's provider of a kind, if it has one."""
        if kind not in self._declarations:
            return None
        declared = self._declarations[kind]
        name = declared.get("provider") or object_at(declared, "identity").get("name")
        entry = {
            "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._id}/{name}")),
            "created_at": self._started,
            "updated_at": self._started,
            "tenant_id": "",
            "provider": name,
            "plugin_unique_identifier": self.identifier,
            "plugin_id": self._id,
            "declaration": read_declaration(_SHAPES[kind], declared),
        }
        if kind == "agent_strategy":
            entry["meta"] = read_declaration(
                TYPES["plugin_entities.PluginMeta"], self._manifest.get("meta")
            )
        return entry

    def installation(self) -> JsonObject:
        """Return the plugin's installation, with all its declarations."""
        plugin_uuid = str(uuid.uuid5(uuid.NAMESPACE_URL, self._id))
        created = {"created_at": str(self._manifest.get("created_at"))}
        declared = {**self._manifest, **created, **self._declarations}
        return {
            "id": plugin_uuid,
            "name": self.folder.name,
            "plugin_id": self._id,
            "tenant_id": "",
            "plugin_unique_identifier": self.identifier,
            "endpoints_active": 0,
            "endpoints_setups": 0,
            "installation_id": plugin_uuid,
            "declaration": read_declaration(TYPES["plugin_entities.PluginDeclaration"], declared),
            "runtime_type": "local",
            "version": self.folder.version,
            "created_at": self._started,
            "updated_at": self._started,
            "source": "",
            "checksum": self.identifier.partition("@")[2],
            "meta": {},
        }

    def readme(self, language: str) -> JsonObject:
        """Return the plugin's README in a language, or else in English."""
        files = {"en_US": "README.md"}
        if language in _LANGUAGES:
            files = {language: f"readme/README_{language}.md", **files}
        for shown, relative in files.items():
            if (path := self.folder.path / relative).is_file():
                return success({"content": path.read_text(encoding="utf-8"), "language": shown})
        problem = "no readme content available for this plugin"
        return failure("PluginDaemonNotFoundError", problem)
