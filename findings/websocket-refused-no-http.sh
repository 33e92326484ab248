#!/bin/sh
# Most servers that speak the Responses API over HTTP have no WebSocket, and answer the upgrade with 404, 405 or 426; Codex CLI then
# goes on over HTTP. openai-agents and Pydantic AI, told to use the WebSocket, do not: the same server that answers over HTTP is never
# asked, and the run ends with an error: of the package `websockets` in openai-agents, a ModelHTTPError in Pydantic AI. The latter
# does go on over HTTP, with a warning, where the server closes the connection without any answer; openai-agents then fails as well.
# So a program that does not know its server has to catch these errors and begin again with the other transport itself.
# Seen on 2026-11-28 with openai-agents 0.24.0, pydantic-ai-slim 2.68.0, openai 3.57.0, websockets 16.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" openai-agents==0.24.0 "pydantic-ai-slim[openai]==2.68.0" openai==3.57.0 websockets==16.0
cat > "$dir/client.py" <<'END'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import agents
import pydantic_ai
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

PART = {"type": "output_text", "text": "Hello.", "annotations": [], "logprobs": []}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [PART]}
RESPONSE = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5.2", "status": "completed"}
RESPONSE |= {"output": [MESSAGE], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked.append("upgrade")
        if self.path.startswith("/silent"):
            self.close_connection = True
            return
        self.send_response(426)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        asked.append("POST")
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(RESPONSE).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


async def with_agents(url: str, *, is_socket: bool) -> str:
    agents.set_tracing_disabled(disabled=True)
    agent = agents.Agent(name="a", model="gpt-5.2")
    if is_socket:
        async with agents.responses_websocket_session(api_key="k", base_url=url) as session:
            return str((await session.run(agent, "Hi")).final_output)
    client = AsyncOpenAI(api_key="k", base_url=url, max_retries=0)
    agent.model = agents.OpenAIResponsesModel("gpt-5.2", client)
    return str((await agents.Runner.run(agent, "Hi")).final_output)


async def with_pydantic_ai(url: str, *, is_socket: bool) -> str:
    client = AsyncOpenAI(api_key="k", base_url=url, max_retries=0)
    settings = OpenAIResponsesModelSettings(openai_transport="websocket") if is_socket else None
    model = OpenAIResponsesModel("gpt-5.2", provider=OpenAIProvider(openai_client=client), settings=settings)
    async with model:
        return str((await pydantic_ai.Agent(model).run("Hi")).output)


async def main(url: str) -> None:
    for name, run in (("openai-agents", with_agents), ("pydantic-ai", with_pydantic_ai)):
        for refusal, is_socket in (("", False), ("426", True), ("silent", True)):
            asked.clear()
            try:
                said = await run(f"{url}/{refusal or 426}/v1", is_socket=is_socket)
            except Exception as error:
                said = f"{type(error).__name__}: {str(error)[:50]}"
            print(f"{name}, {f'WebSocket, {refusal}' if is_socket else 'HTTP'}: {said!r}; asked: {sorted({*asked})}")


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(main(f"http://127.0.0.1:{server.server_port}"))
END
"$dir/venv/bin/python" "$dir/client.py" > "$dir/seen" 2> "$dir/warned" || { cat "$dir/warned" >&2; exit 1; }
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
openai-agents, HTTP: 'Hello.'; asked: ['POST']
openai-agents, WebSocket, 426: 'InvalidStatus: server rejected WebSocket connection: HTTP 426'; asked: ['upgrade']
openai-agents, WebSocket, silent: 'RuntimeError: Responses websocket connection closed before any r'; asked: ['upgrade']
pydantic-ai, HTTP: 'Hello.'; asked: ['POST']
pydantic-ai, WebSocket, 426: 'ModelHTTPError: status_code: 426, model_name: gpt-5.2, body: '; asked: ['upgrade']
pydantic-ai, WebSocket, silent: 'Hello.'; asked: ['POST', 'upgrade']
END
