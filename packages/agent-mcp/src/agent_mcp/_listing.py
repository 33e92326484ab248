"""The list of a server's tools: asked for once, within bounds, and made tools of an agent."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mcp import Client, types
from mcp.shared.inbound import find_invalid_x_mcp_header

from agent_tooling import DeclarationError, Tool, read_object_schema
from stream_text import KnownSecrets, is_list, is_object

from ._bounds import LEFT_OUT, MAX_TOOLS
from ._errors import McpError
from ._servers import HttpServer, StdioServer


# Our choice, each far above what a model can choose from.
_MAX_PAGES: Final = 100
_MAX_SCHEMA: Final = 100_000
_MAX_DESCRIPTION: Final = 10_000
_MAX_REASON: Final = 300

SCHEMA: Final = "agent_mcp/schema"
"""The key in a listed tool's `_meta` for its schema as the server has sent it."""

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
        kept = {tool.name for tool in page.tools}
        dropped: Mapping[str, str] = (page.meta or {}).get(LEFT_OUT, {})
        tools += [
            types.Tool(name=name, input_schema={}, _meta={LEFT_OUT: reason})
            for name, reason in dropped.items()
            if name not in kept
        ]
        cursor = page.next_cursor
        if len(tools) > MAX_TOOLS:
            raise McpError(server, f"it lists more than {MAX_TOOLS} tools")
        if cursor is None:
            return tools
    raise McpError(server, f"it lists its tools on more than {_MAX_PAGES} pages")


def mend_tools(result: dict[str, Any]) -> None:
    """Change a list of tools so that one bad tool does not cost the others, since the session refuses a list as a whole.

    What is not needed is dropped from each: the session would check it, and each result against an output schema.
    Schemas are kept aside, as they came.
    """
    tools: object = result.get("tools")
    if not is_list(tools):
        return
    dropped: dict[str, str] = {}
    mended: list[dict[str, Any]] = []
    for place, tool in enumerate(tools, 1):
        given: Mapping[str, Any] = tool if is_object(tool) else {}
        name, reason = given.get("name"), given.get(LEFT_OUT)
        if not isinstance(name, str) or not name:
            kept = {"name": f"unnamed_{place}"} | _left_out("expected a tool with a text as name")
        elif isinstance(reason, str):
            kept = {"name": name} | _left_out(reason)
        else:
            kept = {"name": name} | _mend_schema(given.get("inputSchema"))
            if reason := find_invalid_x_mcp_header(kept["inputSchema"]):
                dropped[name] = reason
        texts = {key: given[key] for key in ("title", "description") if key in given}
        kept |= {key: text for key, text in texts.items() if isinstance(text, str)}
        mended.append(kept)
    result |= {"tools": mended, "_meta": {LEFT_OUT: dropped}}
    if result.get("nextCursor") == "":
        del result["nextCursor"]  # Some servers say so that this is the last page.


def _mend_schema(schema: object) -> dict[str, Any]:
    """Return the schema that the session takes, from which it reads no more than what goes into headers, and the one that came."""
    given: Mapping[str, Any] = schema if is_object(schema) else {}
    shown = {key: value for key, value in given.items() if key not in {"required", "$schema"}}
    properties: object = shown.get("properties", {})
    are_schemas = is_object(properties) and all(
        isinstance(one, dict | bool) for one in properties.values()
    )
    shown = (shown if are_schemas else {}) | {"type": "object"}
    return {"inputSchema": shown, "_meta": {SCHEMA: schema}}


def _left_out(reason: str) -> dict[str, Any]:
    return {"inputSchema": {"type": "object"}, "_meta": {LEFT_OUT: reason}}


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
    meta: Mapping[str, Any] = listed.meta or {}
    if LEFT_OUT in meta:
        return known.redact(meta[LEFT_OUT])[:_MAX_REASON]
    given: object = meta[SCHEMA]
    try:
        schema = read_object_schema({} if given is None or given is True else given)
    except DeclarationError:
        return "expected inputSchema as the schema of an object"
    written = json.dumps(schema)
    if len(written) > _MAX_SCHEMA:
        return f"its schema has {len(written)} characters, more than {_MAX_SCHEMA}"
    try:
        return Tool.from_schema(
            name,
            known.redact(listed.description or listed.title or "")[:_MAX_DESCRIPTION],
            _without_secrets(schema, written, known),
            call,
            **server.options,
        )
    except Exception as error:  # noqa: BLE001 - whatever a server lists, its other tools stay
        return known.redact(str(error))[:_MAX_REASON]


def _without_secrets(
    schema: Mapping[str, Any], written: str, known: KnownSecrets
) -> Mapping[str, Any]:
    redacted = known.redact(written)
    return schema if redacted == written else json.loads(redacted)
