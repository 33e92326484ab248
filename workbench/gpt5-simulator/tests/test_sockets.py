import json
import socket as socketlib
from contextlib import contextmanager

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from gpt5_simulator import (
    FunctionCall,
    NoPongs,
    Recording,
    RefuseUpgrade,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)


LAST = {"response.completed", "response.failed", "response.incomplete"}


class Time:
    """A clock that stands still until it is moved."""

    now = 1_800_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def time():
    return Time()


@pytest.fixture(scope="module")
def simulator(time):
    """The simulator of all tests here; each leaves it without faults."""
    with ResponsesSimulator(clock=time) as simulator:
        yield simulator


@contextmanager
def connected(simulator, *, key="sk-test", path="/responses", fault="none", **how):
    url = f"ws{simulator.base_url.removeprefix('http')}{path}"
    sent = {"authorization": f"Bearer {key}"}
    sent |= {} if fault == "none" else {"x-simulator-fault": fault}
    how |= {"max_size": None, "open_timeout": 120, "ping_interval": None}
    with connect(url, additional_headers=sent, **how) as socket:
        yield socket


@pytest.fixture
def socket(simulator):
    with connected(simulator) as socket:
        yield socket


def send(socket, **settings):
    body = {"type": "response.create", "model": "gpt-5.2", "input": "Hello", "store": False}
    socket.send(json.dumps(body | settings))


def read(socket):
    """Return the events up to the last one of a response, or the error in their place."""
    events = []
    while not events or not (events[-1]["type"] in LAST or "status" in events[-1]):
        events.append(json.loads(socket.recv(timeout=120)))
    return events


def turn(socket, **settings):
    """Return the last event of a response."""
    send(socket, **settings)
    return read(socket)[-1]


def id_of(event):
    assert event["type"] == "response.completed", event
    return event["response"]["id"]


def refusal_of(simulator, **how):
    """Return the answer to a request for a WebSocket that is refused."""
    with pytest.raises(InvalidStatus) as refused, connected(simulator, **how):
        pass
    return refused.value.response


def closing_of(socket):
    """Return how many messages come before the server ends the connection, and its close code."""
    number = 0
    try:
        while socket.recv(timeout=120):
            number += 1
    except ConnectionClosed as closed:
        code = closed.rcvd and closed.rcvd.code
    return number, code


def test_a_socket_has_the_events_that_http_has(simulator, socket, ask, events_of):
    shape = {"model": "gpt-5.2", "input": "Hello", "stream_options": {"include_obfuscation": False}}
    send(socket, **shape)
    over_http = events_of(ask(simulator, shape, stream=True))
    assert [event["type"] for event in read(socket)] == [event["type"] for event in over_http]


def test_a_response_goes_on_from_the_newest_one_although_nothing_is_stored(socket):
    first = id_of(turn(socket, input="My name is Ada"))
    second = id_of(turn(socket, previous_response_id=first))
    third = turn(socket, previous_response_id=second)
    assert third["response"]["usage"]["input_tokens"] > 20
    older = turn(socket, previous_response_id=first)
    assert older["status"] == 400
    assert older["error"] == {
        "message": f"Previous response with id '{first}' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }
    assert id_of(turn(socket, previous_response_id=id_of(third)))


def test_what_is_stored_is_found_on_any_socket(simulator, socket):
    stored = id_of(turn(socket, store=True))
    newer = turn(socket)
    with connected(simulator) as other:
        assert id_of(turn(other, previous_response_id=stored))
        missing = turn(other, previous_response_id=id_of(newer))
    assert missing["error"]["code"] == "previous_response_not_found"


def test_results_go_on_from_their_calls_with_their_reasoning(function_tool):
    call = FunctionCall(name="clock", arguments={}, call_id="call_1")
    answers = ScriptedModel([[call], [Text(text="Noon")]])
    tools = [function_tool("clock")]
    result = {"type": "function_call_output", "call_id": "call_1", "output": "12:00"}
    with ResponsesSimulator(model=answers) as scripted, connected(scripted) as socket:
        asked = id_of(turn(socket, tools=tools))
        answered = turn(socket, tools=tools, input=[result], previous_response_id=asked)
        sent = scripted.requests[-1]
    assert answered["response"]["output"][-1]["content"][0]["text"] == "Noon"
    assert (sent.method, sent.path, sent.socket) == ("WEBSOCKET", "/v1/responses", 0)
    assert sent.headers["authorization"].startswith("Bearer sha256:")
    assert (sent.body["input"], sent.body["previous_response_id"]) == ([result], asked)


@pytest.mark.parametrize(
    "refused",
    [
        {"input": [{"type": "function_call_output", "call_id": "call_9", "output": ""}]},
        {"temperature": 3},
    ],
)
def test_a_refused_request_evicts_the_response_that_it_went_on_from(socket, refused):
    first = id_of(turn(socket))
    assert turn(socket, **refused)["status"] == 400
    second = id_of(turn(socket, previous_response_id=first))
    assert turn(socket, **refused, previous_response_id=second)["status"] == 400
    gone = turn(socket, previous_response_id=second)
    assert gone["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize("fault", ["late_failure", "late_error", "server_error"])
def test_nothing_goes_on_from_a_response_that_failed(simulator, socket, fault):
    first = id_of(turn(socket))
    simulator.add_fault(fault)
    assert turn(socket, previous_response_id=first)["type"] in {"error", "response.failed"}
    gone = turn(socket, previous_response_id=first)
    assert gone["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize(
    "warm_up",
    [{"generate": False}, {"model": "gpt-5.6-sol", "prompt_cache_options": {"prewarm": True}}],
)
def test_a_warm_up_has_no_output_and_an_id_to_go_on_from(socket, warm_up):
    warm = turn(socket, **warm_up)
    assert warm["response"]["output"] == []
    answer = turn(socket, model=warm["response"]["model"], previous_response_id=id_of(warm))
    assert answer["response"]["output"]


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("{", None),
        ("[]", None),
        (b"\xff", None),
        ('{"type": "response.steer"}', "type"),
        (
            '{"type": "response.create", "model": "gpt-5", "input": "", "stream_id": "a"}',
            "stream_id",
        ),
        (b'{"type": "response.create", "model": "gpt-5", "background": true}', "background"),
        ('{"type": "response.create", "model": "gpt-5", "input": "", "generate": 1}', "generate"),
    ],
)
def test_what_is_no_request_is_refused_and_the_socket_goes_on(socket, message, param):
    socket.send(message)
    refused = read(socket)[-1]
    assert (refused["type"], refused["status"], refused["error"]["param"]) == ("error", 400, param)
    assert id_of(turn(socket))


