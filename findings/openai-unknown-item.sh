#!/bin/sh
# One would expect that openai's typed client gives an output item or an event whose type it does not know a class of no
# special kind. It makes it an object of the first class of its union instead: an unknown item is a ResponseOutputMessage
# without content, an unknown event a ResponseAudioDeltaEvent. So `isinstance` lies, and readers that go by it fail on a
# response that is otherwise good: Pydantic AI, and openai-agents if the item is the last, iterate over the content, which is
# None. Whoever reads Responses should go by `type`; whoever serves them breaks such clients with a kind of item of their own.
# Seen on 2026-11-28 with openai 3.57.0, openai-agents 0.24.0 and pydantic-ai-slim 2.68.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" openai==3.57.0 openai-agents==0.24.0 "pydantic-ai-slim[openai]==2.68.0"
"$dir/venv/bin/python" - > "$dir/seen" <<'END'
import json

import httpx2
from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI, OpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticModel
from pydantic_ai.providers.openai import OpenAIProvider

UNKNOWN = {"type": "map_call", "id": "map_1", "status": "completed", "place": "Rome"}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Here it is.", "annotations": []}],
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5",
    "status": "completed",
    "output": [MESSAGE, UNKNOWN],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
EVENTS = [
    {"type": "response.map_call.zooming", "sequence_number": 1, "item_id": "map_1"},
    {"type": "response.completed", "sequence_number": 2, "response": RESPONSE},
]


def answer(request: httpx2.Request) -> httpx2.Response:
    if json.loads(request.content).get("stream"):
        text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in EVENTS)
        return httpx2.Response(200, text=text, headers={"content-type": "text/event-stream"})
    return httpx2.Response(200, json=RESPONSE)


def connect() -> AsyncOpenAI:
    transport = httpx2.MockTransport(answer)
    return AsyncOpenAI(api_key="k", http_client=httpx2.AsyncClient(transport=transport))


client = OpenAI(api_key="k", http_client=httpx2.Client(transport=httpx2.MockTransport(answer)))
for item in client.responses.create(model="gpt-5", input="Where?").output:
    print("item", item.type, "is a", type(item).__name__)
for event in client.responses.create(model="gpt-5", input="Where?", stream=True):
    print("event", event.type, "is a", type(event).__name__)

set_tracing_disabled(True)
try:
    Runner.run_sync(Agent(name="a", model=OpenAIResponsesModel("gpt-5", connect())), "Where?")
except TypeError as error:
    print("openai-agents:", error)
try:
    model = PydanticModel("gpt-5", provider=OpenAIProvider(openai_client=connect()))
    PydanticAgent(model).run_sync("Where?")
except TypeError as error:
    print("pydantic-ai:", error)
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
item message is a ResponseOutputMessage
item map_call is a ResponseOutputMessage
event response.map_call.zooming is a ResponseAudioDeltaEvent
event response.completed is a ResponseCompletedEvent
openai-agents: 'NoneType' object is not iterable
pydantic-ai: 'NoneType' object is not iterable
END
