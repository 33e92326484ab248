#!/bin/sh
# A server of MCP may give its tools in pages: an answer to `tools/list` with `nextCursor` has more behind it. One would expect that
# whoever collects the tools for an agent asks on. openai-agents and langchain do. Google's ADK, LlamaIndex, Haystack, Semantic
# Kernel and the adapter of crewai-tools take the first page for all of it, without a warning: the model never hears of the other
# tools, and which are missing depends on the server's page size. The session of the MCP SDK itself gives one page for each call.
# Behind a server with many tools, compare the count, or have the server give them in one page.
# Seen on 2026-11-29 with mcp 2.3.0, openai-agents 0.24.0, google-adk 2.13.0, llama-index-tools-mcp 0.6.0 and
# mcp-haystack 2.1.1; and, with mcp 1.30.0, langchain-mcp-adapters 0.3.2, semantic-kernel 1.45.0 and crewai-tools 1.15.30.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" mcp==2.3.0 openai-agents==0.24.0 openai==3.57.0 \
  "google-adk[mcp]==2.13.0" llama-index-core==0.14.25 llama-index-tools-mcp==0.6.0 haystack-ai==3.4.1 mcp-haystack==2.1.1
uv venv --quiet --python 3.12 "$dir/older"
uv pip install --quiet --python "$dir/older/bin/python" mcp==1.30.0 langchain-mcp-adapters==0.3.2 semantic-kernel==1.45.0 \
  crewai==1.15.30 crewai-tools==1.15.30 mcpadapt==0.1.20
cat > "$dir/pages.py" <<'END'
import asyncio

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import ListToolsResult, PaginatedRequestParams, Tool


async def list_tools(_: object, params: PaginatedRequestParams | None) -> ListToolsResult:
    names = {None: ("read", "2"), "2": ("write", "3"), "3": ("remove", None)}
    name, following = names[params.cursor if params else None]
    tool = Tool(name=name, description=f"{name} a file".capitalize(), input_schema={"type": "object", "properties": {}})
    return ListToolsResult(tools=[tool], next_cursor=following)


async def main() -> None:
    server = Server("files", on_list_tools=list_tools)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


asyncio.run(main())
END
cat > "$dir/newer.py" <<'END'
import asyncio
import logging
import sys

from agents.mcp import MCPServerStdio
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from mcp import StdioServerParameters

logging.disable()
COMMAND, *ARGS = sys.argv[1:]
SERVER = StdioServerParameters(command=COMMAND, args=ARGS)


async def main() -> None:
    async with MCPServerStdio(params={"command": COMMAND, "args": ARGS}, client_session_timeout_seconds=60) as server:
        print("openai-agents", *(tool.name for tool in await server.list_tools()))
    toolset = McpToolset(connection_params=StdioConnectionParams(server_params=SERVER, timeout=60))
    print("google-adk", *(tool.name for tool in await toolset.get_tools()))
    await toolset.close()
    specification = McpToolSpec(client=BasicMCPClient(COMMAND, args=ARGS, timeout=60))
    print("llama-index", *(tool.metadata.name for tool in await specification.to_tool_list_async()))


asyncio.run(main())
haystack = MCPToolset(StdioServerInfo(command=COMMAND, args=ARGS), connection_timeout=60, eager_connect=True)
print("haystack", *(tool.name for tool in haystack))
haystack.close()
END
cat > "$dir/older.py" <<'END'
import asyncio
import logging
import sys

from crewai_tools import MCPServerAdapter
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp import StdioServerParameters
from semantic_kernel import Kernel
from semantic_kernel.connectors.mcp import MCPStdioPlugin

logging.disable()
COMMAND, *ARGS = sys.argv[1:]


async def main() -> None:
    client = MultiServerMCPClient({"files": {"transport": "stdio", "command": COMMAND, "args": ARGS}})
    print("langchain", *(tool.name for tool in await client.get_tools()))
    async with MCPStdioPlugin(name="files", command=COMMAND, args=ARGS) as plugin:
        print("semantic-kernel", *Kernel().add_plugin(plugin).functions)


asyncio.run(main())
with MCPServerAdapter(StdioServerParameters(command=COMMAND, args=ARGS), connect_timeout=60) as tools:
    print("crewai-tools", *(tool.name for tool in tools))
END
export CREWAI_DISABLE_TELEMETRY=true OTEL_SDK_DISABLED=true
"$dir/venv/bin/python" "$dir/newer.py" "$dir/venv/bin/python" "$dir/pages.py" > "$dir/seen" 2> "$dir/errors" || cat "$dir/errors" >&2
"$dir/older/bin/python" "$dir/older.py" "$dir/venv/bin/python" "$dir/pages.py" >> "$dir/seen" 2> "$dir/errors" || cat "$dir/errors" >&2
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
openai-agents read write remove
google-adk read
llama-index read
haystack read
langchain read write remove
semantic-kernel read
crewai-tools read
END
