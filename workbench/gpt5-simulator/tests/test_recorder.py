import gzip
import http.server
import json
import shutil
import ssl
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from openai import OpenAI

from gpt5_simulator import (
    CutStream,
    ExchangeRecorder,
    RawServer,
    RecordingError,
    ResponsesSimulator,
    StartError,
    UpstreamError,
)


KEY = "sk-proj-DoNotWriteThis0123"
HEADERS = {"authorization": f"Bearer {KEY}"}
EVENT = b'data: {"type":"response.created"}\n\n'
LAST_EVENT = b'event: response.completed\ndata: {"type":"response.completed"}\r\n\r\n'


@pytest.fixture
def reports():
    return []


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "recorded"


@pytest.fixture
def recorder(server, folder, reports):
    """A recorder between the tests and a simulator."""
    with ExchangeRecorder(server.base_url, folder, report=reports.append) as recorder:
        yield recorder


@contextmanager
def recorded_from(answer, folder, report=None):
    """Run a recorder before a server that sends these bytes, or does what this function does."""

    def send(peer):
        peer.sendall(answer)

    with (
        RawServer(answer if callable(answer) else send) as server,
        ExchangeRecorder(server.base_url, folder, report=report) as recorder,
    ):
        yield recorder


def head(content_type="application/json", *, status="200 OK", **headers):
    fields = {"content-type": content_type, "connection": "close"} | headers
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


def whole(body, content_type="application/json", **headers):
    return head(content_type, content_length=len(body), **headers) + body


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_an_exchange_is_written_with_its_status_and_as_it_came(recorder, folder, ask, events_of):
    answer = ask(recorder, stream=True)
    missing = ask(recorder, model="gpt-9")

    assert events_of(answer)[-1]["type"] == "response.completed"
    assert (folder / "00001.sse").read_bytes() == answer.content
    assert (folder / "00002.response.json").read_bytes() == missing.content
    written = json.loads((folder / "00002.request.json").read_text(encoding="utf-8"))
    assert written == {
        "method": "POST",
        "path": "/v1/responses",
        "status": 404,
        "body": {"model": "gpt-9", "input": "Hello"},
    }
    with ResponsesSimulator(replay=[folder]) as simulator:
        again = ask(simulator)
    assert (again.status_code, again.content) == (404, missing.content)


def test_what_openai_s_client_does_is_recorded_and_can_be_replayed(recorder, folder, reports):
    def converse(base_url):
        with OpenAI(api_key=KEY, base_url=base_url, max_retries=0) as client:
            kept = client.responses.create(model="gpt-5", input="Hello", background=True)
            found = client.responses.retrieve(kept.id, include=["code_interpreter_call.outputs"])
            with client.responses.create(model="gpt-5", input="Hi", stream=True) as stream:
                last = next(event for event in stream if event.type == "response.completed")
            return found.output_text, last.response.output_text

    said = converse(recorder.base_url)
    recorder.__exit__(None, None, None)

    with ResponsesSimulator() as simulator:
        simulator.replay(folder)
        assert converse(simulator.base_url) == said
        simulator.assert_used()
    assert reports == []
    assert KEY not in "".join(path.read_text(encoding="utf-8") for path in folder.iterdir())


def test_an_answer_is_passed_on_as_it_comes(folder):
    seen = threading.Event()

    def answer(peer):
        peer.sendall(head("text/event-stream") + EVENT)
        assert seen.wait(120)
        peer.sendall(LAST_EVENT)
        peer.shutdown(2)

    with (
        recorded_from(answer, folder) as recorder,
        httpx.stream("GET", f"{recorder.base_url}/x", timeout=120) as response,
    ):
        pieces = response.iter_raw()
        assert next(pieces) == EVENT
        seen.set()
        assert b"".join(pieces) == LAST_EVENT
    assert (folder / "00001.sse").read_bytes() == EVENT + LAST_EVENT


SECRETS = [f"hidden-{number:02}-value" for number in range(20)]


def test_no_credential_reaches_the_disk(folder):
    secret = iter(SECRETS)
    headers = {
        "authorization": f"Bearer {next(secret)}",
        "cookie": f"session={next(secret)}; b={next(secret)}",
        "api-key": next(secret),
        "X-Goog-Api-Key": next(secret),
    }
    mcp = {"type": "mcp", "server_label": "a", "authorization": next(secret)}
    body = {
        "model": "gpt-5",
        "input": f"My key is {SECRETS[0]}.",
        "tools": [
            mcp | {"headers": {"Authorization": next(secret), "X-Own": next(secret)}},
            {"type": "mcp", "server_url": f"https://{next(secret)}@host/mcp?k={next(secret)}"},
        ],
        "metadata": {"api_key": next(secret), "accessToken": next(secret), "pwd": "x"},
        "variables": [{"name": "DB_PASS", "value": next(secret)}, {"key": "jwt", "value": 1234567}],
        "credentials": {"user": next(secret), "more": [next(secret), 7654321, True, None]},
    }
    reflected = json.dumps(body | {"error": f"wrong key: {SECRETS[3]}"}).encode()
    cookie = {"set-cookie": f"sid={next(secret)}"}
    frames = head("text/event-stream", **cookie) + b"data: " + reflected + b"\n\n" + LAST_EVENT
    answers = [whole(reflected, **cookie), frames]

    def answer(peer):
        peer.sendall(answers.pop(0))
        peer.shutdown(2)

    with recorded_from(answer, folder) as recorder:
        for _ in range(2):
            url = f"{recorder.base_url}/{SECRETS[0]}?api_key={next(secret)}&limit=3"
            got = httpx.post(url, json=body, headers=headers)
            assert SECRETS[0] in got.text  # the client gets the answer as it is

    written = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert len(written) == 4
    for text in written.values():
        assert [secret for secret in [*SECRETS, "1234567", "7654321"] if secret in text] == []
        assert "[redacted]" in text
    asked = json.loads(written["00001.request.json"])
    assert asked["path"] == "/v1/[redacted]?api_key=[redacted]&limit=3"
    assert asked["body"]["tools"][1]["server_url"] == "https://[redacted]@host/mcp?[redacted]"
    assert asked["body"]["input"] == "My key is [redacted]."