def test_requests_that_come_at_once_are_answered_one_after_the_other(socket):
    for _ in range(3):
        send(socket)
    numbers = [[event["sequence_number"] for event in read(socket)] for _ in range(3)]
    assert numbers == [list(range(len(numbers[0])))] * 3


def test_an_error_has_its_status_and_its_headers(simulator, socket):
    simulator.add_fault("rate_limit;retry_after=1")
    refused = turn(socket)
    assert (refused["type"], refused["status"]) == ("error", 429)
    assert refused["error"]["code"] == "rate_limit_exceeded"
    assert refused["error"]["headers"] == {"retry-after": "1"}
    simulator.assert_used()


def test_a_socket_lasts_60_minutes(socket, time):
    time.now += 3599
    first = id_of(turn(socket))
    time.now += 1
    over = turn(socket, previous_response_id=first)
    assert over["error"]["code"] == "websocket_connection_limit_reached"
    assert closing_of(socket) == (0, 1000)


@pytest.mark.parametrize(
    ("fault", "messages", "code"),
    [
        ("cut;after_events=3", 3, None),
        ("cut;after_bytes=2000", 1, None),
        ("close;after_events=2", 2, 1011),
        ("close;code=1001;after_events=0", 0, 1001),
        ("message_too_big", 0, 1009),
    ],
)
def test_a_socket_ends_in_the_middle_of_a_response(simulator, socket, fault, messages, code):
    simulator.add_fault(fault)
    send(socket)
    assert closing_of(socket) == (messages, code)


def test_a_socket_closes_while_it_is_idle(simulator, socket, ask):
    simulator.add_fault("close_idle;code=1001;times=2")
    assert ask(simulator, stream=True).text.endswith("\n\n")  # over HTTP nothing happens
    assert id_of(turn(socket))
    assert closing_of(socket) == (0, 1001)


def test_faults_of_streams_are_the_same_on_a_socket(simulator, socket):
    simulator.add_fault("broken_frame;after_events=1")
    simulator.add_fault("html")
    simulator.add_fault("silence;after_events=1;seconds=0.01")
    send(socket)
    socket.recv(timeout=120)
    with pytest.raises(ValueError, match="Unterminated"):
        json.loads(socket.recv(timeout=120))
    read(socket)
    send(socket)
    assert socket.recv(timeout=120).startswith("<!DOCTYPE html>")
    assert id_of(turn(socket))


def test_the_header_of_the_upgrade_has_faults_for_the_socket(simulator):
    with connected(simulator, fault="rate_limit;times=2") as socket:
        assert [turn(socket)["type"] for _ in range(3)] == ["error", "error", "response.completed"]
    assert refusal_of(simulator, fault="refuse_upgrade;status=503").status_code == 503
    assert refusal_of(simulator, fault="nonsense").status_code == 400


