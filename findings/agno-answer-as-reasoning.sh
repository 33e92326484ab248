#!/bin/sh
# agno's run has `content`, the answer, and `reasoning_content`, what the model thought. Where the model gives no summary of its
# thoughts, one would expect that `reasoning_content` is None. As soon as `reasoning={...}` is set it is the answer itself, also if
# a summary was asked for: a page shows the answer twice, and a log has it as a thought. In a stream the answer is even put
# behind a true summary, unless the summary is asked for by `reasoning_summary=`. With `reasoning_effort=` in place of the dict
# nothing of this happens.
# Seen on 2026-11-28 with agno 3.1.10 and openai 3.57.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" agno==3.1.10 openai==3.57.0
"$dir/venv/bin/python" -W ignore - > "$dir/seen" <<'END'
import json
from copy import deepcopy

import httpx2
from agno.agent import Agent
from agno.models.openai import OpenAIResponses

TEXT = "Sunny."
PLACE = {"output_index": 0, "item_id": "rs_1", "summary_index": 0}


def respond(summary: str) -> dict:
    parts = [{"type": "summary_text", "text": summary}] if summary else []
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": parts}
    content = [{"type": "output_text", "text": TEXT, "annotations": []}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed"}
    return {**response, "output": [reasoning, message], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def stream(summary: str) -> str:
    events = [{"type": "response.reasoning_summary_text.delta", **PLACE, "delta": summary}] if summary else []
    place = {"output_index": 1, "item_id": "msg_1", "content_index": 0}
    events.append({"type": "response.output_text.delta", **place, "delta": TEXT, "logprobs": []})
    events.append({"type": "response.completed", "response": respond(summary)})
    return "".join(f"event: {e['type']}\ndata: {json.dumps({**e, 'sequence_number': n})}\n\n" for n, e in enumerate(events))


def run(summary: str, *, streamed: bool, **settings: object) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if json.loads(request.content).get("stream"):
            return httpx2.Response(200, text=stream(summary), headers={"content-type": "text/event-stream"})
        return httpx2.Response(200, json=respond(summary))

    told = ["streamed"] if streamed else []
    told += [f"{name}={value}" for name, value in settings.items()]
    client = httpx2.Client(transport=httpx2.MockTransport(answer))
    agent = Agent(model=OpenAIResponses(id="gpt-5", api_key="k", http_client=client, **settings), telemetry=False)
    result = list(agent.run("Weather?", stream=True, yield_run_output=True))[-1] if streamed else agent.run("Weather?")
    print(f"summary {summary!r}, {', '.join(told)}: content {result.content!r}, reasoning_content {result.reasoning_content!r}")


SETTINGS = (
    {"reasoning_effort": "low"},
    {"reasoning": {"effort": "low"}},
    {"reasoning": {"effort": "low"}, "reasoning_summary": "auto"},
    {"reasoning": {"effort": "low", "summary": "auto"}},
)
for streamed in (False, True):
    for summary in ("", "I know it. "):
        for settings in SETTINGS:
            run(summary, streamed=streamed, **deepcopy(settings))
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
summary '', reasoning_effort=low: content 'Sunny.', reasoning_content None
summary '', reasoning={'effort': 'low'}: content 'Sunny.', reasoning_content 'Sunny.'
summary '', reasoning={'effort': 'low'}, reasoning_summary=auto: content 'Sunny.', reasoning_content 'Sunny.'
summary '', reasoning={'effort': 'low', 'summary': 'auto'}: content 'Sunny.', reasoning_content 'Sunny.'
summary 'I know it. ', reasoning_effort=low: content 'Sunny.', reasoning_content 'I know it. '
summary 'I know it. ', reasoning={'effort': 'low'}: content 'Sunny.', reasoning_content 'I know it. '
summary 'I know it. ', reasoning={'effort': 'low'}, reasoning_summary=auto: content 'Sunny.', reasoning_content 'I know it. '
summary 'I know it. ', reasoning={'effort': 'low', 'summary': 'auto'}: content 'Sunny.', reasoning_content 'I know it. '
summary '', streamed, reasoning_effort=low: content 'Sunny.', reasoning_content None
summary '', streamed, reasoning={'effort': 'low'}: content 'Sunny.', reasoning_content 'Sunny.'
summary '', streamed, reasoning={'effort': 'low'}, reasoning_summary=auto: content 'Sunny.', reasoning_content None
summary '', streamed, reasoning={'effort': 'low', 'summary': 'auto'}: content 'Sunny.', reasoning_content 'Sunny.'
summary 'I know it. ', streamed, reasoning_effort=low: content 'Sunny.', reasoning_content 'I know it. '
summary 'I know it. ', streamed, reasoning={'effort': 'low'}: content 'Sunny.', reasoning_content 'I know it. Sunny.'
summary 'I know it. ', streamed, reasoning={'effort': 'low'}, reasoning_summary=auto: content 'Sunny.', reasoning_content 'I know it. '
summary 'I know it. ', streamed, reasoning={'effort': 'low', 'summary': 'auto'}: content 'Sunny.', reasoning_content 'I know it. Sunny.'
END