@pytest.mark.parametrize(
    "value",
    [
        {"max_output_tokens": "16", "input_tokens_details": {"cached_tokens": 3}},
        {"prompt_cache_key": "app", "author": "Ann", "monkey": "x", "key": "y", "auth": True},
        {"parameters": {"properties": {"password": {"type": "string"}}}},
        {"logprobs": [{"token": "Hi", "logprob": -0.5, "top_logprobs": [{"token": "Hi"}]}]},
        {"name": "password", "content": "x"},
        {"text": "sk-proj-in-a-sentence"},
        {"annotations": [{"url": "https://a.example/?utm_source=openai"}]},
        {"image_url": "data:image/png;base64,iVBO"},
    ],
    ids=lambda value: next(iter(value)),
)
def test_what_is_no_credential_stays_to_the_byte(folder, value):
    body = json.dumps(value, indent=3).encode()
    with recorded_from(whole(body), folder) as recorder:
        httpx.post(f"{recorder.base_url}/responses", json=value)

    assert (folder / "00001.response.json").read_bytes() == body
    asked = json.loads((folder / "00001.request.json").read_text(encoding="utf-8"))
    assert asked["body"] == value


def test_files_are_for_their_owner_alone_and_what_is_there_stays(server, folder, ask):
    for _ in range(2):
        with ExchangeRecorder(server.base_url, str(folder)) as recorder:
            ask(recorder)

    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert names(folder) == [
        *("00001.request.json", "00001.response.json"),
        *("00002.request.json", "00002.response.json"),
    ]


@pytest.mark.parametrize("last", [LAST_EVENT, b"data: [DONE]\n\n"])
def test_a_client_may_leave_after_the_last_event(folder, reports, last):
    left = threading.Event()

    def answer(peer):
        peer.sendall(head("text/event-stream") + EVENT + last)
        left.wait(120)

    with recorded_from(answer, folder, reports.append) as recorder:
        with httpx.stream("GET", f"{recorder.base_url}/x", timeout=120) as response:
            pieces, taken = response.iter_raw(), b""
            while not taken.endswith(last):
                taken += next(pieces)
        recorder.__exit__(None, None, None)
        left.set()
    assert (folder / "00001.sse").read_bytes() == EVENT + last
    assert reports == []


def test_an_answer_that_nobody_waits_for_is_not_written(folder, reports):
    left = threading.Event()

    def answer(peer):
        peer.sendall(head("text/event-stream") + EVENT)
        left.wait(120)

    with recorded_from(answer, folder, reports.append) as recorder:
        with httpx.stream("GET", f"{recorder.base_url}/x", timeout=120) as response:
            next(response.iter_raw())
        recorder.__exit__(None, None, None)
        left.set()
    assert reports == ["00001 was not recorded: the answer was broken off"]
    assert names(folder) == []


def test_an_answer_that_breaks_off_breaks_off_for_the_client(folder, reports, ask):
    with (
        ResponsesSimulator(faults=[CutStream()]) as simulator,
        ExchangeRecorder(simulator.base_url, folder, report=reports.append) as recorder,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        ask(recorder, stream=True)
    assert reports == ["00001 was not recorded: the answer was broken off"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (whole(gzip.compress(b"{}"), content_encoding="gzip"), "its encoding is gzip"),
        (whole(b"<html>", "text/html"), "it is neither JSON nor a stream of events"),
    ],
)
def test_what_a_recording_cannot_hold_is_passed_on_and_told(folder, reports, answer, reason):
    with recorded_from(answer, folder, reports.append) as recorder:
        response = httpx.get(f"{recorder.base_url}/x")
    assert response.status_code == 200
    assert response.text in ("{}", "<html>")
    assert reports == [f"00001 was not recorded: {reason}"]


