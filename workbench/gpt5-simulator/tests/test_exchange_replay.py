import itertools
import json

import httpx
import pytest

from gpt5_simulator import HtmlPage, RecordingError, ResponsesSimulator


def write(folder, name, body, *, answer=None, method="POST", path="/v1/responses", status=200):
    asked = {"method": method, "path": path, "status": status, "body": body}
    (folder / f"{name}.request.json").write_text(json.dumps(asked), encoding="utf-8")
    text = json.dumps({"answered": name} if answer is None else answer)
    (folder / f"{name}.response.json").write_text(text, encoding="utf-8")


@pytest.fixture
def reports():
    return []


@pytest.fixture
def replaying(tmp_path, reports):
    """A simulator that replays what the test writes to its folder beforehand, and requests to it."""
    with ResponsesSimulator() as simulator, httpx.Client(base_url=simulator.base_url) as client:

        def begin(*bodies):
            for number, body in enumerate(bodies, start=1):
                write(tmp_path, f"{number:05}", body)
            simulator.replay(tmp_path, report=reports.append)
            return simulator, client

        yield begin


def ask(client, body):
    return client.post("/responses", json=body)


def refusal(response):
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "replay_difference")
    return error


def test_what_was_recorded_is_answered_as_it_was_without_a_key(replaying):
    simulator, client = replaying({"model": "any", "input": [{"a": 1, "b": None}]})
    response = ask(client, {"input": [{"b": None, "a": 1}], "model": "any"})
    assert response.json() == {"answered": "00001"}
    simulator.assert_used()


def test_every_path_is_answered_with_its_recorded_status(tmp_path):
    write(tmp_path, "1", None, method="GET", path="/v1/files?limit=2", status=503)
    write(tmp_path, "2", None, method="GET", path="/v1/models?api_key=[redacted]")
    with ResponsesSimulator() as simulator, httpx.Client(base_url=simulator.base_url) as client:
        simulator.replay(str(tmp_path))
        files = client.get("/files", params={"limit": 2})
        models = client.get("/models", params={"api_key": "another"})
        refused = client.get("/files", params={"limit": 3})
    assert (files.status_code, files.json()) == (503, {"answered": "1"})
    assert models.json() == {"answered": "2"}
    text = "All recorded requests have been answered; none is left for GET /v1/files?limit=3."
    assert refusal(refused)["message"] == text


def test_a_recorded_stream_has_its_status_too(tmp_path, ask):
    write(tmp_path, "1", None, status=201)
    (tmp_path / "1.response.json").unlink()
    (tmp_path / "1.sse").write_bytes(b"data: {}\n\n")
    with ResponsesSimulator(replay=[tmp_path]) as simulator:
        response = ask(simulator)
    assert (response.status_code, response.content) == (201, b"data: {}\n\n")


def test_requests_at_the_same_time_may_come_in_any_order_and_equal_ones_in_the_recorded(replaying):
    _, client = replaying({"n": 1}, {"n": 2}, {"n": 1})
    answers = [ask(client, {"n": number}).json()["answered"] for number in (2, 1, 1)]
    assert answers == ["00002", "00001", "00003"]


LONG = "x" * 5_000


@pytest.mark.parametrize(
    ("recorded", "asked", "difference"),
    [
        (
            {"input": [{}, {}, {"content": "Hi"}]},
            {"input": [{}, {}, {"content": "Ho"}]},
            'input[2].content: expected "Hi", got "Ho"',
        ),
        ({"a": 1}, {"a": 1, "b": {"c": 2}}, 'b: expected nothing, got {"c":2}'),
        ({"a": 1, "b": []}, {"a": 1}, "b: expected [], got nothing"),
        ({"a": [1]}, {"a": [1, 2]}, "a[1]: expected nothing, got 2"),
        ({"a": [1, 2]}, {"a": []}, "a[0]: expected 1, got nothing"),
        ({"a": 1}, {"a": True}, "a: expected 1, got true"),
        ({"a": {}}, {"a": []}, "a: expected {}, got []"),
        ({"a": 1}, [1], 'body: expected {"a":1}, got [1]'),
        ({"a": f"{LONG}1"}, {"a": f"{LONG}2"}, f'a: expected "…{"x" * 20}1", got "…{"x" * 20}2"'),
        ({"a": LONG}, {"a": LONG[1:]}, f'a: expected "…{"x" * 21}", got "…{"x" * 20}"'),
        ({"a": 0}, {"a": LONG}, f'a: expected 0, got "{"x" * 79}…'),
        ({LONG: 0}, {LONG: 1}, f"{'x' * 200}: expected 0, got 1"),
        ({"tools": [{"authorization": "[redacted]"}]}, {"tools": [{"authorization": None}]}, None),
    ],
    ids=itertools.count(),
)
def test_the_first_difference_is_named(replaying, reports, recorded, asked, difference):
    simulator, client = replaying(recorded)
    error = refusal(ask(client, asked))
    wanted = difference or 'tools[0].authorization: expected "[redacted]", got null'
    assert error["message"] == f"The request differs from recording 00001: {wanted}"
    assert error["param"] == wanted.partition(": ")[0]
    assert reports == [error["message"]]
    with pytest.raises(AssertionError) as caught:
        simulator.assert_used()
    assert str(caught.value).splitlines() == [
        "the simulator was not used as planned:",
        error["message"],
        "recorded requests that never came: 00001",
    ]


def test_another_method_or_path_is_named_first(replaying):
    _, client = replaying({"a": 1})
    error = refusal(client.post("/responses/compact", json={"b": 1}))
    expected = 'request: expected "POST /v1/responses", got "POST /v1/responses/compact"'
    assert error["message"] == f"The request differs from recording 00001: {expected}"


def test_a_difference_shows_no_credential(replaying):
    _, client = replaying({"a": "Hello"})
    headers = {"authorization": "Bearer sk-very-secret"}
    body = {"a": "It is sk-very-secret.", "password": "x"}
    response = client.post("/responses", json=body, headers=headers)
    assert 'got "It is [redacted]."' in refusal(response)["message"]


def test_faults_hit_exchanges_too(replaying):
    simulator, client = replaying({"a": 1})
    simulator.add_fault(HtmlPage())
    assert ask(client, {"a": 1}).headers["content-type"].startswith("text/html")
    simulator.assert_used()


def test_more_than_one_folder_can_be_replayed(tmp_path):
    with ResponsesSimulator() as simulator, httpx.Client(base_url=simulator.base_url) as client:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            write(tmp_path / name, name, {"name": name})
            simulator.replay(tmp_path / name)
        assert [ask(client, {"name": name}).json()["answered"] for name in ("two", "one")] == [
            "two",
            "one",
        ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "expected 1.request.json beside the answer"),
        ("{", "1.request.json': expected JSON"),
        ("[]", "expected an object with method, path, status and body"),
        ('{"method": "GET", "path": "/v1", "status": "200", "body": 1}', "expected an object"),
        ('{"method": "GET", "path": "/v1", "status": 200}', "expected an object"),
    ],
)
def test_a_folder_without_what_was_asked_is_refused(tmp_path, text, reason):
    (tmp_path / "1.response.json").write_text("{}", encoding="utf-8")
    if text is not None:
        (tmp_path / "1.request.json").write_text(text, encoding="utf-8")
    with pytest.raises(RecordingError, match=reason):
        ResponsesSimulator().replay(tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RecordingError, match="no such file or folder"):
        ResponsesSimulator().replay(tmp_path / "nowhere")
