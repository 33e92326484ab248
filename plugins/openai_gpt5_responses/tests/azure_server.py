"""A server that differs from OpenAI's as Azure's v1 API is documented and was seen to: docs/evidence/responses-api.md, R24 to R29."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, override
from urllib.parse import parse_qsl, urlsplit


SAFE = {"filtered": False, "severity": "safe"}
FILTERS = [
    {"blocked": False, "source_type": kind, "content_filter_results": {"hate": SAFE}}
    for kind in ("prompt", "completion")
]
WRONG_KEY = {
    "code": "401",
    "message": "Access denied due to invalid subscription key or wrong API endpoint.",
}
NO_DEPLOYMENT = {
    "code": "DeploymentNotFound",
    "message": "The API deployment for this resource does not exist.",
}
FILTERED = {
    "message": "The response was filtered due to the prompt triggering the content policy.",
    "type": None,
    "param": "prompt",
    "code": "content_filter",
    "status": 400,
    "innererror": {"code": "ResponsibleAIPolicyViolation"},
}
LIMITED = {"type": "too_many_requests", "code": "rate_limit_exceeded", "message": "Slow down."}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class AzureServer:
    """The resource: what its deployments are called, and what a request gets.

    Args:
        deployments: The names of its deployments.
        key: The key of the resource, taken as `Authorization: Bearer` and as `api-key`.
        api_version: The `api-version` that every request has to name; None where none is needed.
        lists_models: Whether `GET /openai/v1/models` is there.
    """

    def __init__(
        self,
        *deployments: str,
        key: str = "resource-key",
        api_version: str | None = None,
        lists_models: bool = True,
    ) -> None:
        self.requests: list[Asked] = []
        self.deployments = deployments
        self.key = key
        self.api_version = api_version
        self.lists_models = lists_models
        handler = type("Handler", (_Handler,), {"azure": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)

    @property
    def base_url(self) -> str:
        """The base URL as Azure's pages give it, with its slash."""
        return f"http://127.0.0.1:{self._server.server_port}/openai/v1/"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, asked: Asked) -> tuple[int, Mapping[str, Any] | list[Mapping[str, Any]]]:
        """Return the status, and a body or the events of a stream."""
        keys = {asked.headers.get("authorization"), asked.headers.get("api-key")}
        if keys.isdisjoint({f"Bearer {self.key}", self.key}):
            return 401, {"error": WRONG_KEY}
        if self.api_version not in (None, asked.query.get("api-version")):
            return 400, {"error": {"code": "BadRequest", "message": "API version not supported"}}
        if asked.path == "/openai/v1/models" and self.lists_models:
            # The base models of the resource, and not its deployments.
            models = [{"id": "gpt-5.6-terra", "object": "model", "lifecycle_status": "preview"}]
            return 200, {"object": "list", "data": models}
        if (asked.method, asked.path) != ("POST", "/openai/v1/responses"):
            return 404, {"error": {"code": "404", "message": "Resource not found"}}
        if asked.body["model"] not in self.deployments:
            return 404, {"error": NO_DEPLOYMENT}
        return self._respond(asked.body)

    def _respond(
        self, body: Mapping[str, Any]
    ) -> tuple[int, Mapping[str, Any] | list[Mapping[str, Any]]]:
        text = json.dumps(body["input"])
        if "forbidden" in text:
            return 400, {"error": FILTERED}
        begun = {
            "id": "resp_1",
            "model": body["model"],
            "status": "in_progress",
            "output": [],
            "content_filters": None,
        }
        if "too much" in text:
            failed = {**begun, "status": "failed", "error": None}
            return 200, [
                {"type": "response.created", "response": begun},
                {"type": "response.failed", "response": failed},
                {"type": "error", "error": LIMITED},
            ]
        status, details = "completed", None
        if "cut me" in text:
            status, details = "incomplete", {"reason": "content_filter"}
        part = {"type": "output_text", "text": "It works.", "annotations": [], "logprobs": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
        response = {
            **begun,
            "status": status,
            "incomplete_details": details,
            "output": [{**item, "status": status}],
            "content_filters": FILTERS,
            "usage": {"input_tokens": 1_000, "output_tokens": 100, "total_tokens": 1_100},
        }
        if not body["stream"]:
            return 200, response
        where = {"output_index": 0, "content_index": 0, "item_id": "msg_1"}
        return 200, [
            {"type": "response.created", "response": begun},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
            {"type": "response.output_text.delta", **where, "delta": "It works."},
            {"type": f"response.{status}", "response": response},
        ]  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    azure: AzureServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def _answer(self, body: Any) -> None:
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body)
        self.azure.requests.append(asked)
        status, answer = self.azure.answer(asked)
        kind, data = "application/json", json.dumps(answer).encode()
        if isinstance(answer, list):
            kind = "text/event-stream; charset=utf-8"
            frames = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in answer)
            data = "".join(frames).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.send_header("apim-request-id", "apim-1")
        self.end_headers()
        self.wfile.write(data)

    @override
    def log_message(self, *_: object) -> None:
        """Keep the tests' output clean."""
