import json
import socket

import pytest


@pytest.fixture(scope="module")
def server(share_server):
    with share_server(max_request_bytes=10_000, keep_alive_seconds=0.05) as client:
        yield client


@pytest.fixture
def client(server, settle):
    yield server
    settle(server)


def create(client, request, **kwargs):
    return client.post("/runs", json=request, **kwargs).raise_for_status().json()["run_id"]


def problems(response):
    return [(detail["field"], detail["message"]) for detail in response.json()["error"]["details"]]


def test_a_new_run_is_accepted_with_its_id(client, build_request):
    response = client.post("/runs", json=build_request())

    assert response.status_code == 202
    assert response.json()["status"] == "queued"
    assert client.get(f"/runs/{response.json()['run_id']}").status_code == 200


def test_a_bad_request_names_the_fields_and_never_a_value(client, build_request):
    request = build_request()
    layers = request["composition"]["layers"]
    layers[0]["type"] = ""
    layers[1]["surprise"] = "s3cret"
    del layers[2]["name"]

    response = client.post("/runs", json=request)

    assert response.status_code == 422
    assert problems(response) == [
        ("composition.layers.0.type", "String should have at least 1 character"),
        ("composition.layers.1.surprise", "Extra inputs are not permitted"),
        ("composition.layers.2.name", "Field required"),
    ]
    assert "s3cret" not in response.text


def test_a_composition_that_does_not_fit_together_is_refused_at_once(client, build_request):
    request = build_request()
    request["composition"]["layers"][0]["type"] = "plain.nothing"

    response = client.post("/runs", json=request)

    assert response.status_code == 422
    assert problems(response) == [
        ("composition.layers.0", "Layer type id 'plain.nothing' is not registered.")
    ]


@pytest.mark.parametrize(
    ("index", "change"),
    [
        (2, {"deps": {}}),
        (2, {"deps": {"plugin": "prompt"}}),
        (2, {"deps": {"plugin": "later"}}),
        (1, {"config": {"tenant": "s3cret"}}),
        (3, {"type": "dify.plugin.other"}),
    ],
)
def test_a_layer_that_does_not_fit_is_named(client, build_request, index, change):
    request = build_request()
    request["composition"]["layers"][index] |= change

    response = client.post("/runs", json=request)

    assert response.status_code == 422
    assert [field for field, _ in problems(response)] == [f"composition.layers.{index}"]
    assert "s3cret" not in response.text


def test_of_many_wrong_fields_a_hundred_are_told(client):
    response = client.post("/runs", json={str(number): number for number in range(900)})

    assert response.status_code == 422
    assert len(problems(response)) == 100


@pytest.mark.parametrize("name", ["x" * 3_000, "\n" * 1_500])
def test_long_names_of_a_request_are_told_in_part(client, build_request, name):
    request = build_request()
    request["composition"]["layers"][3]["deps"] = {name: "plugin"}
    for extra in ({}, {name: 1}):
        request["composition"]["layers"][2] |= extra
        response = client.post("/runs", json=request)
        assert response.status_code == 422
        [(field, message)] = problems(response)
        assert len(field) + len(message) < 1_100


def test_a_layers_bad_configuration_is_refused_without_its_credentials(client, build_request):
    request = build_request()
    request["composition"]["layers"][2]["config"]["credentials"] = {"api_key": ["s3cret-nested"]}

    response = client.post("/runs", json=request)

    assert response.status_code == 422
    assert "credentials" in response.text
    assert "s3cret" not in response.text


def test_a_body_that_is_no_json_is_refused(client):
    headers = {"Content-Type": "application/json; charset=utf-8"}

    response = client.post("/runs", content=b'{"a": s3cret', headers=headers)

    assert response.status_code == 422
    assert problems(response)[0][0] == "body"
    assert "s3cret" not in response.text


def test_a_body_that_is_not_declared_as_json_is_refused(client, build_request):
    response = client.post(
        "/runs", content=json.dumps(build_request()), headers={"Content-Type": "text/plain"}
    )

    assert response.status_code == 415
    assert response.json()["error"]["code"] == "unsupported_media_type"


def test_a_body_over_the_limit_is_refused(client, build_request):
    response = client.post("/runs", json=build_request("x" * 10_000))

    assert response.status_code == 413
    assert response.json()["error"]["message"] == "Expected a body of at most 10000 bytes."


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/runs/nope"), ("GET", "/runs/nope/events"), ("POST", "/runs/nope/cancel")],
)
def test_an_unknown_run_is_not_found(client, method, path):
    response = client.request(method, path)

    assert response.status_code == 404
    assert response.json()["error"]["message"] == "There is no run 'nope'."


@pytest.mark.parametrize("where", ["header", "query"])
def test_a_stream_resumes_after_the_last_event_that_the_client_has(
    client, build_request, read_events, where
):
    run_id = create(client, build_request())
    events = read_events(client, run_id)

    resumed = read_events(
        client,
        run_id,
        headers={"Last-Event-ID": "2"} if where == "header" else None,
        params={"after": "2"} if where == "query" else None,
    )

    assert resumed == events[2:]


def test_a_client_that_has_the_last_event_is_told_not_to_come_back(
    client, build_request, read_events
):
    run_id = create(client, build_request())
    last = read_events(client, run_id)[-1]["sequence"]

    response = client.get(f"/runs/{run_id}/events", headers={"Last-Event-ID": str(last)})

    assert response.status_code == 204


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "9" * 40])
def test_an_event_number_that_is_no_number_is_refused(client, build_request, after):
    run_id = create(client, build_request())

    response = client.get(f"/runs/{run_id}/events", params={"after": after})

    assert response.status_code == 422
    assert problems(response) == [("after", "Expected the number of an event, or 0.")]


def test_a_silent_stream_is_kept_alive_by_comments(client, daemon, build_request):
    gate = daemon.gate()
    daemon.model = lambda _data: [gate]
    run_id = create(client, build_request())
    gate.wait_until_reached()

    with client.stream("GET", f"/runs/{run_id}/events") as response:
        comments = (line for line in response.iter_lines() if line.startswith(":"))
        assert next(comments) == ": keep-alive"


def test_a_server_without_a_key_refuses_other_host_names(client):
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/health", headers={"Host": "evil.example"}).status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [("GET", "/nowhere", 404, "not_found"), ("GET", "/runs", 405, "method_not_allowed")],
)
def test_a_path_or_method_that_there_is_not_is_refused_like_everything_else(
    client, method, path, status, code
):
    response = client.request(method, path)

    assert response.status_code == status
    assert response.json()["error"]["code"] == code
    assert response.headers.get("allow") == ("POST" if status == 405 else None)


HEAD = b"POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


def test_a_body_that_does_not_come_is_not_waited_for(client, monkeypatch):
    monkeypatch.setattr("dify_agent.server._http._BODY_SECONDS", 0.05)
    with socket.create_connection((client.base_url.host, client.base_url.port)) as asking:
        asking.sendall(HEAD)
        assert asking.recv(4096).startswith(b"HTTP/1.1 408")


def test_a_client_that_goes_while_it_asks_is_nobody_s_business(client, capfd):
    with socket.create_connection((client.base_url.host, client.base_url.port)) as asking:
        asking.sendall(HEAD)
    assert client.get("/health").status_code == 200
    assert "Traceback" not in capfd.readouterr().err
