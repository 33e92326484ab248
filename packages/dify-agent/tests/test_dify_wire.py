"""What Dify's API sends and reads on `/runs…`, as its closed models of 1.16.0 have it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agent_server.executor import RunResult
from agent_server.runs import Run, StoredEvent
from dify_agent.protocol import CreateRunRequest
from dify_agent.server.dify_events import (
    FIRST_CURSOR,
    format_cursor,
    parse_cursor,
    project_event,
    project_run,
)
from dify_agent.server.dify_requests import CancelRequest, DifyRunRequest


AT = datetime(2026, 11, 23, tzinfo=UTC)

# Every field that Dify's API may send.
REQUEST = {
    "composition": {
        "schema_version": 1,
        "layers": [
            {
                "name": "agent_soul_prompt",
                "type": "plain.prompt",
                "deps": {},
                "metadata": {"origin": "agent_soul"},
                "config": {"prefix": "Be brief."},
            },
            {
                "name": "execution_context",
                "type": "dify.execution_context",
                "config": {
                    "tenant_id": "t1",
                    "user_id": None,
                    "agent_mode": "workflow_run",
                    "invoke_from": "debugger",
                    "trace_id": "trace",
                },
            },
            {"name": "history", "type": "pydantic_ai.history"},
            {
                "name": "llm",
                "type": "dify.plugin.llm",
                "deps": {"execution_context": "execution_context"},
                "config": {"plugin_id": "p", "model_provider": "openai", "model": "m"},
            },
        ],
    },
    "idempotency_key": "wf1:node7",
    "metadata": {"anything": [1]},
    "session_snapshot": {
        "schema_version": 1,
        "layers": [
            {"name": name, "lifecycle_state": "suspended", "runtime_state": {}}
            for name in ("agent_soul_prompt", "execution_context", "history", "llm")
        ],
    },
    "deferred_tool_results": None,
    "on_exit": {"default": "delete", "layers": {"history": "suspend"}},
}


def test_a_request_of_dify_s_becomes_one_of_ours_layer_by_layer():
    request = CreateRunRequest.model_validate(DifyRunRequest.model_validate(REQUEST).to_request())

    prompt, context, _, llm = request.composition.layers
    assert prompt.config == {"prefix": "Be brief."}
    assert (context.type, context.config) == ("dify.plugin", {"tenant_id": "t1", "user_id": None})
    assert llm.deps == {"plugin": "execution_context"}
    assert [layer.type_id for layer in request.session_snapshot.layers] == [
        "plain.prompt",
        "dify.plugin",
        "pydantic_ai.history",
        "dify.plugin.llm",
    ]
    assert request.on_exit.layers == {"history": "suspend"}


def test_a_request_of_ours_stays_as_it_is(build_request):
    request = CreateRunRequest.model_validate(build_request())
    body = request.model_dump(mode="json")

    again = DifyRunRequest.model_validate(body).to_request()

    assert CreateRunRequest.model_validate(again) == request


@pytest.mark.parametrize(
    ("field", "value"), [("surprise", 1), ("deferred_tool_results", {"calls": {}, "metadata": {}})]
)
def test_what_nobody_would_heed_is_refused(field, value):
    with pytest.raises(ValidationError, match=field):
        DifyRunRequest.model_validate(REQUEST | {field: value})


@pytest.mark.parametrize(
    ("body", "text"),
    [({}, None), ({"reason": "a"}, "a"), ({"reason": "a", "message": "b"}, "a: b")],
)
def test_why_a_run_is_stopped_is_one_text(body, text):
    assert CancelRequest.model_validate(body).text == text


@given(st.integers(min_value=0, max_value=10**15 - 1))
def test_a_cursor_names_a_number(number):
    assert parse_cursor(format_cursor(number)) == number


@pytest.mark.parametrize("text", ["", "-0", "x-0", "1-1", "-1", "²", "9" * 16, "0-0-0"])
def test_what_is_no_cursor_is_refused(text):
    with pytest.raises(ValueError, match="expected the id of an event"):
        parse_cursor(text)


def test_the_first_cursor_is_before_the_first_event():
    assert parse_cursor(FIRST_CURSOR) == 0


def make_run(**changes):
    fields = dict.fromkeys(("started_at", "finished_at", "cancel_reason", "result"))
    fields |= {"run_id": "r", "tenant": "t", "agent": "composition", "status": "queued"}
    fields |= {"metadata": {}, "attempt": 0, "created_at": AT, "cancel_requested": False}
    return Run(**(fields | {"last_event": 0} | changes))


@pytest.mark.parametrize(
    ("status", "shown"), [("queued", "running"), ("running", "running"), ("failed", "failed")]
)
def test_dify_knows_no_queue(status, shown):
    assert project_run(make_run(status=status)) == {
        "run_id": "r",
        "status": shown,
        "created_at": AT.isoformat(),
        "updated_at": AT.isoformat(),
        "error": None,
    }


def test_a_failed_run_has_its_error():
    result = RunResult(status="failed", error="it broke", error_type="X")
    assert project_run(make_run(status="failed", result=result))["error"] == "it broke"


def project(type_, data):
    event = StoredEvent(number=7, type=type_, created_at=AT, data=data)
    return project_event("r", event)


CALL = {"tool_call_id": "c", "tool_name": "search"}
SNAPSHOT = {"name": "prompt", "lifecycle_state": "suspended", "runtime_state": {"a": 1}}
DETAILS = {"session_snapshot": {"schema_version": 1, "layers": [SNAPSHOT | {"type_id": "x"}]}}
TOLD = {"output": "Hi", "details": DETAILS}
PROJECTED = [
    ("run_started", {"attempt": 1}, {}),
    (
        "text_delta",
        {"text": "Hi"},
        {
            "event_kind": "part_delta",
            "index": 0,
            "delta": {"part_delta_kind": "text", "content_delta": "Hi"},
        },
    ),
    (
        "thinking_delta",
        {"text": "Hm"},
        {
            "event_kind": "part_delta",
            "index": 0,
            "delta": {"part_delta_kind": "thinking", "content_delta": "Hm"},
        },
    ),
    (
        "tool_call",
        CALL | {"arguments": {"q": 1}},
        {
            "event_kind": "function_tool_call",
            "part": CALL | {"part_kind": "tool-call", "args": {"q": 1}},
        },
    ),
    (
        "tool_result",
        CALL | {"outcome": "retried", "content": "no"},
        {
            "event_kind": "function_tool_result",
            "part": CALL | {"part_kind": "tool-return", "content": "no", "outcome": "failed"},
        },
    ),
    (
        "run_succeeded",
        TOLD,
        {"output": "Hi", "session_snapshot": {"schema_version": 1, "layers": [SNAPSHOT]}},
    ),
    (
        "run_succeeded",
        TOLD | {"usage": {"input_tokens": 3, "output_tokens": 4}},
        {
            "output": "Hi",
            "session_snapshot": {"schema_version": 1, "layers": [SNAPSHOT]},
            "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
        },
    ),
    (
        "run_failed",
        {"error": "it broke", "error_type": "X"},
        {"error": "it broke", "reason": "X"},
    ),
    ("run_cancelled", {"reason": "enough"}, {"reason": "enough"}),
]


@pytest.mark.parametrize(("type_", "data", "expected"), PROJECTED)
def test_an_event_has_the_keys_of_dify_s_models_and_no_other(type_, data, expected):
    shown = project(type_, data)

    delta = {"agent_message_delta": "Hi"} if type_ == "text_delta" else {}
    own = type_ if type_.startswith("run_") else "pydantic_ai_event"
    assert shown == delta | {
        "id": "7",
        "run_id": "r",
        "created_at": AT.isoformat(),
        "type": own,
        "data": expected,
    }


@pytest.mark.parametrize(
    ("type_", "data"),
    [("run_started", {"attempt": 2}), ("file", {}), ("model_request_started", {})],
)
def test_what_dify_has_no_word_for_is_left_out(type_, data):
    assert project(type_, data) is None
