"""Retries, many calls at once, and readers who walk away."""

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from gpt5_simulator import (
    CutStream,
    FunctionCall,
    HttpError,
    LateError,
    ModelRequest,
    RawServer,
    Reasoning,
    ResponsesSimulator,
    Text,
    Turn,
    UnverifiedOrganization,
)
from model_plugin import ModelPlugin
from raw_answers import json_answers


TOOL = {"name": "echo", "description": "Echo", "parameters": {"type": "object"}}


def credentials(server: ResponsesSimulator, **settings: str) -> dict[str, str]:
    return {"openai_api_key": "key", "openai_api_base": server.base_url, **settings}


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_start_that_failed_is_tried_again_as_often_as_was_set(
    plugin: ModelPlugin, server: ResponsesSimulator, status: int
) -> None:
    for _ in range(3):
        server.add_fault(HttpError(status=status, retry_after_ms=1))
    answer = plugin.invoke(server, credentials=credentials(server, max_retries="3"))

    assert answer.error is None
    assert len(server.requests) == 4


@pytest.mark.parametrize(("setting", "tries"), [("0", 1), ("2", 3), ("", 2), ("-1", 1), ("x", 2)])
def test_no_more_tries_than_were_set(plugin: ModelPlugin, setting: str, tries: int) -> None:
    fault = HttpError(status=500, retry_after_ms=1, times=None)
    with ResponsesSimulator(faults=[fault]) as server:
        answer = plugin.invoke(server, credentials=credentials(server, max_retries=setting))

    assert answer.error.error_type == "InvokeServerUnavailableError"
    assert len(server.requests) == tries


@pytest.mark.parametrize("fault", [CutStream(after_events=0), CutStream(), LateError()])
def test_a_stream_that_has_begun_is_never_asked_for_again(
    plugin: ModelPlugin, fault: CutStream | LateError
) -> None:
    with ResponsesSimulator(faults=[fault]) as server:
        answer = plugin.invoke(server, credentials=credentials(server, max_retries="5"))

    assert answer.error is not None
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_not_tried_again(
    plugin: ModelPlugin, server: ResponsesSimulator, status: int
) -> None:
    server.add_fault(HttpError(status=status))
    plugin.invoke(server, credentials=credentials(server, max_retries="5"))

    assert len(server.requests) == 1


TIMEOUT = """
import dify_plugin
import json, os, socket
from gpt5_responses import ResponsesError
from model_adapter import ModelCall, iter_chunks

used = []
set_plainly = socket.socket.settimeout
socket.socket.settimeout = lambda self, seconds: (used.append(seconds), set_plainly(self, seconds))
credentials = {"openai_api_key": "key", "openai_api_base": os.environ["URL"], "request_timeout_seconds": os.environ["SECONDS"]}
nothing = dict(messages=[], parameters={}, tools=[], stop=[], stream=True, user=None)
list(iter_chunks(ModelCall(model="gpt-5.2", credentials=credentials, **nothing)))
print(json.dumps(max(filter(None, used))))
"""


@pytest.mark.parametrize(("setting", "used"), [("45", 45), ("1", 30), ("5000", 900), ("soon", 300)])
def test_the_timeout_is_the_one_that_was_set(
    run_inside: Callable[..., Any], server: ResponsesSimulator, setting: str, used: int
) -> None:
    """As the socket is told."""
    limit = {"PLUGIN_MAX_EXECUTION_TIMEOUT": "3600"}  # Else a call ends before.
    assert run_inside(TIMEOUT, URL=server.base_url, SECONDS=setting, **limit) == pytest.approx(used)


