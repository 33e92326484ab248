import asyncio
import base64
import contextlib
import hashlib
import importlib
import json
import socket
from pathlib import Path

import psutil
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from gpt5_simulator import (
    CutStream,
    LateError,
    LateFailure,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)


SCHEMA = {
    "type": "object",
    "properties": {"prompt": {"type": "string"}, "places": {"items": {"required": ["name"]}}},
    "required": ["prompt"],
}
ECHO = r"""
import json, sys
fields = json.load(sys.stdin)
print("Looking at", fields["prompt"])
print(json.dumps({"client": fields.get("client_request_id"), "_llm_usage": 1}))
print(json.dumps(["\x00", "\ud83d", "東"]))
print("careful", file=sys.stderr)
"""
SLEEP = "import time; print('started'); time.sleep(600)"
FAIL = "import sys; sys.exit('no such city')"
STREAM = r"""
import json, sys
from openai import OpenAI
fields = json.load(sys.stdin)
client = OpenAI(base_url=fields["base_url"], api_key="any", max_retries=0)
for event in client.responses.create(model="gpt-5", input="Hi", stream=True):
    if event.type == "response.output_text.delta":
        print(event.delta, end="")
    if event.type == "response.failed":
        sys.exit(event.response.error.message)
"""
FILES = r"""
import hashlib, json, os, sys
fields = json.load(sys.stdin)
for path in fields.get("files", []):
    with open(path, "rb") as file:
        print(json.dumps([os.path.basename(path), hashlib.sha256(file.read()).hexdigest()]))
print(json.dumps(fields.get("files", [])))
"""


def nested(levels):
    value = {}
    for _ in range(levels - 1):
        value = {"prompt": value}
    return {"input": value}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("agents")
    for name, script in {
        "echo": ECHO,
        "sleep": SLEEP,
        "fail": FAIL,
        "stream": STREAM,
        "files": FILES,
        "broken": "",
    }.items():
        (root / name).mkdir()
        (root / name / "main.py").write_text(script)
    (root / "echo" / "input_schema.json").write_text(json.dumps(SCHEMA))
    return root


@pytest.fixture(scope="module")
def server(folders, module_server):
    return module_server(*sorted(folders.iterdir()), concurrency=2)


def test_outputs_come_as_events_on_the_response_where_the_client_accepts_them(server):
    response = server.submit(
        "echo", {"prompt": "Rome"}, accept="application/json;q=0.5, text/event-stream"
    )
    events = server.events(response)
    run_id = events[0][1]["run_id"]
    assert (response.status_code, response.headers["Location"]) == (200, f"/runs/{run_id}")
    assert events[0] == (None, events[0][1] | {"type": "run", "agent": "echo", "status": "queued"})
    outputs = [event for _, event in events[2:-1]]
    assert sorted(outputs, key=json.dumps) == sorted(
        [
            {"type": "text_output", "text": "Looking at Rome"},
            {"type": "json_output", "value": {"client": None}},
            {"type": "json_output", "value": ["\x00", "\ud83d", "東"]},
            {"type": "error", "message": "careful", "source": "stderr"},
        ],
        key=json.dumps,
    )
    assert server.client.get(f"/runs/{run_id}").json()["outputs"] == outputs
    assert events[1][1] == {"type": "attempt", "attempt": 1}
    last_id, result = events[-1]
    assert last_id == "end"
    assert (result["type"], result["status"], result["exit_code"]) == ("result", "succeeded", 0)
    assert result["run_id"] == run_id


@pytest.mark.parametrize("fault", [CutStream, LateError, LateFailure])
def test_text_received_before_a_model_failure_is_told(server, fault):
    answer = "a word " * 100
    model = ScriptedModel([[Text(text=answer)]])
    with ResponsesSimulator(model=model, faults=[fault(after_events=7)]) as simulator:
        run_id = server.submit("stream", {"base_url": simulator.base_url}).json()["run_id"]
        *events, (_, result) = server.follow(run_id)

    outputs = server.client.get(f"/runs/{run_id}").json()["outputs"]
    told = [output["text"] for output in outputs if output["type"] == "text_output"]
    assert outputs == [event for _, event in events[2:]]
    assert (len(told), result["status"]) == (1, "failed")
    assert told[0]
    assert answer.startswith(told[0])
    assert answer != told[0]
    assert any(output["type"] == "error" for output in outputs)


