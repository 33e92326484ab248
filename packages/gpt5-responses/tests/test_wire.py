"""Servers that misbehave: errors under a good status, floods, silences, redirects, secrets that come back."""

import asyncio
import gzip
import itertools
import json
import socket
import ssl
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from wire import (
    DONE,
    PATIENCE,
    REQUEST,
    WHOLE,
    Answer,
    Wire,
    chunk,
    dripping,
    frames,
    head,
    stream,
    whole,
)

from gpt5_messages import Completion
from gpt5_responses import (
    AsyncResponsesClient,
    Connection,
    ConnectionTimeoutError,
    ModelConfig,
    RateLimitError,
    Request,
    ResponseFailedError,
    ResponsesError,
    ResponseStream,
    ServerError,
    StreamInterruptedError,
    Transport,
    UnexpectedResponseError,
    acreate,
    create,
    prepare_transport,
    validate_model,
    validate_server,
)


SECRET = "a/very+secret key"[:14] + "Value=1"
DELTA = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"}
EVENTS = {"content_type": "text/event-stream"}


def failure(
    answer: Answer, transport: Transport, request: dict[str, object] = REQUEST, **settings: object
) -> ResponsesError:
    with Wire(answer) as wire, pytest.raises(ResponsesError) as caught:
        create(wire.connection(**settings), request, transport=transport)
    return caught.value


async def ask(wire: Wire, **settings: object) -> Completion:
    config = ModelConfig(
        **{"model_id": "m", "api_key": "k", "base_url": wire.base_url, "max_retries": 0, **settings}
    )
    async with AsyncResponsesClient(config) as client:
        await client.complete(Request(items=[]))
        return await client.complete(Request(items=[]))


# Errors under a good status.


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error": {"message": "Slow down.", "code": "rate_limit_exceeded"}}', RateLimitError),
        (b'{"error": {"message": "Slow down.", "type": "server_error"}, "status": "completed"}', ServerError),
        (b'{"error": "Slow down.", "output": []}', ResponseFailedError),
        (b'{"status": "error", "message": "Slow down."}', ResponseFailedError),
        (b'{"status": "error"}', ResponseFailedError),
        (b'{"status": "cancelled", "output": []}', ResponseFailedError),
        (b'{"status": "queued"}', ResponseFailedError),
        (b'{"status": "in_progress", "output": null}', ResponseFailedError),
        (b'{"error": {"message": {"deep": 1}, "code": 7, "param": []}}', ResponseFailedError),
        (b'{"error": {}}', UnexpectedResponseError),
        (b'{"status": 5}', UnexpectedResponseError),
        (b'{"status": [], "output": []}', UnexpectedResponseError),
        (b'{"status": "completed", "output": "Slow down."}', UnexpectedResponseError),
        (b'{"choices": [], "object": "chat.completion"}', UnexpectedResponseError),
        (b'{"output": ' + b"[" * 1500 + b"]" * 1500 + b"}", UnexpectedResponseError),
    ],
)  # fmt: skip
def test_an_error_with_a_good_status_is_an_error_and_fails_the_validation(
    body: bytes, kind: type[ResponsesError], transport: Transport
) -> None:
    with Wire(whole(body)) as wire:
        with pytest.raises(kind) as called:
            create(wire.connection(), WHOLE, transport=transport)
        with pytest.raises(kind) as validated:
            validate_model(wire.connection(), "gpt-5", transport=transport)

    assert type(called.value) is type(validated.value) is kind
    assert "Slow down" not in str(validated.value)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("output[0].content", '{"output":[{"type":"message","content":DEEP}]}'),
        ("output[1].new", '{"output":[{"type":"message"},{"type":"new","new":DEEP}]}'),
    ],
)
@pytest.mark.parametrize("depth", [250, 1_500, 100_000])
def test_a_body_that_nests_too_deep_names_the_field_streamed_or_not(
    transport: Transport, path: str, body: str, depth: int
) -> None:
    deep = body.replace("DEEP", "[" * depth + "]" * depth)
    event = f'data: {{"type":"response.completed","response":{deep}}}\n\n'

    error = failure(whole(deep.encode()), transport, WHOLE)
    streamed = failure(whole(event.encode(), **EVENTS), transport)

    assert type(error) is type(streamed) is UnexpectedResponseError
    assert error.param == path
    assert f"{path}: nests deeper than can be read" in str(error)
    assert str(streamed.param).endswith(path)


