import asyncio
import contextlib
import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
import pytest
import uvicorn

from gpt5_simulator import (
    ApiError,
    ResponsesSimulator,
    ScriptedModel,
    Silence,
    StartError,
    Text,
)


def test_it_serves_on_a_free_port_of_the_loopback_interface(server):
    assert server.base_url.startswith("http://127.0.0.1:")
    assert server.base_url.endswith("/v1")


def test_the_asked_port_is_taken(free_port):
    with ResponsesSimulator(port=free_port) as simulator:
        assert simulator.base_url == f"http://127.0.0.1:{free_port}/v1"


def test_a_port_in_use_is_an_error_that_names_it(server):
    port = int(server.base_url.split(":")[2].removesuffix("/v1"))
    with pytest.raises(StartError, match=f"port {port}: ") as caught, ResponsesSimulator(port=port):
        pass
    assert caught.value.port == port


def test_a_port_out_of_range_is_an_error():
    with pytest.raises(StartError, match="expected 0 to 65535"), ResponsesSimulator(port=70000):
        pass


def test_there_is_no_address_outside_the_with_block():
    simulator = ResponsesSimulator()
    with pytest.raises(StartError):
        _ = simulator.base_url
    with simulator:
        url = simulator.base_url
    with pytest.raises(StartError):
        _ = simulator.base_url
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/models")


def test_a_simulator_that_never_ran_can_be_closed():
    ResponsesSimulator().__exit__(None, None, None)


def test_a_server_that_does_not_come_up_is_an_error(monkeypatch):
    def run(self, sockets=None):
        del self, sockets

    monkeypatch.setattr(uvicorn.Server, "run", run)
    with pytest.raises(StartError, match="did not start"), ResponsesSimulator():
        pass


def test_requests_are_recorded_in_the_order_of_arrival(ask):
    with ResponsesSimulator() as simulator:
        ask(simulator, input="one")
        ask(simulator, input="two", headers={"x-trace": "7"})
        recorded = simulator.requests
    assert [request.number for request in recorded] == [0, 1]
    assert [request.body["input"] for request in recorded] == ["one", "two"]
    assert recorded[1].method == "POST"
    assert recorded[1].path == "/v1/responses"
    assert recorded[1].headers["x-trace"] == "7"


def test_keys_are_recorded_as_fingerprints_that_tell_them_apart(ask):
    with ResponsesSimulator() as simulator:
        for key in ("sk-secret-one", "sk-secret-two", "sk-secret-one"):
            ask(simulator, key=key, headers={"x-api-key": "other-secret"})
        seen = [request.headers for request in simulator.requests]
    marks = [headers["authorization"] for headers in seen]
    assert marks[0] == marks[2] != marks[1]
    assert all(mark.startswith("Bearer sha256:") for mark in marks)
    assert "secret" not in json.dumps(seen)


def test_a_body_that_is_not_json_is_recorded_as_none(server):
    httpx.post(f"{server.base_url}/responses", content=b"\xff{", headers=_KEY)
    assert server.requests[-1].body is None


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Basic abc"}, {"authorization": "Bearer"}]
)
def test_a_request_without_a_key_is_refused(server, headers):
    response = httpx.post(f"{server.base_url}/responses", json={}, headers=headers)
    assert response.status_code == 401
    assert response.json()["error"]["code"] is None


def test_only_accepted_keys_may_call(ask):
    with ResponsesSimulator(api_keys=["good"]) as simulator:
        good = ask(simulator, key="good")
        bad = ask(simulator, key="bad")
        models = httpx.get(f"{simulator.base_url}/models", headers={"authorization": "Bearer bad"})
    assert good.status_code == 200
    assert bad.status_code == models.status_code == 401
    assert bad.json()["error"]["code"] == "invalid_api_key"
    assert bad.json()["error"]["type"] == "invalid_request_error"


def test_models_are_listed_without_the_retired_ones(server):
    listed = httpx.get(f"{server.base_url}/models", headers=_KEY).json()
    names = [model["id"] for model in listed["data"]]
    assert listed["object"] == "list"
    assert {"gpt-5", "gpt-5.2-pro", "gpt-5.3-codex"} <= set(names)
    assert not {"gpt-5-codex", "gpt-5.1-codex"} & set(names)


def test_one_model_is_shown(server):
    shown = httpx.get(f"{server.base_url}/models/gpt-5", headers=_KEY)
    unknown = httpx.get(f"{server.base_url}/models/gpt-4", headers=_KEY)
    assert shown.json()["id"] == "gpt-5"
    assert unknown.status_code == 404
    assert unknown.json()["error"]["code"] == "model_not_found"


def test_the_list_tells_when_models_are_shut_down(server):
    listed = httpx.get(f"{server.base_url}/models", headers=_KEY).json()["data"]
    dates = {model["id"]: model["shutdown_date"] for model in listed}

    assert dates["gpt-5"] == dates["gpt-5-nano"] == "2026-12-11"
    assert dates["gpt-6-luna"] is None