def test_an_organisation_s_refusal_names_what_was_tried(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    server.add_fault(UnverifiedOrganization(times=1))
    server.add_fault(
        HttpError(status=400, message="Your organization must be verified to use this model.")
    )
    error = plugin.invoke(server, key="unverified-key").error

    assert error.error_type == "InvokeBadRequestError"
    assert "must be verified" in str(error)
    assert "sent again without the reasoning summary" in str(error)


def test_a_retired_model_s_successor_is_named(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    error = plugin.invoke(server, model="gpt-5.1-codex").error

    assert error.error_type == "InvokeBadRequestError"
    assert "'gpt-5.1-codex' has been shut down by OpenAI. Use 'gpt-5.5' instead." in str(error)


class Echo:
    """A model that says back what was asked, in a thought, in a text and in a call that has the same id for everybody."""

    def respond(self, request: ModelRequest) -> Turn:
        asked = request.items[-1]["content"][0]["text"]
        call = FunctionCall(name="echo", arguments={"word": asked}, call_id="everybody-s-call")
        return (Reasoning(summary=(f"Thought {asked}.",)), Text(text=f"Said {asked}."), call)


def test_two_hundred_calls_at_once_with_two_keys_never_mix_anything(plugin: ModelPlugin) -> None:
    with ResponsesSimulator(model=Echo()) as server:
        calls = [
            {
                "credentials": credentials(server) | {"openai_api_key": ("ann", "bob")[number % 2]},
                "messages": f"word-{number}",
                "tools": [TOOL],
                "user_id": f"user-{number}",
            }
            for number in range(200)
        ]
        answers = plugin.invoke_all(calls, at_once=200)
        keys = {
            request.body["input"][-1]["content"][0]["text"]: request.headers["authorization"]
            for request in server.requests
        }

    for number, answer in enumerate(answers):
        word = f"word-{number}"
        assert answer.text == f"<think>\nThought {word}.\n</think>Said {word}."
        assert answer.calls == [("everybody-s-call", "echo", f'{{"word":"{word}"}}')]
        assert answer.last["message"]["opaque_body"]["responses_output"][0]["summary"] == [
            {"type": "summary_text", "text": f"Thought {word}."}
        ]
    ann, bob = ({keys[f"word-{n}"] for n in range(start, 200, 2)} for start in (0, 1))
    assert (len(ann), len(bob), len(ann | bob)) == (1, 1, 2)


CALL = """
import dify_plugin, json, os, sys, time
from concurrent.futures import ThreadPoolExecutor
sys.path.append("tests")
from dify_plugin.entities.model.message import UserPromptMessage
from dify_plugin.errors.model import InvokeError
from model_adapter import ModelCall, invoke_errors, iter_chunks
from gpt5_simulator import RawServer
from raw_answers import HEAD

def ask(head):
    def answer(peer):
        peer.sendall(head)
        while peer.recv(65_536):
            pass

    with RawServer(answer) as server:
        credentials = {"openai_api_key": "k", "openai_api_base": server.base_url}
        call = ModelCall(
            model="gpt-5.2", messages=[UserPromptMessage(content="Hello")], parameters={}, tools=(), stop=(), stream=True, user=None,
            credentials=credentials,
        )
        started, told = time.monotonic(), None
        try:
            with invoke_errors(credentials):
                list(iter_chunks(call))
        except InvokeError as error:
            told = type(error).__name__, str(error)
        return told, time.monotonic() - started, server.connections

def sleep():
    started = time.monotonic()
    time.sleep(0.9 * float(os.environ.get("PLUGIN_MAX_EXECUTION_TIMEOUT", 0)))
    return time.monotonic() - started

with ThreadPoolExecutor() as pool:
    slept = pool.submit(sleep)
    told = list(pool.map(ask, [b"", HEAD]))
    print(json.dumps([told, slept.result()]))
"""


def test_a_silent_server_gives_our_sentence_before_the_daemon_s_limit(
    run_inside: Callable[..., Any],
) -> None:
    answers, slept = run_inside(CALL, PLUGIN_MAX_EXECUTION_TIMEOUT="10")
    for told, seconds, connections in answers:
        assert told[0] == "InvokeConnectionError"
        assert "exceeded its total time limit (PLUGIN_MAX_EXECUTION_TIMEOUT)" in told[1]
        # And not at some other limit; a machine may let the process stand still.
        assert (seconds < slept + 60, connections) == (True, 1)


LIMIT = """
import dify_plugin, json
from model_adapter import ModelCall, validated_connection

credentials = {"openai_api_key": "k"}
with validated_connection(credentials) as checked:
    called = ModelCall(model="gpt-5.2", credentials=credentials).connection
    print(json.dumps([[one.total_seconds, one.total_limit] for one in (checked, called)]))
"""


@pytest.mark.parametrize(
    ("named", "seconds"), [({}, 590), ({"PLUGIN_MAX_EXECUTION_TIMEOUT": "10"}, 9)]
)
def test_a_call_ends_before_the_daemon_s_limit_which_is_600_seconds_where_none_is_named(
    run_inside: Callable[..., Any], named: dict[str, str], seconds: float
) -> None:
    assert run_inside(LIMIT, **named) == [[seconds, "PLUGIN_MAX_EXECUTION_TIMEOUT"]] * 2


@pytest.mark.parametrize(
    ("name", "value"), [("SSL_CERT_FILE", "/no/such/file"), ("HTTP_PROXY", "http://host:port")]
)
def test_a_client_that_cannot_be_made_is_an_error_that_dify_knows(
    run_inside: Callable[..., Any], name: str, value: str
) -> None:
    answers, _ = run_inside(CALL, **{name: value})
    for (kind, sentence), _, connections in answers:
        assert (kind, connections) == ("InvokeConnectionError", 0)
        assert name in sentence


def test_a_connection_that_its_server_closes_is_closed_here_too(plugin: ModelPlugin) -> None:
    left = threading.Event()
    body = b'{"status": "completed", "output": [{"type": "reasoning"}]}'

    def answer(peer: socket.socket) -> None:
        json_answers(body)(peer)
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(65_536):
            pass
        left.set()

    with RawServer(answer) as server:
        assert plugin.invoke(server, stream=False).error is None
        assert left.wait(120)


WALK_AWAY = """
import dify_plugin, json, sys
sys.path.append("tests")
from dify_plugin.entities.model.message import UserPromptMessage
from model_adapter import ModelCall, iter_chunks
from gpt5_simulator import RawServer
from raw_answers import delta, silent_after

answer, client_has_gone = silent_after(delta("Hel"))
with RawServer(answer) as server:
    chunks = iter_chunks(ModelCall(
        model="gpt-5.2", messages=[UserPromptMessage(content="Hello")], parameters={}, tools=(), stop=(), stream=True, user=None,
        credentials={"openai_api_key": "k", "openai_api_base": server.base_url, "max_retries": "0"},
    ))
    first = next(chunks).delta.message.content
    before = client_has_gone.is_set()
    chunks.close()
    print(json.dumps([first, before, client_has_gone.wait(timeout=120)]))
"""


def test_walking_away_closes_the_connection(run_inside: Callable[..., Any]) -> None:
    """The platform sends no word when a user leaves, but where it closes the answer, the server is let go."""
    assert run_inside(WALK_AWAY) == ["Hel", False, True]
