#!/bin/sh
# Where a chat model behind ogx thinks before it answers, ogx streams the thought before any item is announced, as a part of the
# message that comes later: under the message's id and output index, as content 1 before content 0. When the message is done, it
# announces a reasoning item with the same thought, and gives it the message's output index once more; the last event has the
# reasoning first and the message second. Four clients differ: the stream helper of openai's client raises, so
# that a streamed answer cannot be had; langchain puts the reasoning item's id and thought into the block of the answer; Pydantic
# AI keeps an empty thought; openai-agents is right. None of them shows the thought. It takes an effort in the request: without
# one ogx tells no reasoning at all.
# Tell items apart by type and id, and take what is kept from the last event's response.
# Seen on 2026-11-28 with ogx 1.5.0, openai 3.57.0, openai-agents 0.24.0, pydantic-ai-slim 2.68.0 and langchain-openai 1.7.0.
set -eu
dir=$(mktemp -d)
servers=
trap 'test -z "$servers" || kill $servers; rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/ogx"
uv pip install --quiet --python "$dir/ogx/bin/python" ogx==1.5.0 ogx-api==1.5.0 sqlite-vec==0.1.9 \
    chardet==7.7.0 pypdf==7.1.1
# ogx loads a table of tokens as it starts; LiteLLM's package has a copy.
uv pip install --quiet --python "$dir/ogx/bin/python" --no-deps litellm==1.108.7
tokens=$dir/ogx/lib/python3.12/site-packages/litellm/litellm_core_utils/tokenizers
uv venv --quiet --python 3.12 "$dir/clients"
uv pip install --quiet --python "$dir/clients/bin/python" openai==3.57.0 openai-agents==0.24.0 \
    'pydantic-ai-slim[openai]==2.68.0' langchain-openai==1.7.0
cat > "$dir/model.py" <<'END'
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class ChatModel(BaseHTTPRequestHandler):
    def send(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self) -> None:
        models = [{"id": "m", "object": "model", "created": 1, "owned_by": "me"}]
        self.send("application/json", json.dumps({"object": "list", "data": models}))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        deltas = [{"role": "assistant"}, {"reasoning_content": "It is noon."}, {"content": "Sunny."}]
        choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
        base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        chunks = [json.dumps({**base, "choices": [choice]}) for choice in choices]
        self.send("text/event-stream", "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"]))

    def log_message(self, *_: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), ChatModel)
Path("model-port").write_text(str(server.server_port))
server.serve_forever()
END
cat > "$dir/configure.py" <<'END'
import json
import socket
from pathlib import Path

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
tables = ("conversations", "inference", "prompts", "connectors")
responses = {"persistence": {"responses": {"table_name": "responses", "backend": "sql"}}}
upstream = {"base_url": f"http://127.0.0.1:{Path('model-port').read_text()}/v1", "api_token": "k"}
files = {"storage_dir": "files", "metadata_store": {"table_name": "files", "backend": "sql"}}
vectors = {"persistence": {"namespace": "vectors", "backend": "kv"}, "db_path": "vectors.db"}
providers = {
    "inference": ("remote::vllm", upstream),
    "responses": ("inline::builtin", responses),
    "files": ("inline::localfs", files),
    "vector_io": ("inline::sqlite-vec", vectors),
    "tool_runtime": ("remote::model-context-protocol", {}),
    "file_processors": ("inline::auto", {}),
}
model = {"model_id": "m", "provider_id": "p", "provider_model_id": "m", "model_type": "llm", "metadata": {}}
config = {
    "version": 2,
    "distro_name": "seen",
    "apis": list(providers),
    "providers": {
        api: [{"provider_id": "p", "provider_type": kind, "config": config}] for api, (kind, config) in providers.items()
    },
    "storage": {
        "backends": {
            "kv": {"type": "kv_sqlite", "db_path": "kv.db"},
            "sql": {"type": "sql_sqlite", "db_path": "sql.db"},
        },
        "stores": {name: {"table_name": name, "backend": "sql"} for name in tables}
        | {"metadata": {"namespace": "registry", "backend": "kv"}},
    },
    "registered_resources": {"models": [model]},
    "server": {"port": port, "host": "127.0.0.1"},
}
Path("ogx.yaml").write_text(json.dumps(config))
Path("port").write_text(str(port))
END
cat > "$dir/ask.py" <<'END'
import asyncio
import json
import logging
import time
from pathlib import Path