def test_a_model_can_be_shut_down(ask):
    noon = datetime(2027, 3, 1, 12, tzinfo=UTC).timestamp
    days = {"gpt-5.2": "2027-03-01", "gpt-5.4": "2027-03-02", "own-model": "2027-01-01"}
    with ResponsesSimulator(shutdown_dates=days, clock=noon) as simulator:
        url = f"{simulator.base_url}/models"
        listed = httpx.get(url, headers=_KEY).json()["data"]
        shown = httpx.get(f"{url}/gpt-5.2", headers=_KEY)
        told = httpx.get(f"{url}/gpt-5.4", headers=_KEY).json()
        ended = [ask(simulator, model=name) for name in ("gpt-5.2", "gpt-5.2-2025-12-11")]
        ending = ask(simulator, model="gpt-5.4")

    assert "gpt-5.2" not in {model["id"] for model in listed}
    assert shown.status_code == 404
    assert told["shutdown_date"] == "2027-03-02"
    assert [answer.status_code for answer in ended] == [404, 404]
    assert "`gpt-5.2` has been deprecated" in ended[0].json()["error"]["message"]
    assert ending.status_code == 200


def test_a_known_day_is_told_and_not_enforced(ask):
    far = datetime(2030, 1, 1, tzinfo=UTC).timestamp
    with ResponsesSimulator(clock=far) as simulator:
        assert ask(simulator, model="gpt-5").status_code == 200


def test_a_day_of_shutdown_has_to_be_a_date():
    with pytest.raises(ValueError, match="soon"):
        ResponsesSimulator(shutdown_dates={"gpt-5": "soon"})


def test_the_served_models_can_be_chosen(ask):
    with ResponsesSimulator(models=["own-model", "gpt-5-codex"]) as simulator:
        listed = httpx.get(f"{simulator.base_url}/models", headers=_KEY).json()["data"]
        own = ask(simulator, model="own-model", temperature=0.3, reasoning={"effort": "max"})
        retired = ask(simulator, model="gpt-5-codex")
        unlisted = ask(simulator, model="gpt-5")
    assert [model["id"] for model in listed] == ["own-model", "gpt-5-codex"]
    assert own.json()["model"] == "own-model"
    assert retired.status_code == 200
    assert unlisted.status_code == 404


@pytest.mark.parametrize("status", [403, 404, 405])
def test_a_gateway_without_a_model_list_can_be_had(ask, status):
    with ResponsesSimulator(models_status=status) as simulator:
        listed = httpx.get(f"{simulator.base_url}/models", headers=_KEY)
        answered = ask(simulator)
    assert listed.status_code == status
    assert "error" in listed.json()
    assert answered.status_code == 200


def test_a_stored_response_can_be_fetched_by_its_owner_only(server, ask):
    made = ask(server).json()
    hidden = ask(server, store=False).json()
    url = f"{server.base_url}/responses"
    assert httpx.get(f"{url}/{made['id']}", headers=_KEY).json() == made
    assert httpx.get(f"{url}/{hidden['id']}", headers=_KEY).status_code == 404
    stranger = {"authorization": "Bearer other"}
    assert httpx.get(f"{url}/{made['id']}", headers=stranger).status_code == 404


def test_the_oldest_stored_responses_are_forgotten_first(ask):
    with ResponsesSimulator(model=ScriptedModel([[]], repeat=True)) as simulator:
        kept = [ask(simulator).json()["id"] for _ in range(514)]
        url = f"{simulator.base_url}/responses"
        found = [httpx.get(f"{url}/{kept[n]}", headers=_KEY).status_code for n in (0, 1, 2, 513)]
    assert found == [404, 404, 200, 200]


def test_other_routes_and_methods_are_refused_in_the_envelope(server):
    route = httpx.post(f"{server.base_url}/chat/completions", json={}, headers=_KEY)
    method = httpx.put(f"{server.base_url}/responses", json={}, headers=_KEY)
    assert (route.status_code, method.status_code) == (404, 405)
    assert route.json()["error"]["message"] == "Invalid URL (POST /v1/chat/completions)"
    assert method.json()["error"]["message"] == "Invalid method for URL (PUT /v1/responses)"
    assert server.requests[-1].method == "PUT"


def test_the_same_requests_get_the_same_answers(ask):
    def run():
        with ResponsesSimulator(clock=lambda: 1000.5) as simulator:
            return [ask(simulator, input=text).content for text in ("one", "two")]

    assert run() == run()


def test_the_seed_changes_every_id(ask):
    ids = []
    for seed in (1, 2):
        with ResponsesSimulator(seed=seed) as simulator:
            ids.append(ask(simulator).json()["id"])
    assert ids[0] != ids[1]


