"""The daemon's management API, for the plugins that are served.

Source: `internal/server/controllers` and `internal/service` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11, and its answers in
`tests/exchanges`.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_packager.declarations import TYPES, Struct
from dify_plugin_packager.json_access import JsonObject

from .envelope import RefusalError
from .installed import CATEGORIES, InstalledPlugin
from .tenants import Tenants


# The kind of provider for each path; datasources and triggers are not served.
_LISTS = {
    "agent_strategies": "agent_strategy",
    "datasources": "datasource",
    "models": "model",
    "tools": "tool",
    "triggers": "trigger",
}
_SINGLES = ("agent_strategy", "datasource", "tool", "trigger")
_OF_CATEGORY, _IDS, _BINDINGS = "{category}/list", "installation/ids", "models/bindings"
# What Dify asks since daemon 0.6.10, with the type of the query.
_NEWER: Mapping[str, Struct] = {
    _OF_CATEGORY: TYPES["controllers.listPluginsByCategoryRequest"],
    _IDS: TYPES["controllers.listInstalledPluginIDsRequest"],
    _BINDINGS: TYPES["_.Nothing"],
}
_BOUND = ("plugin_id", "plugin_unique_identifier", "runtime_type", "source", "version")
_NO_PACKAGE = "plugin package not found, please upload it firstly"
# What is told of a package that is not there, whoever asks.
_UNKNOWN: Mapping[str, tuple[str, str]] = {
    "decode/from_identifier": ("PluginDaemonBadRequestError", _NO_PACKAGE),
    "fetch/manifest": ("PluginDaemonBadRequestError", "plugin not found"),
    "fetch/readme": (
        "PluginDaemonInternalServerError",
        f"failed to get readme from database: {_NO_PACKAGE}",
    ),
}

QUERIES: Mapping[str, Struct] = {
    **dict.fromkeys((*_LISTS, "list"), TYPES["_.Page"]),
    **dict.fromkeys(_SINGLES, TYPES["_.Provider"]),
    "decode/from_identifier": TYPES["_.Identifier"],
    "fetch/identifier": TYPES["_.Identifier"],
    "fetch/manifest": TYPES["_.Identifier"],
    "fetch/readme": TYPES["_.Readme"],
    **_NEWER,
}
"""The paths below `/plugin/{tenant}/management/` that are asked by GET, with the type of the query."""

BODIES: Mapping[str, Struct] = {
    "installation/fetch/batch": TYPES["_.PluginIDs"],
    "installation/missing": TYPES["_.Dependencies"],
    "tools/check_existence": TYPES["_.ToolProviders"],
}
"""Those that are asked by POST, with the type of the body."""


class Management:
    """The management API.

    Args:
        host: The plugins.
        tenants: Who has them.
    """

    def __init__(self, host: PluginHost, tenants: Tenants) -> None:
        self._host = host
        self._tenants = tenants
        self._started = datetime.now(UTC).isoformat()
        self._plugins = [InstalledPlugin(one.folder, self._started) for one in host.plugins]

    async def answer(self, path: str, tenant_id: str, asked: JsonObject) -> Any:
        """Return the data of an answer about the plugins as they are now.

        Raises:
            RefusalError: If the daemon would refuse it.
        """
        await self._refresh()
        if path in _NEWER:
            return self._answer_newer(path, tenant_id, asked)
        if "plugin_unique_identifier" in asked:
            return self._tell_of_package(path, asked)
        if path in BODIES:
            return self._look_up(path, tenant_id, asked)
        if path in _SINGLES:
            return self._find_provider(path, tenant_id, asked)
        first = (asked["page"] - 1) * asked["page_size"]
        page = slice(first, first + asked["page_size"])
        if path in _LISTS:
            return self._providers(_LISTS[path], tenant_id)[page]
        shown = self._listed(tenant_id, self._installed(tenant_id))
        return {"list": shown[page], "total": len(shown)}

    async def find_icon(self, asset_id: str) -> bytes | None:
        """Return the icon with an id, whoever asks; None if there is none."""
        await self._refresh()
        found = (plugin.icons.get(asset_id) for plugin in self._plugins)
        return next((icon for icon in found if icon is not None), None)

    async def extract(self, asked: JsonObject) -> bytes:
        """Return a file among a package's assets, whoever asks; nothing if the package has no such file.

        Raises:
            RefusalError: If there is no such package.
        """
        await self._refresh()
        plugin = self._find_package(asked)
        if plugin is None:
            raise RefusalError("PluginDaemonInternalServerError", _NO_PACKAGE, status=500)
        return plugin.asset(asked["file_path"]) or b""

    async def _refresh(self) -> None:
        await self._host.refresh()
        for number, process in enumerate(self._host.plugins):
            if process.folder is not self._plugins[number].folder:
                self._plugins[number] = InstalledPlugin(process.folder, self._started)

    def _find_package(self, asked: JsonObject) -> InstalledPlugin | None:
        wanted = asked["plugin_unique_identifier"]
        return next((one for one in self._plugins if one.identifier == wanted), None)

    def _tell_of_package(self, path: str, asked: JsonObject) -> Any:
        plugin = self._find_package(asked)
        if path == "fetch/identifier":
            return plugin is not None
        if plugin is None:
            raise RefusalError(*_UNKNOWN[path])
        if path == "fetch/readme":
            return plugin.readme(asked["language"])
        if path == "fetch/manifest":
            return plugin.declaration
        return {
            "manifest": plugin.decoded,
            "unique_identifier": plugin.identifier,
            "verification": None,
        }

    def _answer_newer(self, path: str, tenant_id: str, asked: JsonObject) -> Any:
        if path == _BINDINGS:
            return self._bindings(tenant_id)
        category = asked["category"]
        if category not in CATEGORIES:
            raise RefusalError("PluginDaemonBadRequestError", "invalid plugin category")
        installed = self._installed(tenant_id)
        if path == _IDS:
            found = [one.id for one in reversed(installed) if category in one.categories]
            return {"plugin_ids": found}
        fitting = [one for one in installed if one.categories[0] == category and one.fits(asked)]
        size = asked["page_size"]
        rest = self._listed(tenant_id, fitting)[(asked["page"] - 1) * size :]
        return {"list": rest[:size], "has_more": len(rest) > size}

    def _bindings(self, tenant_id: str) -> list[JsonObject]:
        """Return which plugin's installation serves each provider of models."""
        return [
            {
                "provider": one["declaration"]["model"]["provider"],
                "installation_id": one["id"],
                **{key: one[key] for key in _BOUND},
                "verified": one["declaration"]["verified"],
            }
            for one in reversed(self._installations(tenant_id))
            if "model" in one["declaration"]
        ]

    def _listed(self, tenant_id: str, plugins: Sequence[InstalledPlugin]) -> list[JsonObject]:
        """Return the entries of plugins in a list, the one that was installed last first."""
        written = self._tenants.written(tenant_id)
        installations = [plugin.installation(written) for plugin in reversed(plugins)]
        return [
            {**one, "name": one["declaration"]["name"], "installation_id": one["id"]}
            for one in installations
        ]

    def _look_up(self, path: str, tenant_id: str, asked: JsonObject) -> list[Any]:
        if path == "tools/check_existence":
            tools = self._providers("tool", tenant_id)
            known = {(one["plugin_id"], one["provider"]) for one in tools}
            wanted = asked["provider_ids"]
            return [(one["plugin_id"], one["provider_name"]) in known for one in wanted]
        # An empty question is answered before anybody looks for the tenant.
        (wanted,) = asked.values()
        there = {one["plugin_id"]: one for one in self._installations(tenant_id)} if wanted else {}
        if path == "installation/fetch/batch":
            return [one for plugin_id, one in there.items() if plugin_id in wanted]
        current = {name: one["plugin_unique_identifier"] for name, one in there.items()}
        return [
            {
                "plugin_unique_identifier": identifier,
                "current_identifier": current.get(identifier.partition(":")[0], ""),
            }
            for identifier in wanted
            if identifier not in current.values()
        ]

    def _find_provider(self, kind: str, tenant_id: str, asked: JsonObject) -> JsonObject:
        for entry in self._providers(kind, tenant_id):
            if all(entry[key] == asked[key] for key in asked):
                return entry
        if kind == "datasource":
            raise RefusalError("PluginDaemonInternalServerError", "record not found")
        raise RefusalError("PluginNotFoundError", "plugin not found")

    def _installed(self, tenant_id: str) -> list[InstalledPlugin]:
        return self._plugins if self._tenants.has_plugins(tenant_id) else []

    def _installations(self, tenant_id: str) -> list[JsonObject]:
        written = self._tenants.written(tenant_id)
        return [plugin.installation(written) for plugin in self._installed(tenant_id)]

    def _providers(self, kind: str, tenant_id: str) -> list[JsonObject]:
        written = self._tenants.written(tenant_id)
        found = [plugin.provider(kind, written) for plugin in self._installed(tenant_id)]
        return [entry for entry in found if entry]
