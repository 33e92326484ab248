"""What the platform says of a failed model call, and what a person reads of it."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counting import not_for_ever
from dify_plugin_kit.error_texts import read_call_failure, without_server_words


CUT = "Dify's plugin daemon ended it, because it took longer than one call may (DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT, 240 seconds by default)"
KILLED = "Dify's plugin daemon ended the model's plugin, because it took longer than it may (PLUGIN_MAX_EXECUTION_TIMEOUT, 600 seconds by default)"
CONNECTION = "a connection on the way to the model failed"
NOT_RUNNING = "the model's plugin is not running at the moment"
BROKE_OFF = "the answer of Dify's API broke off or could not be read"
UNREADABLE = "the answer could not be read"
SHAPE = "Failed to parse response: 2 validation errors for LLMResultChunk\ndelta.usage.total_price\n  Input should be a finite number"
HTML = "<!doctype html>\n<html lang=en>\n<title>500 Internal Server Error</title>\n"
DAEMON = "read llm model failed: "
DIFY = f"{DAEMON}request failed: "


def plugin_error(error_type, message, **args):
    return json.dumps({"args": args, "error_type": error_type, "message": message})


def frame(error_type, message):
    """What a daemon tells Dify of a plugin's error, and a naive client hands on."""
    inner = json.dumps({"message": message, "error_type": error_type, "args": None})
    return json.dumps({"code": -500, "message": inner, "data": None})


