import json
import math
import re
from decimal import Decimal

import pytest

from gpt5_audit import AuditLog


BODY = {
    "model": "gpt-5.2",
    "input": [{"role": "user", "content": "hi"}, {"role": "user", "content": "there"}],
    "stream": True,
    "store": False,
    "max_output_tokens": 8192,
    "text": {"format": {"type": "text"}},
    "tools": [{"type": "function", "name": "clock"}],
    "truncation": "disabled",
    "safety_identifier": "a" * 64,
}
AUDIT_ID = "0123456789ab"
REQUEST_ID = "req_0123456789abcdef"


class Untouchable:
    """An object that fails the test as soon as anything is asked of it."""

    def __getattribute__(self, name):
        raise AssertionError(name)

    def __bool__(self):
        raise AssertionError("truth")


class StatusError(Exception):
    status_code = 400
    request_id = REQUEST_ID
    code = "unsupported_value"
    param = "reasoning.summary"
    type = "invalid_request_error"
    body = message = "secret"


@pytest.fixture
def lines():
    return []


@pytest.fixture
def log(lines):
    return AuditLog(lines.append)


def fields_of(lines):
    assert len(lines) == 1
    prefix, _, text = lines[0].partition(" ")
    assert prefix == "openai_gpt5_audit"
    return json.loads(text)


@pytest.mark.parametrize("value", ["1", "true", "yes", "on", "TRUE", " On "])
def test_the_environment_switches_it_on(lines, value):
    log = AuditLog.from_env(lines.append, {"OPENAI_GPT5_AUDIT_LOG": value})
    log.request(BODY)

    assert log.enabled is True
    assert len(lines) == 1


@pytest.mark.parametrize(
    "environ", [{}, *({"OPENAI_GPT5_AUDIT_LOG": v} for v in ("", "0", "off", "2"))]
)
def test_it_is_off_otherwise(lines, environ):
    log = AuditLog.from_env(lines.append, environ)
    log.request(BODY)

    assert log.enabled is False
    assert lines == []


@pytest.mark.parametrize(("value", "enabled"), [("true", True), ("false", False)])
def test_the_environment_of_the_process_is_the_default(monkeypatch, value, enabled):
    monkeypatch.setenv("OPENAI_GPT5_AUDIT_LOG", value)

    assert AuditLog.from_env(print).enabled is enabled


def test_a_log_that_is_off_touches_nothing(lines):
    log, anything = AuditLog(lines.append, enabled=False), Untouchable()

    assert log.request(anything, base_url=anything, enable_stream=anything) == ""
    log.success(anything, model=anything, response_model=anything, request_id=anything)
    log.error(anything, audit_id=anything, model=anything, stream_event_type=anything)
    assert lines == []


def test_a_request_is_told_in_counts_and_settings(log, lines):
    audit_id = log.request(BODY, enable_stream=True)

    assert fields_of(lines) == {
        "event": "responses_api_request",
        "audit_id": audit_id,
        "model": "gpt-5.2",
        "response_format": "text",
        "enable_stream": True,
        "stream": True,
        "input_message_count": 2,
        "tool_count": 1,
        "max_output_tokens": 8192,
        "has_user": True,
        "has_stop": True,
        "base_url_host": "api.openai.com",
        "use_custom_base_url": False,
    }


def test_a_request_with_nothing_in_it_is_told_too(log, lines):
    audit_id = log.request({"input": "ping", "tools": None, "text": None})

    assert fields_of(lines) == {
        "event": "responses_api_request",
        "audit_id": audit_id,
        "input_message_count": 1,
        "tool_count": 0,
        "has_user": False,
        "has_stop": False,
        "base_url_host": "api.openai.com",
        "use_custom_base_url": False,
    }


def test_the_keys_of_a_line_are_sorted(log, lines):
    log.request(BODY)
    keys = list(fields_of(lines))

    assert keys == sorted(keys)


