"""Credentials of indexes: found where people write them, used only for their host, and kept out of packages."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from dify_plugin_packager.json_access import JsonObject, object_at, objects_at


_WITH_CREDENTIALS = re.compile(r"\bhttps?://(?P<credentials>[^\s/@\"']+)@(?P<host>[^\s/\"',;]+)")
_INDEX_VARIABLES = (
    *("UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"),
)
_DISTINCT_LENGTH = 12  # of a password that no other text contains by chance


class Credentials:
    """The credentials in a plugin's files and in this process's environment.

    Args:
        texts: The files that say what to install.
        pyproject: The content of pyproject.toml; empty if there is none.
    """

    def __init__(self, texts: Iterable[str], pyproject: JsonObject) -> None:
        written = [os.path.expandvars(text) for text in texts]
        settings = (os.environ.get(name, "") for name in _INDEX_VARIABLES)
        self._by_host: dict[str, str] = dict(_named_credentials(pyproject, os.environ))
        self._secrets: set[bytes] = set()
        for text in (*settings, *written):
            for match in _WITH_CREDENTIALS.finditer(text):
                self._by_host[match["host"]] = match["credentials"]
        for credentials in self._by_host.values():
            user, _, password = credentials.partition(":")
            # A file may have it escaped, as in a URL, or as it is.
            alone = {password or user, unquote(password or user)}
            distinct = {secret for secret in alone if len(secret) >= _DISTINCT_LENGTH}
            self._secrets |= {secret.encode() for secret in (f"{credentials}@", *distinct)}

    def add_to(self, url: str) -> str:
        """Return a URL with the credentials of its host, if they are known and it has none of its own."""
        parts = urlsplit(url)
        credentials = self._by_host.get(parts.netloc)
        if credentials is None:
            return url
        return urlunsplit(parts._replace(netloc=f"{credentials}@{parts.netloc}"))

    def are_in(self, content: bytes) -> bool:
        """Tell whether a file holds one of them."""
        return any(secret in content for secret in self._secrets)


def _named_credentials(
    pyproject: JsonObject, environment: Mapping[str, str]
) -> Iterable[tuple[str, str]]:
    """Yield host and credentials of each index for which uv's environment variables have any, by its name."""
    table: Any = object_at(pyproject, "tool", "uv")
    for index in objects_at(table, "index"):
        name = re.sub(r"[^A-Z0-9]", "_", str(index.get("name", "")).upper())
        user = environment.get(f"UV_INDEX_{name}_USERNAME", "")
        password = environment.get(f"UV_INDEX_{name}_PASSWORD", "")
        if user or password:
            yield urlsplit(str(index.get("url", ""))).netloc, f"{user}:{password}"