@pytest.mark.parametrize("accept", ["application/json", "*/*", ""])
def test_other_clients_get_the_run_at_once_and_ask_for_it_later(server, accept):
    response = server.submit("fail", {}, accept=accept)
    run = response.json()
    assert (response.status_code, response.headers["Location"]) == (202, f"/runs/{run['run_id']}")
    assert (run["status"], run["finished_at"], run["exit_code"]) == ("queued", None, None)
    assert server.follow(run["run_id"])[-1][1]["status"] == "failed"
    shown = server.client.get(response.headers["Location"]).json()
    assert (shown["status"], shown["stop_reason"], shown["exit_code"]) == ("failed", "exited", 1)
    assert shown["outputs"] == [{"type": "error", "message": "no such city", "source": "stderr"}]
    assert shown["created_at"] < shown["finished_at"]


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({"input": {}}, "input.prompt", "expected to be present"),
        ({"input": {"prompt": 1}}, "input.prompt", "expected type 'string'"),
        (
            {"input": {"prompt": "a", "places": [{}]}},
            "input.places[0].name",
            "expected to be present",
        ),
        (
            {"input": {"prompt": "a", "runner_request_id": "b"}},
            "input.runner_request_id",
            "expected to be absent: the runner sets it",
        ),
        ({"input": [1]}, "input", "expected a JSON object"),
        ({}, "input", "expected a JSON object"),
        (
            {"\ud83d": 1},
            "\ud83d",
            "expected to be absent; the agent's fields go inside input",
        ),
        ([], "body", "expected a JSON object"),
        (nested(200), "body", "expected JSON in UTF-8: expected at most 200 levels of nesting"),
        (nested(257), "body", "expected JSON in UTF-8: expected at most 200 levels of nesting"),
        (
            {"prompt": "a", "input": {}},
            "prompt",
            "expected to be absent; the agent's fields go inside input",
        ),
        *(
            (
                {"input": {"prompt": "a"}, "client_request_id": value},
                "client_request_id",
                "expected a string of 1 to 200 characters that can be printed",
            )
            for value in ["", 1, "x" * 201, "\x00", "\ud83d"]
        ),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_queued(server, body, field, message):
    before = server.client.get("/agents/echo/runs").json()
    response = server.client.post(
        "/agents/echo/runs",
        content=json.dumps(body),
        headers={"Content-Type": "application/json; charset=utf-8"},
    )
    assert response.status_code == 422
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["problems"] == [{"field": field, "message": message}]
    assert server.client.get("/agents/echo/runs").json() == before


@pytest.mark.parametrize(
    ("content", "media_type", "status"),
    [
        (b"{", "application/json", 422),
        (b"\xff", "application/json", 422),
        (b'{"input": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "application/json", 422),
        (b"{}", "text/plain", 415),
        (b"x" * (4 * 1024 * 1024 + 1), "application/json", 413),
    ],
)
def test_a_body_that_is_no_json_is_refused(server, content, media_type, status):
    response = server.client.post(
        "/agents/echo/runs", content=content, headers={"Content-Type": media_type}
    )
    assert (response.status_code, response.json()["status"]) == (status, status)


def test_of_many_wrong_fields_a_hundred_are_told(server):
    fields = {"prompt": "a", "places": [{}] * 10_000}
    response = server.submit("echo", fields)
    assert len(response.json()["problems"]) == 100
    assert len(response.content) < 50_000


HEAD = (
    b"POST /agents/echo/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100\r\n\r\n{"
)


def test_clients_that_go_while_they_ask_leave_no_word_in_the_log(server):
    for _ in range(20):
        with socket.create_connection(
            (server.client.base_url.host, server.client.base_url.port)
        ) as client:
            client.sendall(HEAD)
    assert server.client.get("/agents").status_code == 200
    assert "Traceback" not in "".join(server.lines)


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    reading = importlib.import_module("agent_runner._request")
    monkeypatch.setattr(reading, "_BODY_SECONDS", 0)

    async def ask():
        headers = [(b"content-type", b"application/json")]
        await reading.read_body(Request({"type": "http", "headers": headers}, asyncio.Event().wait))

    with pytest.raises(HTTPException, match="expected the body within 0 seconds"):
        asyncio.run(ask())


@pytest.mark.long
def test_a_body_that_comes_a_byte_a_second_is_not_waited_for(server):
    url = server.client.base_url
    with socket.create_connection((url.host, url.port)) as client:
        client.sendall(HEAD)
        client.settimeout(1)
        answer = b""
        for _ in range(40):
            with contextlib.suppress(TimeoutError):
                answer = client.recv(4096)
                break
            client.sendall(b" ")
    assert answer.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/agents/none/runs", 404),
        ("GET", "/agents/none/runs", 404),
        ("GET", "/runs/9f3b8dcd-0000-4000-8000-000000000000", 404),
        ("GET", "/runs/%00", 404),
        ("GET", "/runs/9f3b8dcd-0000-4000-8000-000000000000/events", 404),
        ("POST", "/runs/9f3b8dcd-0000-4000-8000-000000000000/cancel", 404),
        ("DELETE", "/agents", 405),
        ("GET", "/agents/echo/runs?limit=0", 422),
        ("GET", "/agents/echo/runs?limit=101", 422),
        ("GET", "/agents/echo/runs?limit=many", 422),
        ("GET", "/agents/echo/runs?offset=-1", 422),
    ],
)
def test_what_is_not_there_is_a_problem_too(server, method, path, status):
    response = server.client.request(method, path)
    assert (response.status_code, response.json()["status"]) == (status, status)
    assert response.headers["Content-Type"] == "application/problem+json"


