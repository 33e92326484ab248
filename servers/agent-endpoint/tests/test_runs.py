"""Runs of agents, over HTTP."""

import asyncio
from dataclasses import dataclass

import pytest
from scripted import (
    adding,
    asked,
    call,
    calls,
    engine,
    events,
    pay,
    paying,
    rests,
    run,
    script,
    start,
)

from agent_driver import Agent, agent_tool
from agent_endpoint import AgentExecutor
from agent_server.executor import RequestRefusedError
from agent_server.runs import NewRun
from agent_tooling import Context


async def test_an_agent_answers_and_its_events_tell_how(tmp_path):
    async with asked(tmp_path, {"adding": adding}) as client:
        ended = await run(client, "adding", "2 + 3?")
        told = await events(client, ended["run_id"])

    assert (ended["status"], ended["output"]) == ("succeeded", "It was five. ")
    assert ended["usage"]["input_tokens"] == 14
    assert ended["usage"]["model_requests"] == 2
    assert ended["details"] == {"reason": "answered"}
    types = [type_ for type_, _ in told]
    assert types[:3] == ["run_started", "model_started", "model_ended"]
    assert [data["call_id"] for type_, data in told if type_ == "tool_started"] == ["c1", "c2"]
    ends = [data for type_, data in told if type_ == "tool_ended"]
    assert [(one["output"], one["error"], one["round"]) for one in ends] == [
        ("paid 2", None, 1),
        ("paid 3", None, 1),
    ]
    texts = [data["text"] for type_, data in told if type_ == "text"]
    assert "".join(texts) == "It was five. "
    assert len(texts) > 1
    assert types[-2:] == ["model_ended", "run_succeeded"]
    usages = [data["usage"]["output_tokens"] for type_, data in told if type_ == "model_ended"]
    assert usages == [3, 3]


@pytest.mark.parametrize(("approved", "said"), [(True, "paid 5"), (False, "too much")])
async def test_a_run_waits_for_a_person(tmp_path, approved, said):
    async with asked(tmp_path, {"paying": paying}) as client:
        waiting = await run(client, "paying", "Pay Ann.")
        wait = waiting["waiting_for"]
        answer = {"approved": approved, "reason": None if approved else "too much"}
        body = {"wait_id": wait["wait_id"], "approvals": {"c1": answer}}
        await client.post(f"/v1/runs/{waiting['run_id']}/input", json=body)
        ended = await rests(client, waiting["run_id"])
        told = await events(client, waiting["run_id"])

    assert wait["approvals"] == [
        {"call_id": "c1", "name": "pay", "arguments": '{"euros": 5}', "server": "paying"}
    ]
    assert ended["output"] == "All is paid. "
    assert ended["usage"]["model_requests"] == 2
    [end] = [data for type_, data in told if type_ == "tool_ended"]
    assert said in end["output"]
    rounds = [data["round"] for type_, data in told if type_ == "model_started"]
    assert (rounds, end["round"]) == ([1, 2], 1)
    assert sum(type_ == "tool_started" for type_, _ in told) == 1


async def test_a_client_calls_its_own_functions(tmp_path):
    model = script(
        calls(call("open", floor=1), call("pay", "c2", euros=1)),
        lambda asked: f"The door: {asked.messages[-2].content}",
    )
    agent = Agent(model, [pay], instruction="Be brief.")
    tool = {"name": "open", "parameters": {"type": "object", "properties": {"floor": {}}}}
    async with asked(tmp_path, {"agent": agent}) as client:
        waiting = await run(client, "agent", "Open.", tools=[tool], instructions="Be polite.")
        wait = waiting["waiting_for"]
        body = {"wait_id": wait["wait_id"], "results": {"c1": "it is open"}}
        await client.post(f"/v1/runs/{waiting['run_id']}/input", json=body)
        ended = await rests(client, waiting["run_id"])
        told = await events(client, waiting["run_id"])

    assert wait["approvals"] == []
    assert [(one["call_id"], one["name"]) for one in wait["results"]] == [("c1", "open")]
    assert ended["output"] == "The door: it is open "
    assert [data["name"] for type_, data in told if type_ == "tool_started"] == ["pay"]


