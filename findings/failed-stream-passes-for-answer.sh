#!/bin/sh
# A stream of the Responses API that fails on the way ends with `response.failed`, in which `error` says why. One would expect an
# error from whoever reads it, as openai-agents, Pydantic AI, langchain and strands-agents give. agno ends the run as completed,
# Microsoft's Agent Framework and Haystack return the words that came before as the answer, and LlamaIndex a message without any;
# none of the four raises, and only Haystack keeps the status, in `meta`. openai itself yields the event like any other.
# With these, look for the event, or check how the answer ends.
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
ERROR = {"code": "server_error", "message": "The server had an error."}
ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
PART = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
PLACE = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
EVENTS = [
    {"type": "response.created", "response": RESPONSE},
    {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
    {"type": "response.content_part.added", **PLACE, "part": PART},
    {"type": "response.output_text.delta", **PLACE, "delta": "Take the left", "logprobs": []},
    {"type": "response.failed", "response": {**RESPONSE, "status": "failed", "error": ERROR}},
]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        events = [{**event, "sequence_number": number} for number, event in enumerate(EVENTS)]
        body = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
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

agents.set_tracing_disabled(True)


async def read_openai() -> object:
    with OpenAI(base_url=URL, api_key="k").responses.stream(model="gpt-5.5", input="Where?") as stream:
        return [event.type for event in stream][-1]


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
    return "".join([chunk.text async for chunk in model.astream("Where?")])


async def read_haystack() -> object:
    generator = OpenAIResponsesChatGenerator(api_key=Secret.from_token("k"), model="gpt-5.5", api_base_url=URL)
    said = generator.run([ChatMessage.from_user("Where?")], streaming_callback=lambda _: None)["replies"][0]
    return said.text, said.meta["status"]


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
                said = f"raises {type(error).__name__}"
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
try:
    print(f"strands: {Agent(model=model, callback_handler=None)('Where?')!r}")
except Exception:
    print("strands: raises")
model = OpenAIResponses(model="gpt-5.5", api_base=URL, api_key="k")
*_, last = model.stream_chat([ChatMessage(role="user", content="Where?")])
print(f"llama-index: {last.message.content!r}")
END
{ "$dir/venv/bin/python" -W ignore "$dir/clients.py"; "$dir/older/bin/python" -W ignore "$dir/older.py"; } > "$dir/seen" 2> "$dir/log" || { cat "$dir/log" >&2; exit 1; }
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
openai: 'response.failed'
agents: raises ModelBehaviorError
pydantic: raises ModelServerError
langchain: raises ValueError
haystack: ('Take the left', 'failed')
agno: ('RunCompleted', 'Take the left')
agent_framework: 'Take the left'
strands: raises
llama-index: None
END