@pytest.mark.parametrize(
    ("text", "message", "wait"),
    [
        (
            f"{DAEMON}read tcp 127.0.0.1:33968->127.0.0.1:5001: use of closed network connection\nfailed to read system header",
            CUT,
            0,
        ),
        (f"{DAEMON}http: read on closed response body\nfailed to read data", CUT, 0),
        (
            'invoke llm model failed: Post "http://localhost:5001/inner/api/invoke/llm": dial tcp [::1]:5001: connect: connection refused',
            CONNECTION,
            2,
        ),
        (
            'invoke llm model failed: Post "http://api:5001/inner/api/invoke/llm": dial tcp: lookup api on 127.0.0.11:53: no such host',
            CONNECTION,
            2,
        ),
        (
            f"{DAEMON}read tcp 10.0.0.2:33968->10.0.0.3:5001: read: connection reset by peer",
            CONNECTION,
            2,
        ),
        (f"{DAEMON}unexpected EOF\nfailed to read data", BROKE_OFF, 0),
        (f"{DAEMON}EOF", CONNECTION, 2),
        (f"{DAEMON}magic number mismatch: 60", BROKE_OFF, 0),
        (f"{DAEMON}data is nil", BROKE_OFF, 0),
        (
            f"invoke llm model failed: request failed with status code: 500 and respond with: {HTML}",
            "Dify's API failed (status 500)",
            2,
        ),
        (
            "invoke llm model failed: request failed with status code: 502 and respond with: ",
            "Dify's API failed (status 502)",
            2,
        ),
        (
            f"{DIFY}req_id: 9e1e2daabe PluginDaemonInternalServerError: no proper instance",
            NOT_RUNNING,
            2,
        ),
        (f"{DIFY}req_id:  PluginDaemonUnavailableError: plugin runtime not found", NOT_RUNNING, 2),
        ("PluginDaemonInternalServerError: no available node, plugin not found", NOT_RUNNING, 2),
        ("Request to Plugin Daemon Service failed", NOT_RUNNING, 2),
        (
            DIFY
            + "[OpenAI] Error: PluginInvokeError: "
            + plugin_error(
                "PluginDaemonInnerError",
                f"invalid character '<' status: 503 original response: {HTML}",
            ),
            NOT_RUNNING,
            2,
        ),
        (
            frame("PluginDaemonInternalServerError", "killed by timeout"),
            KILLED,
            0,
        ),
        (
            "plugin 'models' ended with exit code -9; its stderr ends with: x",
            "the model's plugin died",
            2,
        ),
        (
            "invocation exited without response after 250 seconds",
            "nothing came of it for too long",
            0,
        ),
        (
            frame("PluginInvokeError", plugin_error("InvokeConnectionError", "Connection error.")),
            "Connection error.",
            0,
        ),
        (
            "[models] Server Unavailable Error, Error code: 503 - {'error': {'message': 'Overloaded', 'code': None}}",
            "Overloaded",
            0,
        ),
        (
            "[models] Rate Limit Error, Error code: 429 - {'error': {'message': 'Limit reached. Please try again in 6.5s.'}}",
            "Limit reached. Please try again in 6.5s.",
            6.5,
        ),
        *(
            (f"read llm model failed: request failed: {sentence}", sentence, 0)
            for sentence in (
                "The server failed to answer (status 503). Try again later.",
                "The server could not be reached: the name of the server was not found. Check the network and base_url.",
            )
        ),
        ("Rate limit reached, try again in 250ms", "Rate limit reached, try again in 250ms", 0.25),
        ("Too many requests, retry after 1m 0s", "Too many requests, retry after 1m 0s", 60),
    ],
)
def test_what_the_platform_breaks_off_may_pass_the_next_time(text, message, wait):
    failure = read_call_failure(text)
    assert (failure.message, failure.is_transient, failure.wait_seconds) == (message, True, wait)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{DIFY}req_id: 4d6c543bc1 PluginNotFoundError: plugin not found",
            "the model's plugin is not installed",
        ),
        (
            "permission denied, you need to enable llm access in plugin manifest",
            "this plugin has no permission to call models",
        ),
        (
            "unmarshal backwards invoke request failed: error decoding map: 1 error(s) decoding:\n\n* 'stop': source data must be an array or slice, got string",
            "Dify's plugin daemon could not read the request",
        ),
        (
            'invoke llm model failed: request failed with status code: 404 and respond with: {"code": "not_found", "status": 404}\n',
            "Dify's API refused it (status 404). Check DIFY_INNER_API_URL and DIFY_INNER_API_KEY of the plugin daemon",
        ),
        (
            f"{DIFY}[OpenAI] Incorrect model credentials provided, please check and try again.",
            "Incorrect model credentials provided, please check and try again.",
        ),
        (
            plugin_error("InvokeBadRequestError", "[models] Bad Request Error, connection refused"),
            "connection refused",
        ),
        (
            "[models] Bad Request Error, Error code: 400 - {'error': {'message': \"Invalid 'input[1].call_id'\", 'param': None}}",
            "Invalid 'input[1].call_id'",
        ),
        (
            f"{DIFY}[tongyi] Error: PluginInvokeError: {plugin_error('KeyError', repr('name'))}",
            "the model's plugin broke (KeyError): name",
        ),
        (
            "Failed to parse response: 1 validation error for LLMResultChunk\ndelta.message\n  Field required\n    For further information visit https://errors.pydantic.dev/2.14/v/missing",
            f"{UNREADABLE}: Field required (delta.message)",
        ),
        (
            f"{SHAPE} [type=finite_number, input_value={{'message': 'secret'}}, input_type=dict]\n    For further information visit https://errors.pydantic.dev\ndelta\n  ...",
            f"{UNREADABLE}: Input should be a finite number (delta.usage.total_price)",
        ),
        (
            f"{DIFY}[x] Error: PluginInvokeError: "
            + plugin_error(
                "ValidationError",
                "1 validation error for LLMUsage\ntotal_price\n  Input should be a finite number [type=finite_number, input_value=nan, input_type=float]",
            ),
            "the model's plugin broke (ValidationError): Input should be a finite number (total_price)",
        ),
        (
            frame(
                "PluginInvokeError",
                json.dumps(
                    {"error_type": "unmarshal_error", "message": "unmarshal json failed: EOF"}
                ),
            ),
            UNREADABLE,
        ),
        (
            "PluginInvokeError: "
            + json.dumps(
                {
                    "args": {
                        "description": '[models] Error: API request failed with status code 400: {"error":{"message":"Input exceeds the context window."}}'
                    }
                }
            ),
            "Input exceeds the context window.",
        ),
        (
            'PluginInvokeError: {"args":{"description":"[models] Error: {\\"error\\":{\\"message\\":\\"Input exceeds the context window. Please',
            "Input exceeds the context window. Please",
        ),
        (
            frame("PluginInvokeError", plugin_error("InvokeConnectionError", "Request timed out.")),
            "Request timed out.",
        ),
        (
            "Rate limit reached. Please try again in 20m0s.",
            "Rate limit reached. Please try again in 20m0s.",
        ),
        ("Too many requests. Wait and try again.", "Too many requests. Wait and try again."),
        (
            "Error code: 429 - {'error': {'message': 'You exceeded your current quota. Retry in 5s: https://platform.example/docs'}}",
            "You exceeded your current quota. Retry in 5s: (address)",
        ),
        ('{"detail": [{"loc": ["x"], "msg": "field required"}]}', "field required"),
        (
            "Model gpt-9 credentials is not initialized.",
            "Model gpt-9 credentials is not initialized.",
        ),
        ("boom at 12:30", "boom at 12:30"),
        ("[2001:db8::1]:443 PluginInvokeError: it is closed", "it is closed"),
        ("[2001:db8::1]:443 dial tcp 127.0.0.1:5001: OSError: it is closed", "it is closed"),
        ("10.0.0.1:80 10.0.0.2:80 plugin daemon: it is closed", "it is closed"),
        ("'it'", "it"),
        ("the proxy said <b>no</b>", "the proxy said"),
        ("it broke Traceback (most recent call last):\n  File x", "it broke"),
        (HTML, "no reason was given"),
        ("[models] Error: {}", "no reason was given"),
        ("{" * 30_000, "no reason was given"),
        ('{"message": ' * 3_000 + '"x"', "no reason was given"),
        ('{"message": ["deep"]}', "deep"),
        ('{"message": 5}', "no reason was given"),
        ("", "no reason was given"),
    ],
)
def test_what_is_refused_is_not_asked_again(text, message):
    failure = read_call_failure(text)
    assert (failure.message, failure.is_transient) == (message, False)


