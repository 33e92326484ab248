#!/bin/sh
# Newer GPT-5 models say in a message of phase `commentary` what they are going to do, and give the answer in a second one of
# phase `final_answer`. One would expect that what a client calls the text of the response is the answer, or that the two are
# kept apart. openai-agents takes the last message; openai's `output_text`, Pydantic AI, langchain, Haystack, agno, the AI SDK and
# Microsoft's Agent Framework join both, most without even a blank between the sentences, and LlamaIndex tells the first message
# twice. So JSON that the answer is meant to be is no longer JSON. Go by the items and their `phase`.
# Seen on 2026-11-28 with openai 3.57.0, openai-agents 0.24.0, pydantic-ai-slim 2.68.0, langchain-openai 1.7.4, haystack-ai 3.4.1,
# agno 3.1.10, agent-framework-openai 1.17.0 with agent-framework-core 1.23.0, llama-index-llms-openai 0.8.3 with llama-index-core
# 0.14.25 (openai 2.54.0), and on Node.js 20 ai 7.0.173 with @ai-sdk/openai 4.0.118.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" openai==3.57.0 openai-agents==0.24.0 "pydantic-ai-slim[openai]==2.68.0" \
  langchain-openai==1.7.4 haystack-ai==3.4.1 agno==3.1.10 agent-framework-core==1.23.0 agent-framework-openai==1.17.0
uv venv --quiet --python 3.12 "$dir/llama"
uv pip install --quiet --python "$dir/llama/bin/python" llama-index-llms-openai==0.8.3 llama-index-core==0.14.25 openai==2.54.0
npm install --silent --no-audit --no-fund --prefix "$dir" ai@7.0.173 @ai-sdk/openai@4.0.118
cat > "$dir/server.py" <<'END'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def say(number: int, phase: str, text: str) -> dict:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
    return {**item, "phase": phase, "content": [part]}


RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5.5",
    "status": "completed",
    "output": [say(1, "commentary", "I count."), say(2, "final_answer", '{"cats": 2}')],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    },
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(RESPONSE).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}/v1"
END
cat > "$dir/clients.py" <<'END'
import asyncio
import subprocess
import sys

from server import URL

import agents
from agent_framework import Agent as FrameworkAgent
from agent_framework.openai import OpenAIChatClient
from agno.agent import Agent as AgnoAgent
from agno.models.openai import OpenAIResponses
from haystack.components.generators.chat.openai_responses import OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI, OpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticModel
from pydantic_ai.providers.openai import OpenAIProvider

print("openai:", OpenAI(base_url=URL, api_key="k").responses.create(model="gpt-5.5", input="Cats?").output_text)

agents.set_tracing_disabled(True)
model = agents.OpenAIResponsesModel("gpt-5.5", AsyncOpenAI(base_url=URL, api_key="k"))
print("openai-agents:", agents.Runner.run_sync(agents.Agent(name="a", model=model), "Cats?").final_output)

model = PydanticModel("gpt-5.5", provider=OpenAIProvider(base_url=URL, api_key="k"))
print("pydantic-ai:", PydanticAgent(model).run_sync("Cats?").output)

print("langchain:", ChatOpenAI(model="gpt-5.5", base_url=URL, api_key="k", use_responses_api=True).invoke("Cats?").text)

generator = OpenAIResponsesChatGenerator(api_key=Secret.from_token("k"), model="gpt-5.5", api_base_url=URL)
print("haystack:", generator.run([ChatMessage.from_user("Cats?")])["replies"][0].text)

model = OpenAIResponses(id="gpt-5.5", base_url=URL, api_key="k")
print("agno:", AgnoAgent(model=model, telemetry=False).run("Cats?").content)

client = OpenAIChatClient(model="gpt-5.5", base_url=URL, api_key="k")
print("agent-framework:", asyncio.run(FrameworkAgent(client=client).run("Cats?")).text)

sys.stdout.flush()
subprocess.run(["node", sys.argv[1], URL], check=True)
END
cat > "$dir/client.mjs" <<'END'
import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";

const model = createOpenAI({ apiKey: "k", baseURL: process.argv[2] }).responses("gpt-5.5");
console.log("ai:", (await generateText({ model, prompt: "Cats?" })).text);
END
cat > "$dir/llama.py" <<'END'
from server import URL

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAIResponses

model = OpenAIResponses(model="gpt-5.5", api_base=URL, api_key="k")
message = model.chat([ChatMessage(role="user", content="Cats?")]).message
print("llama-index:", *(block.text for block in message.blocks), sep=" | ")
END
"$dir/venv/bin/python" -W ignore "$dir/clients.py" "$dir/client.mjs" > "$dir/seen"
"$dir/llama/bin/python" -W ignore "$dir/llama.py" >> "$dir/seen"
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
openai: I count.{"cats": 2}
openai-agents: {"cats": 2}
pydantic-ai: I count.{"cats": 2}
langchain: I count.{"cats": 2}
haystack: I count.{"cats": 2}
agno: I count.{"cats": 2}
agent-framework: I count. {"cats": 2}
ai: I count.{"cats": 2}
llama-index: | I count. | I count. | {"cats": 2}
END
