"""Temporal's own server, with SQLite in a file, on loopback."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode


PROGRAM = os.environ.get("TEMPORAL_SERVER", "")
"""The program, which `nox -s temporal` builds from its Go module."""

_SERVICES = ("frontend", "matching", "history", "worker")


class TemporalServer:
    """A server that can be killed and started again.

    Args:
        folder: Folder for its configuration and its database.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = _find_ports(2 * len(_SERVICES))
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "temporal.yaml").write_text(json.dumps(self._configuration()))
        (folder / "dynamic.yaml").write_text("{}")

    @property
    def target(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._ports[0]}"

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def stored_bytes(self) -> int:
        """How large its database is, with its log."""
        return sum(one.stat().st_size for one in self._folder.glob("temporal.sqlite*"))

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "temporal.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(PROGRAM, "--config-file", str(self._folder / "temporal.yaml")),
                    *("--allow-no-auth", "start"),
                ],
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )
        asyncio.run(_until_serving(self.target))

    def kill(self) -> None:
        """Kill it with everything that it had in memory."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def create(self, namespace: str) -> str:
        """Create a namespace, and return the URL of an engine there."""
        asyncio.run(_create(self.target, namespace))
        return f"temporal://{self.target}/{namespace}"

    def _configuration(self) -> dict[str, object]:
        rpc, membership = self._ports[: len(_SERVICES)], self._ports[len(_SERVICES) :]
        store = {
            "sql": {
                "pluginName": "sqlite",
                "databaseName": str(self._folder / "temporal.sqlite"),
                "connectAddr": "localhost",
                "connectProtocol": "tcp",
                "connectAttributes": {
                    "cache": "private",
                    "setup": "true",
                    "journal_mode": "wal",
                    "synchronous": "2",
                },
                "maxConns": 1,
                "maxIdleConns": 1,
            }
        }
        return {
            "log": {"stdout": True, "level": "error"},
            "persistence": {
                "defaultStore": "default",
                "visibilityStore": "visibility",
                "numHistoryShards": 1,
                "datastores": {"default": store, "visibility": store},
            },
            "global": {"membership": {"maxJoinDuration": "30s", "broadcastAddress": "127.0.0.1"}},
            "services": {
                name: {
                    "rpc": {
                        "grpcPort": rpc[index],
                        "membershipPort": membership[index],
                        "bindOnLocalHost": True,
                    }
                }
                for index, name in enumerate(_SERVICES)
            },
            "clusterMetadata": {
                "enableGlobalNamespace": False,
                "failoverVersionIncrement": 10,
                "masterClusterName": "active",
                "currentClusterName": "active",
                "clusterInformation": {
                    "active": {
                        "enabled": True,
                        "initialFailoverVersion": 1,
                        "rpcName": "frontend",
                        "rpcAddress": self.target,
                    }
                },
            },
            "dcRedirectionPolicy": {"policy": "noop"},
            "dynamicConfigClient": {
                "filepath": str(self._folder / "dynamic.yaml"),
                "pollInterval": "10s",
            },
        }


def serving() -> Generator[TemporalServer]:
    """Yield a server in a folder of its own, and end it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = TemporalServer(Path(folder))
        server.start()
        yield server
        server.kill()


async def _until_serving(target: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            client = await Client.connect(target, namespace="temporal-system")
            await client.count_workflows("")
        except (RPCError, RuntimeError):
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)
        else:
            return


async def _create(target: str, namespace: str) -> None:
    client = await Client.connect(target, namespace="temporal-system")
    request = RegisterNamespaceRequest(namespace=namespace)
    request.workflow_execution_retention_period.FromTimedelta(timedelta(days=1))
    await client.workflow_service.register_namespace(request)
    there = await Client.connect(target, namespace=namespace)
    # Its services read the list of namespaces every few seconds.
    while True:
        try:
            await there.get_workflow_handle("none").describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND and "namespace" not in str(error).lower():
                return
        await asyncio.sleep(0.1)


def _find_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
