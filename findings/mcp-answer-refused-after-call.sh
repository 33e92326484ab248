#!/bin/sh
# An MCP tool may have an output schema. One would expect that a client which cannot use the schema says so when it lists the tools,
# or gives the answer unchecked. The MCP SDK's client, and FastMCP's on top of it, looks at it only once the tool has
# answered: a bound as JSON Schema's draft 4 and OpenAPI 3.0 write it (`exclusiveMinimum: true`) fails every call, each after the server
# has carried it out. The model of an agent hears of an error and may ask again: here two refunds are made, and none is reported
# by openai-agents; Pydantic AI ends its run after the first. A client can compile the schemas with the list, a server name its `$schema`.
# Seen on 2026-11-28 with mcp 2.3.0, fastmcp 4.2.3, pydantic-ai-slim 2.68.0, openai-agents 0.24.0 and openai 3.57.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" mcp==2.3.0 fastmcp==4.2.3 "pydantic-ai-slim[mcp,openai]==2.68.0" \
  openai-agents==0.24.0 openai==3.57.0
cat > "$dir/shop.py" <<'END'
import asyncio
import sys
from pathlib import Path

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

SCHEMA = {"type": "object", "properties": {"cents": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}}}


async def list_tools(*_: object) -> types.ListToolsResult:
    tool = types.Tool(name="refund", input_schema={"type": "object"}, output_schema=SCHEMA)
    return types.ListToolsResult(tools=[tool])


async def call_tool(*_: object) -> types.CallToolResult:
    with Path(sys.argv[1]).open("a", encoding="utf-8") as refunds:
        refunds.write("500\n")
    text = types.TextContent(type="text", text='{"cents": 500}')
    return types.CallToolResult(content=[text], structured_content={"cents": 500})


async def main() -> None:
    server = Server("shop", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
END
cat > "$dir/clients.py" <<'END'
import asyncio
import json
import logging
import sys
from pathlib import Path

import httpx2
from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from fastmcp import Client as FastMCPClient
from fastmcp.client.transports import StdioTransport
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticModel
from pydantic_ai.providers.openai import OpenAIProvider

logging.disable()
set_tracing_disabled(True)
REFUNDS = Path(sys.argv[1])
SERVER = {"command": sys.executable, "args": [sys.argv[2], str(REFUNDS)]}


def connect() -> AsyncOpenAI:
    """A model that asks again after an error, once."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        results = [item for item in json.loads(request.content)["input"] if item.get("type") == "function_call_output"]
        is_error = "cents" not in str(results[-1]["output"]) if results else True
        number = len(results) + 1
        if is_error and number < 3:
            output = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "refund", "arguments": "{}"}
        else:
            text = "No refund could be made." if is_error else "Refunded."
            content = [{"type": "output_text", "text": text, "annotations": []}]
            output = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        response = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed"}
        return httpx2.Response(
            200, json={**response, "output": [output], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        )

    return AsyncOpenAI(api_key="k", http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))


async def mcp() -> str:
    async with Client(stdio_client(StdioServerParameters(**SERVER))) as client:
        await client.list_tools()
        try:
            return str((await client.call_tool("refund", {})).structured_content)
        except RuntimeError as error:
            return f"RuntimeError: {str(error).splitlines()[0]}"


async def fastmcp() -> str:
    async with FastMCPClient(StdioTransport(**SERVER)) as client:
        await client.list_tools()
        return str((await client.call_tool("refund", {})).structured_content)


async def pydantic_ai() -> str:
    model = PydanticModel("gpt-5", provider=OpenAIProvider(openai_client=connect()))
    toolset = MCPToolset(StdioTransport(**SERVER), init_timeout=60)
    return (await PydanticAgent(model, toolsets=[toolset]).run("Refund it")).output


async def openai_agents() -> str:
    async with MCPServerStdio(params=SERVER, client_session_timeout_seconds=60) as server:
        agent = Agent(name="a", model=OpenAIResponsesModel("gpt-5", connect()), mcp_servers=[server])
        return (await Runner.run(agent, "Refund it")).final_output


for client in (mcp, fastmcp, pydantic_ai, openai_agents):
    REFUNDS.write_text("", encoding="utf-8")
    try:
        end = asyncio.run(client())
    except Exception as error:
        end = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    print(f"{client.__name__}: {end} [refunds made: {len(REFUNDS.read_text(encoding='utf-8').splitlines())}]")
END
"$dir/venv/bin/python" "$dir/clients.py" "$dir/refunds" "$dir/shop.py" > "$dir/seen"
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
mcp: RuntimeError: Invalid schema for tool refund: True is not of type 'number' [refunds made: 1]
fastmcp: RuntimeError: Invalid schema for tool refund: True is not of type 'number' [refunds made: 1]
pydantic_ai: RuntimeError: Invalid schema for tool refund: True is not of type 'number' [refunds made: 1]
openai_agents: No refund could be made. [refunds made: 2]
END
