"""Servers that put the key, megabytes or nothing where an answer belongs."""

import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

from gpt5_simulator import HttpError, LateError, LateFailure, RawServer, ResponsesSimulator
from model_plugin import ModelPlugin, credentials_for
from raw_answers import HEAD, USAGE, completed, delta, frame, json_answers, streams


KEY = "gateway/key+0123456789="
FORMS = (KEY, quote(KEY, safe=""), quote(KEY))
LARGE = "x" * (6 * 1024 * 1024)
TEXT = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


def errors_with_key() -> list[HttpError | LateError | LateFailure]:
    told: dict[str, Any] = {"message": f"No {KEY}, {quote(KEY, safe='')}", "code": KEY}
    return [
        *(HttpError(status=status, param=KEY, **told) for status in (400, 401, 403, 404, 429, 500)),
        LateError(**told),
        LateFailure(**told),
    ]


@pytest.mark.parametrize("fault", errors_with_key(), ids=repr)
def test_the_key_stands_in_nothing_that_leaves(
    configured_plugin: ModelPlugin, fault: HttpError | LateError | LateFailure
) -> None:
    configured_plugin.notices.clear()
    with ResponsesSimulator(faults=[fault, fault, fault], models_status=404) as server:
        answers = [
            configured_plugin.invoke(server, key=KEY),
            configured_plugin.validate(server, openai_api_key=KEY),
            configured_plugin.validate(server, model="gpt-5.2", openai_api_key=KEY),
        ]

    assert all(answer.error for answer in answers)
    left = repr([(vars(answer.error), answer.chunks) for answer in answers])
    left += repr(configured_plugin.notices)
    assert not any(form in left for form in FORMS)


def test_a_request_that_nests_deeper_than_the_sdk_reads_is_answered(plugin: ModelPlugin) -> None:
    deep: Any = "deep"
    for _ in range(200):
        deep = {"a": [deep]}
    history = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello", "opaque_body": {"seen": deep}},
        {"role": "user", "content": "Hi again"},
    ]
    with ResponsesSimulator() as server:
        answer = plugin.invoke(server, history, model_parameters={"unknown": deep})

    assert answer.error is None
    assert len(server.requests[0].body["input"]) == 3


@pytest.mark.parametrize("request_id", [KEY, "very-secret-key-1"])
def test_the_key_stands_in_no_log_line(configured_plugin: ModelPlugin, request_id: str) -> None:
    """A name of a model and an id of a request are logged, and a server may call both what it likes."""
    configured_plugin.notices.clear()
    response = {"model": request_id, "status": "completed", "output": [TEXT], "usage": USAGE}
    body = json.dumps(response).encode()
    with RawServer(json_answers(body, x_request_id=request_id)) as server:
        assert configured_plugin.invoke(server, key=request_id, stream=False).error is None

    assert len(configured_plugin.notices) == 3  # Two of them of the audit log.
    assert request_id not in repr(configured_plugin.notices)


def terminal(**response: Any) -> bytes:
    return completed(**{"output": [{"type": "reasoning"}], **response})


