#!/bin/sh
# Microsoft's Agent Framework is read as a stream by a loop over updates that prints the text of each. With its client of the
# Responses API each text then stands there twice: first in pieces, and, when the server says that the text is done, once more as a
# whole. That last content has `merge_mode` "replace", the others "append", but `update.text` says nothing of it, and the last update
# looks like any other. `get_final_response()` has the text once, and so does the framework's own adapter for AG-UI, which leaves
# such contents out.
# Join only contents whose `merge_mode` is "append", or take the final response.
# Seen on 2026-11-28 with agent-framework-core 1.23.0, agent-framework-openai 1.17.0, agent-framework-ag-ui 1.7.0, openai 3.57.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" agent-framework-core==1.23.0 agent-framework-openai==1.17.0 \
    agent-framework-ag-ui==1.7.0 openai==3.57.0 httpx
cat > "$dir/client.py" <<'END'
import asyncio
import json

import httpx
import openai
from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient
from agent_framework_ag_ui import AgentFrameworkAgent

PART = {"type": "output_text", "text": "Sunny today.", "annotations": [], "logprobs": []}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [PART]}
BEGUN = {"status": "in_progress", "content": []}
RESPONSE = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed"}
RESPONSE |= {"output": [MESSAGE], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
PLACE = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
EVENTS = [
    {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": {**MESSAGE, **BEGUN}},
    {"type": "response.content_part.added", **PLACE, "part": {**PART, "text": ""}},
    {"type": "response.output_text.delta", **PLACE, "delta": "Sunny ", "logprobs": []},
    {"type": "response.output_text.delta", **PLACE, "delta": "today.", "logprobs": []},
    {"type": "response.output_text.done", **PLACE, "text": "Sunny today.", "logprobs": []},
    {"type": "response.content_part.done", **PLACE, "part": PART},
    {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE},
    {"type": "response.completed", "response": RESPONSE},
]


def answer(_: httpx.Request) -> httpx.Response:
    events = [json.dumps({**event, "sequence_number": number}) for number, event in enumerate(EVENTS)]
    body = "".join(f"data: {event}\n\n" for event in events)
    return httpx.Response(200, text=body, headers={"content-type": "text/event-stream"})


def make_agent() -> Agent:
    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    client = openai.AsyncOpenAI(api_key="k", http_client=http)
    return Agent(client=OpenAIChatClient(model="gpt-5", async_client=client))


async def main() -> None:
    stream = make_agent().run("Weather?", stream=True)
    updates = [update async for update in stream]
    for content in (one for update in updates for one in update.contents if one.text):
        print(f"content: {content.merge_mode} {content.text!r}")
    print(f"joined: {''.join(update.text for update in updates)!r}")
    print(f"final response: {(await stream.get_final_response()).text!r}")
    question = {"id": "1", "role": "user", "content": "Weather?"}
    request = {"messages": [question], "thread_id": "t", "run_id": "r"}
    told = [getattr(event, "delta", "") async for event in AgentFrameworkAgent(agent=make_agent()).run(request)]
    print(f"AG-UI: {''.join(told)!r}")


asyncio.run(main())
END
"$dir/venv/bin/python" "$dir/client.py" > "$dir/seen"
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
content: append 'Sunny '
content: append 'today.'
content: replace 'Sunny today.'
joined: 'Sunny today.Sunny today.'
final response: 'Sunny today.'
AG-UI: 'Sunny today.'
END
