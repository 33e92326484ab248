"""How runs of Dify end in its later versions: what is left of those that failed or were cancelled, and what goes on from it."""

import pytest


HISTORY = {"name": "history", "type": "pydantic_ai.history"}


@pytest.fixture(scope="module")
def server(share_server):
    with share_server(
        dify_version="1.17.1",
        replay_requests=True,
        api_keys="k3y,ann:st4rt:start,ann:answ3r:answer",
    ) as client:
        client.headers["Authorization"] = "Bearer k3y"
        yield client


@pytest.fixture
def client(server, daemon):
    assert daemon.url  # which says hello again
    return server


@pytest.fixture
def request_(build_request):
    request = build_request(tools=())
    request["composition"]["layers"].insert(2, HISTORY)
    return request


def create(client, request):
    return client.post("/runs", json=request).raise_for_status().json()["run_id"]


def last(client, run_id):
    with client.stream("GET", f"/runs/{run_id}/events/sse") as response:
        response.read()
    return client.get(f"/runs/{run_id}/events", params={"limit": 500}).json()["events"][-1]


def test_what_was_said_before_a_run_failed_is_there_for_the_next(client, daemon, request_):
    daemon.model = lambda _data: [ValueError("no such model")]
    failed = last(client, create(client, request_))
    daemon.reset()
    goes_on = request_ | {"session_snapshot": failed["data"]["session_snapshot"]}
    last(client, create(client, goes_on))

    assert failed["type"] == "run_failed"
    assert failed["data"]["reason"] == "ModelAPIError"
    assert failed["data"]["error_type"] is None
    assert "usage" not in failed["data"]
    said = [m["content"] for m in daemon.model_requests[-1]["prompt_messages"]]
    assert said == ["Hi", "Hi"]


def test_what_was_said_before_a_run_was_cancelled_is_there_for_the_next(
    client, daemon, chunks, request_
):
    gate = daemon.gate()
    daemon.model = lambda _data: [chunks.text("a"), gate]
    run_id = create(client, request_)
    gate.wait_until_reached()
    client.post(f"/runs/{run_id}/cancel", json={"message": "Enough."}).raise_for_status()
    gate.wait_until_left()
    cancelled = last(client, run_id)

    assert cancelled["type"] == "run_cancelled"
    assert (cancelled["data"]["reason"], cancelled["data"]["message"]) == (None, "Enough.")
    history = cancelled["data"]["session_snapshot"]["layers"][2]
    assert "Hi" in str(history["runtime_state"]["messages"][0])
    status = client.get(f"/runs/{run_id}").json()
    assert (status["status"], status["error"], status["error_type"]) == (
        "cancelled",
        "Enough.",
        None,
    )


def test_a_cancel_without_a_word_leaves_what_was_said_as_well(client, daemon, chunks, request_):
    gate = daemon.gate()
    daemon.model = lambda _data: [chunks.text("a"), gate]
    run_id = create(client, request_)
    gate.wait_until_reached()
    client.post(f"/runs/{run_id}/cancel").raise_for_status()

    assert last(client, run_id)["data"]["session_snapshot"]["layers"]


def test_a_run_without_a_model_only_ends_a_session(client, request_):
    ended = last(client, create(client, request_))
    layers = [each for each in request_["composition"]["layers"] if each["name"] != "llm"]
    snapshot = ended["data"]["session_snapshot"]
    snapshot["layers"] = [each for each in snapshot["layers"] if each["name"] != "llm"]
    clean_up = {
        "composition": {"layers": layers[:3]},
        "session_snapshot": {"layers": snapshot["layers"][:3]},
        "on_exit": {"default": "delete"},
        "metadata": {"agent_backend_lifecycle": "session_cleanup"},
    }
    cleaned = last(client, create(client, clean_up))

    assert (cleaned["type"], cleaned["data"]["output"]) == ("run_succeeded", None)
    assert {each["lifecycle_state"] for each in cleaned["data"]["session_snapshot"]["layers"]} == {
        "closed"
    }


def test_a_session_that_has_ended_is_not_gone_on_with(client, request_):
    ended = last(client, create(client, request_ | {"on_exit": {"default": "delete"}}))
    goes_on = request_ | {"session_snapshot": ended["data"]["session_snapshot"]}
    failed = last(client, create(client, goes_on))

    assert failed["type"] == "run_failed"
    assert "closed" in failed["data"]["error"]
    assert "session_snapshot" not in failed["data"]