def test_pings_are_answered_unless_a_fault_forbids_it(simulator):
    simulator.add_fault(NoPongs())
    with connected(simulator) as silent, connected(simulator) as usual:
        unanswered = silent.ping()
        assert usual.ping().wait(120)
        assert id_of(turn(silent))  # sent later and answered, unlike the ping
        assert not unanswered.is_set()


@pytest.mark.parametrize(
    ("status", "kind"), [(302, "text/html; charset=utf-8"), (426, "application/json")]
)
def test_an_upgrade_is_refused_and_requests_are_not(simulator, ask, status, kind):
    simulator.add_fault(RefuseUpgrade(status=status))
    assert ask(simulator).status_code == 200
    refused = refusal_of(simulator)
    assert (refused.status_code, refused.headers["content-type"]) == (status, kind)
    simulator.assert_used()


def test_an_upgrade_is_not_answered_at_all():
    with ResponsesSimulator(faults=["refuse_upgrade;status=none"]) as simulator:
        url = f"ws{simulator.base_url.removeprefix('http')}/responses"
        with pytest.raises(TimeoutError):
            connect(url, additional_headers={"authorization": "Bearer k"}, open_timeout=0.2)


def test_a_fault_of_upgrades_that_hit_nothing_is_told():
    with ResponsesSimulator(faults=[RefuseUpgrade(times=None)]) as simulator:
        with pytest.raises(AssertionError, match=r"faults not used: RefuseUpgrade\(times=None\)"):
            simulator.assert_used()
        refusal_of(simulator)
        simulator.assert_used()


def test_an_upgrade_without_a_key_or_at_another_address_is_answered_like_a_request(simulator):
    refused = refusal_of(simulator, key="")
    assert refused.status_code == 401
    assert b"You didn't provide an API key" in refused.body
    lost = refusal_of(simulator, path="/nowhere")
    assert (lost.status_code, b"Invalid URL (GET /v1/nowhere)" in lost.body) == (404, True)
    assert refusal_of(simulator, path="/models").status_code == 200


def test_a_server_that_is_played_has_no_socket():
    with ResponsesSimulator(like="vllm") as simulator:
        assert refusal_of(simulator).status_code == 405


def test_recordings_are_replayed_on_a_socket(recordings, events_of, ask):
    broken = Recording(name="broken", body=b"data: {}\n\ndata: [DONE]\n\ndata: {", is_stream=True)
    whole = Recording(name="whole", body=b'{"id":"resp_1","status":"completed"}', is_stream=False)
    with ResponsesSimulator(replay=[recordings, broken, whole]) as simulator:
        for name in [path.stem for path in recordings.glob("*.sse")]:
            over_http = events_of(ask(simulator, model=name, stream=True))
            with connected(simulator) as socket:
                send(socket, model=name)
                assert read(socket) == over_http
        with connected(simulator) as socket:
            send(socket, model="broken")
            assert json.loads(socket.recv(timeout=120)) == {}
            assert id_of(turn(socket, model="whole")) == "resp_1"
            goes_on = turn(socket, model="whole", previous_response_id="resp_1")
            assert id_of(goes_on) == "resp_1"
            error = "openai_error_envelope_nonexistent_model_error_preserves_status_and_body.0"
            refused = turn(socket, model=error)
    assert (refused["type"], refused["status"]) == ("error", 400)


def test_a_model_that_breaks_is_told_and_the_socket_goes_on():
    class Broken:
        def respond(self, request):
            if request.instructions:
                raise ValueError("no such thing")
            return [Text(text="Fine")]

    with ResponsesSimulator(model=Broken()) as simulator, connected(simulator) as socket:
        failed = turn(socket, instructions="Break")
        assert (failed["status"], failed["error"]["type"]) == (500, "server_error")
        assert failed["error"]["message"] == "The simulator failed: ValueError: no such thing"
        assert id_of(turn(socket))


def test_a_simulator_that_stops_ends_its_sockets():
    with ResponsesSimulator() as simulator:
        simulator.add_fault("silence")
        with connected(simulator) as socket:
            send(socket)
            simulator.__exit__(None, None, None)
            assert closing_of(socket)[0] == 0


def test_a_simulator_that_stops_ends_sockets_that_are_closing():
    plain = socketlib.socket()
    plain.setsockopt(socketlib.SOL_SOCKET, socketlib.SO_RCVBUF, 4096)
    with ResponsesSimulator() as simulator:
        host, port = simulator.base_url.split("/")[2].split(":")
        plain.connect((host, int(port)))
        with connected(simulator, sock=plain, max_queue=1, close_timeout=0.1) as socket:
            send(socket, instructions="x" * 1_500_000)
            socket.recv(timeout=120)
            # Goodbye is said while most of the events are still to be read.
            socket.protocol.send_close(1000)
            plain.sendall(b"".join(socket.protocol.data_to_send()))
            simulator.__exit__(None, None, None)
