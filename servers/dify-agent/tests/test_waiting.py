"""Runs that wait for a person or for their client, on a daemon of this process."""

import json
import time

import httpx
import pytest
from asking import PROVIDERS

from dify_agent.protocol import CreateRunRequest
from dify_agent.runtime.event_sink import InMemoryRunEventSink
from dify_agent.runtime.layer_providers import create_default_layer_providers
from dify_agent.runtime.runner import AgentRunRunner
from dify_agent.runtime.waiting import RunResumption, WaitingState


YES = {"approved": True}
SOME = {"prompt_tokens": 10, "completion_tokens": 2, "total_price": "0.0015", "currency": "RMB"}


@pytest.fixture
def client(serve_runs):
    with serve_runs(layer_providers=PROVIDERS) as client:
        yield client


@pytest.fixture
def asking(daemon, build_request, chunks):
    """Let the model call tools, round by round, and answer at last; return a request with plugin tools to approve and a desk's."""

    def arrange(*rounds, layers=(), **more):
        def model(data):
            done = sum(message["role"] == "assistant" for message in data["prompt_messages"])
            if done < len(rounds):
                chunk = chunks.call(*[(f"c{n}", *call) for n, call in enumerate(rounds[done])])
            else:
                chunk = chunks.text("Done.", finish_reason="stop")
            chunk["delta"]["usage"] = SOME
            return [chunk]

        daemon.model = model
        request = build_request() | more
        known = request["composition"]["layers"]
        known[-1]["type"] = "test.asked_tools"
        known += [{"name": "desk", "type": "test.desk", "config": {}}, *layers]
        return request

    return arrange


def call(name, q="a"):
    return name, {"q": q}


def start(client, request, path="/v1/runs"):
    """Create a run, and return it when it waits or has ended."""
    return settle(client, client.post(path, json=request).raise_for_status().json()["run_id"])


def settle(client, run_id):
    while True:
        run = client.get(f"/v1/runs/{run_id}").raise_for_status().json()
        if run["status"] not in {"queued", "running"}:
            return run
        time.sleep(0.01)  # a poll


def post_answer(client, run, **given):
    body = {"wait_id": run["waiting_for"]["wait_id"], **given}
    client.post(f"/v1/runs/{run['run_id']}/input", json=body).raise_for_status()


def answer(client, run, **given):
    """Answer what a run waits for, and return the run when it waits again or has ended."""
    post_answer(client, run, **given)
    return settle(client, run["run_id"])


def asked(run, kind):
    """Return ids and names of the calls that a run waits for."""
    return [(one["call_id"], one["name"]) for one in run["waiting_for"][kind]]


def read_events(client, run):
    return client.get(f"/v1/runs/{run['run_id']}/events").raise_for_status().json()["events"]


def told(client, run, *types):
    events = read_events(client, run)
    return [(event["type"], event["data"]) for event in events if event["type"] in types]


def read_by_model(data):
    """Return what a model read of its tools' results."""
    return [each["content"] for each in data["prompt_messages"] if each["role"] == "tool"]


def test_a_plugin_s_tool_is_called_once_a_person_has_approved_it(client, daemon, asking):
    run = start(client, asking([call("search", "s3cret-tool-token")]))
    before = list(daemon.tool_requests)
    ended = answer(client, run, approvals={"c0": YES})
    events = read_events(client, run)

    assert (run["status"], before) == ("waiting", [])
    [asked_for] = run["waiting_for"]["approvals"]
    assert (asked_for["call_id"], asked_for["name"]) == ("c0", "search")
    assert json.loads(asked_for["arguments"]) == {"q": "[redacted]"}
    assert (ended["status"], ended["output"]) == ("succeeded", "Done.")
    assert [each["tool_parameters"] for each in daemon.tool_requests] == [
        {"q": "s3cret-tool-token"}
    ]
    assert [event["type"] for event in events] == [
        "run_started",
        "model_request_started",
        "tool_call",
        "run_waiting",
        "run_answered",
        "run_started",
        "tool_result",
        "model_request_started",
        "text_delta",
        "run_succeeded",
    ]


