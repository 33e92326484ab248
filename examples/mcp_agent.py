"""An agent with the tools of an MCP server, which asks before one of them is called, and answers with a typed note.

`OPENAI_API_KEY=... python mcp_agent.py "What time is it in Tokyo?"`. `MCP_SERVER` is the command of another server; the
one for the time is fetched by uv.
"""

import os
import secrets
import shlex
import sys

from pydantic import BaseModel

from agent_driver import Agent
from agent_mcp import McpServers, StdioServer
from agent_tooling import ApprovalRules
from gpt5_responses import ModelConfig, ResponsesClient


class Note(BaseModel):
    """What the agent answers."""

    title: str
    text: str


command = shlex.split(os.environ.get("MCP_SERVER", "uvx mcp-server-time"))
rules = ApprovalRules.parse([{"tool": "time_convert_time", "ask": "once"}])

with McpServers(StdioServer("time", command)) as servers:
    agent = Agent(
        ResponsesClient(ModelConfig.from_env()),
        servers.tools,
        answer=Note,
        approval_rules=rules,
        snapshot_key=secrets.token_bytes(32),  # The run goes on in this process alone.
    )
    result = agent.run(sys.argv[1])
    while result.waiting:
        decisions = {
            call.key: input(f"{call.name} {call.arguments}? (yes or no) ") == "yes"
            for call in result.waiting.calls
        }
        result = agent.run(resume=result.waiting, decisions=decisions)
print(f"{result.value.title}: {result.value.text}" if result.answered else result.error)
