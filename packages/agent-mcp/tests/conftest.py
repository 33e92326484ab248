import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_mcp import McpServers, Progress, StdioServer
from agent_tooling import Tool, ToolOutput


HERE = Path(__file__).parent
# The tests speak plain HTTP. To read the machine's certificates costs a client more than its request.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(HERE)
PLAIN = [sys.executable, str(HERE / "plain_server.py")]


def hostile(how: str, *more: object, **settings: Any) -> StdioServer:
    """The server that does what no server should, in one of its ways."""
    command = [sys.executable, str(HERE / "hostile_server.py"), how, *map(str, more)]
    return StdioServer("bad", command, **settings)


def find(servers: McpServers, name: str) -> Tool:
    return next(tool for tool in servers.tools if tool.name == name)


def call(servers: McpServers, name: str, /, **args: object) -> ToolOutput:
    """Call a tool as a run does, after its arguments were checked."""
    return asyncio.run(find(servers, name).ainvoke(args))


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="session")
def heard() -> list[Progress]:
    """What `plain` has told of progress."""
    return []


@pytest.fixture(scope="session")
def plain(heard: list[Progress]) -> Iterator[McpServers]:
    """A server as people write them, with a hearer that fails."""

    def hear(progress: Progress) -> None:
        heard.append(progress)
        raise RuntimeError("a bug of the hearer's")

    with McpServers(StdioServer("plain", PLAIN, timeout=60), on_progress=hear) as servers:
        yield servers
