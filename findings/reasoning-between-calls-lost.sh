#!/bin/sh
# GPT-5 may think between the calls of one response: thought 1, "Looking.", call 1, thought 2, call 2. Whoever keeps no responses
# on the server (`store: false`) has to send these items back as they came, with the encrypted reasoning. One would expect that
# clients which ask for it do so. openai-agents does. Microsoft's Agent Framework moves the text behind the calls. Haystack and
# agno keep one thought per message, the last, and put it before call 1; agno drops the text, too. LlamaIndex with
# `store=False` and strands-agents send no reasoning at all. All of them end well, so nobody notices that the model goes on
# without what it thought.
# Seen on 2026-11-28 with openai-agents 0.24.0, agent-framework-openai 1.17.0 with agent-framework-core 1.23.0, haystack-ai 3.4.1,
# agno 3.1.10 and strands-agents 1.62.0 (openai 3.57.0), and llama-index-llms-openai 0.8.3 with llama-index-core 0.14.25 (openai
# 2.54.0).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" openai==3.57.0 openai-agents==0.24.0 \
  agent-framework-core==1.23.0 agent-framework-openai==1.17.0 haystack-ai==3.4.1 agno==3.1.10 strands-agents==1.62.0
uv venv --quiet --python 3.12 "$dir/llama"
uv pip install --quiet --python "$dir/llama/bin/python" llama-index-llms-openai==0.8.3 llama-index-core==0.14.25 openai==2.54.0
cat > "$dir/server.py" <<'END'
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

logging.disable()


def say(number: int, text: str) -> dict:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}


def think(number: int) -> dict:
    return {"type": "reasoning", "id": f"thought_{number}", "summary": [], "encrypted_content": f"gAAA{number}"}


def call(number: int) -> dict:
    ids = {"id": f"fc_{number}", "call_id": f"call_{number}"}
    return {"type": "function_call", **ids, "name": "look", "arguments": "{}", "status": "completed"}


def respond(number: int, output: list) -> dict:
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details}
    response = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed"}
    return {**response, "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage}


ANSWERS = [respond(1, [think(1), say(1, "Looking."), call(1), think(2), call(2)]), respond(2, [say(2, "Sunny.")])]


def stream(response: dict) -> list:
    events = [{"type": "response.created", "response": {**response, "output": [], "status": "in_progress"}}]
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        empty = {"message": {"content": []}, "function_call": {"arguments": ""}, "reasoning": {}}[item["type"]]
        events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, **empty}})
        if item["type"] == "message":
            events.append({"type": "response.output_text.delta", **place, "content_index": 0, "delta": item["content"][0]["text"]})
        if item["type"] == "function_call":
            events.append({"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]})
            events.append({"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": response})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(request)
        answer = ANSWERS[len(self.server.requests) - 1]
        body, kind = json.dumps(answer), "application/json"
        if request.get("stream"):
            body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream(answer))
            kind = "text/event-stream"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def tell(self, name: str) -> None:
        items = []
        for item in self.requests[1]["input"]:
            if item.get("type") == "reasoning":
                items.append(f"{item['id']} {item['encrypted_content']}")
            elif item.get("type") == "function_call":
                items.append(item["call_id"])
            elif item.get("role") == "assistant":
                items.append("text")
        print(f"{name}: {', '.join(items)}")


def look() -> str:
    """Look at the sky."""
    return "Sun."
END
cat > "$dir/clients.py" <<'END'
import asyncio

from server import Server, look

import agent_framework.openai
import agents
import strands
from agno.agent import Agent as AgnoAgent
from agno.models.openai import OpenAIResponses
from haystack.components.agents import Agent as HaystackAgent
from haystack.components.generators.chat.openai_responses import OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack.utils import Secret
from openai import AsyncOpenAI
from strands.models.openai_responses import OpenAIResponsesModel as StrandsModel

server = Server()
agents.set_tracing_disabled(True)
model = agents.OpenAIResponsesModel("gpt-5", AsyncOpenAI(base_url=server.url, api_key="k"))
settings = agents.ModelSettings(store=False, response_include=["reasoning.encrypted_content"])
agent = agents.Agent(name="a", model=model, tools=[agents.function_tool(look)], model_settings=settings)
agents.Runner.run_sync(agent, "Weather?")
server.tell("openai-agents")

server = Server()
client = agent_framework.openai.OpenAIChatClient(model="gpt-5", base_url=server.url, api_key="k")
asyncio.run(agent_framework.Agent(client=client, tools=[look], default_options={"store": False}).run("Weather?"))
server.tell("agent-framework")

server = Server()
options = {"store": False, "include": ["reasoning.encrypted_content"]}
generator = OpenAIResponsesChatGenerator(
    api_key=Secret.from_token("k"), model="gpt-5", api_base_url=server.url, generation_kwargs=options
)
HaystackAgent(chat_generator=generator, tools=[create_tool_from_function(look)]).run(messages=[ChatMessage.from_user("Weather?")])
server.tell("haystack")

server = Server()
AgnoAgent(model=OpenAIResponses(id="gpt-5", base_url=server.url, api_key="k", store=False), tools=[look], telemetry=False).run("?")
server.tell("agno")

server = Server()
model = StrandsModel(
    client_args={"base_url": server.url, "api_key": "k"}, model_id="gpt-5", params={"include": ["reasoning.encrypted_content"]}
)
strands.Agent(model=model, tools=[strands.tool(look)], callback_handler=None)("Weather?")
server.tell("strands")
END
cat > "$dir/llama.py" <<'END'
from server import Server, look

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAIResponses

server = Server()
model = OpenAIResponses(
    model="gpt-5", api_base=server.url, api_key="k", store=False, include=["reasoning.encrypted_content"]
)
tools = [FunctionTool.from_defaults(look)]
messages = [ChatMessage(role="user", content="Weather?")]
response = model.chat_with_tools(tools, chat_history=messages)
messages.append(response.message)
for call in model.get_tool_calls_from_response(response):
    messages.append(ChatMessage(role="tool", content=look(), additional_kwargs={"tool_call_id": call.tool_id}))
model.chat_with_tools(tools, chat_history=messages)
server.tell("llama-index")
END
"$dir/venv/bin/python" -W ignore "$dir/clients.py" > "$dir/seen"
"$dir/llama/bin/python" -W ignore "$dir/llama.py" >> "$dir/seen"
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
openai-agents: thought_1 gAAA1, text, call_1, thought_2 gAAA2, call_2
agent-framework: thought_1 gAAA1, call_1, thought_2 gAAA2, call_2, text
haystack: thought_2 gAAA2, call_1, call_2, text
agno: thought_2 gAAA2, call_1, call_2
strands: text, call_1, call_2
llama-index: text, call_1, call_2
END