def test_a_client_goes_on_where_it_left_off(server):
    events = server.events(server.submit("echo", {"prompt": "Rome"}, accept="text/event-stream"))
    run_id = events[0][1]["run_id"]
    for index in range(1, len(events) - 1):
        assert server.follow(run_id, after=events[index][0]) == events[index + 1 :]
    assert (
        server.client.get(f"/runs/{run_id}/events", headers={"Last-Event-ID": "end"}).status_code
        == 204
    )
    assert server.follow(run_id)[1:] == events[1:]
    for unknown in ("other", "-1.0", f"{10**20}.0", f"0.{'9' * 5000}"):
        assert server.follow(run_id, after=unknown)[-5:] == events[-5:]


def test_events_arrive_while_the_script_runs_and_cancelling_ends_it(server):
    run_id = server.submit("sleep", {}).json()["run_id"]
    with server.client.stream("GET", f"/runs/{run_id}/events") as response:
        lines = response.iter_lines()
        assert any('"started"' in line for line in lines)
        processes = [process for process in psutil.process_iter() if _belongs(process, run_id)]
        cancelled = server.client.post(f"/runs/{run_id}/cancel").json()
        [result] = [json.loads(line[6:]) for line in lines if '"result"' in line]
    assert processes
    assert (cancelled["status"], result["stop_reason"]) == ("cancelled", "cancelled")
    assert psutil.wait_procs(processes, timeout=60)[1] == []
    assert server.client.get(f"/runs/{run_id}").json()["attempts"] == 1


def _belongs(process, run_id):
    try:
        return process.environ().get("AGENT_RUNNER_REQUEST_ID") == run_id
    except psutil.Error:
        return False


def test_a_run_that_waits_can_be_cancelled_and_one_that_is_finished_stays_so(server):
    running = [server.submit("sleep", {}).json()["run_id"] for _ in range(2)]
    waiting = server.submit("echo", {"prompt": "never"}).json()["run_id"]
    assert server.client.post(f"/runs/{waiting}/cancel").json()["status"] == "cancelled"
    for run_id in running:
        server.client.post(f"/runs/{run_id}/cancel")
    result = server.follow(waiting)[-1][1]
    assert (result["status"], result["attempts"]) == ("cancelled", 0)
    once_more = server.client.post(f"/runs/{waiting}/cancel").json()
    assert once_more == {name: value for name, value in result.items() if name != "type"}
    finished = server.submit("echo", {"prompt": "x"}).json()["run_id"]
    result = server.follow(finished)[-1][1]
    again = server.client.post(f"/runs/{finished}/cancel").json()
    assert again == {name: value for name, value in result.items() if name != "type"}


def test_a_clients_id_stands_for_one_run_of_an_agent(server):
    first = server.submit("echo", {"prompt": "x", "n": 1}, client_request_id="mine")
    again = server.submit("echo", {"n": 1, "prompt": "x"}, client_request_id="mine")
    run_id = first.json()["run_id"]
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json()["run_id"] == run_id
    assert ("json_output", {"client": "mine"}) in [
        (event["type"], event.get("value")) for _, event in server.follow(run_id)
    ]
    assert server.submit("echo", {"prompt": "y"}, client_request_id="mine").status_code == 409
    other = server.submit("fail", {"prompt": "x"}, client_request_id="mine")
    assert (other.status_code, other.json()["client_request_id"]) == (202, "mine")


