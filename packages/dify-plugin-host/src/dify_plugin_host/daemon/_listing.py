"""What the daemon's management API tells of the tools of its plugins.

Source: `ListTools` in `internal/service/manage_plugin.go` and `internal/types/models` of langgenius/dify-plugin-daemon at bdb5642a, read
2026-11.
"""

import uuid
from datetime import UTC, datetime

from dify_plugin_host._json import JsonObject
from dify_plugin_host.platform import PluginHost
from dify_plugin_host.plugin import ToolProvider, build_identifier


class ToolListing:
    """The tool providers, as installed in every tenant that is asked for.

    Args:
        host: The plugins.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._started = datetime.now(UTC).isoformat()

    async def entries(self, tenant_id: str) -> list[JsonObject]:
        """Return one object for every tool provider, with its declaration as it is now."""
        await self._host.refresh()
        return [
            {**_entry(provider, self._started), "tenant_id": tenant_id}
            for provider in self._host.tool_providers
        ]


def _entry(provider: ToolProvider, started: str) -> JsonObject:
    folder = provider.folder
    plugin_id = f"{folder.author}/{folder.name}"
    # Of a checksum it has the form alone: the one of a package goes over wheels and a lock as well.
    manifest = {"manifest.yaml": (folder.path / "manifest.yaml").read_bytes()}
    version = folder.manifest.version
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{plugin_id}/{provider.name}")),
        "created_at": started,
        "updated_at": started,
        "provider": provider.name,
        "plugin_unique_identifier": build_identifier(folder.author, folder.name, version, manifest),
        "plugin_id": plugin_id,
        "declaration": provider.declaration,
    }
