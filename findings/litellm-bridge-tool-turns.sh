#!/bin/sh
# GPT-5 may think between two calls of one turn: reasoning, call, reasoning, call. One would expect that LiteLLM's bridge makes
# of it what it makes of calls without reasoning between them: one assistant message with both, then both results. It makes one
# assistant message per piece of reasoning, so that the first call is followed by an assistant message instead of its result,
# although in the chat format the results come right after their calls. And what becomes of a picture in a tool's result depends
# on the provider: for some it is put into the mouth of the user, for others it is dropped, and nobody is told.
# Seen on 2026-11-28 with litellm 1.110.2 and openai 3.57.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" litellm==1.110.2 openai==3.57.0
"$dir/venv/bin/python" - > "$dir/seen" <<'END'
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Done."}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}


class ChatModel(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        print(*(tell(message) for message in request["messages"]), sep=", ")
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def tell(message: dict) -> str:
    told = [call["id"] for call in message.get("tool_calls", [])]
    told += [message["tool_call_id"]] if "tool_call_id" in message else []
    told += ["picture"] if "image_url" in json.dumps(message) else []
    return " ".join([message["role"], *told])


def think(number: int) -> dict:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [{"type": "summary_text", "text": f"Thought {number}"}]}


def call(number: int) -> dict:
    return {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "look", "arguments": "{}"}


def result(number: int, output: object) -> dict:
    return {"type": "function_call_output", "call_id": f"call_{number}", "output": output}


PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
server = HTTPServer(("127.0.0.1", 0), ChatModel)
threading.Thread(target=server.serve_forever, daemon=True).start()
target = {"api_base": f"http://127.0.0.1:{server.server_port}", "api_key": "k"}
user = {"role": "user", "content": "Look twice."}
results = [result(1, [{"type": "input_text", "text": "See:"}, PICTURE]), result(2, "A tree.")]
for model in ("deepseek/m", "mistral/m"):
    print(model)
    litellm.responses(model=model, input=[user, think(1), call(1), call(2), *results], **target)
    litellm.responses(model=model, input=[user, think(1), call(1), think(2), call(2), *results], **target)
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
deepseek/m
user, assistant call_1 call_2, tool call_1, tool call_2
user, assistant call_1, assistant call_2, tool call_1, tool call_2
mistral/m
user, assistant call_1 call_2, tool call_1, tool call_2, user picture
user, assistant call_1, assistant call_2, tool call_1, tool call_2, user picture
END