async def test_what_a_person_reads_before_saying_yes_is_bounded_and_what_a_client_calls_is_not(
    tmp_path,
):
    whole = "x" * 30_000
    writes = [call("write", f"w{n}", text=whole if n == 20 else f"{n}") for n in range(21)]
    payments = [call("pay", f"p{n}", euros=n) for n in range(21)]

    def repeat(asked_):
        return "|".join(one.content for one in asked_.messages[-42:])

    model = script(calls(*writes, *payments), repeat)
    # Also where a rule of the agent's asks about every tool.
    agent = Agent(model, [pay], approval_rules={"*": "always"})
    tool = {"name": "write", "parameters": {"type": "object", "properties": {"text": {}}}}
    async with asked(tmp_path, {"agent": agent}) as client:
        waiting = await run(client, "agent", "Write.", tools=[tool])
        wait = waiting["waiting_for"]
        body = {
            "wait_id": wait["wait_id"],
            "results": {one["call_id"]: f"written {one['call_id']}" for one in wait["results"]},
            "approvals": {one["call_id"]: {"approved": True} for one in wait["approvals"]},
        }
        await client.post(f"/v1/runs/{waiting['run_id']}/input", json=body)
        ended = await rests(client, waiting["run_id"])

    assert [one["arguments"] for one in wait["results"]] == [one["arguments"] for one in writes]
    assert [one["call_id"] for one in wait["approvals"]] == [f"p{n}" for n in range(20)]
    assert ended["output"].split("|") == [
        *(f"written w{n}" for n in range(21)),
        *(f"paid {n}" for n in range(20)),
        "tool invoke error: only 20 calls are asked for at a time; this one was not run ",
    ]


@dataclass
class Sum:
    total: int


@dataclass
class Bank:
    name: str


def ask(context: Context[Bank]) -> str:
    """Ask the bank."""
    return context.deps.name


@pytest.mark.parametrize(
    ("result", "read"),
    [
        ([1, 2], "[1, 2]"),
        ([], "[]"),
        ([{"a": 1}], '[{"a": 1}]'),
        ([{"type": "input_text", "text": "seven"}], "seven"),
    ],
)
async def test_a_result_of_a_clients_function_is_any_json(tmp_path, result, read):
    agent = Agent(script(calls(call("open")), lambda asked_: asked_.messages[-1].content))
    async with asked(tmp_path, {"agent": agent}) as client:
        waiting = await run(client, "agent", "?", tools=[{"name": "open"}])
        body = {"wait_id": waiting["waiting_for"]["wait_id"], "results": {"c1": result}}
        await client.post(f"/v1/runs/{waiting['run_id']}/input", json=body)
        ended = await rests(client, waiting["run_id"])

    assert ended["output"].strip() == read


async def test_a_typed_answer_is_json_and_tools_get_their_dependencies(tmp_path):
    agent = Agent(script(calls(call("ask")), '{"total":4}'), [ask], answer=Sum, deps=Bank)
    async with asked(tmp_path, {"bank": agent}, deps={"bank": Bank("mine")}) as client:
        ended = await run(client, "bank", "?")
        told = await events(client, ended["run_id"])

    assert ended["output"] == {"total": 4}
    assert [data["output"] for type_, data in told if type_ == "tool_ended"] == ["mine"]


async def test_a_model_that_fails_ends_the_run_with_its_sentence(tmp_path):
    def fail(_asked):
        raise ValueError("no such model")

    async with asked(tmp_path, {"agent": Agent(fail)}) as client:
        ended = await run(client, "agent", "?")

    assert ended["status"] == "failed"
    assert ended["error"]["type"] == "error"


async def test_what_agents_that_are_called_as_tools_do_is_told_with_their_path(tmp_path):
    inner = Agent(script(calls(call("pay", euros=1)), "Inner says so."), [pay])
    research = agent_tool("research", "Looks things up.", inner)
    agent = Agent(script(calls(call("research", task="Why?")), "Outer says so."), [research])
    async with asked(tmp_path, {"agent": agent}) as client:
        ended = await run(client, "agent", "?")
        told = await events(client, ended["run_id"])

    within = [(type_, data) for type_, data in told if data.get("path") == ["c1"]]
    assert [type_ for type_, _ in within if type_ != "text"] == [
        *("model_started", "model_ended", "tool_started", "tool_ended"),
        *("model_started", "model_ended"),
    ]
    assert "".join(data["text"] for type_, data in within if type_ == "text") == "Inner says so. "
    assert ended["output"] == "Outer says so. "


async def test_thoughts_and_files_are_told(tmp_path):
    async def model(_asked):
        yield "<think>Hm.</think>Done."
        yield {"files": [{"media_type": "image/png", "data": b"png"}, {"media_type": 3}]}
        yield {"files": [{"mime_type": "image/png", "data": "cG5n"}]}

    async with asked(tmp_path, {"agent": Agent(model)}) as client:
        ended = await run(client, "agent", "?")
        told = await events(client, ended["run_id"])

    assert "".join(data["text"] for type_, data in told if type_ == "reasoning") == "Hm."
    files = [(one["media_type"], one["data"]) for type_, one in told if type_ == "file"]
    assert files == [("image/png", "cG5n")] * 2