import openai
from agents import Agent, ModelSettings, OpenAIResponsesModel, Runner, set_tracing_disabled
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticModel
from pydantic_ai.providers.openai import OpenAIProvider

logging.disable()
url, name, effort = f"http://127.0.0.1:{Path('port').read_text()}/v1", "p/m", {"effort": "low"}
client = openai.OpenAI(base_url=url, api_key="k", max_retries=0)
while True:
    try:
        client.models.list()
        break
    except openai.APIConnectionError:
        time.sleep(0.2)
with client.responses.create(model=name, input="Sun?", reasoning=effort, stream=True) as stream:
    for event in stream:
        told = json.loads(event.model_dump_json(exclude_none=True))
        if "output_index" in told:
            item = (told.get("item_id") or told["item"]["id"]).split("_")[0]
            part = f", content {told['content_index']}" if "content_index" in told else ""
            print(f"{told['type'].removeprefix('response.')}: {item}, output {told['output_index']}{part}")
    print(told["type"], [item["type"] for item in told["response"]["output"]])
try:
    with client.responses.stream(model=name, input="Sun?", reasoning=effort) as stream:
        print("openai", stream.get_final_response().output_text)
except RuntimeError as error:
    print("openai raises", error)
whole = None
for chunk in ChatOpenAI(model=name, base_url=url, api_key="k", reasoning=effort, output_version="responses/v1").stream("Sun?"):
    whole = chunk if whole is None else whole + chunk
for block in whole.content:
    print("langchain", block["type"], block["text"], block["id"].split("_")[0], block["content"][0]["text"])


async def ask() -> None:
    model = PydanticModel(name, provider=OpenAIProvider(base_url=url, api_key="k"))
    async with PydanticAgent(model).run_stream("Sun?", model_settings={"openai_reasoning_effort": "low"}) as run:
        await run.get_output()
        print("Pydantic AI", [(part.part_kind, part.content) for part in run.all_messages()[-1].parts])
    set_tracing_disabled(True)
    model = OpenAIResponsesModel(name, openai.AsyncOpenAI(base_url=url, api_key="k"))
    agent = Agent(name="a", model=model, model_settings=ModelSettings(reasoning=effort))
    run = Runner.run_streamed(agent, "Sun?")
    async for _ in run.stream_events():
        pass
    print("openai-agents", run.final_output)


asyncio.run(ask())
END
cd "$dir"
clients/bin/python model.py &
servers=$!
until test -s model-port; do sleep 0.1; done
clients/bin/python configure.py
HOME=$dir HF_HUB_OFFLINE=1 TIKTOKEN_CACHE_DIR=$tokens NO_PROXY=127.0.0.1 ogx/bin/ogx run ogx.yaml --insecure > log 2>&1 &
servers="$servers $!"
NO_PROXY=127.0.0.1 clients/bin/python -W ignore ask.py > seen || { tail -20 log >&2; exit 1; }
cat seen
diff - seen <<'END' || { echo "It is no longer as described." >&2; exit 1; }
content_part.added: msg, output 0, content 1
reasoning_text.delta: msg, output 0, content 1
output_item.added: msg, output 0
content_part.added: msg, output 0, content 0
output_text.delta: msg, output 0, content 0
content_part.done: msg, output 0, content 0
reasoning_text.done: msg, output 0, content 1
content_part.done: msg, output 0, content 1
output_item.done: msg, output 0
output_item.added: rs, output 0
output_item.done: rs, output 0
response.completed ['reasoning', 'message']
openai raises Received a content event for output index 0 before receiving its output item
langchain text Sunny. rs It is noon.
Pydantic AI [('thinking', ''), ('text', 'Sunny.')]
openai-agents Sunny.
END