def test_a_disk_that_fails_is_told_and_ends_nothing(recorder, reports, folder, ask):
    (folder / "00001.request.json").mkdir()
    assert ask(recorder).status_code == 200
    assert names(folder) == ["00001.request.json"]
    shutil.rmtree(folder)
    assert ask(recorder).status_code == 200
    assert len(reports) == 2
    assert reports[0].startswith("00001 was not recorded: [Errno 21] Is a directory")
    assert reports[1].startswith("00002 was not recorded: [Errno 2] No such file or directory")


def test_a_server_that_is_not_there_is_a_bad_gateway(folder, reports):
    with ExchangeRecorder("http://127.0.0.1:9/v1", folder, report=reports.append) as recorder:
        response = httpx.get(f"{recorder.base_url}/models")
    assert response.status_code == 502
    text = response.json()["error"]["message"]
    assert text.startswith("The upstream server gave no answer (")
    assert reports == [f"00001 was not recorded: {text}"]


def test_a_server_that_speaks_no_http_is_a_bad_gateway(folder):
    with recorded_from(b"Hello\r\n\r\n", folder) as recorder:
        assert httpx.get(f"{recorder.base_url}/models").status_code == 502


def test_a_redirect_is_not_followed_and_not_passed_on(folder):
    answer = whole(b"", status="307 Temporary Redirect", location="https://elsewhere.example")
    with recorded_from(answer, folder) as recorder:
        response = httpx.get(f"{recorder.base_url}/models")
    assert (response.status_code, response.headers.get("location")) == (502, None)
    assert "redirects, and redirects are not followed" in response.text


def test_only_the_server_s_own_paths_are_asked_for(recorder, server, reports):
    before = len(server.requests)
    url = recorder.base_url.removesuffix("/v1")
    assert httpx.get(f"{url}/other").status_code == 404
    assert len(server.requests) == before
    assert reports == ["00001 was not recorded: Invalid URL (GET /other)"]


def test_headers_of_both_sides_go_through_but_for_those_of_the_connection(folder):
    def answer(peer):
        peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" + whole(b"{}", set_cookie="a=b"))

    with RawServer(answer) as server, ExchangeRecorder(f"{server.base_url}/", folder) as recorder:
        sent = {"x-own": "7", "accept-encoding": "gzip", "te": "trailers"} | HEADERS
        response = httpx.get(f"{recorder.base_url}/models?limit=2", headers=sent)
        seen = server.requests[0].split(b"\r\n")
        assert f"host: {server.base_url[7:-3]}".encode() in seen
    assert response.headers["set-cookie"] == "a=b"
    assert seen[0] == b"GET /v1/models?limit=2 HTTP/1.1"
    assert {b"x-own: 7", b"accept-encoding: identity", b"connection: close"} <= set(seen)
    assert f"authorization: Bearer {KEY}".encode() in seen
    assert not [line for line in seen if line.startswith(b"te:")]


class Answering(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.wfile.write(whole(json.dumps({"path": self.path}).encode()))

    def log_message(self, *arguments):
        pass


@pytest.fixture
def tls_server():
    certificate = Path(__file__).parent / "nobody_trusts_this.pem"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with http.server.HTTPServer(("127.0.0.1", 0), Answering) as server:
        server.handle_error = lambda *_: None
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"https://localhost:{server.server_port}", certificate
        server.shutdown()


def test_a_server_is_asked_over_tls_if_its_certificate_is_trusted(folder, tls_server, monkeypatch):
    url, certificate = tls_server
    with ExchangeRecorder(url, folder) as recorder:
        refused = httpx.get(f"{recorder.base_url}/models")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with ExchangeRecorder(f"{url}/openai/v1", folder) as recorder:
        response = httpx.get(f"{recorder.base_url}/models")
    assert "CERTIFICATE_VERIFY_FAILED" in refused.json()["error"]["message"]
    assert response.json() == {"path": "/openai/v1/models"}


@pytest.mark.parametrize(
    "url",
    [
        "http://api.openai.com/v1",
        "http://10.0.0.7/v1",
        "ftp://127.0.0.1",
        "https://",
        "https://user:sk-secret@host/v1",
        "https://host/v1?key=sk-secret",
        "https://host/v1#sk-secret",
        "https://host:port/v1",
        "https://host/two words",
        "api.openai.com",
        "",
    ],
)
def test_an_address_that_is_not_private_is_refused_and_not_repeated(url, folder):
    with pytest.raises(UpstreamError, match="expected https://HOST/PATH") as caught:
        ExchangeRecorder(url, folder)
    assert "secret" not in str(caught.value)
    assert not folder.exists()


@pytest.mark.parametrize("url", ["http://localhost:8080", "http://[::1]/v1", "https://host"])
def test_an_address_of_this_machine_or_with_tls_is_taken(url, folder):
    recorder = ExchangeRecorder(url, folder)
    with pytest.raises(StartError, match="inside its `with` block"):
        _ = recorder.base_url
    recorder.__exit__(None, None, None)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(RecordingError, match=r"record to .*: File exists") as caught:
        ExchangeRecorder("https://host", path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, "x"), "upstream: expected a URL"),
        (("https://host", 5), "folder: expected a path"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_told(arguments, message):
    with suppress(OSError), pytest.raises(TypeError, match=message):
        ExchangeRecorder(*arguments)
