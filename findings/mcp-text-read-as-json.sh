#!/bin/sh
# One would expect that a tool whose schema says "a string or null" gets the string that it is sent. The MCP SDK's server reads
# a text as JSON first, wherever the parameter is not plainly `str`: under `str | None` the text "null" arrives as None, a text
# that is a JSON object or list is refused as "not a string", and a parameter without annotation, whose schema says `string`,
# gets a dict. So a tool that stores notes, code or JSON works until somebody makes its text optional. FastMCP's server hands
# every one of them on as it is.
# Seen on 2026-11-28 with mcp 2.3.0 and fastmcp 4.2.3.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" mcp==2.3.0 fastmcp==4.2.3
"$dir/venv/bin/python" - > "$dir/seen" <<'END'
import asyncio
import logging

import fastmcp
import mcp
from mcp.server import MCPServer

logging.disable()


def plain(note: str) -> str:
    return f"{type(note).__name__} {note}"


def optional(note: str | None = None) -> str:
    return f"{type(note).__name__} {note}"


def bare(note) -> str:
    return f"{type(note).__name__} {note}"


async def main() -> None:
    for name, server, client in (
        ("mcp", MCPServer("notes"), mcp.Client),
        ("fastmcp", fastmcp.FastMCP("notes"), fastmcp.Client),
    ):
        for function in (plain, optional, bare):
            server.tool()(function)
        keywords = {"raise_on_error": False} if name == "fastmcp" else {}
        async with client(server) as session:
            for tool in ("plain", "optional", "bare"):
                for text in ("null", '{"a": 1}'):
                    result = await session.call_tool(tool, {"note": text}, **keywords)
                    print(name, tool, text, "->", "refused" if result.is_error else result.content[0].text)


asyncio.run(main())
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
mcp plain null -> str null
mcp plain {"a": 1} -> str {"a": 1}
mcp optional null -> NoneType None
mcp optional {"a": 1} -> refused
mcp bare null -> NoneType None
mcp bare {"a": 1} -> dict {'a': 1}
fastmcp plain null -> str null
fastmcp plain {"a": 1} -> str {"a": 1}
fastmcp optional null -> str null
fastmcp optional {"a": 1} -> str {"a": 1}
fastmcp bare null -> str null
fastmcp bare {"a": 1} -> str {"a": 1}
END
