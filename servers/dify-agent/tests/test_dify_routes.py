"""Dify's own paths over HTTP: what its client of 1.16.0 sends and reads."""

import importlib
import json

import httpx
import pytest
from starlette.requests import ClientDisconnect

from agent_server.http import find_runs


@pytest.fixture(scope="module")
def server(share_server):
    with share_server(dify_version="1.16.0") as client:
        yield client


@pytest.fixture
def client(server, daemon):
    assert daemon.url  # which says hello again
    return server


def create(client, request):
    return client.post("/runs", json=request).raise_for_status().json()["run_id"]


def read_stream(client, run_id, **params):
    """Return the events of a run's stream, of which id, type and data agree."""
    events, frame = [], {}
    with client.stream("GET", f"/runs/{run_id}/events/sse", params=params) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if line.startswith(("id:", "event:", "data:")):
                name, _, value = line.partition(": ")
                frame[name] = value
            elif not line and frame:
                event = json.loads(frame["data"])
                assert (frame["id"], frame["event"]) == (event["id"], event["type"])
                events.append(event)
                frame = {}
    return events


def test_a_run_is_accepted_as_running_and_ends_with_its_answer(client, build_request):
    accepted = client.post("/runs", json=build_request())
    run_id = accepted.json()["run_id"]
    events = read_stream(client, run_id)

    assert (accepted.status_code, accepted.json()) == (
        202,
        {"run_id": run_id, "status": "running"},
    )
    assert [event["type"] for event in events] == [
        "run_started",
        "pydantic_ai_event",
        "pydantic_ai_event",
        "run_succeeded",
    ]
    assert "".join(event.get("agent_message_delta", "") for event in events) == "Hello!"
    assert events[-1]["data"]["output"] == "Hello!"
    status = client.get(f"/runs/{run_id}").json()
    assert set(status) == {"run_id", "status", "created_at", "updated_at", "error"}
    assert (status["status"], status["error"]) == ("succeeded", None)


def test_a_request_with_dify_s_context_goes_on_from_its_snapshot(client, daemon, build_request):
    request = build_request(tools=())
    layers = request["composition"]["layers"]
    layers[1] |= {
        "name": "execution_context",
        "type": "dify.execution_context",
        "config": {"tenant_id": "t", "agent_mode": "workflow_run", "invoke_from": "debugger"},
    }
    for layer in layers[2:]:
        layer["deps"] = {"execution_context": "execution_context"}
    layers.insert(2, {"name": "history", "type": "pydantic_ai.history"})

    first = read_stream(client, create(client, request))[-1]["data"]
    request["session_snapshot"] = first["session_snapshot"]
    second = read_stream(client, create(client, request))[-1]

    assert second["type"] == "run_succeeded"
    assert [m["role"] for m in daemon.model_requests[-1]["prompt_messages"]] == [
        "user",
        "assistant",
        "user",
    ]


def test_events_are_read_in_pages_and_from_a_cursor(client, build_request):
    run_id = create(client, build_request())
    events = read_stream(client, run_id)
    paged, cursor = [], "0-0"
    while page := client.get(f"/runs/{run_id}/events", params={"after": cursor, "limit": 2}).json():
        assert set(page) == {"run_id", "events", "next_cursor"}
        paged += page["events"]
        if page["next_cursor"] == cursor:
            break
        cursor = page["next_cursor"]

    assert paged == events
    assert read_stream(client, run_id, after=events[1]["id"]) == events[2:]


def test_a_run_without_events_yet_has_the_first_cursor(client, build_request):
    run_id = create(client, build_request())
    page = client.get(f"/runs/{run_id}/events", params={"after": "0-0", "limit": 1})
    assert page.json()["next_cursor"] in {"0-0", "1"}


def test_a_browser_goes_on_after_the_last_event_that_it_has(client, build_request):
    run_id = create(client, build_request())
    events = read_stream(client, run_id)

    with client.stream(
        "GET", f"/runs/{run_id}/events/sse", headers={"Last-Event-ID": events[-2]["id"]}
    ) as response:
        lines = list(response.iter_lines())

    assert [line for line in lines if line.startswith("id:")] == [f"id: {events[-1]['id']}"]