def test_two_hundred_calls_at_once_are_kept_apart(ask, events_of):
    def call(number):
        body = {"input": f"Say what {number} is", "stream": number % 2 == 0}
        response = ask(simulator, body, key=f"key-{number % 2}")
        final = events_of(response)[-1]["response"] if body["stream"] else response.json()
        return final["output"][-1]["content"][0]["text"]

    with ResponsesSimulator() as simulator:
        with ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(call, range(200)))
        recorded = simulator.requests
    assert all(f"“Say what {number} is”" in text for number, text in enumerate(answers))
    assert sorted(request.number for request in recorded) == list(range(200))
    assert len({json.dumps(request.body) for request in recorded}) == 200
    assert len({request.headers["authorization"] for request in recorded}) == 2


def test_an_idle_connection_stays_open_longer_than_clients_keep_it(server):
    url = httpx.URL(server.base_url)
    connection = http.client.HTTPConnection(url.host, url.port, timeout=120)
    with contextlib.closing(connection):
        connection.request("GET", "/v1/models")
        assert connection.getresponse().read()
        connection.sock.settimeout(5.5)  # httpx keeps idle connections for 5 seconds
        with pytest.raises(TimeoutError):
            connection.sock.recv(1)


def test_leaving_ends_streams_that_hang():
    started = threading.Event()
    ended = []

    def read(url):
        with httpx.Client(timeout=120) as client:
            request = {"model": "gpt-5", "input": "x", "stream": True}
            try:
                with client.stream("POST", url, json=request, headers=_KEY) as response:
                    started.set()
                    response.read()
            except httpx.TransportError as error:
                ended.append(type(error))

    with ResponsesSimulator(faults=[Silence()]) as simulator:
        thread = threading.Thread(target=read, args=(f"{simulator.base_url}/responses",))
        thread.start()
        assert started.wait(120)
    thread.join(120)
    assert ended == [httpx.RemoteProtocolError]


def test_leaving_does_not_wait_for_a_model_that_blocks():
    class Blocking:
        def respond(self, request):
            del request
            asked.set()
            release.wait()
            return [Text(text="late")]

    asked, release = threading.Event(), threading.Event()
    with ResponsesSimulator(model=Blocking()) as simulator, ThreadPoolExecutor(1) as pool:
        body = {"model": "gpt-5", "input": "x"}
        url = f"{simulator.base_url}/responses"
        waiting = pool.submit(httpx.post, url, json=body, headers=_KEY, timeout=120)
        try:
            assert asked.wait(120)
            simulator.__exit__(None, None, None)
            assert waiting.result(120).status_code == 500
        finally:
            release.set()


def test_leaving_takes_no_time_of_its_own(ask, monkeypatch):
    pauses, sleep = [], asyncio.sleep

    async def pause(seconds, *result):
        pauses.append(seconds)
        return await sleep(seconds, *result)

    for name in ("_TICK_SECONDS", "_STOP_SECONDS"):
        monkeypatch.setattr(f"gpt5_simulator._http.loopback_server.{name}", 600)
    with ResponsesSimulator() as simulator:
        ask(simulator)
        monkeypatch.setattr(asyncio, "sleep", pause)
        began = time.monotonic()

    assert time.monotonic() - began < 60  # and not at the server's next look at its clock
    assert max(pauses, default=0) < 0.1  # uvicorn's own


def test_a_client_that_leaves_early_leaves_nothing_running(ask):
    with ResponsesSimulator(faults=[Silence(after_events=1)]) as simulator:
        url = f"{simulator.base_url}/responses"
        body = {"model": "gpt-5", "input": "x", "stream": True}
        with httpx.stream("POST", url, json=body, headers=_KEY) as response:
            first = next(response.iter_raw())
        assert first.startswith(b"event: response.created")
        assert ask(simulator).status_code == 200


def test_a_model_may_answer_with_an_error_of_its_own(ask):
    class Picky:
        def respond(self, request):
            raise ApiError(
                f"{request.profile.name} is asleep", status=503, error_type="server_error"
            )

    with ResponsesSimulator(model=Picky()) as simulator:
        response = ask(simulator)
    assert response.status_code == 503
    assert response.json()["error"]["message"] == "gpt-5 is asleep"


def test_a_model_that_stumbles_is_reported_with_its_reason(ask):
    class Broken:
        def respond(self, request):
            raise LookupError(request.body["input"])

    with ResponsesSimulator(model=Broken()) as simulator:
        response = ask(simulator, input="here")
    assert response.status_code == 500
    assert response.json()["error"]["message"] == "The simulator failed: LookupError: here"


def test_text_that_utf8_cannot_hold_comes_back_as_a_json_escape(ask):
    with ResponsesSimulator(model=ScriptedModel([[Text(text="a\ud800b")]])) as simulator:
        part = ask(simulator).json()["output"][0]["content"][0]
    assert part["text"] == "a\ud800b"


_KEY = {"authorization": "Bearer sk-test", "content-type": "application/json"}
