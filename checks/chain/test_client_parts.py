"""Nothing that a served agent's client says becomes a link to, or a file of, the operator's account at the model's server.

Whichever member of whichever part says it.
"""

from contextlib import suppress
from itertools import product

import httpx
import pytest

from agent_driver import Agent
from agent_endpoint import AgentExecutor, EndpointSettings
from agent_server._responses.input_items import read_input  # noqa: PLC2701 - one by one
from agent_server.engine import open_engine
from agent_server.executor import RequestRefusedError
from agent_server.http import build_app, read_content
from gpt5_messages import MessageError, build_input
from gpt5_messages._input.parts import _OF_MODELS, _TEXTS  # noqa: PLC2701 - what it reads
from gpt5_messages._media import _KINDS, _OWN_KINDS  # noqa: PLC2701 - likewise
from stream_text import read_member


LINK, FILE = "https://inner.example/a.png", "file-of-another-tenant"
PNG, PDF = "data:image/png;base64,cG5n", "data:application/pdf;base64,cGRm"
DECOY = {"text": "see", "refusal": "no", "image_url": PNG, "file_data": PDF, "filename": "a.pdf"}


class Noting(dict):
    """A part that notes which of its members are looked for."""

    names: set

    def get(self, name, default=None):
        self.names.add(name)
        return super().get(name, default)


def names_read():
    """Return the name of each member that gpt5-messages looks for in a part."""
    names = set()
    for kind, own in product([*_KINDS, *_TEXTS], ("type", "kind")):
        part = Noting({own: kind})
        part.names = names
        for role in ("user", "assistant"):
            with suppress(MessageError):  # A text without one.
                build_input([{"role": role, "content": [part]}])
    return sorted(names - {"type", "kind"})


NAMES = names_read()


def is_taken(kind):
    try:
        return bool(read_content([{"type": kind, **DECOY}], ""))
    except RequestRefusedError:
        return False


def parts():
    """Yield parts of every kind, each with a link or a file under a name, in the part itself or in what it holds, alone and beside what is taken."""
    for kind, decoy in product([*_KINDS, *_TEXTS, *_OF_MODELS, None, 3, []], ({}, DECOY)):
        own = {"type": kind, **decoy}
        yield dict.fromkeys(NAMES, LINK) | own
        yield {**own, "kind": "image", "source_type": "id", "id": FILE}
        for name in NAMES if isinstance(kind, str) and is_taken(kind) else ():
            for value in (LINK, dict.fromkeys(NAMES, FILE)):
                yield {**own, name: value}


PARTS = list(parts())
# Any JSON is a result of a client's function, and some of it is what a tool of the agent's own would give out as a picture.
SHOWN = ("image", "image_url", "file")
RESULTS = [
    *({"type": kind, name: LINK} for kind in (*SHOWN, *_OWN_KINDS) for name in NAMES),
    *({"type": kind, name: {"url": LINK}} for kind in (*SHOWN, *_OWN_KINDS) for name in NAMES),
    *([{"type": kind, name: LINK} for kind in SHOWN] for name in NAMES),
]
ROUND = 20  # calls, which an agent makes no more of at once
CALL = {"type": "function_call", "call_id": "c", "name": "mine", "arguments": "{}"}
MCP = {"type": "mcp_call", "id": "m", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c"}


def items(part):
    """Yield the items in which a client can say a part."""
    for role in ("user", "assistant"):
        yield [{"role": role, "content": [part]}]
    yield [{"role": "user", "content": part}]
    yield [{"role": "user", "content": [{"type": "input_text", "text": "see"}, part]}]
    yield [{**part, "type": "message", "role": "user", "content": "see"}]
    for output in (part, [part]):
        yield [CALL, OUTPUT | {"output": output}]
        yield [CALL | part | CALL, OUTPUT | {"output": "done"}]
        yield [MCP | {"output": output}]
        yield [MCP | {"error": {"content": output}}]
        yield [MCP | {"error": output}]


def sift(take):
    """Return the items that are taken, and count them and those that are refused."""
    taken, refused = [], 0
    for part in PARTS:
        for given in items(part):
            try:
                take([*given])
            except RequestRefusedError:
                refused += 1
            else:
                taken += given
    assert len(taken) > 100 < refused
    return [*taken, {"role": "user", "content": "go on"}]


def links(value):
    """Return the links and files in a request of the API's that are no text."""
    match value:
        case str():
            return [value] if "inner.example" in value or FILE in value else []
        case list():
            return [found for one in value for found in links(one)]
        case dict():
            texts = {name for name in ("content", "output") if isinstance(value.get(name), str)}
            rest = value.keys() - texts - {"text", "filename", "arguments"}
            return [found for name in rest for found in links(value[name])]
        case _:
            return []


def test_gpt5_messages_reads_more_than_what_agents_take():
    assert {"image_url", "file_url", "file_id", "source", "url", "vendor_metadata"} <= {*NAMES}
    part = {"type": "input_image", "source": {"url": LINK}}
    assert links(build_input([{"role": "user", "content": [part]}]))


@pytest.mark.anyio
async def test_no_part_of_a_client_makes_the_models_server_fetch_anything(tmp_path):
    told = []

    async def model(asked):
        told.append(build_input(asked.messages))
        if read_member(asked.messages[-1], "role") == "user" and asked.tools:
            yield {"tool_calls": [{**CALL, "call_id": f"c{n}"} for n in range(ROUND)]}
        else:
            yield "Done."

    executor = AgentExecutor({"agent": Agent(model, result_characters=10**9)})
    settings = EndpointSettings(state=tmp_path, max_request_bytes=10**8)
    async with open_engine(settings, executor) as runs:
        transport = httpx.ASGITransport(build_app(settings, executor, runs))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            taken = sift(lambda given: executor.check("agent", {"input": given}))
            await run(client, taken)
            taken = sift(read_input)
            answer = await client.post("/v1/responses", json={"model": "agent", "input": taken})
            assert answer.json()["status"] == "completed", answer.text
            for first in range(0, len(RESULTS), ROUND):
                waiting = await run(client, "?", tools=[{"name": "mine"}])
                given = RESULTS[first : first + ROUND] + ["none"] * ROUND
                results = {f"c{n}": given[n] for n in range(ROUND)}
                body = {"wait_id": waiting["waiting_for"]["wait_id"], "results": results}
                answer = await client.post(f"/v1/runs/{waiting['run_id']}/input", json=body)
                assert answer.status_code == 202, answer.text
                await rest(client, waiting["run_id"])
    assert "inner.example" in str(told[-1])
    assert links(told) == []


async def run(client, given, **more):
    body = {"agent": "agent", "input": given, **more}
    answer = await client.post("/v1/runs", json=body)
    assert answer.status_code == 202, answer.text
    return await rest(client, answer.json()["run_id"])


async def rest(client, run_id):
    """Return a run once it has ended or waits."""
    await client.get(f"/v1/runs/{run_id}/events", headers={"Accept": "text/event-stream"})
    return (await client.get(f"/v1/runs/{run_id}")).json()