def test_every_request_has_an_id_of_its_own(log):
    ids = {log.request(BODY) for _ in range(50)}

    assert len(ids) == 50
    assert all(re.fullmatch("[0-9a-f]{12}", audit_id) for audit_id in ids)


@pytest.mark.parametrize(
    ("base_url", "host", "custom"),
    [
        (None, "api.openai.com", False),
        ("", "api.openai.com", False),
        ("  ", "api.openai.com", False),
        ("https://api.openai.com/v1", "api.openai.com", False),
        ("https://Gateway.Example.com:8443/v1?key=secret#part", "gateway.example.com", True),
        ("http://127.0.0.1:8080/v1", "127.0.0.1", True),
        ("http://[::1]:8080/v1", "[::1]", True),
        ("http://[fe80::1]", "[fe80::1]", True),
        ("http://gpt5-gateway", "gpt5-gateway", True),
        ("https://user:secret@gateway.example.com/v1", None, True),
        ("https://user:se/cret@gateway.example.com/v1", None, True),
        ("https://sk-proj-secret/v1", None, True),
        ("https://two words/v1", None, True),
        ("https:///v1", None, True),
        ("ftp://gateway.example.com", None, True),
        ("gateway.example.com", None, True),
        ("https://" + "a" * 64 + ".com", None, True),
        ("https://" + "a." * 130 + "com", None, True),
    ],
)
def test_only_a_plain_host_of_the_base_url_is_told(log, lines, base_url, host, custom):
    log.request(BODY, base_url=base_url)
    fields = fields_of(lines)

    assert fields.get("base_url_host") == host
    assert fields["use_custom_base_url"] is custom


def test_a_success_names_the_answer(log, lines):
    log.success(AUDIT_ID, model="gpt-5", response_model="gpt-5-2025-08-07", request_id=REQUEST_ID)

    assert fields_of(lines) == {
        "event": "responses_api_success",
        "audit_id": AUDIT_ID,
        "model": "gpt-5",
        "response_model": "gpt-5-2025-08-07",
        "request_id": REQUEST_ID,
    }


def test_the_tier_that_was_asked_for_and_the_one_that_was_billed_are_told(log, lines):
    log.request({**BODY, "service_tier": "flex"})
    left_out = ("without_summary", "without_flex", "without_limit", "without_prompt_cache_key")
    left_out += ("without_result_media", "without_images", "without_files")
    log.success(AUDIT_ID, service_tier="default", left_out=left_out)

    asked, billed = (json.loads(line.partition(" ")[2]) for line in lines)
    assert asked["service_tier"] == "flex"
    assert (billed["service_tier"], billed["left_out"]) == (
        "default",
        ",".join(left_out),
    )


@pytest.mark.parametrize("left_out", [("my secret",), ("without_flex", "x"), ("without_flex,",)])
def test_other_words_for_what_was_left_out_are_not_told(left_out, log, lines):
    log.success(AUDIT_ID, service_tier="my secret", left_out=left_out)

    fields = fields_of(lines)
    assert (fields["service_tier"], fields["left_out"]) == ("other", "other")


class Tokens:
    input_tokens, cached_tokens, output_tokens, reasoning_tokens = 12, 8, 5, 0


class Details:
    cached_tokens, reasoning_tokens = 8, 0


class NestedTokens:
    input_tokens, output_tokens = 12, 5
    input_tokens_details = output_tokens_details = Details


SENT_TOKENS = {
    "input_tokens": 12,
    "input_tokens_details": {"cached_tokens": 8},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 17,
}
TOLD_TOKENS = {"input_tokens": 12, "cached_tokens": 8, "output_tokens": 5, "reasoning_tokens": 0}


@pytest.mark.parametrize("usage", [Tokens(), NestedTokens(), SENT_TOKENS], ids=type)
def test_duration_tokens_and_cost_are_told(log, lines, usage):
    log.success(
        AUDIT_ID, usage=usage, duration_seconds=1.23456, cost=Decimal("0.0000125"), currency="USD"
    )

    assert fields_of(lines) == TOLD_TOKENS | {
        "event": "responses_api_success",
        "audit_id": AUDIT_ID,
        "duration_seconds": 1.235,
        "cost": 0.0000125,
        "currency": "USD",
    }