def test_secrets_are_taken_out_before_the_text_is_cut():
    said = read_call_failure("x" * 495 + "secret", redact=lambda text: text.replace("secret", "*"))
    assert said.message == "x" * 495 + "*"


PLAIN = st.sampled_from(
    [
        "no proper instance",
        "the account is closed",
        "killed by timeout",
        "context too long",
        "'name'",
    ]
)
NOISE = st.sampled_from(
    [
        "dial tcp 127.0.0.1:5001: ",
        'Post "http://api:5001/inner/api/invoke/llm": ',
        "[2001:db8::1]:443 ",
        "[models] Error: ",
        "req_id: 9e1e2daabe ",
        "PluginInvokeError: ",
        "",
    ]
)
WRAPPINGS = st.sampled_from(
    [
        lambda text: json.dumps({"message": text}),
        lambda text: json.dumps({"error": {"message": text, "code": None}}),
        lambda text: json.dumps({"args": {"description": text}, "error_type": "Exception"}),
        lambda text: repr({"error": {"message": text}}),
        lambda text: f"{json.dumps({'message': text})}\n",
        lambda text: json.dumps({"message": text})[:-1],
        lambda text: f"{text} {HTML}",
        lambda text: f"{text}\nTraceback (most recent call last):\n  File",
    ]
)


