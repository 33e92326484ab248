"""Scripts at `/v1/responses`."""

from contextlib import asynccontextmanager

import httpx
import pytest

from agent_runner.server import ScriptExecutor, ScriptServerSettings
from agent_server.engine import open_engine
from agent_server.http import build_app


PRINTS = """
import json, sys
print(json.dumps({"type": "image_output", "data": "cG5n", "mimeType": "image/png"}))
print(json.dumps({"type": "resource_output", "uri": "x"}))
print("You said " + json.load(sys.stdin)["prompt"])
print(json.dumps({"sum": 4}))
print("to nobody", file=sys.stderr)
"""

ASKS = """
import json, sys
resume = json.load(sys.stdin).get("resume")
if resume is None:
    print("paying")
    calls = [{"call_id": name, "name": name, "arguments": {}} for name in ("pay", "open")]
    request = {"approvals": calls[:1], "results": calls[1:]}
    print(json.dumps({"type": "input_required", "request": request, "state": 1}))
elif resume["state"] == 1:
    question = {"text": "How was it?", "schema": {"type": "string"}}
    print(json.dumps({"type": "input_required", "request": {"question": question}, "state": 2}))
else:
    print(json.dumps(resume["answer"]))
"""


@pytest.fixture
def asked(tmp_path, make_runner, make_agent):
    """Return a function that opens a client of a server of one script."""

    @asynccontextmanager
    async def open_(script):
        executor = ScriptExecutor({"agent": make_agent(script)}, make_runner())
        settings = ScriptServerSettings(state=tmp_path / "state")
        async with open_engine(settings, executor) as runs:
            transport = httpx.ASGITransport(build_app(settings, executor, runs))
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1"
            ) as client:
                yield client

    return open_


async def create(client, status=200, **body):
    answer = await client.post("/v1/responses", json={"model": "agent", **body}, timeout=600)
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_what_a_script_prints_is_what_it_says(asked):
    content = [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}]
    async with asked(PRINTS) as client:
        text = await create(client, input="hello", text={"format": {"type": "text"}})
        parts = await create(client, input=[{"role": "user", "content": content}])
        plain = await create(client, input=[{"role": "user", "content": "hi"}])

    image, said = text["output"]
    assert said["content"][0]["text"] == 'You said hello\n{"sum": 4}\n'
    assert (image["type"], image["result"]) == ("image_generation_call", "cG5n")
    assert parts["output"][1]["content"][0]["text"].startswith("You said one\ntwo\n")
    assert plain["output"][1]["content"][0]["text"].startswith("You said hi\n")


async def test_a_script_that_waits_is_answered_as_any_agent(asked):
    async with asked(ASKS) as client:
        first = await create(client, input="Pay.")
        said, mine, approval = first["output"]
        answers = [
            {"type": "function_call_output", "call_id": mine["call_id"], "output": "open"},
            {
                "type": "mcp_approval_response",
                "approval_request_id": approval["id"],
                "approve": True,
            },
        ]
        second = await create(client, input=answers, previous_response_id=first["id"])
        third = await create(client, input="good", previous_response_id=second["id"])

    assert said["content"][0]["text"] == "paying\n"
    assert second["output"][-1]["content"][0]["text"] == "How was it?"
    assert '"answer": "good"' in third["output"][-1]["content"][0]["text"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": "x", "instructions": "Be brief."}, "instructions"),
        ({"input": "x", "tools": [{"type": "function", "name": "f"}]}, "tools"),
        ({"input": "x", "text": {"format": {"type": "json_object"}}}, "text.format"),
        ({"input": [{"role": "assistant", "content": "x"}]}, "input"),
        ({"input": [{"role": "user", "content": "x"}] * 2}, "input"),
        (
            {
                "input": [
                    {
                        "role": "user",
                        "content": [{"type": "input_image", "image_url": "data:,"}],
                    }
                ]
            },
            "input[0].content",
        ),
    ],
)
async def test_what_a_script_cannot_be_told_is_refused_by_name(asked, body, param):
    async with asked(PRINTS) as client:
        refused = await create(client, 400, **body)

    assert refused["error"]["param"] == param
