"""What Dify asks of the daemon: to install plugins, and to call them.

Source: `internal/server/http_server.go` and its controllers in langgenius/dify-plugin-daemon at bdb5642a.
"""

import contextlib
import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from servers import wait_until


type Json = dict[str, Any]

_SECONDS = 120


class DaemonError(RuntimeError):
    """An answer of the daemon that is an error; its text is the message, which may be JSON within JSON."""


@dataclass
class DaemonClient:
    """One tenant of a daemon, real or ours."""

    base_url: str
    api_key: str
    tenant: str = field(default_factory=lambda: str(uuid4()))

    def install(self, package: Path) -> str:
        """Install a package, and return its unique identifier when the daemon says that it is done."""
        identifier = self.upload(package)
        body = {"plugin_unique_identifiers": [identifier], "source": "package", "metas": [{}]}
        self._wait_installed(self.manage("POST", "install/identifiers", json=body))
        return identifier

    def upgrade(self, old: str, package: Path) -> str:
        """Install a package in the place of an older one, and return its unique identifier."""
        new = self.upload(package)
        body = {"original_plugin_unique_identifier": old, "new_plugin_unique_identifier": new}
        self._wait_installed(
            self.manage("POST", "install/upgrade", json={**body, "source": "package", "meta": {}})
        )
        return new

    def upload(self, package: Path) -> str:
        """Upload a package, and return its unique identifier."""
        files = {"dify_pkg": (package.name, package.read_bytes())}
        uploaded = self.manage(
            "POST", "install/upload/package", files=files, data={"verify_signature": "false"}
        )
        return uploaded["unique_identifier"]

    def debugging_key(self) -> str:
        """Return the key with which plugins are debugged in this tenant."""
        return self.manage("POST", "../debugging/key")["key"]

    def manage(self, method: str, path: str, **options: Any) -> Any:
        """Call a route of management, and return its data.

        Raises:
            DaemonError: If it answers with another code than 0.
        """
        url = f"{self.base_url}/plugin/{self.tenant}/management/{path}"
        with self._http() as http:
            answer = http.request(method, url, **options).json()
        if answer["code"]:
            raise DaemonError(answer["message"])
        return answer["data"]

    def call(self, plugin: str, action: str, data: Json, **body: Any) -> Iterator[Json]:
        """Call a plugin (`author/name`), and iterate over the data of the answer's frames.

        Raises:
            DaemonError: If the answer, or one of its frames, is an error, while iterating.
        """
        for frame in self.frames(plugin, action, {"user_id": "user", "data": data, **body}):
            if frame["code"]:
                raise DaemonError(frame["message"])
            yield frame["data"]

    def frames(self, plugin: str, action: str, body: Json) -> Iterator[Json]:
        """Send a body to a route of dispatch, and iterate over the answer's frames."""
        url = f"{self.base_url}/plugin/{self.tenant}/dispatch/{action}"
        headers = {"X-Plugin-ID": plugin, "Content-Type": "application/json"}
        request = {"headers": headers, "content": json.dumps(body)}
        with self._http() as http, http.stream("POST", url, **request) as answer:
            if not answer.headers["content-type"].startswith("text/event-stream"):
                yield json.loads(answer.read())
                return
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def _wait_installed(self, started: Json) -> None:
        def is_done() -> bool:
            if started["all_installed"]:
                return True
            task = self.manage("GET", f"install/tasks/{started['task_id']}")
            failed = [plugin for plugin in task["plugins"] if plugin["status"] == "failed"]
            if failed:
                raise DaemonError(failed[0]["message"])
            return task["status"] == "success"

        wait_until(is_done, "the installation", _SECONDS)

    @contextlib.contextmanager
    def _http(self) -> Generator[httpx.Client]:
        headers = {"X-Api-Key": self.api_key}
        with httpx.Client(timeout=_SECONDS, headers=headers, trust_env=False) as http:
            yield http