def test_a_run_is_cancelled_with_a_reason(client, daemon, build_request, chunks):
    gate = daemon.gate()
    daemon.model = lambda _data: [chunks.text("a"), gate]
    run_id = create(client, build_request())
    gate.wait_until_reached()

    body = {"reason": "workflow_graph_aborted", "message": "stopped"}
    cancelled = client.post(f"/runs/{run_id}/cancel", json=body)
    gate.wait_until_left()
    last = read_stream(client, run_id)[-1]

    assert cancelled.json() == {"run_id": run_id, "status": "cancelled"}
    assert (last["type"], last["data"]) == ("run_cancelled", body)
    again = client.post(f"/runs/{run_id}/cancel")
    assert (again.status_code, again.json()["status"]) == (200, "cancelled")


class Late:
    """Runs of which one ends by itself at the moment at which it is cancelled."""

    def __init__(self, runs, gate):
        self._runs, self._gate = runs, gate

    def __getattr__(self, name):
        return getattr(self._runs, name)

    async def cancel(self, run_id, *, tenant, reason):  # noqa: ARG002 - as the real one
        run = await self._runs.get(run_id, tenant=tenant)
        self._gate.open()
        return run


def test_a_run_that_ends_by_itself_just_then_is_not_called_cancelled(
    client, daemon, build_request, chunks, monkeypatch
):
    gate = daemon.gate()
    daemon.model = lambda _data: [gate, chunks.text("a", finish_reason="stop")]
    run_id = create(client, build_request())
    gate.wait_until_reached()

    routes = importlib.import_module("dify_agent.server._dify.routes")
    monkeypatch.setattr(routes, "find_runs", lambda request: Late(find_runs(request), gate))
    refused = client.post(f"/runs/{run_id}/cancel")

    assert refused.status_code == 409
    assert read_stream(client, run_id)[-1]["type"] == "run_succeeded"


def test_half_of_a_character_breaks_no_run_and_no_answer(client, daemon, build_request, chunks):
    daemon.model = lambda _data: [
        chunks.text("A \ud83d"),
        chunks.text("\ude00.", finish_reason="stop"),
    ]
    asked = json.dumps(build_request("Is \ud83d a face?"))  # httpx itself would refuse it.
    headers = {"Content-Type": "application/json"}
    run_id = client.post("/runs", content=asked, headers=headers).json()["run_id"]
    last = read_stream(client, run_id)[-1]
    assert (last["type"], last["data"]["output"]) == ("run_succeeded", "A ??.")

    gate = daemon.gate()
    daemon.model = lambda _data: [gate]
    run_id = create(client, build_request())
    gate.wait_until_reached()
    reason = json.dumps({"reason": "\ud800"})
    client.post(f"/runs/{run_id}/cancel", content=reason, headers=headers).raise_for_status()
    assert client.get(f"/runs/{run_id}").json()["error"] == "?"


def test_a_finished_run_cannot_be_cancelled(client, build_request):
    run_id = create(client, build_request())
    read_stream(client, run_id)

    refused = client.post(f"/runs/{run_id}/cancel", json={})

    assert refused.status_code == 409
    assert refused.json() == {"detail": "run already finished with status 'succeeded'"}


def test_a_failed_run_has_its_error_and_a_reason(client, daemon, build_request):
    daemon.model = lambda _data: [ValueError("no such model")]
    run_id = create(client, build_request())
    last = read_stream(client, run_id)[-1]

    assert set(last["data"]) == {"error", "reason"}
    status = client.get(f"/runs/{run_id}").json()
    assert (status["status"], status["error"]) == ("failed", last["data"]["error"])


def test_each_wrong_layer_is_named(client):
    layers = [
        {"name": "a", "type": "plain.prompt"},
        {"name": "b", "type": "dify.knowledge_fs"},
        {"name": "c", "type": "plain.prompt", "config": {"surprise": "s3cret"}},
        {"name": "d", "type": "plain.prompt", "deps": {"x": "nobody"}},
        {"name": "e", "type": "dify.plugin.llm", "deps": {"plugin": "b"}, "config": {}},
        {"name": "f", "type": "plain.prompt", "config": {"prefix": 1}},
        {"name": "g", "type": "dify.user_prompt", "config": {"text": "", "files": [1]}},
    ]
    refused = client.post("/runs", json={"composition": {"layers": layers}})

    assert refused.status_code == 422
    named = {detail["loc"][-1]: detail["msg"] for detail in refused.json()["detail"]}
    assert [detail["loc"][:-1] for detail in refused.json()["detail"]] == [
        ["body", "composition", "layers"]
    ] * len(named)
    assert named.keys() == {1, 2, 3, 4, 5, 6}
    assert "surprise" in named[2]
    assert "invalid config" in named[4]
    # Not `prefix.str`, which is pydantic's word for what it has tried.
    assert "invalid config: prefix: " in named[5]
    assert named[6].endswith("invalid config: files.0: expected an object")
    assert "s3cret" not in refused.text


