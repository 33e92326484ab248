"""Every error that can reach the plugin is one of the five that Dify knows: found by looking, not by listing."""

from collections.abc import Callable
from typing import Any

import pytest

from gpt5_simulator import HttpError, ResponsesSimulator
from model_plugin import ModelPlugin


AUTHORIZATION = "InvokeAuthorizationError"
BAD_REQUEST = "InvokeBadRequestError"
CONNECTION = "InvokeConnectionError"
RATE_LIMIT = "InvokeRateLimitError"
UNAVAILABLE = "InvokeServerUnavailableError"

PACKAGES = {
    "stream_text.MessageError": BAD_REQUEST,
    "gpt5_payloads.PayloadError": BAD_REQUEST,
    "gpt5_responses.AuthenticationError": AUTHORIZATION,
    "gpt5_responses.ConnectionFailedError": CONNECTION,
    "gpt5_responses.ConnectionTimeoutError": CONNECTION,
    "gpt5_responses.StillRunningError": CONNECTION,
    "gpt5_responses.InvalidRequestError": BAD_REQUEST,
    "gpt5_responses.ModelNotFoundError": BAD_REQUEST,
    "gpt5_responses.NotFoundError": BAD_REQUEST,
    "gpt5_responses.PermissionDeniedError": BAD_REQUEST,
    "gpt5_responses.RateLimitError": RATE_LIMIT,
    "gpt5_responses.RequestRefusedError": BAD_REQUEST,
    "gpt5_responses.ResponseFailedError": UNAVAILABLE,
    "gpt5_responses.ResponsesError": UNAVAILABLE,
    "gpt5_responses.ServerError": UNAVAILABLE,
    "gpt5_responses.SettingsError": BAD_REQUEST,
    "gpt5_responses.StreamInterruptedError": CONNECTION,
    "gpt5_responses.UnexpectedResponseError": UNAVAILABLE,
}

LOOK = """
import dify_plugin
import json
import gpt5_audit, gpt5_messages, gpt5_payloads, gpt5_responses
from dify_plugin.errors.model import InvokeError
from model_adapter import INVOKE_ERRORS, invoke_errors

def raised(kind):
    error = kind.__new__(kind)
    Exception.__init__(error, "What happened.")
    return error

def mapped_by_table(error):
    found = [kind.__name__ for kind, causes in INVOKE_ERRORS.items() if isinstance(error, tuple(causes))]
    return found[0] if found else None

def mapped_by_raising(error):
    try:
        with invoke_errors({}):
            raise error
    except InvokeError as known:
        return type(known).__name__
    except Exception as unknown:
        return repr(unknown)

def errors_of(package):
    return [kind for kind in vars(package).values() if isinstance(kind, type) and issubclass(kind, Exception)]

ours = [kind for package in (gpt5_audit, gpt5_messages, gpt5_payloads, gpt5_responses) for kind in errors_of(package)]
name = lambda kind: f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
print(json.dumps({
    "ours": {name(kind): [mapped_by_table(raised(kind)), mapped_by_raising(raised(kind))] for kind in ours},
    "order": [kind.__name__ for kind in INVOKE_ERRORS],
}))
"""


@pytest.fixture(scope="module")
def seen(run_inside: Callable[..., Any]) -> dict[str, dict[str, list[str]]]:
    return run_inside(LOOK)


def test_every_error_of_every_package_is_the_right_one_of_the_five(
    seen: dict[str, dict[str, list[str]]],
) -> None:
    assert seen["ours"] == {name: [kind, kind] for name, kind in PACKAGES.items()}


def test_the_five_are_dify_s(seen: dict[str, dict[str, list[str]]]) -> None:
    assert set(seen["order"]) == {AUTHORIZATION, BAD_REQUEST, CONNECTION, RATE_LIMIT, UNAVAILABLE}


KEY = "a-key-that-no-pattern-knows"
NO_MORE = {"model_parameters": {}, "tools": [], "stop": None}


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("credentials", KEY),
        ("credentials", [KEY]),
        ("model", {"openai_api_key": KEY}),
        ("prompt_messages", [{"role": "user", "content": [{"type": KEY}]}]),
        ("tools", [{"name": KEY}]),
        ("stop", KEY),
    ],
)
def test_a_request_that_the_sdk_refuses_is_told_by_its_field_and_not_quoted(
    plugin: ModelPlugin, field: str, wrong: object
) -> None:
    known = {"openai_api_key": KEY, "openai_api_base": "http://127.0.0.1:9/v1"}
    request = {"model": "gpt-5.2", "credentials": known, "prompt_messages": [], **NO_MORE}

    error = plugin.call("invoke_llm", **{**request, field: wrong}).error

    assert error is not None
    assert (error.error_type, error.details) == ("ValidationError", {})
    assert f"cannot be read: {field}" in error.message
    assert KEY not in repr(vars(error))