def test_a_run_waits_twice_and_its_requests_usage_and_cost_go_on_counting(client, asking):
    first = start(client, asking([call("pay", "1")], [call("pay", "2")]))
    second = answer(client, first, approvals={"c0": YES})
    ended = answer(client, second, approvals={"c0": YES})
    started = told(client, first, "model_request_started")
    calls = told(client, first, "tool_call", "tool_result")

    assert asked(first, "approvals") == asked(second, "approvals") == [("c0", "pay")]
    assert [data["request_index"] for _, data in started] == [1, 2, 3]
    assert [(type_, data.get("content")) for type_, data in calls] == [
        ("tool_call", None),
        ("tool_result", "paid 1"),
        ("tool_call", None),
        ("tool_result", "paid 2"),
    ]
    usage = ended["usage"]
    assert (usage["model_requests"], usage["input_tokens"], usage["output_tokens"]) == (3, 30, 6)
    assert (usage["cost"], usage["currency"]) == ("0.0045", "RMB")


@pytest.mark.parametrize(
    ("reason", "read"),
    [("too dear", "The tool call was denied: too dear"), (None, "The tool call was denied.")],
)
def test_of_a_call_that_is_denied_the_model_reads_why(client, daemon, asking, reason, read):
    run = start(client, asking([call("search")]))
    ended = answer(client, run, approvals={"c0": {"approved": False, "reason": reason}})
    [(_, result)] = told(client, run, "tool_result")

    assert (ended["status"], daemon.tool_requests) == ("succeeded", [])
    assert (result["outcome"], result["content"]) == ("denied", read)
    assert read_by_model(daemon.model_requests[-1]) == [read]


def test_a_call_that_the_client_makes_has_the_client_s_result(client, daemon, asking):
    run = start(client, asking([call("open_door"), call("look"), call("pay", "5")]))
    ended = answer(client, run, approvals={"c2": YES}, results={"c0": {"open": [1]}})

    assert (asked(run, "results"), asked(run, "approvals")) == (
        [("c0", "open_door")],
        [("c2", "pay")],
    )
    assert ended["output"] == "Done."
    results = read_by_model(daemon.model_requests[-1])
    assert sorted(results) == ["paid 5", "seen a on visit 1", '{"open":[1]}']


def test_a_call_may_wait_again_once_it_is_approved(client, asking):
    first = start(client, asking([call("sign"), call("pay")]))
    second = answer(client, first, approvals={"c0": YES, "c1": YES})
    ended = answer(client, second, results={"c0": "A. Lovelace"})
    calls = told(client, first, "tool_call", "tool_result")

    assert (asked(second, "approvals"), asked(second, "results")) == ([], [("c0", "sign")])
    assert ended["status"] == "succeeded"
    assert [(type_, data["tool_call_id"]) for type_, data in calls] == [
        ("tool_call", "c0"),
        ("tool_call", "c1"),
        ("tool_result", "c1"),
        ("tool_result", "c0"),
    ]


def test_another_server_goes_on_with_the_conversation(serve_runs, daemon, asking):
    history = {"name": "history", "type": "pydantic_ai.history"}
    request = asking([call("pay", "1")], layers=[history])
    with serve_runs(layer_providers=PROVIDERS) as one:
        run = start(one, request)
    with serve_runs(layer_providers=PROVIDERS) as two:
        ended = answer(two, run, approvals={"c0": YES})

    layers = {each["name"]: each for each in ended["details"]["session_snapshot"]["layers"]}
    messages = layers["history"]["runtime_state"]["messages"]
    assert [each["kind"] for each in messages] == ["request", "response"] * 2
    roles = [each["role"] for each in daemon.model_requests[-1]["prompt_messages"]]
    assert roles == ["user", "assistant", "tool"]


def test_a_layer_keeps_its_state_while_the_run_waits_whatever_becomes_of_it_then(
    client, daemon, asking
):
    request = asking([call("pay")], [call("look")], on_exit={"default": "delete"})

    run = start(client, request)
    ended = answer(client, run, approvals={"c0": YES})

    assert read_by_model(daemon.model_requests[-1])[-1] == "seen a on visit 2"
    layers = ended["details"]["session_snapshot"]["layers"]
    assert {each["lifecycle_state"] for each in layers} == {"closed"}


def test_an_answer_of_a_given_shape_may_wait_for_calls(client, asking):
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    output = {"name": "output", "type": "dify.output", "config": {"json_schema": shape}}
    run = start(client, asking([call("pay")], [("final_output", {"n": 1})], layers=[output]))
    ended = answer(client, run, approvals={"c0": YES})

    assert ended["output"] == {"n": 1}


def test_requests_before_a_wait_count_towards_the_limit(serve_runs, daemon, asking):
    with serve_runs(layer_providers=PROVIDERS, max_model_requests=2) as client:
        first = start(client, asking([call("pay")], [call("pay")], [call("pay")]))
        second = answer(client, first, approvals={"c0": YES})
        ended = answer(client, second, approvals={"c0": YES})

    assert ended["error"]["type"] == "model_request_limit"
    assert len(daemon.model_requests) == ended["usage"]["model_requests"] == 2


