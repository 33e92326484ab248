#!/bin/sh
# A model that will not answer says so in a message whose part is a `refusal`, beside no text. One would expect that a client shows
# it or raises. openai-agents and Pydantic AI raise with its words, and Microsoft's Agent Framework gives them as the text. For agno,
# strands-agents, Haystack and LlamaIndex the answer is empty and the run has ended well; LlamaIndex keeps the words of an unstreamed
# answer in `additional_kwargs` of its response, the others nowhere. With langchain the words are a block of `content`, and its
# `text` is empty. So a person reads nothing, and neither why.
# With these, take an answer without text and calls for a refusal, or read the items yourself.
# Seen on 2026-11-29 with openai 3.57.0, openai-agents 0.24.0, pydantic-ai-slim 2.68.0, langchain-openai 1.7.4, haystack-ai 3.4.1,
# agno 3.1.10, agent-framework-openai 1.17.0 with agent-framework-core 1.23.0; and, with openai 2.54.0, strands-agents 1.62.0 and
# llama-index-llms-openai 0.8.3 with llama-index-core 0.14.25.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" openai==3.57.0 openai-agents==0.24.0 "pydantic-ai-slim[openai]==2.68.0" \
  langchain-openai==1.7.4 haystack-ai==3.4.1 agno==3.1.10 agent-framework-core==1.23.0 agent-framework-openai==1.17.0
uv venv --quiet --python 3.12 "$dir/older"
uv pip install --quiet --python "$dir/older/bin/python" "strands-agents[openai]==1.62.0" llama-index-llms-openai==0.8.3 \
  llama-index-core==0.14.25 openai==2.54.0
cat > "$dir/server.py" <<'END'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RESPONSE = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5.5", "status": "in_progress"}
RESPONSE |= {"output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
PART = {"type": "refusal", "refusal": ""}
PLACE = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
DETAILS = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
USAGE = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **DETAILS}
ENDED = {"status": "completed", "usage": USAGE}
WORDS = "I cannot help with that."
WHOLE = {**PART, "refusal": WORDS}
DONE = {**ITEM, "status": "completed", "content": [WHOLE]}
EVENTS = [
    {"type": "response.created", "response": RESPONSE},
    {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
    {"type": "response.content_part.added", **PLACE, "part": PART},
    {"type": "response.refusal.delta", **PLACE, "delta": WORDS},
    {"type": "response.refusal.done", **PLACE, "refusal": WORDS},
    {"type": "response.content_part.done", **PLACE, "part": WHOLE},
    {"type": "response.output_item.done", "output_index": 0, "item": DONE},
    {"type": "response.completed", "response": {**RESPONSE, **ENDED, "output": [DONE]}},
]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kind, body = "application/json", json.dumps(EVENTS[-1]["response"])
        if asked.get("stream"):
            events = [{**event, "sequence_number": number} for number, event in enumerate(EVENTS)]
            kind, body = "text/event-stream", "".join(f"data: {json.dumps(one)}\n\n" for one in events)
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}/v1"
END
cat > "$dir/clients.py" <<'END'
import asyncio

from server import URL, WORDS

import agents
from agent_framework import Agent as FrameworkAgent
from agent_framework.openai import OpenAIChatClient
from agno.agent import Agent as AgnoAgent
from agno.models.openai import OpenAIResponses
from haystack.components.generators.chat.openai_responses import OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticModel
from pydantic_ai.providers.openai import OpenAIProvider

agents.set_tracing_disabled(True)


async def read_agents() -> object:
    model = agents.OpenAIResponsesModel("gpt-5.5", AsyncOpenAI(base_url=URL, api_key="k"))
    result = agents.Runner.run_streamed(agents.Agent(name="a", model=model), "Where?")
    async for _ in result.stream_events():
        pass
    return result.final_output


async def read_pydantic() -> object:
    model = PydanticModel("gpt-5.5", provider=OpenAIProvider(base_url=URL, api_key="k"))
    async with PydanticAgent(model).run_stream("Where?") as result:
        return await result.get_output()


async def read_langchain() -> object:
    model = ChatOpenAI(model="gpt-5.5", base_url=URL, api_key="k", use_responses_api=True)
    said = await model.ainvoke("Where?")
    return said.text, said.content


async def read_haystack() -> object:
    generator = OpenAIResponsesChatGenerator(api_key=Secret.from_token("k"), model="gpt-5.5", api_base_url=URL)
    said = generator.run([ChatMessage.from_user("Where?")], streaming_callback=lambda _: None)["replies"][0]
    return said.text, said.meta["finish_reason"]


async def read_agno() -> object:
    agent = AgnoAgent(model=OpenAIResponses(id="gpt-5.5", base_url=URL, api_key="k"), telemetry=False)
    last = [event async for event in agent.arun("Where?", stream=True, stream_events=True)][-1]
    return last.event, last.content


async def read_agent_framework() -> object:
    client = OpenAIChatClient(model="gpt-5.5", base_url=URL, api_key="k")
    return (await FrameworkAgent(client=client).run("Where?", stream=True).get_final_response()).text


async def main() -> None:
    for name, read in list(globals().items()):
        if name.startswith("read_"):
            try:
                said = repr(await read())
            except Exception as error:
                said = f"raises {type(error).__name__} with its words: {WORDS in str(error)}"
            print(f"{name.removeprefix('read_')}: {said}")


asyncio.run(main())
END
cat > "$dir/older.py" <<'END'
from server import URL

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAIResponses
from strands import Agent
from strands.models.openai_responses import OpenAIResponsesModel

model = OpenAIResponsesModel(model_id="gpt-5.5", client_args={"base_url": URL, "api_key": "k"})
result = Agent(model=model, callback_handler=None)("Where?")
print(f"strands: {result.message['content'], result.stop_reason}")
model = OpenAIResponses(model="gpt-5.5", api_base=URL, api_key="k")
asked = [ChatMessage(role="user", content="Where?")]
for kind, said in (("whole", model.chat(asked)), ("streamed", [*model.stream_chat(asked)][-1])):
    print(f"llama-index, {kind}: {said.message.content!r}, refusal {said.additional_kwargs.get('refusal')!r}")
END
{ "$dir/venv/bin/python" -W ignore "$dir/clients.py"; "$dir/older/bin/python" -W ignore "$dir/older.py"; } > "$dir/seen" 2> "$dir/log" || { cat "$dir/log" >&2; exit 1; }
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
agents: raises ModelRefusalError with its words: True
pydantic: raises ContentFilterError with its words: True
langchain: ('', [{'type': 'refusal', 'refusal': 'I cannot help with that.', 'id': 'msg_1'}])
haystack: (None, 'stop')
agno: ('RunCompleted', None)
agent_framework: 'I cannot help with that.'
strands: ([], 'end_turn')
llama-index, whole: None, refusal 'I cannot help with that.'
llama-index, streamed: None, refusal None
END
