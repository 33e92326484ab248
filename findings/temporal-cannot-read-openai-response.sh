#!/bin/sh
# openai's client takes any value that a server sends, for it builds its objects without validation. Temporal's Pydantic
# converter validates. One would expect that a Response which the one has read passes through the other. It does not, as soon
# as a server sends one value that the client's classes do not list, such as the source of a web search that is an `api`: what
# an activity returns is written, with no more than a warning, and cannot be read by the workflow. Let activities return
# `response.to_dict()`.
# Seen on 2026-11-28 with temporalio 1.35.0, openai 3.57.0 and pydantic 2.14.4.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" temporalio==1.35.0 openai==3.57.0 pydantic==2.14.4
"$dir/venv/bin/python" -W ignore - > "$dir/seen" <<'END'
import asyncio

import httpx2
from openai import OpenAI
from openai.types.responses import Response
from pydantic import ValidationError
from temporalio.contrib.pydantic import pydantic_data_converter


def respond(source: dict) -> dict:
    search = {"type": "search", "query": "weather Rome", "queries": ["weather Rome"], "sources": [source]}
    text = {"type": "output_text", "text": "Sunny.", "annotations": []}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "status": "completed",
        "output": [
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": search},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]},
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


async def travel(value: object, hint: type) -> str:
    payloads = await pydantic_data_converter.encode([value])
    try:
        (received,) = await pydantic_data_converter.decode(payloads, [hint])
    except ValidationError as error:
        return f"{type(error).__name__} for {error.title}"
    return "arrives" if received == value else "differs"


async def main() -> None:
    for source in ({"type": "url", "url": "https://weather.example"}, {"type": "api", "name": "oai-weather"}):
        transport = httpx2.MockTransport(lambda _, source=source: httpx2.Response(200, json=respond(source)))
        client = OpenAI(api_key="k", http_client=httpx2.Client(transport=transport))
        response = client.responses.create(model="gpt-5", input="Weather?")
        print(source["type"], "read by the client:", response.output_text)
        print(source["type"], "as Response:", await travel(response, Response))
        print(source["type"], "as dict:", await travel(response.to_dict(), dict))


asyncio.run(main())
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
url read by the client: Sunny.
url as Response: arrives
url as dict: arrives
api read by the client: Sunny.
api as Response: ValidationError for Response
api as dict: arrives
END
