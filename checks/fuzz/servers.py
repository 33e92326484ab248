"""Servers as processes, and what holds for any answer of theirs."""

import os
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx


SECRET = "Sesame0penHidden"
# All servers here speak plain HTTP, and to read the machine's certificates costs a client more than a few requests do.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Server:
    """A server's process, what it logs, and a client of it."""

    def __init__(self, pid: int, log: Path, **client: Any) -> None:
        self.pid = pid
        self._settings = client
        self._client = self.client()
        self._log = log

    def client(self) -> httpx.Client:
        """Return another client."""
        return httpx.Client(**self._settings, trust_env=False, verify=_NO_CERTIFICATES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._client.close()

    @property
    def log(self) -> str:
        """What it has logged."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Ask, and hold what holds for any answer."""
        try:
            response = self._client.request(method, path, **request)
        except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeEncodeError):
            return httpx.Response(400, json={})  # no client could ask so
        log = self.log
        assert "Traceback" not in log, log[-3_000:]
        # The plugin SDK sends the trace of an error along, and the daemon hands it on; ours is nobody's business.
        assert "/dify_plugin_host/" not in response.text, response.text
        assert SECRET not in log, log[-3_000:]
        assert response.status_code != 500 or response.json().get("code"), response.text
        if response.status_code >= 400:
            assert SECRET not in response.text
            assert response.headers["content-type"].endswith(("json", "utf-8")), response.text
        return response


@contextmanager
def running(
    folder: Path, command: list[str], *, patience: float = 10, **environment: str
) -> Iterator[Server]:
    """Run a server until the tests are over; an answer that takes longer than the patience, in seconds, is a finding."""
    log = folder / f"{command[0]}.log"
    binary = Path(sys.executable).with_name(command[0])
    with (
        log.open("w") as told,
        subprocess.Popen(
            [binary, *command[1:]],
            cwd=folder,
            env={**os.environ, "HOME": str(folder), **environment},
            stdout=told,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            base_url = _wait_for(process, log, r"http://127[.\d:]+")
            headers = {}
            if "--json" in command:
                headers["x-api-key"] = _wait_for(process, log, r'"api_key": "(.*?)"')
            server = Server(process.pid, log, base_url=base_url, headers=headers, timeout=patience)
            with server:
                yield server
        finally:
            process.terminate()


def _wait_for(process: subprocess.Popen[bytes], log: Path, pattern: str) -> str:
    """Return what a server tells of itself once it serves."""
    while not (found := re.search(pattern, log.read_text())):
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    return found[found.re.groups]
