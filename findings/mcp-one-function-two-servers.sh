#!/bin/sh
# One would expect that a function becomes the same tool under the MCP SDK's server and under FastMCP's, and that the model is
# told the same. A `list[str]` is one content block per string in the one and JSON in one block in the other; a bare `dict` has
# no structured content in the one; an argument that the tool does not know is dropped by the one and refused by the other; and
# where the annotation lies, the one answers with an error, while the other sends a result that breaks its own schema: clients
# refuse it, and a run of Pydantic AI ends. What the model reads depends on the client, too: an empty list and None have no
# content, of which openai-agents makes "[]" and Pydantic AI "", so "none found", "done" and an empty text look the same.
# Seen on 2026-11-28 with mcp 2.3.0, fastmcp 4.2.3, openai-agents 0.24.0, pydantic-ai-slim 2.68.0 and openai 3.57.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" mcp==2.3.0 fastmcp==4.2.3 openai-agents==0.24.0 \
  "pydantic-ai-slim[mcp,openai]==2.68.0" openai==3.57.0
cat > "$dir/tools.py" <<'END'
import logging
import sys

from fastmcp import FastMCP
from mcp.server import MCPServer

logging.disable()


def names() -> list[str]:
    return ["Ann", "Bob"]


def facts() -> dict:
    return {"cats": 2}


def lie() -> int:
    return "two"


def nobody() -> list[str]:
    return []


def nothing() -> None:
    pass


def blank() -> str:
    return ""


TOOLS = (names, facts, lie, nobody, nothing, blank)


def serve(kind: str) -> MCPServer | FastMCP:
    server = {"mcp": MCPServer, "fastmcp": FastMCP}[kind](kind)
    for function in TOOLS:
        server.tool()(function)
    return server


if __name__ == "__main__":
    serve(sys.argv[1]).run("stdio", **({"show_banner": False} if sys.argv[1] == "fastmcp" else {}))
END
cat > "$dir/clients.py" <<'END'
import asyncio
import json
import logging
import sys

import agents
import fastmcp
import httpx2
import mcp
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticModel
from pydantic_ai.providers.openai import OpenAIProvider
from tools import TOOLS, serve

logging.disable()
agents.set_tracing_disabled(True)


def connect(client: str, tool: str) -> AsyncOpenAI:
    """Connect to a model that calls a tool once, and tell what it reads of it."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        items = json.loads(request.content)["input"]
        output = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool, "arguments": "{}"}
        if items[-1].get("type") == "function_call_output":
            told = items[-1]["output"]
            print(f"  {client} tells the model", repr(told) if isinstance(told, str) else [part["text"] for part in told])
            content = [{"type": "output_text", "text": "Fine.", "annotations": []}]
            output = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed"}
        return httpx2.Response(
            200, json={**response, "output": [output], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        )

    return AsyncOpenAI(api_key="k", http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))


async def call(kind: str, tool: str, arguments: dict) -> str:
    keywords = {"raise_on_error": False} if kind == "fastmcp" else {}
    async with {"mcp": mcp.Client, "fastmcp": fastmcp.Client}[kind](serve(kind)) as session:
        try:
            result = await session.call_tool(tool, arguments, **keywords)
        except RuntimeError as error:
            return f"refused by the client: {str(error).split(':')[0]}"
    content = [block.text.replace("\n", "").replace(" ", "") for block in result.content]
    return "error" if result.is_error else f"content {content}, structured {result.structured_content}"


async def main() -> None:
    for kind in ("mcp", "fastmcp"):
        params = {"command": sys.executable, "args": ["-W", "ignore", sys.argv[1], kind]}
        print(f"{kind}: facts with an unknown argument:", await call(kind, "facts", {"of": "Rome"}))
        async with MCPServerStdio(params=params, client_session_timeout_seconds=60) as server:
            for function in TOOLS:
                tool = function.__name__
                print(f"{kind}: {tool}:", await call(kind, tool, {}))
                model = agents.OpenAIResponsesModel("gpt-5", connect("openai-agents", tool))
                await agents.Runner.run(agents.Agent(name="a", model=model, mcp_servers=[server]), "Tell!")
                model = PydanticModel("gpt-5", provider=OpenAIProvider(openai_client=connect("pydantic-ai", tool)))
                try:
                    await PydanticAgent(model, toolsets=[MCPToolset(serve(kind))]).run("Tell!")
                except Exception as error:
                    print("  pydantic-ai ends with", type(error).__name__)


asyncio.run(main())
END
"$dir/venv/bin/python" -W ignore "$dir/clients.py" "$dir/tools.py" > "$dir/seen"
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
mcp: facts with an unknown argument: content ['{"cats":2}'], structured None
mcp: names: content ['Ann', 'Bob'], structured {'result': ['Ann', 'Bob']}
  openai-agents tells the model ['Ann', 'Bob']
  pydantic-ai tells the model '["Ann","Bob"]'
mcp: facts: content ['{"cats":2}'], structured None
  openai-agents tells the model ['{\n  "cats": 2\n}']
  pydantic-ai tells the model '{"cats":2}'
mcp: lie: error
  openai-agents tells the model ['Error executing tool lie']
  pydantic-ai tells the model '{"error":"Error executing tool lie"}'
mcp: nobody: content [], structured {'result': []}
  openai-agents tells the model '[]'
  pydantic-ai tells the model ''
mcp: nothing: content [], structured {'result': None}
  openai-agents tells the model '[]'
  pydantic-ai tells the model ''
mcp: blank: content [''], structured {'result': ''}
  openai-agents tells the model ['']
  pydantic-ai tells the model ''
fastmcp: facts with an unknown argument: error
fastmcp: names: content ['["Ann","Bob"]'], structured {'result': ['Ann', 'Bob']}
  openai-agents tells the model ['["Ann","Bob"]']
  pydantic-ai tells the model '["Ann","Bob"]'
fastmcp: facts: content ['{"cats":2}'], structured {'cats': 2}
  openai-agents tells the model ['{"cats":2}']
  pydantic-ai tells the model '{"cats":2}'
fastmcp: lie: refused by the client: Invalid structured content returned by tool lie
  openai-agents tells the model 'An error occurred while running the tool. Please try again.'
  pydantic-ai ends with RuntimeError
fastmcp: nobody: content [], structured {'result': []}
  openai-agents tells the model '[]'
  pydantic-ai tells the model ''
fastmcp: nothing: content [], structured None
  openai-agents tells the model '[]'
  pydantic-ai tells the model ''
fastmcp: blank: content [''], structured {'result': ''}
  openai-agents tells the model ['']
  pydantic-ai tells the model ''
END
