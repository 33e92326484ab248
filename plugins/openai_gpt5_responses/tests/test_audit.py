"""The audit log, as an operator sees it in Dify's plugin log."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gpt5_audit import AuditLog
from gpt5_payloads import PayloadError
from gpt5_simulator import (
    HttpError,
    LateError,
    LateFailure,
    RawServer,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
    UnknownEvent,
)
from model_plugin import ModelPlugin, credentials_for
from raw_answers import json_answers


@pytest.fixture
def audited(configured_plugin: ModelPlugin) -> ModelPlugin:
    configured_plugin.notices.clear()
    return configured_plugin


def events(plugin: ModelPlugin) -> list[dict[str, object]]:
    lines = [notice.text for notice in plugin.notices]
    return [
        json.loads(line.removeprefix("openai_gpt5_audit "))
        for line in lines
        if line.startswith("openai_gpt5_audit ")
    ]


def test_a_call_leaves_a_request_and_a_success(
    audited: ModelPlugin, server: ResponsesSimulator
) -> None:
    audited.invoke(server, "a very private question", key="very-secret-key")

    request, success = events(audited)
    assert (request["event"], success["event"]) == (
        "responses_api_request",
        "responses_api_success",
    )
    assert request["audit_id"] == success["audit_id"]
    assert "very-secret-key" not in str(audited.notices)
    assert "private" not in str(audited.notices)


def test_an_error_s_line_names_every_parameter_of_the_form() -> None:
    rules = Path(__file__).parent.parent / "parameter_rules.yaml"
    names = [rule["name"] for rule in yaml.safe_load(rules.read_text(encoding="utf-8"))]
    lines: list[str] = []
    log = AuditLog(lines.append, plain_json=True)

    for name in names:
        log.error(PayloadError("It cannot be sent.", field=name))

    assert [json.loads(line)["param"] for line in lines] == names


def test_what_a_server_thinks_aloud_stands_in_no_line_and_its_refusal_does(
    audited: ModelPlugin,
) -> None:
    thinking = [[Reasoning(text=("They want noon.",)), Text(text="Noon.")]] * 3
    with ResponsesSimulator(model=ScriptedModel(thinking), strict=False) as server:
        answer = audited.invoke(server, "When?", key="very-secret-key").last["message"]
        refusal = "item['content'] is not an array: They want noon."
        server.add_fault(HttpError(status=400, message=refusal))
        question = {"role": "user", "content": "When?"}
        for _ in range(2):
            audited.invoke(server, [question, answer, question], key="very-secret-key")

    left_out = [event["left_out"] for event in events(audited) if "left_out" in event]
    assert left_out == ["without_reasoning_items"] * 2
    assert ["noon." in str(one.body["input"]) for one in server.requests] == [
        *(False, True, False, False)
    ]
    assert "noon." not in str(audited.notices)


def test_a_call_leaves_its_duration_and_its_tokens(
    audited: ModelPlugin, server: ResponsesSimulator
) -> None:
    usage = audited.invoke(server).last["usage"]

    _, success = events(audited)
    assert (success["input_tokens"], success["output_tokens"]) == (
        usage["prompt_tokens"],
        usage["completion_tokens"],
    )
    assert success["duration_seconds"] == round(usage["latency"], 3)


def test_the_lines_are_plain_json_where_an_operator_wants_that(
    hasty: ModelPlugin, server: ResponsesSimulator
) -> None:
    hasty.notices.clear()
    hasty.invoke(server)

    lines = [notice.text for notice in hasty.notices if "responses_api_" in notice.text]
    assert [json.loads(line)["event"] for line in lines] == [
        "responses_api_request",
        "responses_api_success",
    ]


def test_a_failed_call_leaves_an_error(audited: ModelPlugin) -> None:
    with ResponsesSimulator(faults=[HttpError(status=429)]) as server:
        audited.invoke(server)

    request, error = events(audited)
    assert (error["event"], error["status_code"]) == ("responses_api_error", 429)
    assert error["audit_id"] == request["audit_id"]


REQUEST_FIELDS = {
    "audit_id",
    "base_url_host",
    "event",
    "has_stop",
    "has_user",
    "input_message_count",
    "max_output_tokens",
    "model",
    "response_format",
    "stream",
    "tool_count",
    "use_custom_base_url",
}
SUCCESS_FIELDS = {
    *("audit_id", "event", "model", "request_id", "response_model", "service_tier"),
    *("cached_tokens", "duration_seconds", "input_tokens", "output_tokens", "reasoning_tokens"),
}
STREAMED = {"stream", "stream_event_count"}


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
def test_the_events_have_exactly_the_fields_that_are_allowed(
    audited: ModelPlugin, server: ResponsesSimulator, *, streamed: bool
) -> None:
    audited.invoke(server, stop=["END"], model_parameters={"enable_stream": streamed})

    request, success = events(audited)
    assert set(request) == REQUEST_FIELDS | {"enable_stream"}
    assert set(success) == SUCCESS_FIELDS | (STREAMED if streamed else set())
    assert (request["has_stop"], request["has_user"], request["tool_count"]) == (True, True, 0)
    assert (request["base_url_host"], request["use_custom_base_url"]) == ("127.0.0.1", True)


NAMES = (
    *("safety_identifier", "stream_options", "prompt_cache_key", "prompt_cache_options", "text.verbosity", "reasoning.summary"),
    *("include", "truncation", "service_tier", "parallel_tool_calls", "max_output_tokens"),
)  # fmt: skip
TOOL = {"name": "look", "description": "", "parameters": {"type": "object", "properties": {}}}


def test_what_the_server_does_not_know_is_told_in_both_logs_and_sent_no_more(
    audited: ModelPlugin,
) -> None:
    parameters = {"service_tier": "default", "prompt_cache_ttl": "30m"}
    call = {"stop": ["END"], "tools": [TOOL], "model_parameters": parameters, "model": "gpt-6-sol"}
    refused = HttpError(status=422, message=f"Extra inputs are not permitted: {', '.join(NAMES)}")
    with ResponsesSimulator(faults=[refused]) as server:
        answers = [audited.invoke(server, **call) for _ in range(2)]
        first, *others = [request.body for request in server.requests]

    assert [answer.error for answer in answers] == [None, None]
    names = ["without_summary", "without_verbosity", "without_limit"]
    names += [f"without_{name}" for name in NAMES if "." not in name and "max" not in name]
    for event in events(audited)[1::2]:
        assert sorted(str(event["left_out"]).split(",")) == sorted(names)
    [told] = [notice.text for notice in audited.notices if "Left out of a request" in notice.text]
    assert "127.0.0.1" in told
    assert "prompt cache key" in told
    assert len(others) == 2
    gone = {name.split(".")[0] for name in NAMES} - {"text", "reasoning"}
    for body in others:
        assert first.keys() - body.keys() == gone
        assert (body["text"].keys(), "summary" in body["reasoning"]) == ({"format"}, False)


def test_a_compatible_server_gets_only_what_all_know(audited: ModelPlugin) -> None:
    with ResponsesSimulator() as server:
        credentials = {**credentials_for(server, "key"), "compatibility": "compatible"}
        assert audited.invoke(server, credentials=credentials).error is None

    [body] = [request.body for request in server.requests]
    assert body.keys() == {
        *("model", "input", "stream", "store", "max_output_tokens", "reasoning", "text"),
    }


def test_a_failure_inside_a_stream_says_at_which_event(audited: ModelPlugin) -> None:
    with ResponsesSimulator(faults=[LateError(code="server_error")]) as server:
        audited.invoke(server)

    _, error = events(audited)
    assert set(error) == {
        *("audit_id", "code", "duration_seconds", "error_type", "event", "model", "request_id"),
        *("stream", "stream_event_type"),
    }
    assert (error["error_type"], error["code"]) == ("ServerError", "server_error")
    assert (error["stream"], error["stream_event_type"]) == (True, "error")


def test_a_request_that_is_never_sent_leaves_only_an_error(
    audited: ModelPlugin, server: ResponsesSimulator
) -> None:
    audited.invoke(server, model_parameters={"max_output_tokens": -1})

    (error,) = events(audited)
    assert (error["event"], error["param"]) == ("responses_api_error", "max_output_tokens")


SECRET = "sk-proj-TOPSECRETvalue0123456789"


def secret_calls(server: ResponsesSimulator) -> Iterator[dict[str, object]]:
    """Yield calls that hold the secret in every field that a caller can fill."""
    base = {"openai_api_key": "key", "openai_api_base": server.base_url, "max_retries": "0"}
    host = server.base_url.removeprefix("http://")
    for field, value in (
        ("openai_api_key", SECRET),
        ("openai_organization", SECRET),
        ("openai_api_base", f"http://user:{SECRET}@{host}"),
        ("openai_api_base", f"http://{SECRET}.invalid/v1"),
        ("openai_api_base", f"{server.base_url}?key={SECRET}"),
        ("request_timeout_seconds", SECRET),
        ("compatibility", SECRET),
    ):
        yield {"credentials": base | {field: value}}
    schema = {"type": "object", "properties": {SECRET: {"type": "string", "description": SECRET}}}
    call = {"id": SECRET, "type": "function", "function": {"name": SECRET, "arguments": SECRET}}
    for request in (
        {"messages": SECRET},
        {"messages": [{"role": "system", "content": SECRET}, {"role": "user", "content": "Hi"}]},
        {"messages": [{"role": "assistant", "content": SECRET, "tool_calls": [call]}]},
        {"messages": [{"role": "tool", "content": SECRET, "tool_call_id": SECRET}]},
        {"tools": [{"name": "f", "description": SECRET, "parameters": schema}]},
        {"tools": [{"name": SECRET + "!", "description": "", "parameters": {}}]},
        {"stop": [SECRET]},
        {"user_id": SECRET},
        {"model": SECRET},
        {"model_parameters": {"tool_choice": SECRET}},
        {"model_parameters": {"reasoning_effort": SECRET}},
        {"model_parameters": {"enable_stream": SECRET}},
        {"model_parameters": {"response_format": "json_schema", "json_schema": SECRET}},
        {
            "model_parameters": {
                "response_format": "json_schema",
                "json_schema": json.dumps({"name": "s", "schema": schema}),
            }
        },
    ):
        yield {"credentials": base, **request}


def test_no_secret_of_the_caller_s_is_ever_logged(audited: ModelPlugin) -> None:
    with ResponsesSimulator() as server:
        calls = list(secret_calls(server))
        audited.invoke_all(calls, at_once=1)

    assert len(events(audited)) >= len(calls)
    assert "TOPSECRET" not in str(audited.notices)


@pytest.mark.parametrize(
    "fault",
    [
        HttpError(status=400, message=SECRET, code=SECRET, param=SECRET, error_type=SECRET),
        HttpError(status=401, message=SECRET, code=SECRET),
        HttpError(status=500, message=SECRET, code=SECRET),
        LateError(code=SECRET, message=SECRET),
        LateFailure(code=SECRET, message=SECRET),
        UnknownEvent(event_type=SECRET),
    ],
    ids=["400", "401", "500", "error", "failed", "unknown"],
)
def test_no_secret_of_the_server_s_is_ever_logged(
    audited: ModelPlugin, fault: HttpError | LateError | LateFailure | UnknownEvent
) -> None:
    with ResponsesSimulator(faults=[fault]) as server:
        audited.invoke(server)

    assert len(events(audited)) == 2
    assert "TOPSECRET" not in str(audited.notices)


def test_without_the_setting_nothing_is_logged(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    plugin.invoke(server)

    assert events(plugin) == []


def test_what_a_server_passes_over_without_a_word_is_told_in_the_log(audited: ModelPlugin) -> None:
    with ResponsesSimulator(model=ScriptedModel([[Text(text="Hi")]] * 2)) as server:
        call = {"tools": [TOOL], "model_parameters": {"tool_choice": "required"}}
        for _ in range(2):
            assert audited.invoke(server, **call).text == "Hi"

    told = [notice.text for notice in audited.notices if "does not do what" in notice.text]
    assert [text.partition("127.0.0.1 ")[2].strip() for text in told] == [
        "does not do what a request asks for: tool_choice."
    ]


def test_an_answer_without_anything_is_a_failed_call(audited: ModelPlugin) -> None:
    body = b'{"status": "completed", "output": [], "usage": {"input_tokens": 3}}'
    for stream in (True, False):
        with RawServer(json_answers(body)) as server:
            answer = audited.invoke(server, stream=stream)

        assert answer.error.error_type == "InvokeServerUnavailableError"
        assert "without any output" in str(answer.error)
