import httpx
import pytest

from gpt5_simulator import (
    BrokenFrame,
    CutStream,
    DuplicateEvents,
    EncryptedContentRefused,
    HtmlPage,
    HttpError,
    LateError,
    LateFailure,
    ResponsesSimulator,
    ScriptedModel,
    Silence,
    Text,
    UnknownEvent,
    UnverifiedOrganization,
)


KEY = {"authorization": "Bearer sk-test"}
STREAM = {"model": "gpt-5", "input": "Hello", "stream": True}


def simulator(*faults, **more):
    model = ScriptedModel([[Text(text="one two three four five six")]], repeat=True)
    return ResponsesSimulator(model=model, faults=faults, **more)


def read_until_dropped(running, body=STREAM):
    """Return what arrives before the connection drops; fail if it does not drop."""
    received = []
    url = f"{running.base_url}/responses"
    with (
        httpx.stream("POST", url, json=body, headers=KEY, timeout=120) as response,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        received.extend(response.iter_raw())
    return b"".join(received)


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, "invalid_request_error", None),
        (401, "invalid_request_error", "invalid_api_key"),
        (403, "invalid_request_error", None),
        (404, "invalid_request_error", "model_not_found"),
        (429, "requests", "rate_limit_exceeded"),
        (500, "server_error", None),
        (503, "server_error", None),
        (599, "server_error", None),
    ],
)
def test_an_http_error_comes_in_openais_envelope(ask, status, kind, code):
    with simulator(HttpError(status=status)) as running:
        response = ask(running)
        after = ask(running)
    error = response.json()["error"]
    assert response.status_code == status
    assert (error["type"], error["code"], error["param"]) == (kind, code, None)
    assert "retry-after" not in response.headers
    assert response.headers["x-request-id"].startswith("req_")
    assert after.status_code == 200


def test_an_http_error_can_be_spelt_out(ask):
    fault = HttpError(status=400, code="c", message="m", error_type="t", param="p")
    with simulator(fault) as running:
        error = ask(running).json()["error"]
    assert error == {"message": "m", "type": "t", "param": "p", "code": "c"}


def test_a_spent_quota_is_not_a_rate_limit(ask):
    with simulator(HttpError(status=429, code="insufficient_quota")) as running:
        error = ask(running).json()["error"]
    assert (error["type"], error["code"]) == ("insufficient_quota", "insufficient_quota")
    assert "quota" in error["message"]


@pytest.mark.parametrize(
    ("fault", "headers"),
    [
        (HttpError(status=429, retry_after=1), {"retry-after": "1"}),
        (HttpError(status=429, retry_after=0.25), {"retry-after": "0.25"}),
        (
            HttpError(status=503, retry_after="Sun, 06 Nov 1994 08:49:37 GMT"),
            {"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"},
        ),
        (HttpError(status=429, retry_after_ms=20), {"retry-after-ms": "20"}),
    ],
)
def test_an_error_can_say_when_to_come_back(ask, fault, headers):
    with simulator(fault) as running:
        response = ask(running)
    assert {name: response.headers.get(name) for name in headers} == headers


def test_faults_wait_in_line_one_a_request(ask):
    line = [
        HttpError(status=500, times=2),
        None,
        HttpError(status=429, times=0),
        HttpError(status=400),
    ]
    with simulator(*line) as running:
        running.add_fault(HttpError(status=403))
        statuses = [ask(running).status_code for _ in range(6)]
    assert statuses == [500, 500, 200, 400, 403, 200]


def test_a_fault_for_all_requests_stays(ask):
    with simulator(HttpError(status=503, times=None)) as running:
        statuses = {ask(running).status_code for _ in range(3)}
    assert statuses == {503}


