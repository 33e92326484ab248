import hashlib
import json
import socket
from itertools import accumulate, repeat

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt5_simulator import (
    CutStream,
    LateError,
    Recording,
    RecordingError,
    ResponsesSimulator,
    read_recordings,
)


PARALLEL = "openai_streaming_grammar_parallel_tool_calls.0"
INCOMPLETE = "openai_streaming_grammar_incomplete_mid_tool_call.0"
UNKNOWN = "openai_error_envelope_nonexistent_model_error_preserves_status_and_body.0"
KEY = {"authorization": "Bearer sk-test"}
STREAM = {"model": "gpt-5", "input": "Hello", "stream": True}


def read_chunks(simulator):
    url = f"{simulator.base_url}/responses"
    with httpx.stream("POST", url, json=STREAM, headers=KEY, timeout=120) as response:
        return list(response.iter_raw())


def read_http_chunks(simulator):
    """Return the body as the chunks of HTTP's chunked encoding: exactly what the server sent in one go each."""
    host, port = simulator.base_url.split("/")[2].split(":")
    body = json.dumps(STREAM)
    head = ["POST /v1/responses HTTP/1.1", f"host: {host}", "authorization: Bearer k"]
    head += ["content-type: application/json", f"content-length: {len(body)}", "connection: close"]
    with socket.create_connection((host, int(port)), timeout=120) as connection:
        connection.sendall("\r\n".join([*head, "", body]).encode())
        _, _, rest = connection.makefile("rb").read().partition(b"\r\n\r\n")
    chunks = []
    while not rest.startswith(b"0\r\n"):
        size, _, rest = rest.partition(b"\r\n")
        chunks.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    return chunks


def test_the_copied_recordings_are_as_their_rows_say(recordings):
    rows = json.loads((recordings / "INDEX.json").read_text(encoding="utf-8"))
    for row in rows:
        assert hashlib.sha256((recordings / row["file"]).read_bytes()).hexdigest() == row["sha256"]
        assert row["license"] == "MIT"
    assert {row["file"] for row in rows} == {
        path.name for path in recordings.iterdir() if path.name != "INDEX.json"
    }


def test_a_stream_is_replayed_byte_for_byte(recordings, ask):
    path = recordings / f"{PARALLEL}.sse"
    with ResponsesSimulator(replay=[path]) as simulator:
        response = ask(simulator, stream=True)
    assert response.content == path.read_bytes()
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"


def test_a_body_is_replayed_byte_for_byte_with_the_status_of_an_error(recordings, ask):
    path = recordings / f"{UNKNOWN}.response.json"
    with ResponsesSimulator(replay=[str(path)]) as simulator:
        response = ask(simulator)
    assert response.content == path.read_bytes()
    assert response.status_code == 400


def test_a_good_body_has_status_200(ask):
    recording = Recording(name="good", body=b'{"id":"resp_1"}', is_stream=False)
    with ResponsesSimulator(replay=[recording]) as simulator:
        response = ask(simulator)
    assert (response.status_code, response.json()) == (200, {"id": "resp_1"})


@pytest.mark.parametrize(
    "sizes",
    [1, 7, 4096, [1, 2, 3], lambda number: number + 1, lambda _: 0],
    ids=["1", "7", "4096", "listed", "growing", "at least one"],
)
def test_any_chunking_gives_the_same_bytes(recordings, sizes):
    path = recordings / f"{PARALLEL}.sse"
    with ResponsesSimulator(replay=[path], chunk_bytes=sizes) as simulator:
        assert b"".join(read_chunks(simulator)) == path.read_bytes()


def test_chunks_are_sent_one_by_one(recordings):
    path = recordings / f"{PARALLEL}.sse"
    size = path.stat().st_size
    with ResponsesSimulator(replay=[path], chunk_bytes=[5, 11]) as simulator:
        chunks = read_http_chunks(simulator)
    assert list(accumulate(map(len, chunks))) == [5, 16, size]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_frames_are_found_whatever_ends_their_lines(line_end):
    body = line_end.join([b"data: {}", b"", b": note", b"data: 1", b"", b"data: [DONE]"])
    recording = Recording(name="odd", body=body, is_stream=True)
    with ResponsesSimulator(replay=[recording]) as simulator:
        chunks = read_http_chunks(simulator)
    assert b"".join(chunks) == body
    assert len(chunks) == 3


