#!/bin/sh
# strands-agents' `OpenAIResponsesModel(stateful=True)` lets the server keep the conversation. One would expect that after a call
# of a tool it sends the result alone, with `previous_response_id`. It sends the id and, besides, all that this run has said so
# far: the question and the call a second time, and in the third round once more. A server that puts the input behind what it
# has shows the model its question and its calls again and again, and what is read and paid grows with the square of the rounds.
# From one run to the next it is as expected: only the new question is sent. Without `stateful` nothing is sent twice.
# Seen on 2026-11-28 with strands-agents 1.62.0 and openai 3.57.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" strands-agents==1.62.0 openai==3.57.0
"$dir/venv/bin/python" -W ignore - > "$dir/seen" <<'END'
import json
import logging

import httpx2
import strands
from strands.models.openai_responses import OpenAIResponsesModel

logging.disable()
conversation = {}
texts = iter(("", "", "Sunny in both.", "Bye."))


def name(item: dict) -> str:
    if item.get("type") in ("function_call", "function_call_output"):
        return f"{item['type']} {item['call_id']}"
    return f"{item['role']} {item['content'] if isinstance(item['content'], str) else item['content'][0]['text']}"


def answer(request: httpx2.Request) -> httpx2.Response:
    body = json.loads(request.content)
    number = len(conversation) + 1
    print(f"request {number}, after {body.get('previous_response_id')}:", *map(name, body["input"]), sep=" | ")
    text = next(texts)
    if text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}
        delta = {"type": "response.output_text.delta", "item_id": item["id"], "content_index": 0, "delta": text}
    else:
        ids = {"id": f"fc_{number}", "call_id": f"call_{number}"}
        item = {"type": "function_call", **ids, "name": "look", "arguments": "{}", "status": "completed"}
        delta = {"type": "response.function_call_arguments.delta", "item_id": item["id"], "delta": "{}"}
    response = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed"}
    response |= {"output": [item], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    conversation[response["id"]] = [*conversation.get(body.get("previous_response_id"), []), *body["input"], item]
    events = [
        {"type": "response.created", "response": {**response, "output": [], "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": [], "arguments": ""}},
        {**delta, "output_index": 0},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    lines = (f"data: {json.dumps({**event, 'sequence_number': n})}\n\n" for n, event in enumerate(events))
    return httpx2.Response(200, text="".join(lines), headers={"content-type": "text/event-stream"})


class Client(httpx2.AsyncClient):
    async def aclose(self) -> None:
        """Stay open, for strands closes its client after each request."""


@strands.tool
def look() -> str:
    """Look at the sky."""
    return "Sun."


client = {"api_key": "k", "http_client": Client(transport=httpx2.MockTransport(answer))}
agent = strands.Agent(model=OpenAIResponsesModel(client, model_id="gpt-5", stateful=True), tools=[look], callback_handler=None)
agent("Weather?")
agent("Bye!")
print("the model has read:", *map(name, conversation["resp_3"]), sep=" | ")
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
request 1, after None: | user Weather?
request 2, after resp_1: | user Weather? | function_call call_1 | function_call_output call_1
request 3, after resp_2: | user Weather? | function_call call_1 | function_call_output call_1 | function_call call_2 | function_call_output call_2
request 4, after resp_3: | user Bye!
the model has read: | user Weather? | function_call call_1 | user Weather? | function_call call_1 | function_call_output call_1 | function_call call_2 | user Weather? | function_call call_1 | function_call_output call_1 | function_call call_2 | function_call_output call_2 | assistant Sunny in both.
END