def _function(schema):
    return {"name": "f", "parameters": {"type": "object", "properties": {"a": schema}}}


def _wide(count):
    parameters = {"type": "object", "properties": {f"p{n}": True for n in range(count)}}
    return {"name": f"f{count}", "parameters": parameters}


def _nested(levels):
    schema = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


SMALL = _function({"type": "string"})


async def test_functions_that_are_large_are_taken_and_larger_ones_go_on_if_they_are_stored(
    tmp_path,
):
    async with engine(tmp_path, {"agent": Agent(script("Done."))}) as (runs, executor):
        deep = {**_function(_nested(60)), "name": "deep"}
        executor.check("agent", {"input": "x", "tools": [SMALL, deep, _wide(1000)]})
        # As a version without the limits has stored it.
        old = NewRun(tenant="t", agent="agent", request={"input": "x", "tools": [_wide(20_000)]})
        run_, _ = await runs.create(old)
        async for _ in runs.watch_events(run_.run_id, tenant="t"):
            pass
        ended = await runs.get(run_.run_id, tenant="t")

    assert ended.status == "succeeded"


async def test_a_large_request_is_not_kept_beside_its_messages(tmp_path, monkeypatch):
    execute, left = AgentExecutor.execute, []

    async def watch(executor, run):
        result = await execute(executor, run)
        left.append(run.request)
        return result

    monkeypatch.setattr(AgentExecutor, "execute", watch)
    items = [{"role": "user", "content": f"{number}"} for number in range(10_001)]
    async with asked(tmp_path, {"agent": Agent(script("Done."))}) as client:
        body = {"agent": "agent", "input": items}
        run = (await client.post("/v1/runs", json=body)).json()
        ended = await rests(client, run["run_id"])

    assert (ended["status"], left) == ("succeeded", [{}])


def _image(**members):
    return {"role": "user", "content": [{"type": "input_image", **members}]}


def _file(**members):
    file = {"type": "input_file", "file_data": "data:,a", **members}
    return {"role": "user", "content": [file]}


