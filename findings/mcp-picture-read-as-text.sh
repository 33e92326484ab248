#!/bin/sh
# A tool of MCP may answer with a picture between texts. One would expect that an agent hands the picture to its model as a picture, or
# refuses it. openai-agents and langchain hand it on. LlamaIndex gives the model Python's `repr` of the whole result, and Haystack its
# JSON, both with the picture's base64 as text: a screenshot of 300 kB is 400,000 letters in which no
# model can see anything. The adapter of crewai-tools leaves the picture out and gives the `repr` of a list of the texts, so that the
# model reads of a picture that it was never shown. With these, have tools of pictures answer with a link, or convert the result yourself.
# Seen on 2026-11-29 with mcp 2.3.0, openai-agents 0.24.0, llama-index-tools-mcp 0.6.0 and mcp-haystack 2.1.1; and, with mcp 1.30.0,
# langchain-mcp-adapters 0.3.2 and crewai-tools 1.15.30.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" mcp==2.3.0 openai-agents==0.24.0 openai==3.57.0 \
  llama-index-core==0.14.25 llama-index-tools-mcp==0.6.0 haystack-ai==3.4.1 mcp-haystack==2.1.1
uv venv --quiet --python 3.12 "$dir/older"
uv pip install --quiet --python "$dir/older/bin/python" mcp==1.30.0 langchain-mcp-adapters==0.3.2 \
  crewai==1.15.30 crewai-tools==1.15.30 mcpadapt==0.1.20
cat > "$dir/camera.py" <<'END'
import base64
import struct
import zlib

from mcp.server import MCPServer
from mcp.types import CallToolResult, ImageContent, TextContent


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


HEAD = chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0))
PICTURE = b"\x89PNG\r\n\x1a\n" + HEAD + chunk(b"IDAT", zlib.compress((b"\0" + b"\x30\x60\x90" * 4) * 4)) + chunk(b"IEND", b"")
server = MCPServer("camera")


@server.tool()
def look() -> CallToolResult:
    """Look through the camera."""
    picture = ImageContent(type="image", data=base64.b64encode(PICTURE).decode(), mime_type="image/png")
    texts = [TextContent(type="text", text=text) for text in ("At noon:", "Nobody is there.")]
    return CallToolResult(content=[texts[0], picture, texts[1]])


server.run("stdio")
END
cat > "$dir/showing.py" <<'END'
# The base64 of any PNG begins with these letters.
import re


def show(client: str, output: object) -> None:
    text = re.sub(r"iVBORw0KGgo[A-Za-z0-9+/=]+", "BASE64", output) if isinstance(output, str) else None
    print(client, "gives", type(output).__name__, text or [part["type"] for part in output])
END
cat > "$dir/newer.py" <<'END'
import asyncio
import logging
import sys

from agents import RunContextWrapper
from agents.mcp import MCPServerStdio
from agents.mcp.util import MCPUtil
from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from showing import show

logging.disable()
COMMAND, *ARGS = sys.argv[1:]


async def main() -> None:
    async with MCPServerStdio(params={"command": COMMAND, "args": ARGS}, client_session_timeout_seconds=60) as server:
        [tool] = await server.list_tools()
        show("openai-agents", await MCPUtil.invoke_mcp_tool(server, tool, RunContextWrapper(None), "{}"))
    [tool] = await McpToolSpec(client=BasicMCPClient(COMMAND, args=ARGS, timeout=60)).to_tool_list_async()
    show("llama-index", (await tool.acall()).content)


asyncio.run(main())
haystack = MCPToolset(StdioServerInfo(command=COMMAND, args=ARGS), connection_timeout=60, eager_connect=True)
[tool] = haystack
show("haystack", tool.invoke())
haystack.close()
END
cat > "$dir/older.py" <<'END'
import asyncio
import logging
import sys

from crewai_tools import MCPServerAdapter
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp import StdioServerParameters
from showing import show

logging.disable()
COMMAND, *ARGS = sys.argv[1:]


async def main() -> None:
    client = MultiServerMCPClient({"camera": {"transport": "stdio", "command": COMMAND, "args": ARGS}})
    [tool] = await client.get_tools()
    show("langchain", (await tool.ainvoke({"type": "tool_call", "id": "call_1", "name": "look", "args": {}})).content)


asyncio.run(main())
with MCPServerAdapter(StdioServerParameters(command=COMMAND, args=ARGS), connect_timeout=60) as tools:
    [tool] = tools
    show("crewai-tools", tool.run())
END
export CREWAI_DISABLE_TELEMETRY=true OTEL_SDK_DISABLED=true
"$dir/venv/bin/python" "$dir/newer.py" "$dir/venv/bin/python" "$dir/camera.py" > "$dir/seen" 2> "$dir/errors" || cat "$dir/errors" >&2
"$dir/older/bin/python" "$dir/older.py" "$dir/venv/bin/python" "$dir/camera.py" >> "$dir/seen" 2> "$dir/errors" || cat "$dir/errors" >&2
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
openai-agents gives list ['text', 'image', 'text']
llama-index gives str meta=None content=[TextContent(type='text', text='At noon:', annotations=None, meta=None), ImageContent(type='image', data='BASE64', mime_type='image/png', annotations=None, meta=None), TextContent(type='text', text='Nobody is there.', annotations=None, meta=None)] structured_content=None is_error=False result_type='complete'
haystack gives str {"_meta":null,"content":[{"type":"text","text":"At noon:","annotations":null,"_meta":null},{"type":"image","data":"BASE64","mimeType":"image/png","annotations":null,"_meta":null},{"type":"text","text":"Nobody is there.","annotations":null,"_meta":null}],"structuredContent":null,"isError":false,"resultType":"complete"}
langchain gives list ['text', 'image', 'text']
crewai-tools gives str ['At noon:', 'Nobody is there.']
END