def test_the_history_is_the_agents_own_newest_first_a_page_at_a_time(server):
    runs = [server.submit("fail", {"n": n}).json()["run_id"] for n in range(3)]
    page = server.client.get("/agents/fail/runs?limit=2").json()
    rest = server.client.get(f"/agents/fail/runs?offset={page['next_offset']}").json()
    seen = [run["run_id"] for run in page["runs"] + rest["runs"]]
    assert seen[:3] == runs[::-1]
    assert {run["agent"] for run in page["runs"] + rest["runs"]} == {"fail"}
    assert rest["next_offset"] is None


def test_agents_are_listed_with_what_they_expect(server):
    agents = server.client.get("/agents").json()["agents"]
    assert agents == [
        {"name": "broken", "input_schema": None},
        {"name": "echo", "input_schema": SCHEMA},
        {"name": "fail", "input_schema": None},
        {"name": "files", "input_schema": None},
        {"name": "sleep", "input_schema": None},
        {"name": "stream", "input_schema": None},
    ]


def test_an_agent_that_cannot_be_run_is_the_owners_to_mend(server, folders):
    schema = folders / "broken" / "input_schema.json"
    schema.write_text("{")
    refused = server.submit("broken", {})
    schema.unlink()
    assert refused.status_code == 500
    assert refused.json()["detail"] == "the agent cannot be run as it is set up"


def test_a_page_in_a_browser_cannot_call_by_a_name_of_its_own(server):
    assert server.client.get("/agents", headers={"Host": "evil.example"}).status_code == 400


def given(name, content):
    return {"name": name, "data": base64.b64encode(content).decode()}


def test_files_of_a_request_lie_where_the_script_finds_them_and_are_gone_after_it(server):
    contents = {"chart.png": bytes(range(256)) * 20_000, "東.pdf": b"", "a b.txt": b"a"}
    files = [given(*item) for item in contents.items()]
    response = server.submit("files", {}, accept="text/event-stream", files=files)
    *found, paths = [
        event["value"] for _, event in server.events(response) if event["type"] == "json_output"
    ]
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    assert found == [list(item) for item in digests.items()]
    assert len(paths) == 3
    assert not any(Path(path).exists() or Path(path).parent.exists() for path in paths)


def test_an_id_stands_for_its_files_too(server):
    asked = {"client_request_id": "with files", "files": [given("a", b"a")]}
    first, again = (server.submit("files", {}, **asked) for _ in range(2))
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["run_id"] == again.json()["run_id"]
    for files in ([given("a", b"b")], [given("b", b"a")], [], None):
        assert server.submit("files", {}, **asked | {"files": files}).status_code == 409


@pytest.mark.parametrize(
    ("files", "field", "message"),
    [
        ({}, "files", "a list of objects with name and data"),
        ([1], "files[0]", "an object with name and data"),
        ([given("a", b"a") | {"path": "/"}], "files[0]", "an object with name and data"),
        ([{"name": "a", "data": "*"}], "files[0].data", "base64"),
        ([given("a", b"a")] * 2, "files[1].name", "another name than before"),
        ([given("../a", b"a")], "files['../a']", "without a folder"),
        ([given(f"{n}", b"") for n in range(21)], "files", "at most 20 files, got 21"),
        ([1] * 100_000, "files", "at most 20 files, got 100000"),
    ],
)
def test_files_that_cannot_be_given_are_told_by_their_place(server, files, field, message):
    response = server.submit("files", {}, files=files)
    assert response.status_code == 422
    (problem,) = response.json()["problems"]
    assert problem["field"] == field
    assert message in problem["message"]


def test_the_largest_files_pass_and_larger_ones_do_not(server):
    most = 8 * 1024 * 1024
    assert server.submit("files", {}, files=[given("a", bytes(most))]).status_code == 202
    assert server.submit("files", {}, files=[given("a", bytes(most + 1))]).status_code == 422
    assert server.submit("files", {}, files=[given("a", bytes(most * 2))]).status_code == 413