@given(body=st.binary(max_size=300), size=st.integers(1, 50))
@settings(max_examples=settings.default.max_examples // 2)  # each starts a server
def test_any_bytes_come_back_as_they_are(body, size):
    recording = Recording(name="any", body=body, is_stream=True)
    with ResponsesSimulator(replay=[recording], chunk_bytes=size) as simulator:
        assert b"".join(read_chunks(simulator)) == body


def test_recordings_come_in_order_and_again_from_the_first(recordings, ask):
    with ResponsesSimulator(replay=[recordings]) as simulator:
        streams = [ask(simulator, stream=True).content for _ in range(3)]
        body = ask(simulator)
    expected = [(recordings / f"{name}.sse").read_bytes() for name in (INCOMPLETE, PARALLEL)]
    assert streams == [*expected, expected[0]]
    assert body.json()["error"]["code"] == "model_not_found"


def test_the_only_recording_serves_both_kinds_of_request(recordings, ask):
    path = recordings / f"{PARALLEL}.sse"
    with ResponsesSimulator(replay=[path]) as simulator:
        assert ask(simulator).content == path.read_bytes()


def test_a_request_chooses_a_recording_by_header_or_by_model(recordings, ask):
    expected = (recordings / f"{PARALLEL}.sse").read_bytes()
    with ResponsesSimulator(replay=[recordings]) as simulator:
        by_header = ask(simulator, stream=True, headers={"x-simulator-replay": PARALLEL})
        by_model = ask(simulator, stream=True, model=PARALLEL)
        missing = ask(simulator, stream=True, headers={"x-simulator-replay": "other"})
    assert by_header.content == by_model.content == expected
    assert missing.status_code == 404
    assert missing.json()["error"]["message"] == "No recording is named 'other'."


def test_requests_are_checked_during_a_replay_too(recordings, ask):
    with ResponsesSimulator(replay=[recordings]) as simulator:
        assert ask(simulator, max_output_tokens=2).status_code == 400
        assert len(simulator.requests) == 1


def test_faults_hit_recordings_too(recordings, events_of, ask):
    path = recordings / f"{PARALLEL}.sse"
    with ResponsesSimulator(replay=[path], faults=[LateError(after_events=5), None]) as simulator:
        events = events_of(ask(simulator, stream=True))
    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
    assert events[-1]["response"]["model"] == "gpt-5.6-sol"


@pytest.mark.parametrize("body", [b"", b": note\n\n", b"data: {\n\n", b"data: []\n\n"])
def test_a_recording_without_a_response_can_fail_late(ask, events_of, body):
    recording = Recording(name="odd", body=body, is_stream=True)
    with ResponsesSimulator(replay=[recording], faults=[LateError(after_events=0)]) as simulator:
        failed = events_of(ask(simulator, stream=True))[-1]
    assert failed["response"]["status"] == "failed"


def test_a_recording_can_be_cut(recordings):
    path = recordings / f"{PARALLEL}.sse"
    received = []
    with ResponsesSimulator(replay=[path], faults=[CutStream(after_bytes=777)]) as simulator:
        url = f"{simulator.base_url}/responses"
        with (
            httpx.stream("POST", url, json=STREAM, headers=KEY) as response,
            pytest.raises(httpx.RemoteProtocolError),
        ):
            received.extend(response.iter_raw())
    assert b"".join(received) == path.read_bytes()[:777]


def test_a_folder_stands_for_the_recordings_in_it(recordings):
    assert [recording.name for recording in read_recordings([recordings])] == [
        UNKNOWN,
        INCOMPLETE,
        PARALLEL,
    ]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("missing.sse", None, "no such file or folder"),
        ("notes.txt", b"x", "expected a file that ends in .sse or .response.json"),
        ("bad.response.json", b"{", "expected JSON"),
        ("folder", ..., "expected .sse or .response.json files in the folder"),
    ],
)
def test_a_path_without_a_recording_is_refused(tmp_path, name, content, reason):
    path = tmp_path / name
    if content is ...:
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(RecordingError, match=reason) as caught:
        ResponsesSimulator(replay=[path])
    assert caught.value.path == str(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "locked.sse"
    path.touch()

    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(type(path), "read_bytes", refuse)
    with pytest.raises(RecordingError, match="Permission denied"):
        read_recordings([path])


def test_many_chunks_arrive_in_order(ask):
    body = b"".join(b"data: %d\n\n" % number for number in range(2000))
    recording = Recording(name="long", body=body, is_stream=True)
    with ResponsesSimulator(replay=[recording], chunk_bytes=list(repeat(3, 100))) as simulator:
        assert ask(simulator, stream=True).content == body
