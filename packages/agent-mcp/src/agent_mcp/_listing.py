"""The list of a server's tools: asked for once, within bounds, and made tools of an agent."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mcp import Client, types

from agent_tooling import DeclarationError, Tool, unique_tool_names
from stream_text import KnownSecrets

from ._errors import McpError
from ._servers import HttpServer, StdioServer


# Our choice, each far above what a model can choose from.
_MAX_TOOLS: Final = 1_000
_MAX_PAGES: Final = 100
_MAX_SCHEMA: Final = 100_000
_MAX_DESCRIPTION: Final = 10_000
_MAX_REASON: Final = 300

NO_OBJECT: Final = "agent_mcp/no-object"
"""The key in `_meta` that marks a listed tool whose schema the session would refuse."""

type Call = Callable[..., Any]


async def list_tools(client: Client, server: str) -> list[types.Tool]:
    """Return all tools of a server.

    Raises:
        McpError: If it lists more than 1,000, or on more than 100 pages.
    """
    tools: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if len(tools) > _MAX_TOOLS:
            raise McpError(server, f"it lists more than {_MAX_TOOLS} tools")
        if cursor is None:
            return tools
    raise McpError(server, f"it lists its tools on more than {_MAX_PAGES} pages")


def choose_tools(
    listed: Sequence[types.Tool], server: StdioServer | HttpServer
) -> list[types.Tool]:
    """Return the tools that are wanted of those that a server has listed.

    Raises:
        McpError: If one that is wanted is not listed.
    """
    if server.tools is None:
        return list(listed)
    names = {tool.name for tool in listed}
    if missing := sorted(set(server.tools) - names):
        raise McpError(server.name, f"expected tools among those that it lists, {missing} are not")
    return [tool for tool in listed if tool.name in server.tools]


def name_tools(listed: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return the name of each tool for the model, from the names of its server and its own: `time_convert`. They are valid and unique.

    Raises:
        DeclarationError: If a tool has no name.
    """
    return unique_tool_names(
        {"identity": {"name": f"{server}_{name}" if name else "", "provider": f"{server}/{name}"}}
        for server, name in listed
    )


def make_tool(
    listed: types.Tool, name: str, call: Call, server: StdioServer | HttpServer, known: KnownSecrets
) -> Tool | str:
    """Return a listed tool as one of an agent; or why it cannot be one.

    Args:
        listed: The tool.
        name: What the model calls it.
        call: Calls it, with the arguments by name.
        server: The server, which says how it is called.
        known: The secrets that no text of it may show.
    """
    if listed.meta and NO_OBJECT in listed.meta:
        return "expected inputSchema as the schema of an object"
    written = json.dumps(listed.input_schema)
    if len(written) > _MAX_SCHEMA:
        return f"its schema has {len(written)} characters, more than {_MAX_SCHEMA}"
    try:
        return Tool.from_schema(
            name,
            known.redact(listed.description or listed.title or "")[:_MAX_DESCRIPTION],
            _without_secrets(listed.input_schema, written, known),
            call,
            **server.options,
        )
    except (DeclarationError, ValueError, RecursionError) as error:
        return known.redact(str(error))[:_MAX_REASON]


def _without_secrets(
    schema: Mapping[str, Any], written: str, known: KnownSecrets
) -> Mapping[str, Any]:
    redacted = known.redact(written)
    return schema if redacted == written else json.loads(redacted)
