"""Tools of the kinds that Dify has beside plugins and its own: an API, a workflow and an MCP server, made by the console."""

import json
import threading
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

from apps import Apps
from dify import Console, Json, Refused


_PROVIDERS = "/workspaces/current/tool-provider"
_ICON = {"background": "#FFEAD5", "content": "🔧"}
_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class _Handler(BaseHTTPRequestHandler):
    """An API with one route for each tool, and an MCP server with one tool, as small as they can be.

    Source: https://modelcontextprotocol.io/specification/2025-06-18/basic/transports, Streamable HTTP.
    """

    def do_GET(self) -> None:
        url = urlparse(self.path)
        if url.path == "/mcp":  # no stream of its own
            self._send(405, None)
        else:
            self._send(200, {"heard": parse_qs(url.query)["text"][0]})

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            self._send(202, None)
            return
        result = getattr(self, message["method"].replace("/", "_"))(message.get("params") or {})
        self._send(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    @staticmethod
    def initialize(params: Json) -> Json:
        version = params["protocolVersion"]
        server = {"name": "whole-dify", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}

    @staticmethod
    def tools_list(_: Json) -> Json:
        return {"tools": [{"name": "hear", "description": "Hears.", "inputSchema": _TEXT}]}

    @staticmethod
    def tools_call(params: Json) -> Json:
        text = json.dumps({"heard": params["arguments"]["text"]})
        return {"content": [{"type": "text", "text": text}], "isError": False}

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _send(self, status: int, body: Any) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serve() -> Generator[str]:
    """Serve the API and, at `/mcp`, the MCP server; give out the URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def api(console: Console, base_url: str, *names: str) -> Generator[str]:
    """Have an API as tools of these names, and give out the provider's id."""
    text = {"name": "text", "in": "query", "required": True, "schema": {"type": "string"}}
    paths = {
        f"/{name}": {
            "get": {"operationId": name, "description": f"Does {name}.", "parameters": [text]}
        }
        for name in names
    }
    about = {"openapi": "3.1.0", "info": {"title": "Echo", "version": "1"}}
    provider = _fresh_name()
    console.post(
        f"{_PROVIDERS}/api/add",
        provider=provider,
        schema=json.dumps({**about, "servers": [{"url": base_url}], "paths": paths}),
        schema_type="openapi",
        credentials={"auth_type": "none"},
        icon=_ICON,
        privacy_policy="",
    )
    made = console.get("/workspaces/current/tools/api")
    try:
        yield next(one["id"] for one in made if one["name"] == provider)
    finally:
        console.post(f"{_PROVIDERS}/api/delete", provider=provider)


@contextmanager
def workflow(console: Console, apps: Apps) -> Generator[tuple[str, str]]:
    """Have a workflow that returns its text as a tool, and give out the ids of provider and tool."""
    app = apps.echo_workflow().app
    name = _fresh_name()
    asked = {"name": "text", "description": "What to return.", "form": "llm"}
    console.post(
        f"{_PROVIDERS}/workflow/create",
        workflow_app_id=app,
        name=name,
        label="Return",
        description="Returns a text.",
        icon=_ICON,
        parameters=[asked],
        privacy_policy="",
    )
    made = console.get(f"{_PROVIDERS}/workflow/get", workflow_app_id=app)["workflow_tool_id"]
    try:
        yield made, name
    finally:
        console.post(f"{_PROVIDERS}/workflow/delete", workflow_tool_id=made)


@contextmanager
def mcp(console: Console, base_url: str) -> Generator[Json]:
    """Have an MCP server as a provider of tools, and give out what Dify knows of it."""
    name = _fresh_name()
    made = console.post(
        f"{_PROVIDERS}/mcp",
        server_url=f"{base_url}/mcp",
        name=name,
        server_identifier=name,
        icon="🔧",
        icon_type="emoji",
        icon_background="#FFEAD5",
        configuration={"timeout": 30, "sse_read_timeout": 300},
    )
    try:
        with suppress(Refused):  # where an SSRF proxy stands between
            console.post(f"{_PROVIDERS}/mcp/auth", provider_id=made["id"])
            made = console.get(f"{_PROVIDERS}/mcp/update/{made['id']}")
        yield made
    finally:
        console.delete(f"{_PROVIDERS}/mcp", provider_id=made["id"])


def _fresh_name() -> str:
    return f"whole_{uuid.uuid4().hex[:8]}"
