"""A server of chat completions in the place of the real one."""

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class ChatServer(BaseHTTPRequestHandler):
    """A server that says what it was asked; to some questions it answers as servers do when something is wrong."""

    def do_GET(self) -> None:
        """Answer with the list of models, to whoever has the key."""
        is_known = self.headers["Authorization"] == "Bearer right"
        self._answer(200 if is_known else 401, '{"data": []}' if is_known else "wrong key")

    def do_POST(self) -> None:
        """Answer piece by piece."""
        asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        question = asked["messages"][-1]["content"]
        if question == "busy":
            self._answer(429, "slow down")
            return
        pieces = [
            {"choices": [{"delta": {"content": "You said: "}}]},
            {"choices": [{"delta": {"content": question}, "finish_reason": "stop"}]},
            {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 500}},
        ]
        events = [*map(json.dumps, pieces), "[DONE]"]
        wrong = {"fail": ['{"error": {"message": "out of order"}}'], "babble": ["{"], "break": []}
        if question in wrong:
            events = [events[0], *wrong[question]]
        self._answer(200, "".join(f"data: {event}\n\n" for event in events))

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Run the server; return its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), ChatServer) as running:
        threading.Thread(target=running.serve_forever).start()
        yield f"http://127.0.0.1:{running.server_port}/v1"
        running.shutdown()


@pytest.fixture(scope="session")
def dify_credentials(server: str) -> Mapping[str, str]:
    """Return the credentials with which `dify_plugin` calls the models."""
    return {"api_key": "right", "base_url": server}