async def test_a_result_that_is_content_is_content_that_agents_take(tmp_path):
    agent = Agent(script(calls(call("open")), "Done."))
    async with asked(tmp_path, {"agent": agent}) as client:
        waiting = await run(client, "agent", "?", tools=[{"name": "open"}])
        result = [{"type": "input_image", "image_url": "https://secret"}]
        body = {"wait_id": waiting["waiting_for"]["wait_id"], "results": {"c1": result}}
        refused = await client.post(f"/v1/runs/{waiting['run_id']}/input", json=body)

    assert refused.status_code == 422
    assert refused.json()["errors"] == [
        {"field": "results.c1[0].image_url", "message": "expected a data URL"}
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": [{"type": "reasoning"}]}, "input"),
        ({"input": [{"role": "boss", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user", "content": 3}]}, "input[0].content[0]"),
        ({"input": [{"type": "function_call", "call_id": "c"}]}, "input[0].name"),
        (
            {
                "input": [
                    {"type": "mcp_call", "id": "c", "name": "pay", "arguments": "{}"}
                    | {"error": {"content": [3]}}
                ]
            },
            "input[0].error.content[0]",
        ),
        ({"input": [_image(image_url="https://a/b")]}, "input[0].content[0].image_url"),
        ({"input": [_image(image_url={"url": "data:,a"})]}, "input[0].content[0].image_url"),
        ({"input": [_image(file_id="file-1")]}, "input[0].content[0].file_id"),
        ({"input": [_image(image_url="data:,a", detail=[])]}, "input[0].content[0].detail"),
        ({"input": [_file(filename=3)]}, "input[0].content[0].filename"),
        ({"input": [{"type": "computer_call"}]}, "input[0].type"),
        ({"input": [{"type": []}]}, "input[0].type"),
        ({"input": [{"type": None}]}, "input[0].type"),
        ({"input": [{"role": []}]}, "input[0].role"),
        ({"input": ["x"]}, "input[0]"),
        ({"input": {"a": 1}}, "input"),
        ({}, "input"),
        ({"input": "x", "tools": [{"name": "pay"}]}, "tools[0].name"),
        ({"input": "x", "tools": [{"name": "not a name"}]}, "tools[0]"),
        ({"input": "x", "tools": [SMALL, _wide(2000), _wide(2001)]}, "tools[2].parameters"),
        ({"input": "x", "tools": [_function({"enum": ["x" * 10**6]})]}, "tools[0].parameters"),
        ({"input": "x", "tools": [_function(_nested(64))]}, "tools[0].parameters"),
        ({"input": "x", "tools": [[]]}, "tools.0"),
        ({"input": "x", "more": 1}, "more"),
    ],
)
async def test_a_wrong_request_names_its_field(tmp_path, body, field):
    async with asked(tmp_path, {"adding": adding}) as client:
        answer = await client.post("/v1/runs", json={"agent": "adding", **body})

    assert answer.status_code == 422, answer.text
    [problem] = answer.json()["errors"]
    assert problem["field"].startswith(field)
    assert {*problem["field"]}.isdisjoint("{(,")  # Not where pydantic has looked.
    assert "ClientTool" not in problem["message"]


async def test_what_the_server_sets_no_client_may(tmp_path):
    async with asked(tmp_path, {"adding": adding}) as client:
        history = await client.post("/v1/runs", json={"input": "x", "history": "[]"})
        unknown = await client.post("/v1/runs", json={"agent": "other", "input": "x"})

    assert history.status_code == 400
    assert unknown.json()["errors"][0]["field"] == "agent"


async def test_a_conversation_that_the_client_keeps_is_read_with_its_calls(tmp_path):
    seen = []

    async def model(asked):
        seen.extend(asked.messages)
        yield "Good."

    items = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "input_text", "text": "Pay"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "b", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text"}]},
        {"type": "mcp_call", "id": "m1", "name": "c", "arguments": "{}", "error": FAILED},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Paid."}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]},
    ]
    async with asked(tmp_path, {"agent": Agent(model)}) as client:
        await run(client, "agent", items)

    said = [(m.role, m.content, [c.call_id for c in m.tool_calls], m.tool_call_id) for m in seen]
    assert said == [
        ("system", "Be kind.", [], None),
        ("user", "Pay", [], None),
        ("assistant", "", ["c1", "c2"], None),
        ("tool", "one", [], "c1"),
        ("tool", '[{"type":"input_text"}]', [], "c2"),
        ("assistant", "", ["m1"], None),
        ("tool", "failed", [], "m1"),
        ("assistant", "Paid.", [], None),
        ("user", ({"type": "input_image", "image_url": "data:,"},), [], None),
    ]


FAILED = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "failed"}]}


async def test_a_run_can_be_cancelled(tmp_path):
    async def model(_asked):
        yield "I am thinking."
        await asyncio.sleep(600)

    async with asked(tmp_path, {"agent": Agent(model)}) as client:
        run_id = await start(client, "agent", "?")
        while len(await events(client, run_id)) < 3:
            pass
        await client.post(f"/v1/runs/{run_id}/cancel")
        ended = await rests(client, run_id)

    assert ended["status"] == "cancelled"


async def test_each_attempt_has_a_log_if_there_is_a_folder_for_it(tmp_path):
    logs = tmp_path / "logs"
    async with asked(tmp_path, {"adding": adding}, run_logs=logs) as client:
        ended = await run(client, "adding", "?")

    [log] = (logs / "default").glob("run-*.jsonl")
    assert ended["run_id"] in log.read_text()


@pytest.mark.parametrize(
    "message",
    ["", " ", [], [{"type": "input_text", "text": " "}], 3, {"role": "system", "content": "x"}],
)
def test_what_is_no_message_of_a_user_is_refused(message):
    executor = AgentExecutor({"paying": paying})
    with pytest.raises(RequestRefusedError) as refused:
        executor.check_steer("paying", message)
    assert [one.field for one in refused.value.problems] == ["steer"]


async def test_what_no_round_is_left_for_is_told_with_the_result(tmp_path):
    asked_for, go = asyncio.Event(), asyncio.Event()

    async def model(_asked):
        asked_for.set()
        await go.wait()
        yield "Lima."

    agent = Agent(model, maximum_iterations=1)
    async with asked(tmp_path, {"agent": agent}) as client:
        run_id = await start(client, "agent", "Where?")
        await asked_for.wait()
        body = {"steer": [{"type": "input_text", "text": "In Europe."}]}
        told = await client.post(f"/v1/runs/{run_id}/input", json=body)
        go.set()
        ended = await rests(client, run_id)

    assert told.status_code == 202
    assert (ended["output"], ended["details"]["unread"]) == ("Lima.", [body["steer"]])