def test_prices_are_told_since_1_17(client, daemon, chunks, request_):
    priced = chunks.text("Hi", finish_reason="stop")
    priced["delta"]["usage"] = {
        "prompt_tokens": 10,
        "prompt_unit_price": "0.2",
        "prompt_price_unit": "0.001",
        "prompt_price": "0.002",
        "completion_tokens": 2,
        "completion_unit_price": "0",
        "completion_price": "0",
        "total_price": "0.002",
        "currency": "USD",
        "latency": 0.5,
        "time_to_first_token": 0.1,
    }
    daemon.model = lambda _data: [priced]
    usage = last(client, create(client, request_))["data"]["usage"]

    assert usage == {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 12,
        "prompt_unit_price": "0.2",
        "prompt_price_unit": "0.001",
        "prompt_price": "0.002",
        "total_price": "0.002",
        "currency": "USD",
        "latency": 0.5,
        "time_to_first_token": 0.1,
    }


def test_the_same_request_under_the_same_key_is_the_same_run(client, request_):
    keyed = request_ | {"idempotency_key": "wf1:node7"}
    first, again, other = (
        create(client, each) for each in (keyed, keyed, keyed | {"metadata": {"round": 2}})
    )

    assert first == again
    assert other not in {first, create(client, request_), create(client, request_)}


def test_a_key_that_may_only_answer_starts_and_cancels_nothing(client, request_):
    answers = {"Authorization": "Bearer answ3r"}
    starts = {"Authorization": "Bearer st4rt"}
    run_id = client.post("/runs", json=request_, headers=starts).json()["run_id"]

    for path in ("/runs", f"/runs/{run_id}/cancel"):
        refused = client.post(path, json=request_ if path == "/runs" else {}, headers=answers)
        assert (refused.status_code, set(refused.json())) == (403, {"detail"})


BINDING = {"tenant_id": "t", "agent_id": "a", "binding_id": "b", "workspace_id": "w"}


def test_a_workspace_has_one_reference_that_means_nothing(client):
    first, again = (client.post("/execution-bindings", json=BINDING) for _ in range(2))
    other = client.post(
        "/execution-bindings",
        json=BINDING | {"existing_workspace_ref": "ws-1", "home_snapshot_ref": None},
    )

    assert (first.status_code, first.json()) == (
        201,
        {"binding_ref": "binding:b", "workspace_ref": "workspace:w"},
    )
    assert again.json() == first.json()
    assert other.json()["workspace_ref"] == "ws-1"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/execution-bindings/destroy", {"binding_ref": "b", "destroy_workspace": False}, 204),
        ("/execution-bindings/destroy", {"binding_ref": "b", "destroy_workspace": True}, 422),
        ("/execution-bindings", BINDING | {"binding_id": ""}, 422),
        ("/execution-bindings", BINDING | {"surprise": 1}, 422),
        ("/home-snapshots/delete", {"snapshot_ref": "h"}, 204),
        ("/home-snapshots/delete", {}, 422),
    ],
)
def test_what_is_asked_of_an_environment_is_checked(client, path, body, status):
    assert client.post(path, json=body).status_code == status


def test_a_home_gets_a_reference_when_an_agent_is_published(client):
    asked = {"tenant_id": "t", "agent_id": "a", "home_snapshot_id": "h", "backend_binding_ref": "b"}
    made = client.post("/home-snapshots/from-binding", json=asked)
    assert (made.status_code, made.json()) == (201, {"snapshot_ref": "home:h"})


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/execution-bindings/files/list", "runtime_backend_unavailable"),
        ("/execution-bindings/files/read", "runtime_backend_unavailable"),
        ("/execution-bindings/files/download", "runtime_backend_unavailable"),
        ("/sandbox/files/upload", "sandbox_backend_unavailable"),
    ],
)
def test_files_of_an_environment_are_not_offered(client, path, code):
    refused = client.post(path, json={"backend_binding_ref": "../etc", "path": "/etc/passwd"})
    assert (refused.status_code, refused.json()["detail"]["code"]) == (503, code)