def test_a_request_can_choose_its_fault(ask):
    with simulator(HttpError(status=500)) as running:
        chosen = ask(running, headers={"x-simulator-fault": "rate_limit;retry_after=1"})
        spared = ask(running, headers={"x-simulator-fault": "none"})
        wrong = ask(running, headers={"x-simulator-fault": "meteor"})
        due = ask(running)
    assert (chosen.status_code, chosen.headers["retry-after"]) == (429, "1")
    assert spared.status_code == 200
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "x-simulator-fault")
    assert due.status_code == 500


def test_a_stream_is_cut_after_events():
    with simulator(CutStream(after_events=4)) as running:
        received = read_until_dropped(running)
    assert received.count(b"\n\n") == 4


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_a_stream_is_cut_after_bytes(size):
    with simulator(CutStream(after_bytes=size)) as running:
        assert len(read_until_dropped(running)) == size


@pytest.mark.parametrize("fault", [CutStream(after_events=999), CutStream(after_bytes=10**9)])
def test_a_cut_stream_never_has_its_terminal_event(fault):
    with simulator(fault) as running:
        received = read_until_dropped(running)
    assert b"response.output_item.done" in received
    assert b"event: response.completed" not in received


@pytest.mark.parametrize("fault", [CutStream(), CutStream(after_bytes=20)])
def test_a_body_is_cut_too(fault):
    with simulator(fault) as running:
        assert read_until_dropped(running, STREAM | {"stream": False}).startswith(b'{"id":"resp_')


@pytest.mark.parametrize("after_events", [0, 6, 999])
def test_a_late_error_is_nested_and_followed_by_the_failure(ask, events_of, after_events):
    fault = LateError(after_events=after_events, code="rate_limit_exceeded", message="Too much")
    with simulator(fault) as running:
        events = events_of(ask(running, stream=True))
    error, failed = events[-2:]
    details = {
        "type": "server_error",
        "code": "rate_limit_exceeded",
        "message": "Too much",
        "param": None,
    }
    assert (error["type"], error["error"]) == ("error", details)
    assert failed["type"] == "response.failed"
    assert failed["response"]["status"] == "failed"
    assert failed["response"]["error"] == {"code": "rate_limit_exceeded", "message": "Too much"}
    assert failed["response"]["usage"] is None
    assert failed["response"]["id"].startswith("resp_")
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert not any(event["type"] == "response.completed" for event in events)


def test_a_late_error_can_be_flat(ask, events_of):
    with simulator(LateError(flat=True, message="m")) as running:
        error = events_of(ask(running, stream=True))[-2]
    assert (error["message"], error["code"], error["param"]) == ("m", "server_error", None)


def test_a_late_failure_has_no_error_event(ask, events_of):
    with simulator(LateFailure(after_events=5)) as running:
        events = events_of(ask(running, stream=True))
    assert [event["type"] for event in events[4:]] == [
        "response.output_text.delta",
        "response.failed",
    ]


@pytest.mark.parametrize("fault", [LateError(code="x"), LateFailure(code="x")])
def test_a_body_fails_as_a_response_object(ask, fault):
    with simulator(fault) as running:
        response = ask(running)
    assert response.status_code == 200
    assert (response.json()["status"], response.json()["error"]["code"]) == ("failed", "x")


@pytest.mark.parametrize("stream", [True, False])
def test_silence_for_a_while_delays_the_rest(ask, stream):
    with simulator(None, Silence(after_events=2, seconds=0.01)) as running:
        whole = ask(running, stream=stream)
        slow = ask(running, stream=stream)
    assert len(slow.content) == len(whole.content)


def test_silence_comes_after_the_same_events_in_chunks_of_any_size(ask):
    with simulator(None, Silence(after_events=2, seconds=0.01), chunk_bytes=100) as running:
        whole = ask(running, stream=True)
        slow = ask(running, stream=True)
    assert len(slow.content) == len(whole.content)