def test_a_server_killed_after_the_answer_goes_on_from_the_steps_since(
    start_server, daemon, asking
):
    request = asking([call("search")], [call("look")], [call("search", "b")])
    gate, model = daemon.gate(), daemon.model
    daemon.model = lambda data: [*([gate] if len(read_by_model(data)) == 2 else []), *model(data)]
    server = start_server(module="asking")
    run = start(server.client, request)
    post_answer(server.client, run, approvals={"c0": YES})
    gate.wait_until_reached()
    server.kill()
    gate.open()

    client = start_server(module="asking").client
    again = settle(client, run["run_id"])
    requests = len(daemon.model_requests)
    ended = answer(client, again, approvals={"c0": YES})
    calls = told(client, run, "tool_call", "tool_result")

    # The third was cut off.
    assert (again["status"], requests) == ("waiting", 4)
    assert (ended["status"], ended["usage"]["model_requests"]) == ("succeeded", 4)
    assert [each["tool_parameters"]["q"] for each in daemon.tool_requests] == ["a", "b"]
    assert [(type_, data["tool_name"]) for type_, data in calls] == [
        (type_, name)
        for name in ("search", "look", "search")
        for type_ in ("tool_call", "tool_result")
    ]


def test_dify_sees_a_run_that_waits_as_running(client, asking):
    run = start(client, asking([call("pay")]), "/runs")
    waiting = client.get(f"/runs/{run['run_id']}").json()
    answer(client, run, approvals={"c0": YES})
    page = client.get(f"/runs/{run['run_id']}/events").json()

    assert waiting["status"] == "running"
    assert [event["type"] for event in page["events"]] == [
        "run_started",
        *["pydantic_ai_event"] * 3,
        "run_succeeded",
    ]


def test_a_run_s_logs_have_the_question_and_the_decision(serve_runs, asking, tmp_path):
    with serve_runs(layer_providers=PROVIDERS, run_logs=tmp_path / "logs") as client:
        run = start(client, asking([call("pay", "s3cret-tool-token"), call("open_door")]))
        no = {"approved": False, "reason": "s3cret-tool-token"}
        answer(client, run, approvals={"c0": no}, results={"c1": 1})

    logs = [
        {line["type"]: line for line in map(json.loads, file.read_text().splitlines())}
        for file in (tmp_path / "logs" / "default").iterdir()
    ]
    before, after = sorted(logs, key=lambda log: log["start"]["about"]["attempt"])
    assert [one["call_id"] for one in before["question"]["calls"]] == ["c0", "c1"]
    assert before["end"]["reason"] == "approval"
    assert (after["decision"]["call_id"], after["decision"]["is_approved"]) == ("c0", False)
    assert after["end"]["reason"] == "answered"
    assert "s3cret" not in str(logs)


async def test_a_runner_without_a_server_gives_back_what_a_run_waits_for(daemon, asking):
    request = CreateRunRequest.model_validate(asking([call("pay", "7"), call("look")]))
    sink = InMemoryRunEventSink()
    providers = create_default_layer_providers(
        plugin_daemon_url=daemon.url, plugin_daemon_api_key="k"
    )
    async with httpx.AsyncClient(timeout=300, trust_env=False, verify=False) as http_client:
        runner = AgentRunRunner(
            http_client=http_client, event_sink=sink, layer_providers=[*providers, *PROVIDERS]
        )
        waiting = await runner.run("run-1", request)
        state = WaitingState.model_validate_json(waiting.state.model_dump_json())
        results = waiting.requests.build_results(approve_all=True)
        ended = await runner.run("run-1", request, RunResumption(state=state, results=results))

    assert [one.tool_name for one in waiting.requests.approvals] == ["pay"]
    assert ended is None
    assert [event.type for event in sink.events("run-1")] == [
        "run_started",
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
        "text_delta",
        "run_succeeded",
    ]


def test_a_question_to_a_person_cannot_wait_beside_another_call(client, asking):
    history = {"name": "history", "type": "pydantic_ai.history"}
    ask = {"name": "ask", "type": "dify.ask_human"}
    question = ("ask_human", {"question": "Which door?"})
    run = start(client, asking([call("open_door"), question], layers=[history, ask]))

    assert run["status"] == "failed"
    assert run["error"]["message"] == "A question to a person cannot wait beside other calls."
