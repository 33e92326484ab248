#!/bin/sh
# smg, the gateway that came out of SGLang's router, takes a whole conversation of the Responses API for a backend of the kind
# `openai`, and hands on everything but the reasoning: items with encrypted content and items with open text are gone from the
# input, without a word, while `include` goes on asking the backend for encrypted reasoning. So a client pays for reasoning, gets
# it, sends it back, and no model ever reads it. What it adds besides are a temperature and four fields of SGLang's
# (`priority`, `top_k`, `min_p`, `repetition_penalty`), which a strict backend refuses.
# Seen on 2026-11-28 with smg 1.13.0.
set -eu
dir=$(mktemp -d)
servers=
trap 'test -z "$servers" || kill $servers; rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" smg==1.13.0
cat > "$dir/upstream.py" <<'END'
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Upstream(BaseHTTPRequestHandler):
    def send(self, body: dict) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        self.send({"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "me"}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        with Path("came").open("ab") as file:
            file.write(body + b"\n")
        part = {"type": "output_text", "text": "Sunny.", "annotations": []}
        message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part]}
        base = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
        self.send({**base, "output": [message], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []})

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
Path("upstream-port").write_text(str(server.server_port))
server.serve_forever()
END
cat > "$dir/ask.py" <<'END'
import json
import sys
import time
import urllib.request
from pathlib import Path

url = f"http://127.0.0.1:{sys.argv[1]}/v1/responses"


def post(body: dict) -> int:
    headers = {"content-type": "application/json", "authorization": "Bearer k"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return answer.status


while True:
    try:
        if post({"model": "m", "input": "Sun?"}) == 200:
            break
    except OSError:
        pass
    time.sleep(0.2)
Path("came").unlink()
items = [
    {"type": "message", "role": "user", "content": "Sun?"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look."}], "encrypted_content": "gAAAA"},
    {"type": "reasoning", "id": "rs_2", "summary": [], "content": [{"type": "reasoning_text", "text": "Look."}]},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "Sunny."},
]
tool = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}
sent = {"model": "m", "input": items, "tools": [tool], "store": False, "include": ["reasoning.encrypted_content"]}
print("status", post(sent))
[line] = Path("came").read_text().splitlines()
came = json.loads(line)
print("sent", [item["type"] for item in sent["input"]])
print("came", [item["type"] for item in came["input"]], came["include"])
print("added", {name: value for name, value in sorted(came.items()) if name not in sent})
END
cd "$dir"
venv/bin/python upstream.py &
servers=$!
until test -s upstream-port; do sleep 0.1; done
free_port() { venv/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free_port)
venv/bin/smg launch --backend openai --worker-urls "http://127.0.0.1:$(cat upstream-port)" \
    --host 127.0.0.1 --port "$port" --prometheus-port "$(free_port)" > log 2>&1 &
servers="$servers $!"
NO_PROXY=127.0.0.1 venv/bin/python ask.py "$port" > seen || { tail -20 log >&2; exit 1; }
cat seen
diff - seen <<'END' || { echo "It is no longer as described." >&2; exit 1; }
status 200
sent ['message', 'reasoning', 'reasoning', 'function_call', 'function_call_output']
came ['message', 'function_call', 'function_call_output'] ['reasoning.encrypted_content']
added {'min_p': 0.0, 'parallel_tool_calls': True, 'priority': 0, 'repetition_penalty': 1.0, 'temperature': 1.0, 'tool_choice': 'auto', 'top_k': -1}
END
