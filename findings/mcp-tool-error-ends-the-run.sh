#!/bin/sh
# An MCP tool that fails answers with `isError` and a text, so that the model can try something else. One would expect that a
# second failure is told to the model as the first one was. With Pydantic AI it ends the whole run: an error of a tool counts
# as the model's fault and may be made good once, also if the arguments were right and differ each time. openai-agents goes on,
# but hands the text on as any other output: that it is an error reaches the model only if the text itself says so. So the same
# server ends one agent and may fool the other. Raise the toolset's `max_retries`, and write "error" into texts of errors.
# Seen on 2026-11-28 with mcp 2.3.0, fastmcp 4.2.3, pydantic-ai-slim 2.68.0, openai-agents 0.24.0 and openai 3.57.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" mcp==2.3.0 fastmcp==4.2.3 "pydantic-ai-slim[mcp,openai]==2.68.0" \
  openai-agents==0.24.0 openai==3.57.0
cat > "$dir/files.py" <<'END'
import logging

from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent

logging.disable()
server = MCPServer("files")


@server.tool()
def read(name: str) -> CallToolResult:
    """Read a file."""
    return CallToolResult(is_error=True, content=[TextContent(type="text", text=f"{name} is a folder")])


server.run("stdio")
END
cat > "$dir/clients.py" <<'END'
import asyncio
import json
import logging
import sys

import httpx2
from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from fastmcp.client.transports import StdioTransport
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticModel
from pydantic_ai.providers.openai import OpenAIProvider

logging.disable()
set_tracing_disabled(True)
SERVER = {"command": sys.executable, "args": sys.argv[1:]}


def connect(name: str) -> AsyncOpenAI:
    def answer(request: httpx2.Request) -> httpx2.Response:
        results = [item for item in json.loads(request.content)["input"] if item.get("type") == "function_call_output"]
        for item in results[-1:]:
            print(name, "tells the model", item["output"])
        number = len(results) + 1
        arguments = json.dumps({"name": f"{number}.txt"})
        output = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "read", "arguments": arguments}
        if number == 3:
            text = {"type": "output_text", "text": "Both are folders.", "annotations": []}
            output = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
        response = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed"}
        return httpx2.Response(
            200, json={**response, "output": [output], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        )

    return AsyncOpenAI(api_key="k", http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))


async def main() -> None:
    model = PydanticModel("gpt-5", provider=OpenAIProvider(openai_client=connect("pydantic-ai")))
    try:
        toolset = MCPToolset(StdioTransport(**SERVER), init_timeout=60)
        await PydanticAgent(model, toolsets=[toolset]).run("What do they say?")
    except UnexpectedModelBehavior as error:
        print("pydantic-ai ends with", str(error).split(".")[0])
    async with MCPServerStdio(params=SERVER, client_session_timeout_seconds=60) as server:
        agent = Agent(name="a", model=OpenAIResponsesModel("gpt-5", connect("openai-agents")), mcp_servers=[server])
        print("openai-agents ends with", (await Runner.run(agent, "What do they say?")).final_output)


asyncio.run(main())
END
"$dir/venv/bin/python" "$dir/clients.py" "$dir/files.py" > "$dir/seen"
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
pydantic-ai tells the model {"error":"1.txt is a folder"}
pydantic-ai ends with Tool 'read' exceeded max retries count of 1
openai-agents tells the model [{'type': 'input_text', 'text': '1.txt is a folder'}]
openai-agents tells the model [{'type': 'input_text', 'text': '2.txt is a folder'}]
openai-agents ends with Both are folders.
END