def test_a_failure_tells_how_long_it_took_and_the_tokens_of_its_event(log, lines):
    response = {"status": "incomplete", "usage": SENT_TOKENS}
    event = {"type": "response.incomplete", "response": response}
    log.error(event, audit_id=AUDIT_ID, duration_seconds=3)

    assert fields_of(lines) == TOLD_TOKENS | {
        "event": "responses_api_error",
        "audit_id": AUDIT_ID,
        "event_type": "response.incomplete",
        "response_status": "incomplete",
        "duration_seconds": 3.0,
    }


@pytest.mark.parametrize(
    "value", [True, -0.1, 10**400, math.inf, math.nan, Decimal("sNaN"), "1", None]
)
def test_what_is_no_duration_and_no_cost_is_left_out(log, lines, value):
    log.success(AUDIT_ID, duration_seconds=value, cost=value)

    assert fields_of(lines).keys() == {"event", "audit_id"}


@pytest.mark.parametrize("value", ["usd", "US", "EURO", "\uff35SD", "", 840, None])
def test_what_is_no_currency_is_left_out(log, lines, value):
    log.success(AUDIT_ID, currency=value)

    assert fields_of(lines).keys() == {"event", "audit_id"}


@pytest.mark.parametrize("value", ["1", " Yes"])
def test_plain_json_has_nothing_before_the_object(lines, value):
    variables = {"OPENAI_GPT5_AUDIT_LOG": "1", "OPENAI_GPT5_AUDIT_LOG_JSON": value}
    for log in (
        AuditLog.from_env(lines.append, variables),
        AuditLog(lines.append, plain_json=True),
    ):
        assert log.plain_json
        log.success(AUDIT_ID)

    expected = {"event": "responses_api_success", "audit_id": AUDIT_ID}
    assert [json.loads(line) for line in lines] == [expected, expected]


def test_plain_json_alone_switches_nothing_on(lines):
    log = AuditLog.from_env(lines.append, {"OPENAI_GPT5_AUDIT_LOG_JSON": "1"})
    log.success(AUDIT_ID)

    assert (log.enabled, lines) == (False, [])


def test_a_streamed_success_counts_its_events(log, lines):
    log.success(AUDIT_ID, stream_event_count=0)

    assert fields_of(lines) == {
        "event": "responses_api_success",
        "audit_id": AUDIT_ID,
        "stream": True,
        "stream_event_count": 0,
    }


def test_an_exception_is_told_by_its_class_and_codes(log, lines):
    log.error(StatusError("secret"), audit_id=AUDIT_ID, model="gpt-5.2")

    assert fields_of(lines) == {
        "event": "responses_api_error",
        "audit_id": AUDIT_ID,
        "model": "gpt-5.2",
        "error_type": "StatusError",
        "status_code": 400,
        "request_id": REQUEST_ID,
        "code": "unsupported_value",
        "param": "reasoning.summary",
        "api_error_type": "invalid_request_error",
    }


def test_an_error_before_any_request_has_an_id_of_its_own(log, lines):
    log.error(ValueError("secret"), model="gpt-5.2")
    fields = fields_of(lines)

    assert re.fullmatch("[0-9a-f]{12}", fields.pop("audit_id"))
    assert fields == {
        "event": "responses_api_error",
        "model": "gpt-5.2",
        "error_type": "ValueError",
    }


def test_the_field_of_a_parameter_error_is_its_parameter(log, lines):
    error = ValueError("secret")
    error.field = "json_schema.strict"
    log.error(error)

    assert fields_of(lines)["param"] == "json_schema.strict"


