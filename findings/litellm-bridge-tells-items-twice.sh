#!/bin/sh
# A stream of the Responses API tells each item twice, in `response.output_item.done` and in the last event's response, and one
# would expect that they are the same. LiteLLM's bridge from a chat model makes two things of them. Reasoning is first a
# `summary` without status, then `content` of the type `output_text` without the required `summary`, as it is in an answer
# without a stream: openai's client then has None for the list (see also ai-sdk-stricter-unstreamed.sh). A text cut by the limit
# of tokens is first `completed`, then `incomplete`; a cut call is `completed` in both, though its arguments end in the middle.
# Take the status from the response, and parse arguments before believing them.
# Seen on 2026-11-28 with litellm 1.110.2 and openai 3.57.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" litellm==1.110.2 openai==3.57.0
"$dir/venv/bin/python" -W ignore - > "$dir/seen" <<'END'
import json
import logging
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import httpx2
import litellm
from openai import OpenAI

logging.disable()
CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"place": "Ro'}}
ANSWERS = {
    "thought": ({"reasoning_content": "It is noon.", "content": "Sunny."}, "stop"),
    "cut text": ({"content": "Once upon"}, "length"),
    "cut call": ({"tool_calls": [CALL]}, "length"),
}
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


class ChatModel(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        streamed = json.loads(self.rfile.read(int(self.headers["content-length"]))).get("stream")
        message, reason = self.server.answer
        base = {"id": "chatcmpl-1", "created": 1, "model": "m"}
        choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": reason}
        body = json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": USAGE})
        if streamed:
            deltas = [({"role": "assistant", name: value}, None) for name, value in message.items()] + [({}, reason)]
            choices = [{"index": 0, "delta": delta, "finish_reason": end} for delta, end in deltas]
            chunks = [{**base, "object": "chat.completion.chunk", "choices": [choice]} for choice in choices]
            body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streamed else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


def tell(item: dict) -> str:
    text = item.get("content") or item.get("summary") or item.get("arguments")
    text = text if isinstance(text, str) else f"{text[0]['type']} {text[0]['text']!r}"
    lack = " without summary" if item["type"] == "reasoning" and "summary" not in item else ""
    return f"{item['type']}{lack}, status {item.get('status')}, {text}"


server = HTTPServer(("127.0.0.1", 0), ChatModel)
threading.Thread(target=server.serve_forever, daemon=True).start()
target = {"model": "deepseek/m", "input": "Tell!", "api_base": f"http://127.0.0.1:{server.server_port}", "api_key": "k"}
for name, server.answer in ANSWERS.items():
    for event in litellm.responses(**target, stream=True):
        told = json.loads(event.model_dump_json(exclude_none=True))
        if told["type"] == "response.output_item.done" and told["output_index"] == 0:
            print(f"{name}, item done: {tell(told['item'])}")
    print(f"{name}, {told['type']}: {tell(told['response']['output'][0])}")
    whole = litellm.responses(**target).model_dump(exclude_none=True)
    print(f"{name}, not streamed, {whole['status']}: {tell(whole['output'][0])}")
    if name == "thought":
        transport = httpx2.MockTransport(lambda _, whole=whole: httpx2.Response(200, json=whole))
        client = OpenAI(api_key="k", http_client=httpx2.Client(transport=transport))
        print("openai reads the summary", client.responses.create(model="m", input="Tell!").output[0].summary)
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
thought, item done: reasoning, status None, summary_text 'It is noon.'
thought, response.completed: reasoning without summary, status completed, output_text 'It is noon.'
thought, not streamed, completed: reasoning without summary, status completed, output_text 'It is noon.'
openai reads the summary None
cut text, item done: message, status completed, output_text 'Once upon'
cut text, response.incomplete: message, status incomplete, output_text 'Once upon'
cut text, not streamed, incomplete: message, status incomplete, output_text 'Once upon'
cut call, item done: function_call, status completed, {"place": "Ro
cut call, response.incomplete: function_call, status completed, {"place": "Ro
cut call, not streamed, incomplete: function_call, status completed, {"place": "Ro
END