@given(PLAIN, st.lists(st.tuples(NOISE, WRAPPINGS), max_size=5))
def test_a_person_reads_no_addresses_no_markup_and_no_nested_json(plain, layers):
    text = plain
    for noise, wrap in layers:
        text = noise + wrap(text)
    said = read_call_failure(text).message
    assert said
    assert not re.search(
        r'[{}<>]|\\|": ?"|://|:\d{2,}|127\.0|db8|Traceback|PluginInvokeError', said
    )


@given(
    st.text(max_size=300) | st.lists(st.sampled_from("{}[]\"\\:'<>/a1 ."), max_size=80).map("".join)
)
def test_any_text_is_read(text):
    said = read_call_failure(text).message
    assert 0 < len(said) <= 500
    assert "{" not in said


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a.",
        "1.1.",
        "a:1",
        "[",
        "::",
        "plugin ",
        "unmarshal",
        '"message',
        "\\",
        '{"message":"',
        "Error",
        "<",
        "' '",
    ],
)
def test_no_text_takes_long_to_be_read(piece):
    with not_for_ever():
        read_call_failure(piece * 1_000_000)


@pytest.mark.parametrize(
    ("text", "is_transient", "wait"),
    [
        ("Too many requests. Wait. The server says: Try again in 1.5s. {}", True, 1.5),
        ("Too many requests. Wait. The server says: Slow down. {}", False, 0),
        ("The server failed to answer (status 502). The server says: {}", True, 0),
        ("The API key is not allowed to do this. The server says: {}", False, 0),
    ],
)
def test_what_a_server_says_tells_how_long_to_wait_and_nothing_else(text, is_transient, wait):
    said = "connection refused, rate limit, plugin not found"
    for wrapped in (text.format(said), plugin_error("Odd", text.format(said))):
        failure = read_call_failure(wrapped)
        assert (failure.is_transient, failure.wait_seconds) == (is_transient, wait)
        assert "The server says: " in failure.message


@pytest.mark.parametrize(
    "text",
    [
        "[models] Rate Limit Error, slow down",
        "Error code: 429 - {'error': {'message': 'You exceeded your current quota'}}",
        "[models] Server Unavailable Error, Overloaded",
        "Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}",
        "[models] Error: 503 Service Unavailable",
        "503 UNAVAILABLE. {'error': {'code': 503, 'message': 'Try again.', 'status': 'UNAVAILABLE'}}",
        "The service is temporarily unavailable.",
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "[models] Bad Request Error, The model `gpt-9` does not exist or you do not have access to it.",
        "This model has been deprecated, learn more here",
        "The server has no model 'gpt-9', or not for this key. Check the name and the key's access to it.",
        "OpenAI has not verified the key's organisation, which the model 'gpt-9' needs. Have it verified.",
        "plugin not found",
        "The server failed to answer (status 503). Try again later.",
    ],
)
def test_an_error_that_another_model_may_not_have_is_known_by_its_text(text):
    assert read_call_failure(text).may_pass_elsewhere


@pytest.mark.parametrize(
    "text",
    [
        "[models] Incorrect model credentials provided, please check and try again.",
        "[models] Bad Request Error, Invalid schema for function 'add'",
        "Your input exceeds the context window of this model.",
        "boom",
        "The API key is not allowed to do this. The server says: the model is not found for you.",
    ],
)
def test_an_error_of_the_request_is_no_others_business(text):
    assert not read_call_failure(text).may_pass_elsewhere


@pytest.mark.parametrize(
    ("sentence", "ours"),
    [
        ("Too many requests. The server says: Limit 3.\nUsed 3.", "Too many requests."),
        (
            "The call failed: The server refused the request (status 400), code 'a': No.\nb",
            "The call failed: The server refused the request (status 400), code 'a'.",
        ),
        ("The response failed, param 'b': Out: of room.", "The response failed, param 'b'."),
        ("The server failed to answer (status 503).", "The server failed to answer (status 503)."),
    ],
)
def test_what_a_server_has_said_can_be_left_out(sentence, ours):
    assert without_server_words(sentence) == ours