def test_a_request_to_nobody_is_refused_without_a_quote(plugin: ModelPlugin) -> None:
    plugin.notices.clear()

    request = {"model": "m", "credentials": {}, "prompt_messages": [], **NO_MORE}
    error = plugin.call("invoke_llm", provider=KEY, **request).error

    assert error is not None
    assert (error.error_type, error.details) == ("ValueError", {})
    assert KEY not in repr((vars(error), plugin.notices))
    # Where it comes from is for the operator alone.
    logged = "".join(notice.text for notice in plugin.notices)
    assert "ValueError in a call" in logged
    assert "plugin_executor.py" in logged


def test_one_of_the_five_keeps_the_description_that_dify_shows_and_no_more(
    plugin: ModelPlugin,
) -> None:
    with ResponsesSimulator(faults=[HttpError(status=429, times=None)]) as server:
        error = plugin.invoke(server).error

    assert error is not None
    assert error.error_type == "InvokeRateLimitError"
    assert error.details == {"description": error.message}


@pytest.mark.parametrize(
    ("status", "code", "message", "sentence"),
    [
        (429, None, "Limit 30000 TPM, used 29000. Please try again in 1.2s.", "Too many requests"),
        (429, "insufficient_quota", "You have 0 USD left.", "The account has no quota left."),
        (401, None, "Incorrect API key provided: sk-abcd1234.", "The server does not accept the"),
        (403, None, "Your project has no access.", "The API key is not allowed to do this."),
        (
            403,
            "model_not_found",
            "Your organization must be verified to use the model `gpt-5.2`.",
            "OpenAI has not verified the key's organisation, which the model 'gpt-5.2' needs.",
        ),
        (404, "model_not_found", "It is not there.", "The server has no model 'gpt-5.2'"),
        (500, None, "Our store is down. Id 7.", "The server failed to answer (status 500)."),
        (400, None, "A word too many.", "The server refused the request (status 400)"),
    ],
)
def test_the_server_s_words_stand_behind_ours_in_a_call_and_in_no_check(
    plugin: ModelPlugin, status: int, code: str | None, message: str, sentence: str
) -> None:
    long = f"{message} {KEY} {'x' * 300}"
    fault = HttpError(status=status, code=code, message=long, times=None)
    with ResponsesSimulator(faults=[fault], models_status=status) as server:
        told = plugin.invoke(server, key=KEY).error.message
        model = plugin.validate(server, model="gpt-5.2", openai_api_key=KEY).error.message

    ours, _, theirs = told.partition("Limit" if "Limit" in message else message[:4])
    assert sentence in ours
    assert ours.endswith(("The server says: ", ": "))
    assert ("sk-abcd" in told, KEY in told) == (False, False)
    assert 100 < len(theirs) < 270
    assert "xxx" not in model
    assert sentence in model or status == 400


def test_a_failed_check_of_credentials_is_its_sentence_alone(plugin: ModelPlugin) -> None:
    with ResponsesSimulator(api_keys=["another"]) as server:
        error = plugin.validate(server).error

    assert error is not None
    assert (error.error_type, error.details) == ("CredentialsValidateFailedError", {})
    assert error.message.endswith(".")


UNREADABLE = """
import dify_plugin
import sys
from dify_plugin.core.server.stdio.response_writer import StdioResponseWriter
from model_adapter import shorten_line
from pydantic import TypeAdapter
from dify_plugin_kit.stdout import LineStream

written = []
plain, sys.stdout = sys.stdout, LineStream(written.append, shorten_line)
try:
    TypeAdapter(dict).validate_json('["a-key-that-no-pattern-knows"]')
except ValueError as error:
    StdioResponseWriter().error(data={"error": str(error)})
print(written[0].decode(), file=plain)
"""


def test_a_line_that_the_sdk_cannot_read_is_not_quoted(run_inside: Callable[..., Any]) -> None:
    told = run_inside(UNREADABLE)

    assert told["event"] == "error"
    assert told["data"]["error"].startswith("1 validation error")
    assert KEY not in str(told)
