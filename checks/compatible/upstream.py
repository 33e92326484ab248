"""The model behind every server: it looks at a picture, thinks, calls the tool, and says what came of it.

It speaks chat completions and, by the simulator, the Responses API.
"""

import json
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from gpt5_simulator import FunctionCall, Reasoning, ResponsesSimulator, Text


MODEL = "gpt-5.2"
THOUGHT = "The tool knows."
_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


class Talker:
    """The model as the simulator asks it."""

    def respond(self, request):
        last = request.items[-1]
        thought = Reasoning(summary=(THOUGHT,))
        if last.get("type") == "function_call_output":
            return [thought, Text(text=_answer(_text(last["output"])))]
        if not request.tools:
            return [thought, Text(text="No tool.")]
        return [thought, FunctionCall(name=request.tools[0].name, arguments={"city": "Paris"})]


def _text(value):
    return value if isinstance(value, str) else "".join(part.get("text", "") for part in value)


def _answer(result):
    return f"The tool says: {result}."


class _Chat(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        """List the model."""
        self._send({"object": "list", "data": [{"id": MODEL, "object": "model", "created": 1}]})

    def do_POST(self):
        """Answer a chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        last = body["messages"][-1]
        said = {"role": "assistant", "reasoning_content": THOUGHT}
        if last["role"] == "tool":
            said["content"] = _answer(_text(last["content"]))
        elif body.get("tools"):
            function = {
                "name": body["tools"][0]["function"]["name"],
                "arguments": '{"city": "Paris"}',
            }
            call = {
                "id": f"call_{len(self.server.bodies)}",
                "type": "function",
                "function": function,
            }
            said |= {"content": None, "tool_calls": [call]}
        else:
            said["content"] = "No tool."
        why = "tool_calls" if "tool_calls" in said else "stop"
        head = {"id": "chatcmpl-1", "created": int(time.time()), "model": MODEL}
        if not body.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": why}
            self._send(head | {"object": "chat.completion", "choices": [choice], "usage": _USAGE})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for delta, end in (*((delta, None) for delta in _pieces(said)), ({}, why)):
            choice = {"index": 0, "delta": delta, "finish_reason": end}
            self._tell(head | {"object": "chat.completion.chunk", "choices": [choice]})
        self._tell(head | {"object": "chat.completion.chunk", "choices": [], "usage": _USAGE})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _tell(self, event):
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())

    def _send(self, body):
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _pieces(said):
    """Yield the deltas of a message."""
    yield {"role": "assistant"}
    yield {"reasoning_content": said["reasoning_content"]}
    for index, call in enumerate(said.get("tool_calls", ())):
        yield {"tool_calls": [{"index": index, **call}]}
    for word in (said.get("content") or "").split(" "):
        if word:
            yield {"content": word if word == said["content"].split(" ")[0] else f" {word}"}


@contextmanager
def serve_chat():
    """Serve chat completions on a free port of the loopback interface; yield the base URL, and a function that returns the bodies that have come."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Chat) as server:
        server.bodies = []
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", lambda: list(server.bodies)
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serve_responses(**settings):
    """Serve the Responses API likewise; see `ResponsesSimulator` for the settings."""
    with ResponsesSimulator(model=Talker(), strict=False, **settings) as simulator:
        yield (
            simulator.base_url,
            lambda: [one.body for one in simulator.requests if one.method == "POST"],
        )