@pytest.mark.parametrize(
    ("change", "loc"),
    [
        ({"surprise": "s3cret"}, ["body", "surprise"]),
        (
            {"composition": {"schema_version": 1, "layers": [{"name": "a"}]}},
            ["body", "composition", "layers", 0, "type"],
        ),
        (
            {"composition": {"layers": [{"name": "a", "type": "dify.knowledge_fs"}]}},
            ["body", "composition", "layers", 0],
        ),
        (
            {"deferred_tool_results": {"results": {"a": "s3cret"}}},
            ["body", "deferred_tool_results", "results"],
        ),
    ],
)
def test_a_refusal_looks_like_fastapi_s_and_shows_no_value(client, build_request, change, loc):
    refused = client.post("/runs", json=build_request() | change)

    assert refused.status_code == 422
    [detail] = refused.json()["detail"]
    assert detail["loc"] == loc
    assert set(detail) == {"type", "loc", "msg"}
    assert "s3cret" not in refused.text


@pytest.mark.parametrize(
    "query", [{"after": "x"}, {"limit": "0"}, {"limit": "501"}, {"limit": "²"}, {"after": "1-1"}]
)
def test_a_query_that_means_nothing_is_refused(client, build_request, query):
    run_id = create(client, build_request())
    refused = client.get(f"/runs/{run_id}/events", params=query)
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"] == ["query", *query]


def test_what_is_wrong_is_looked_for_where_it_stands(client, build_request):
    path = f"/runs/{create(client, build_request())}/events/sse"
    header = client.get(path, headers={"Last-Event-ID": "x"})
    body = client.post("/runs", content="{", headers={"Content-Type": "application/json"})

    assert header.json()["detail"][0]["loc"] == ["header", "Last-Event-ID"]
    assert body.json()["detail"][0]["loc"] == ["body"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/runs/nope"),
        ("GET", "/runs/nope/events"),
        ("GET", "/runs/nope/events/sse"),
        ("POST", "/runs/nope/cancel"),
    ],
)
def test_an_unknown_run_is_not_found(client, method, path):
    answer = client.request(method, path)
    assert (answer.status_code, answer.json()) == (404, {"detail": "run not found"})


def test_a_body_that_is_not_declared_as_json_is_refused(client):
    refused = client.post("/runs", content="{}", headers={"Content-Type": "text/plain"})
    assert refused.status_code == 415
    assert isinstance(refused.json()["detail"], str)


def test_without_the_key_nothing_is_told(share_server, build_request):
    with share_server(api_keys="ann:k3y,ben:0ther") as client:
        assert client.post("/runs", json=build_request()).status_code == 401
        ann = {"Authorization": "Bearer k3y"}
        made = client.post("/runs", json=build_request(), headers=ann).json()
        for headers, status in [(ann, 200), ({"X-Api-Key": "0ther"}, 404)]:
            answer = client.get(f"/runs/{made['run_id']}", headers=headers)
            assert answer.status_code == status
        # Dify 1.16.0 has no token, but what its address has.
        for password, status in [("k3y", 200), ("0ther", 404), ("wr0ng", 401)]:
            address = client.base_url.copy_with(username="", password=password)
            told = httpx.get(f"{address}/runs/{made['run_id']}", timeout=600)
            refused = httpx.get(f"{address}/v1/runs", timeout=600)
            assert (told.status_code, refused.status_code) == (status, 401)


def test_a_fault_of_the_server_s_own_is_not_explained(client, build_request, monkeypatch):
    def break_down(_self, _request):
        raise RuntimeError("s3cret")

    routes = importlib.import_module("dify_agent.server._dify.routes")
    monkeypatch.setattr(routes, "project_run", break_down)
    with httpx.Client(base_url=client.base_url, timeout=600) as other:
        answer = other.get(f"/runs/{create(client, build_request())}")
    assert answer.status_code == 500
    assert "s3cret" not in answer.text


def test_a_client_that_goes_while_it_asks_is_no_fault(client, monkeypatch):
    async def leave(*_args):
        raise ClientDisconnect

    routes = importlib.import_module("dify_agent.server._dify.routes")
    monkeypatch.setattr(routes, "read_json", leave)
    assert client.post("/runs", json={}).status_code == 400