def test_silence_begins_after_the_headers(ask):
    received = []
    with simulator(Silence()) as running:
        url = f"{running.base_url}/responses"
        with httpx.stream("POST", url, json=STREAM, headers=KEY) as response:
            assert response.status_code == 200
            assert ask(running).status_code == 200  # later, and answered all the same
            running.__exit__(None, None, None)
            with pytest.raises(httpx.RemoteProtocolError):
                received.extend(response.iter_raw())
    assert received == []


@pytest.mark.parametrize(("status", "stream"), [(200, True), (502, False)])
def test_a_web_page_comes_instead(ask, status, stream):
    with simulator(HtmlPage(status=status)) as running:
        response = ask(running, stream=stream)
    assert response.status_code == status
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.text.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(("replaces", "more"), [(False, 1), (True, 0)])
def test_a_frame_is_broken(ask, replaces, more):
    with simulator(None, BrokenFrame(after_events=2, replaces=replaces)) as running:
        whole = ask(running, stream=True).text.split("\n\n")
        broken = ask(running, stream=True).text.split("\n\n")
    assert len(broken) == len(whole) + more
    assert broken[2].endswith('"delta":"oops')
    assert broken[-2].startswith("event: response.completed")


def test_a_body_is_broken_json(ask):
    with simulator(BrokenFrame()) as running:
        response = ask(running)
    assert response.headers["content-type"] == "application/json"
    with pytest.raises(ValueError, match="Expecting"):
        response.json()


def test_an_unknown_event_slips_in(ask, events_of):
    with simulator(UnknownEvent(after_events=3, event_type="keepalive")) as running:
        events = events_of(ask(running, stream=True))
    assert events[3]["type"] == "keepalive"
    assert events[-1]["type"] == "response.completed"


@pytest.mark.parametrize(("every", "factor"), [(1, 2), (2, 1.5)])
def test_events_come_twice(ask, events_of, every, factor):
    with simulator(None, DuplicateEvents(every=every)) as running:
        once = events_of(ask(running, stream=True))
        twice = events_of(ask(running, stream=True))
    assert len(twice) == int(len(once) * factor)
    assert twice[-1]["type"] == "response.completed"


@pytest.mark.parametrize("fault", [UnknownEvent(), DuplicateEvents()])
def test_faults_of_events_leave_a_body_alone(ask, fault):
    with simulator(fault) as running:
        assert ask(running).json()["status"] == "completed"


def test_an_unverified_organisation_gets_no_summaries(ask):
    with simulator(UnverifiedOrganization()) as running:
        refused = ask(running, reasoning={"effort": "low", "summary": "auto"})
        fine = ask(running, reasoning={"effort": "low"}, stream=True)
        again = ask(running, reasoning={"summary": "auto"})
    error = refused.json()["error"]
    assert refused.status_code == again.status_code == 400
    assert (error["param"], error["code"]) == ("reasoning.summary", "unsupported_value")
    assert error["message"].startswith("Your organization must be verified")
    assert fine.status_code == 200


def test_an_unverified_organisation_may_not_stream(ask):
    with simulator(UnverifiedOrganization(summary=False, stream=True)) as running:
        refused = ask(running, stream=True)
        fine = ask(running, reasoning={"summary": "auto"})
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "stream"
    assert fine.status_code == 200


def test_encrypted_content_can_be_unknown_to_the_model(ask):
    with simulator(EncryptedContentRefused(part="include")) as running:
        refused = ask(running, include=["reasoning.encrypted_content"])
        fine = ask(running)
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "include"
    assert fine.status_code == 200


def test_replayed_reasoning_can_be_refused(ask, clock):
    body = {"store": False, "include": ["reasoning.encrypted_content"]}
    user = {"role": "user", "content": "What time is it in Rome?"}
    with ResponsesSimulator() as running:
        output = ask(running, body, input=[user], tools=[clock]).json()["output"]
        call = output[-1]
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "noon"}
        running.add_fault(EncryptedContentRefused())
        refused = ask(running, body, input=[user, *output, result])
        fine = ask(running, body, input=[user, call, result])
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "invalid_encrypted_content"
    assert fine.status_code == 200
