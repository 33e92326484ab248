"""The requirement by which others install the host that is installed here."""

import json
from importlib.metadata import distribution
from urllib.parse import urlsplit

from dify_plugin_packager.json_access import JsonObject, object_at


_NAME = "dify-plugin-host"
_WITH_PYTEST = f"{_NAME}[pytest]"


def host_requirement() -> str:
    """Return the requirement for this host and pytest: its repository at its commit if it came from one, else its name on the index.

    Source: https://packaging.python.org/en/latest/specifications/direct-url/
    """
    origin: JsonObject = json.loads(distribution(_NAME).read_text("direct_url.json") or "{}")
    found = object_at(origin, "vcs_info")
    url = urlsplit(str(origin.get("url") or ""))
    if found.get("vcs") != "git" or url.scheme == "file":
        return _WITH_PYTEST
    # Whoever installed it with a password must not find it in a file.
    host = url.netloc if url.scheme == "ssh" else url.netloc.rpartition("@")[2]
    address = url._replace(netloc=host).geturl()
    folder = origin.get("subdirectory")
    where = f"#subdirectory={folder}" if folder else ""
    return f"{_WITH_PYTEST} @ git+{address}@{found['commit_id']}{where}"