LONG_LINES = {
    "name": terminal(output=[CALL | {"name": LARGE}]),
    "call id": terminal(output=[CALL | {"call_id": LARGE}]),
    "arguments": terminal(output=[CALL | {"arguments": LARGE}]),
    "model": terminal(model=LARGE, output=[TEXT]),
    "many calls": terminal(
        output=[CALL | {"call_id": f"c{n}", "arguments": json.dumps("y" * 10_000)} for n in range(600)]
    ),
    "code": frame({"type": "error", "code": LARGE, "message": LARGE, "param": LARGE}),
    "failed": terminal(status="failed", error={"code": LARGE, "message": LARGE}),
    "incomplete": frame(
        {"type": "response.incomplete", "response": {"incomplete_details": {"reason": LARGE}}}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG_LINES)
def test_no_line_is_longer_than_the_daemon_reads(plugin: ModelPlugin, name: str) -> None:
    """The plugin's host ends a plugin that writes one, as the daemon does."""
    with RawServer(streams(LONG_LINES[name])) as server:
        answer = plugin.invoke(server, tools=[{"name": "f", "description": "", "parameters": {}}])
        assert plugin.invoke(server, credentials={}).error.error_type == "InvokeBadRequestError"

    if answer.error is not None:
        assert answer.error.error_type in {"InvokeServerUnavailableError", "InvokeBadRequestError"}
        assert len(str(answer.error)) < 2000


@pytest.mark.parametrize(
    "item",
    [
        {"type": "reasoning", "summary": [], "encrypted_content": LARGE},
        {"type": "message", "content": [{"type": "output_text", "text": "Hi", "annotations": [LARGE]}]},
    ],
)  # fmt: skip
def test_items_that_do_not_fit_stay_behind(plugin: ModelPlugin, item: dict[str, Any]) -> None:
    with RawServer(streams(terminal(output=[item, CALL]))) as server:
        answer = plugin.invoke(server)

    assert answer.error is None
    assert answer.calls == [("c", "f", "{}")]
    assert answer.last["message"]["opaque_body"] is None


BOUNDED = """
import dify_plugin, json
from dify_plugin.errors.model import InvokeError
from model_adapter import shorten_line

message = {"content": "x" * 2000, "opaque_body": None}
line = json.dumps({"event": "session", "data": {"type": "stream", "data": {"delta": {"message": message}}}})
try:
    shorten_line(line.encode(), 1000)
except InvokeError as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""


def test_an_answer_that_is_too_long_for_a_line_is_an_error(run_inside: Callable[..., Any]) -> None:
    assert run_inside(BOUNDED) == [
        "InvokeServerUnavailableError",
        "The answer is larger than Dify takes in one piece. Ask for less at once.",
    ]


CONNECTIONS = """
import dify_plugin, json, sys, time
sys.path.append("tests")
from dify_plugin.entities.model.message import UserPromptMessage
from model_adapter import ModelCall, iter_chunks
from gpt5_simulator import RawServer
from raw_answers import completed, delta, streams

def ask(server, key):
    return "".join(chunk.delta.message.content for chunk in iter_chunks(ModelCall(
        model="gpt-5.2", messages=[UserPromptMessage(content="Hello")], parameters={}, tools=(), stop=(), stream=True, user=None,
        credentials={"openai_api_key": key, "openai_api_base": server.base_url, "max_retries": "0"},
    )))

now = time.monotonic()
time.monotonic = lambda: now  # Idle connections are closed after five seconds.
with RawServer(streams(delta("Hi") + completed())) as server:
    texts = {ask(server, "key") for _ in range(10)}
    of_one = server.connections
    for _ in range(2):
        for number in range(50):
            ask(server, f"key-{number}")
    print(json.dumps([list(texts), of_one, server.connections - of_one]))
"""


def test_streamed_calls_use_their_connection_again(run_inside: Callable[..., Any]) -> None:
    assert run_inside(CONNECTIONS) == [["Hi"], 1, 50]


UNEXPECTED = """
import dify_plugin, json, logging
logging.disable()
from dify_plugin.errors.model import CredentialsValidateFailedError, InvokeServerUnavailableError
from model_adapter import invoke_errors, validated_connection

key = {"openai_api_key": "very-secret-key"}
told = []
for block, kind in ((validated_connection(key), CredentialsValidateFailedError), (invoke_errors(key), InvokeServerUnavailableError)):
    try:
        with block:
            raise RuntimeError("inside: very-secret-key")
    except kind as error:
        told.append([str(error), repr(error.__cause__), error.__suppress_context__])
print(json.dumps(told))
"""


def test_what_nobody_expected_comes_out_without_its_text(run_inside: Callable[..., Any]) -> None:
    (form, *form_cause), (call, *call_cause) = run_inside(UNEXPECTED)

    assert "could not be checked" in form
    assert "unexpectedly (RuntimeError)" in call
    assert form_cause == call_cause == ["None", True]


EARLY = b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n"
BARREN_HEAD = HEAD.replace(b"connection: close", b"transfer-encoding: chunked")
FLOODS: dict[str, bytes] = {
    "comments": HEAD + b": " + b"x" * 65_536 + b"\n\n",
    "one event": HEAD + b"data: " + b"x" * 65_536,
    "deltas": HEAD + delta("word " * 200) * 64,
    "an error": b"HTTP/1.1 400 No\r\ncontent-type: application/json\r\n\r\n" + b" " * 65_536,
    "one body": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + b"[" * 65_536,
    "informational answers": EARLY * 1_300,
    "comments in chunks": BARREN_HEAD + (b"1;" + b"x" * 65_536 + b"\r\n \r\n"),
}


@pytest.mark.parametrize(
    ("name", "size_bytes"),
    [
        *((name, 5_000_000) for name in FLOODS),
        *(pytest.param(name, 200_000_000, marks=pytest.mark.long) for name in FLOODS),
    ],
)
def test_a_flood_does_not_hold_up_other_calls(
    plugin: ModelPlugin, name: str, size_bytes: int
) -> None:
    head, body = FLOODS[name].split(b"\r\n\r\n", 1)
    begun, answered, gone = threading.Event(), threading.Event(), threading.Event()
    has_tired = False

    def flood(peer: Any) -> None:
        nonlocal has_tired
        peer.sendall(head + b"\r\n\r\n")
        until, sent = time.monotonic() + 120, 0
        try:
            while sent < size_bytes or not (answered.is_set() or has_tired):
                peer.sendall(body)
                begun.set()
                sent += len(body)
                has_tired = time.monotonic() > until
            peer.shutdown(socket.SHUT_RDWR)
        finally:
            gone.set()

    with (
        RawServer(flood) as flooding,
        RawServer(streams(delta("Hi") + terminal())) as server,
        ThreadPoolExecutor(1) as pool,
    ):
        flooded = pool.submit(plugin.invoke, flooding)
        assert begun.wait(120)
        calls = [{"credentials": credentials_for(server, "key")} for _ in range(5)]
        answers = plugin.invoke_all(calls, at_once=5)
        answered.set()
        assert flooded.result().error is not None

    assert [answer.text for answer in answers] == ["Hi"] * 5
    assert not has_tired  # They came while it went on, or the plugin had left it.
    assert gone.wait(120)


LIMITED = """
import dify_plugin, json, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
sys.path.append("tests")
from dify_plugin.entities.model.message import UserPromptMessage
from gpt5_responses import ConnectionTimeoutError
from model_adapter import ModelCall, iter_chunks
from gpt5_simulator import RawServer
from raw_answers import HEAD, completed, delta, streams

def drip(opening, piece):
    def answer(peer):
        peer.sendall(opening)
        while not over.wait(0.1):
            peer.sendall(piece)
    return answer

def ask(answer):
    with RawServer(answer) as server:
        text, started = "", time.monotonic()
        try:
            for chunk in iter_chunks(ModelCall(
                model="gpt-5.2", messages=[UserPromptMessage(content="Hello")], parameters={}, tools=(), stop=(), stream=True, user=None,
                credentials={"openai_api_key": "key", "openai_api_base": server.base_url, "max_retries": "0"},
            )):
                text += chunk.delta.message.content
        except ConnectionTimeoutError as error:
            return [text[:2], str(error), time.monotonic() - started < 60]

over = threading.Event()
ask(streams(delta("Hi") + completed()))  # the first call loads what it needs
drips = (drip(HEAD, delta("Hi")), drip(b"HTTP/1.1 200 OK\\r\\n", b"a: b\\r\\n"), drip(HEAD + delta("Hi"), b": here\\n\\n"))
with ThreadPoolExecutor() as pool:
    print(json.dumps(list(pool.map(ask, drips))))
"""


def test_an_operator_can_limit_a_whole_call(run_inside: Callable[..., Any]) -> None:
    outcomes = run_inside(LIMITED, OPENAI_GPT5_TOTAL_TIMEOUT_SECONDS="5")

    assert [text for text, _, _ in outcomes] == ["Hi", "", "Hi"]
    assert all("exceeded its total time limit" in told for _, told, _ in outcomes)
    assert all(in_time for _, _, in_time in outcomes)
