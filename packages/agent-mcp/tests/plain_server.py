"""A server as people write them with the SDK, over standard input and output, or over HTTP where a port is named."""

import asyncio
import base64
import sys
from dataclasses import dataclass
from pathlib import Path

from mcp.server.mcpserver import Context, Image, MCPServer


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
)
server = MCPServer("plain")


@dataclass
class Weather:
    city: str
    degrees: float


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def weather(city: str) -> Weather:
    """Tell the weather."""
    return Weather(city, 21.5)


@server.tool(structured_output=False)
def picture() -> list[str | Image]:
    """Draw a picture."""
    return ["A dot:", Image(data=PNG, format="png")]


@server.tool()
def letters() -> list[str]:
    """Tell two letters."""
    return ["a", "b"]


@server.tool()
def fail(reason: str) -> str:
    """Fail."""
    raise ValueError(reason)


@server.tool()
async def wait(seconds: float, note: str) -> str:
    """Wait, and note when it begins and when it is cancelled."""
    Path(note).write_text("begun", encoding="utf-8")  # noqa: ASYNC240 - it is short
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        Path(note).write_text("cancelled", encoding="utf-8")  # noqa: ASYNC240 - it is short
        raise
    return "waited"


@server.tool()
async def count(context: Context) -> str:
    """Count to three."""
    for number in (1, 2, 3):
        await context.report_progress(number, 3, f"at {number}")
    return "three"


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