@pytest.mark.parametrize("body", ["[", '{"usage":', '{"output":[],"usage":{"details":'])
def test_what_nests_too_deep_outside_of_the_items_is_an_error_too(
    transport: Transport, body: str
) -> None:
    error = failure(whole((body + "[" * 100_000).encode()), transport, WHOLE)

    assert type(error) is UnexpectedResponseError


@pytest.mark.parametrize("nothing", [{}, [], "", None, False])
def test_an_empty_error_is_none_streamed_or_not(transport: Transport, nothing: object) -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    response = {"status": "completed", "error": nothing, "output": [message]}

    for answer in (
        whole(json.dumps(response).encode()),
        stream({"type": "response.completed", "response": response}),
    ):
        with Wire(answer) as wire:
            assert create(wire.connection(), REQUEST, transport=transport).text == "Hi"


@pytest.mark.parametrize("constant", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_does_not_have_is_left_out_streamed_or_not(
    transport: Transport, constant: str
) -> None:
    part = '{"type":"output_text","text":"Hi"}'
    item = f'{{"type":"message","score":{constant},"content":[{part}]}}'
    body = f'{{"status":"completed","temperature":{constant},"output":[{item}]}}'
    event = f'data: {{"type":"response.completed","response":{body}}}\n\n'

    for answer in (whole(body.encode()), whole(event.encode(), **EVENTS)):
        with Wire(answer) as wire:
            completion = create(wire.connection(), REQUEST, transport=transport)
        assert (completion.text, completion.items[0]["score"]) == ("Hi", None)


@pytest.mark.parametrize(
    "body", [b'{"error": {"code": "server_error"}}', b'{"error": "no"}', b'{"status": "error"}']
)
def test_a_list_of_models_that_is_an_error_fails_the_validation(
    body: bytes, transport: Transport
) -> None:
    with Wire(whole(body)) as wire, pytest.raises(ResponsesError) as caught:
        validate_server(wire.connection(), transport=transport)

    assert len(wire.requests) == 1
    assert "no" not in str(caught.value).split()


def test_something_else_in_place_of_the_list_of_models_is_none(transport: Transport) -> None:
    with Wire(whole(b"[1]")) as wire, pytest.raises(UnexpectedResponseError):
        validate_server(wire.connection(), transport=transport)

    assert len(wire.requests) == 2


@pytest.mark.parametrize("error", [{"message": "No.", "code": "server_error"}, "No."])
def test_a_bare_error_in_mid_stream_is_an_error(error: object, transport: Transport) -> None:
    told = failure(stream(DELTA, {"error": error}), transport)

    assert isinstance(told, ServerError if isinstance(error, dict) else ResponseFailedError)


@pytest.mark.parametrize(
    "ending",
    [
        {"status": "completed", "output": [], "error": {"message": "No."}},
        {"status": "completed", "output": [], "error": "No."},
        {"status": "error", "output": []},
        {"status": "cancelled", "output": []},
        {"status": "queued"},
        {"status": "in_progress", "output": []},
    ],
)
@pytest.mark.parametrize("name", ["response.completed", "response.failed", "response.incomplete"])
def test_a_stream_that_ends_without_an_answer_is_an_error(
    ending: dict[str, object], name: str, transport: Transport
) -> None:
    told = failure(stream({"type": name, "response": ending}), transport)

    assert isinstance(told, ResponseFailedError)


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (
            [{"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}}]}] * 2,
            "Chat Completions",
        ),
        ([{"type": "message_start"}, {"type": "content_block_delta"}], "Anthropic Messages"),
        ([{"type": "ping"}, {"type": "content_block_delta"}], "Anthropic Messages"),
        ([{"candidates": [{"content": {}}]}], "Gemini's generateContent"),
        ([{"response": "Hi", "done": False}, {"done": True}], "Ollama's own API"),
        ([{"type": "message-start"}], "events of another kind ('message-start')"),
        ([{"text": "Hi"}], "events of no type"),
        ([], "an empty stream"),
    ],
    ids=str,
)
def test_answers_of_another_protocol_are_told_in_one_sentence(
    events: list[dict[str, object]], told: str, transport: Transport
) -> None:
    error = failure(stream(*events) if events else raw_stream(b""), transport)

    assert isinstance(error, UnexpectedResponseError)
    assert str(error).startswith(
        f"The server answered with {told} where the Responses API was expected. "
    )


@pytest.mark.parametrize("body", [b"data: [DONE]\n\n", b": hello\n\n", b"Hello!", b"\n"])
def test_a_stream_without_events_is_told_as_one(body: bytes, transport: Transport) -> None:
    error = failure(raw_stream(body), transport)

    assert isinstance(error, UnexpectedResponseError)
    assert "with a stream without any event where" in str(error)


def raw_stream(body: bytes) -> Answer:
    return whole(body, content_type="text/event-stream")


def test_a_stream_that_ends_in_mid_answer_is_no_success_however_it_is_closed(
    transport: Transport,
) -> None:
    """No error of the connection tells: the body has the length that was promised."""
    body = frames([{"type": "response.created", "response": {}}, DELTA])
    for end in (b"", b"data: [DONE]\n\n"):
        assert isinstance(failure(raw_stream(body + end), transport), StreamInterruptedError)


def test_an_event_without_a_type_does_no_harm(transport: Transport) -> None:
    with Wire(stream({"ping": 1}, DONE)) as wire:
        assert create(wire.connection(), REQUEST, transport=transport).status == "completed"


# Secrets.


def test_a_key_never_shows_wherever_a_server_puts_it(transport: Transport) -> None:
    for error in _errors_with(SECRET, transport):
        shown = (
            f"{error} {error.code} {error.param} {error.request_id} {vars(error)} {error.__cause__}"
        )
        for form in (SECRET, quote(SECRET, safe=""), quote(SECRET)):
            assert form not in shown
            assert form[:12] not in shown


def test_a_key_in_other_letters_or_cut_off_does_not_show(transport: Transport) -> None:
    secret = "Hidden-" + "sEcREt-" * 9
    for told in (
        failure(whole(b"{}", content_type=f"text/{secret}"), transport, api_key=secret),
        failure(whole(b"{}", content_encoding=secret), transport, api_key=secret),
    ):
        assert "secret" not in str(told).lower()


def _errors_with(secret: str, transport: Transport) -> Iterator[ResponsesError]:
    details = {"message": f"Not {secret}", "code": secret, "param": quote(secret, safe="")}
    long = {"message": "x" * 290 + secret, "code": "x" * 90 + secret}
    request_id = {"x_request_id": secret}
    for status in ("400 x", "401 x", "403 x", "404 x", "429 x", "500 x", "302 x"):
        for error in (details, long):
            body = frames([{"error": error}])[6:]
            yield failure(whole(body, status, **request_id), transport, api_key=secret)
    for answer in (
        whole(frames([{"error": details}])[6:], **request_id),
        whole(b"{}", content_type=f"text/{secret}", **request_id),
        whole(b"{}", content_encoding=secret),
        whole(b"{broken", **request_id),
        stream({"type": "error", "error": details}, **request_id),
        stream({"type": "response.failed", "response": {"status": "failed", "error": long}}),
        stream(DELTA, **request_id),
        lambda peer: peer.sendall(f"HTTP/1.1 200 OK\r\n{secret}\r\n\r\n".encode()),
        lambda peer: peer.sendall(head(**EVENTS, transfer_encoding="chunked") + secret.encode()),
    ):
        yield failure(answer, transport, api_key=secret)
    yield failure(whole(b"{}", "404 x"), transport, {**REQUEST, "model": secret}, api_key=secret)
    body = b'{"error": {"code": "model_not_found"}}'
    yield failure(whole(body, "404 x"), transport, {**REQUEST, "model": secret}, api_key=secret)


def test_facts_of_the_server_s_are_short_texts(transport: Transport) -> None:
    body = b'{"error": {"message": "m", "code": 42, "param": {"a": 1}, "type": true}}'
    told = failure(whole(body, "400 x", x_request_id="r" * 5_000), transport)
    assert (told.code, told.param) == ("42", None)
    body = b'{"error": {"code": "' + b"c" * 9_000 + b'", "param": "p"}}'
    told = failure(whole(body, "400 x"), transport)
    assert len(told.code) == 100
    assert len(str(told)) < 300


# Where a prompt goes.


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(status: int, transport: Transport) -> None:
    with Wire(stream(DONE)) as elsewhere:
        answer = whole(b"{}", f"{status} Moved", location=f"{elsewhere.base_url}/responses")
        told = failure(answer, transport)
        with Wire(answer) as wire, pytest.raises(UnexpectedResponseError):
            await ask(wire)

    assert elsewhere.connections == 0
    assert isinstance(told, UnexpectedResponseError)
    assert "redirects are not followed" in str(told)
    assert told.status_code == status


def test_no_cookie_is_kept_and_none_crosses_keys(transport: Transport) -> None:
    with Wire(stream(DONE, set_cookie="who=ann")) as wire:
        for key in ("ann", "bob", "ann"):
            create(wire.connection(api_key=key), REQUEST, transport=transport)

    assert not any(b"cookie" in request.lower() for request in wire.requests)
    assert wire.connections == 2


# Connections.


@pytest.mark.parametrize("tail", [b"0\r\n\r\n", chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"])
async def test_streamed_calls_share_one_connection(tail: bytes, transport: Transport) -> None:
    with Wire(stream(DELTA, DONE, tail=tail)) as wire:
        for _ in range(10):
            assert create(wire.connection(), REQUEST, transport=transport).text == "Hi"
        ours = wire.connections
        await ask(wire)

    assert (ours, wire.connections) == (1, 2)


def _late_end(peer: object) -> None:
    stream(DELTA, DONE, tail=b"")(peer)
    time.sleep(0.02)
    peer.sendall(b"0\r\n\r\n")


def test_an_end_that_comes_a_little_later_is_waited_for(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._streams.time_limits.REST_SECONDS", 100.0)
    with Wire(_late_end) as wire:
        for _ in range(3):
            create(wire.connection(), REQUEST, transport=transport)

    assert wire.connections == 1


@pytest.mark.parametrize(
    ("tail", "patience"),
    # The endless one is left for its size, however busy the machine is.
    [(b"", 0.25), (chunk(b": " + b"x" * 100_000), 60), (b"zz\r\n", 60)],
    ids=["silent", "endless", "broken"],
)
async def test_an_end_that_does_not_come_costs_no_more_than_the_connection(
    tail: bytes, patience: float, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._streams.time_limits.REST_SECONDS", patience)
    with Wire(stream(DELTA, DONE, tail=tail)) as wire:
        for _ in range(2):
            assert create(wire.connection(), REQUEST, transport=transport).text == "Hi"
        assert (await ask(wire)).text == "Hi"

    assert wire.connections > 2


async def test_a_connection_that_was_closed_meanwhile_costs_no_call(transport: Transport) -> None:
    def answer(peer: socket.socket) -> None:
        if peer in used:
            peer.shutdown(socket.SHUT_RDWR)
        else:
            used.append(peer)
            stream(DONE)(peer)

    used: list[socket.socket] = []
    with Wire(answer) as wire:
        for _ in range(3):
            create(wire.connection(), REQUEST, transport=transport)
        await ask(wire)

    assert wire.connections == len(used) == 5


async def test_a_body_that_ends_with_its_connection_is_not_waited_for(transport: Transport) -> None:
    def answer(peer: object) -> None:
        peer.sendall(head(**EVENTS) + frames([DELTA, DONE]))
        gone.wait(120)

    gone = threading.Event()
    with Wire(answer) as wire:
        create(wire.connection(), REQUEST, transport=transport)
        await ask(wire)
        gone.set()


def test_many_keys_in_rotation_keep_their_clients(transport: Transport) -> None:
    with Wire(stream(DONE)) as wire:
        for _ in range(2):
            for number in range(50):
                create(wire.connection(api_key=f"key-{number}"), REQUEST, transport=transport)

    assert wire.connections == 50


def test_preparing_connects_to_nobody_and_reads_what_is_trusted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[object] = []
    make = ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda *told, **named: read.append(1) or make(*told, **named))  # fmt: skip
    with Wire(stream(DONE)) as wire:
        prepare_transport()
        before = len(read)
        pool = Transport()
        create(wire.connection(), REQUEST, transport=pool)
        pool.close()

    assert (wire.connections, len(read)) == (1, before)


# Floods and silences.


@pytest.mark.parametrize("status", ["400 Bad Request", "500 Sorry"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_packed_error_is_read_up_to_a_bound(
    status: str, encoding: str, transport: Transport
) -> None:
    message = b'{"error": {"message": "Too much.", "code": "c"}}'
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    told = failure(whole(pack(message), status, content_encoding=encoding), transport)
    assert told.code == "c"

    bomb = whole(pack(message + b" " * 12_000_000), status, content_encoding=encoding)
    assert _peak_bytes(lambda: failure(bomb, transport)) < 8_000_000


def _peak_bytes(call: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"?"), ("gzip", b"no gzip"), ("gzip, gzip", b"?")]
)
def test_a_body_that_cannot_be_unpacked_is_told(
    encoding: str, body: bytes, transport: Transport
) -> None:
    assert failure(whole(body, "400 x", content_encoding=encoding), transport).status_code == 400
    told = failure(whole(body, content_encoding=encoding), transport)
    assert isinstance(told, UnexpectedResponseError)


async def test_an_error_whose_body_breaks_off_keeps_its_status(transport: Transport) -> None:
    def answer(peer: object) -> None:
        peer.sendall(head("401 No", content_length="100") + b"{")
        peer.shutdown(socket.SHUT_RDWR)

    assert failure(answer, transport).status_code == 401
    with Wire(answer) as wire, pytest.raises(ResponsesError) as caught:
        await ask(wire)
    assert caught.value.status_code == 401


async def test_an_error_whose_body_does_not_come_keeps_its_status(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._http.client._MOST_BODY_SECONDS", 0.1)
    answer = whole(b"{", "429 No", content_length="100")

    assert isinstance(failure(answer, transport), RateLimitError)
    with Wire(answer) as wire, pytest.raises(RateLimitError):
        await ask(wire)


async def test_an_endless_error_is_given_up(transport: Transport) -> None:
    def answer(peer: object) -> None:
        peer.sendall(head("400 No", content_type="application/json"))
        while True:
            peer.sendall(b" " * 65_536)

    assert failure(answer, transport).status_code == 400
    with Wire(answer) as wire, pytest.raises(ResponsesError) as caught:
        await ask(wire)
    assert caught.value.status_code == 400


def test_a_body_that_is_too_large_is_given_up(transport: Transport) -> None:
    told = failure(whole(b" " * 17_000_000), transport, WHOLE)
    assert "exceeds 16 MiB" in str(told)
    packed = gzip.compress(b" " * 40_000_000, compresslevel=1)
    answer = whole(packed, content_encoding="gzip")
    assert _peak_bytes(lambda: failure(answer, transport, WHOLE)) < 20_000_000


def test_a_list_of_models_that_is_too_large_is_none(transport: Transport) -> None:
    with Wire(whole(b" " * 17_000_000 + b"{}")) as wire, pytest.raises(ResponsesError):
        validate_server(wire.connection(), transport=transport)

    assert len(wire.requests) == 2


@pytest.mark.parametrize(
    ("opening", "piece"),
    [
        (head(**EVENTS), b": still here\n\n"),
        (head(**EVENTS) + frames([DELTA]), b": still here\n"),
        (head(**EVENTS) + b"data: ", b"x"),
        (head(content_type="application/json"), b" "),
    ],
    ids=["comments", "after a delta", "one frame", "blanks"],
)
def test_what_only_keeps_a_connection_alive_does_not_do_so_for_ever(
    opening: bytes, piece: bytes, transport: Transport
) -> None:
    calls: list[Callable[[Connection], object]] = [
        lambda slow: create(slow, REQUEST, transport=transport),
        lambda slow: asyncio.run(acreate(slow, REQUEST)),
    ]

    def is_told(seconds: float) -> bool:
        pause, told = threading.Event(), list[str]()
        with Wire(dripping(opening, piece=piece, pause=pause, seconds=0.02)) as wire:
            for call in calls:
                with pytest.raises(ConnectionTimeoutError, match="in time") as caught:
                    call(wire.connection(timeout_seconds=seconds))
                told.append(str(caught.value))
            pause.set()
        return all("sent no event in time" in text for text in told)

    assert any(map(is_told, PATIENCE))


def test_events_that_say_nothing_new_are_life(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A clock on which a second passes whenever somebody looks at it: some for each event, and for all more than the limit.
    looked = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: float(next(looked)))
    monkeypatch.setattr("gpt5_responses._streams.time_limits.time", clock)

    def answer(peer: object) -> None:
        peer.sendall(head(**EVENTS))
        for _ in range(60):
            time.sleep(0.002)  # so that they come one by one
            peer.sendall(frames([{"type": "keepalive"}]))
        peer.sendall(frames([DONE]))

    with Wire(answer) as wire:
        slow = wire.connection(timeout_seconds=60)
        assert create(slow, REQUEST, transport=transport).status == "completed"


def slow_answers(pause: threading.Event) -> dict[str, Answer]:
    drip = {"pause": pause, "seconds": 0.02}
    return {
        "deltas": dripping(head(**EVENTS), piece=frames([DELTA]), **drip),
        "one silence": lambda peer: (
            peer.sendall(head(**EVENTS) + frames([DELTA])),
            pause.wait(120),
        ),
        "chunked": dripping(
            head(**EVENTS, transfer_encoding="chunked"), piece=chunk(frames([DELTA])), **drip
        ),
        "no word": lambda _: pause.wait(120),
        "head": dripping(b"HTTP/1.1 200 OK\r\n", piece=b"a: b\r\n", **drip),
    }


@pytest.mark.parametrize("name", slow_answers(threading.Event()))
async def test_a_whole_call_can_be_limited(name: str, transport: Transport) -> None:
    pause = threading.Event()
    with Wire(slow_answers(pause)[name]) as wire:
        try:
            limited = wire.connection(total_seconds=0.1)
            with pytest.raises(ConnectionTimeoutError, match="exceeded its total time limit"):
                list(ResponseStream(limited, REQUEST, transport=transport))
            with pytest.raises(ConnectionTimeoutError, match="exceeded its total time limit"):
                await ask(wire, total_seconds=0.1)
        finally:
            pause.set()


def test_an_answer_that_comes_too_late_is_let_go(transport: Transport) -> None:
    pause = threading.Event()

    def answer(peer: object) -> None:
        pause.wait(120)
        stream(DONE)(peer)

    with Wire(answer) as wire:
        before = set(threading.enumerate())
        with pytest.raises(ConnectionTimeoutError):
            create(wire.connection(total_seconds=0.1), REQUEST, transport=transport)
        pause.set()
        for thread in set(threading.enumerate()) - before:
            # Another thread may just be starting one, which cannot be waited for.
            if thread.is_alive():
                thread.join(timeout=120)


def test_a_limit_that_is_not_reached_changes_nothing(transport: Transport) -> None:
    with Wire(stream(DELTA, DONE)) as wire:
        limited = wire.connection(total_seconds=60)
        assert create(limited, REQUEST, transport=transport).text == "Hi"
    with Wire(stream(DELTA)) as wire, pytest.raises(StreamInterruptedError):
        create(wire.connection(total_seconds=60), REQUEST, transport=transport)
    told = failure(whole(b"{}", "500 x"), transport, total_seconds=60)
    assert isinstance(told, ServerError)


def test_the_limit_comes_from_the_operator_s_environment() -> None:
    def limit(value: str) -> float | None:
        environ = {"OPENAI_GPT5_TOTAL_TIMEOUT_SECONDS": value}
        credentials = {"openai_api_key": "key"}
        return Connection.from_credentials(credentials, environ=environ).total_seconds

    values = ("", "0", "-1", "x", "nan", "inf", "12.5")
    assert [limit(value) for value in values] == [None] * 6 + [12.5]