@pytest.mark.parametrize("nested", [True, False])
def test_an_error_event_is_told_without_its_message(log, lines, nested):
    details = {"code": "rate_limit_exceeded", "message": "secret", "param": None}
    event = {"type": "error", "error": details} if nested else {"type": "error"} | details
    log.error(event, audit_id=AUDIT_ID, stream=True, stream_event_type="response.in_progress")

    assert fields_of(lines) == {
        "event": "responses_api_error",
        "audit_id": AUDIT_ID,
        "event_type": "error",
        "code": "rate_limit_exceeded",
        "stream": True,
        "stream_event_type": "response.in_progress",
    }


def test_a_failed_response_is_told_by_its_status_and_code(log, lines):
    response = {"status": "failed", "error": {"code": "server_error", "message": "secret"}}
    log.error({"type": "response.failed", "response": response}, audit_id=AUDIT_ID)

    assert fields_of(lines) == {
        "event": "responses_api_error",
        "audit_id": AUDIT_ID,
        "event_type": "response.failed",
        "response_status": "failed",
        "code": "server_error",
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("code", "hunter2"),
        ("code", "invalid_api_key: sk-secret"),
        ("type", "some_new_type"),
        ("param", "metadata.hunter2"),
        ("param", "input[0].content[0].secret"),
        ("param", "input" + ".content" * 50),
    ],
)
def test_a_word_that_is_not_known_is_told_as_other(log, lines, field, value):
    error = ValueError("secret")
    setattr(error, field, value)
    log.error(error)
    key = {"type": "api_error_type"}.get(field, field)

    assert fields_of(lines)[key] == "other"


@pytest.mark.parametrize(
    "param", ["input[12].content[0].text", "tools[0].name", "model", "text.format.schema"]
)
def test_a_path_of_known_words_is_told(log, lines, param):
    log.error({"type": "error", "param": param})

    assert fields_of(lines)["param"] == param


@pytest.mark.parametrize(
    "name",
    [
        "gpt-5-2025-08-07",
        "ft:gpt-5-mini-2025-08-07:my-org:custom_suffix:7p4lURel",
        "openrouter/openai/gpt-5.2:free",
        "openai.gpt-5.5",
        "ft:gpt-5:org::id",
    ],
)
def test_real_names_of_models_are_told(log, lines, name):
    log.success(AUDIT_ID, model=name, response_model=name)
    fields = fields_of(lines)

    assert (fields["model"], fields["response_model"]) == (name, name)


@pytest.mark.parametrize(
    "value",
    [
        "sk-proj-abcdef",
        "gpt/sk-abcdef",
        "What is the time?",
        "f" * 25,
        "a-" * 60 + "a",
        "gpt-5\n",
        "gpt-\uff15",
        "",
        7,
        ["gpt-5"],
        b"gpt-5",
    ],
    ids=repr,
)
def test_what_does_not_look_like_a_model_is_left_out(log, lines, value):
    log.success(AUDIT_ID, model=value)

    assert fields_of(lines).keys() == {"event", "audit_id"}


@pytest.mark.parametrize("value", ["sk-abc", "req_", "req_" + "a" * 65, "req_a b", "x" * 32, 5])
def test_what_does_not_look_like_a_request_id_is_left_out(log, lines, value):
    log.success(AUDIT_ID, request_id=value)

    assert fields_of(lines).keys() == {"event", "audit_id"}


def test_a_uuid_is_a_request_id(log, lines):
    log.success(AUDIT_ID, request_id="2f4c1d6e-8a1b-4c3d-9e5f-0123456789ab")

    assert fields_of(lines)["request_id"] == "2f4c1d6e-8a1b-4c3d-9e5f-0123456789ab"


@pytest.mark.parametrize("value", [True, -1, 10**10, 1.5, "8192", None])
def test_what_is_no_count_is_left_out(log, lines, value):
    log.request({"max_output_tokens": value})

    assert "max_output_tokens" not in fields_of(lines)


@pytest.mark.parametrize("value", ["true", 1, None, "secret"])
def test_what_is_no_boolean_is_left_out(log, lines, value):
    log.request({"stream": value}, enable_stream=value)

    assert fields_of(lines).keys().isdisjoint({"stream", "enable_stream"})
