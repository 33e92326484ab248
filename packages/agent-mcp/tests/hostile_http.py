"""An HTTP server in a thread that answers as MCP until a tool is called, and then does what no server should."""

import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    server: "Server"
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.streams.append(time.monotonic())
        if self.server.how == "streams-that-end":
            self.close_connection = True
            self.answer(200, "text/event-stream", b"retry: 10\n\n")
        else:
            self.answer(405, "text/plain", b"")

    def do_DELETE(self) -> None:
        self.answer(200, "text/plain", b"")

    def do_POST(self) -> None:
        self.server.headers.append(dict(self.headers))
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.server.refusal and asked["method"] in self.server.refused:
            status, kind, body, *headers = self.server.refusal
            self.answer(
                status, kind, body.replace("ASKED", str(asked.get("id"))).encode(), *headers
            )
            return
        session = self.headers["mcp-session-id"]
        if session and session != self.server.session:
            status, body = self.server.forgotten
            self.answer(status, "application/json", body.encode())
            return
        match asked["method"]:
            case "initialize":
                result: Any = {
                    "protocolVersion": asked["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "hostile", "version": "1"},
                }
            case "tools/list":
                schemas = {"t": {"type": "object"}}
                if "values" in self.server.how:
                    schemas["many"] = {"enum": [[]] * 200_000}
                result = {"tools": [{"name": n, "inputSchema": one} for n, one in schemas.items()]}
            case "tools/call":
                self.server.calls += 1
                self.call(asked["id"])
                return
            case _ if "id" not in asked:
                self.answer(202, "text/plain", b"")
                return
            case method:
                error = {"code": -32601, "message": method}
                self.json({"id": asked["id"], "error": error})
                return
        self.json({"id": asked["id"], "result": result})

    def call(self, number: object) -> None:  # noqa: C901, PLR0912 - as many ways
        result = {"id": number, "result": {"content": [{"type": "text", "text": "done"}]}}
        match self.server.how:
            case "redirect":
                self.send_response(307)
                self.send_header("location", self.server.elsewhere)
                self.send_header("content-length", "0")
                self.end_headers()
            case "redirect-here":
                if self.path == "/mcp":
                    self.send_response(307)
                    self.send_header("location", "/mcp/")
                    self.send_header("content-length", "0")
                    self.end_headers()
                else:
                    self.json(result)
            case "compressed":
                body = gzip.compress(b"x" * 50_000_000)
                self.answer(200, "application/json", body, ("content-encoding", "gzip"))
            case "large":
                self.answer(200, "application/json", b"x" * 20_000_000)
            case "values":
                self.json(result | {"x": [[]] * 200_000})
            case "streamed-values":
                first = {
                    "method": "notifications/message",
                    "params": {"level": "info", "data": "x"},
                }
                self.stream(first, result | {"x": [[]] * 200_000})
            case "streamed":
                self.stream(result)
            case "secret":
                auth = self.headers["authorization"].encode()
                self.answer(200, "text/event-stream", b"data: {" + auth + b"}\n\n")
            case "broken":
                self.close_connection = True
            case "failing":
                self.answer(500, "text/plain", b"")
            case _:
                self.json(result)

    def stream(self, *messages: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for message in messages:
            data = json.dumps({"jsonrpc": "2.0"} | message).encode()
            self.wfile.write(b"data: " + data + b"\n\n")
        self.close_connection = True

    def json(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        session = self.server.session
        headers = [("mcp-session-id", session)] if session else []
        self.answer(200, "application/json", body, *headers)

    def answer(self, status: int, kind: str, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("content-type", kind), ("content-length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, how: str, elsewhere: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.how, self.elsewhere = how, elsewhere
        self.headers: list[dict[str, str]] = []
        self.streams: list[float] = []
        self.calls = 0
        self.session = ""
        self.forgotten = (404, "")
        self.refusal: tuple[Any, ...] = ()
        self.refused = ("tools/call",)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"


@contextmanager
def hostile_http(how: str, elsewhere: str = "") -> Iterator[Server]:
    with Server(how, elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
