"""What Dify's API reads on `/runs…`, as the closed models of each of its versions have it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_server.executor import RunResult
from agent_server.runs import Run, StoredEvent
from dify_agent.dify_versions import DifyVersion
from dify_agent.server._dify.events import (  # noqa: PLC2701 - every kind of event, one by one
    FIRST_CURSOR,
    format_cursor,
    parse_cursor,
    project_event,
    project_run,
)
from dify_agent.server._dify.requests import CancelRequest  # noqa: PLC2701 - likewise


AT = datetime(2026, 11, 23, tzinfo=UTC)


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
    assert project_run(make_run(status=status), V16) == {
        "run_id": "r",
        "status": shown,
        "created_at": AT.isoformat(),
        "updated_at": AT.isoformat(),
        "error": None,
    }


def test_a_failed_run_has_its_error_and_since_1_17_the_only_type_that_dify_knows():
    failed = make_run(
        status="failed", result=RunResult(status="failed", error="no", error_type="X")
    )
    limited = RunResult(status="failed", error="no", error_type="model_request_limit")

    assert project_run(failed, V16)["error"] == "no"
    assert project_run(failed, V17_0)["error_type"] is None
    assert (
        project_run(make_run(status="failed", result=limited), V17_0)["error_type"]
        == "agent_run_limit_exceeded"
    )


@pytest.mark.parametrize(
    ("asked", "error"),
    [({}, None), ({"reason": "a"}, "a"), ({"reason": "a", "message": "b c"}, "b c")],
)
def test_a_cancelled_run_says_why(asked, error):
    reason = CancelRequest.model_validate(asked).text
    assert project_run(make_run(status="cancelled", cancel_reason=reason), V16)["error"] == error


def project(type_, data, version):
    event = StoredEvent(number=7, type=type_, created_at=AT, data=data)
    return project_event("r", event, version)


V16, V17_0, V17, V18 = map(DifyVersion.parse, ("1.16.0", "1.17.0", "1.17.1", "1.18"))
CALL = {"tool_call_id": "c", "tool_name": "search"}
STATE = {"name": "prompt", "lifecycle_state": "suspended", "runtime_state": {"a": 1}}
SNAPSHOT_1 = {"schema_version": 1, "layers": [STATE]}
SNAPSHOT_2 = {"schema_version": 2, "layers": {"prompt": {"a": 1}}}
PRICES = {"prompt_price": "0.1", "total_price": "0.3", "currency": "USD", "latency": 1.5}
DETAILS = {
    "session_snapshot": {"schema_version": 1, "layers": [STATE | {"type_id": "x"}]},
    "prices": PRICES,
}
QUESTION = CALL | {"args": {"question": "Who?"}, "metadata": {"layer_type": "dify.ask_human"}}
USAGE = {"input_tokens": 3, "output_tokens": 4, "model_requests": 1}
TOKENS = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
LIMITED = {"error": "too much", "reason": None, "error_type": "agent_run_limit_exceeded"}
LEFT = {"details": DETAILS, "usage": USAGE}
AGENT = [
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
]


@pytest.mark.parametrize(("type_", "data", "expected"), AGENT)
@pytest.mark.parametrize("version", [V16, V18], ids=str)
def test_what_an_agent_does_has_the_keys_of_pydantic_ai_s_events_that_dify_reads(
    type_, data, expected, version
):
    delta = {"agent_message_delta": "Hi"} if type_ == "text_delta" else {}
    assert project(type_, data, version) == delta | {
        "id": "7",
        "run_id": "r",
        "created_at": AT.isoformat(),
        "type": "pydantic_ai_event",
        "data": expected,
    }


ENDS = [
    ("run_started", {"attempt": 1}, {version: {} for version in (V16, V17_0, V17, V18)}),
    (
        "run_succeeded",
        {"output": "Hi"} | LEFT,
        {
            V16: {"output": "Hi", "session_snapshot": SNAPSHOT_1, "usage": TOKENS},
            V17_0: {"output": "Hi", "session_snapshot": SNAPSHOT_1, "usage": TOKENS | PRICES},
            V18: {"output": "Hi", "session_snapshot": SNAPSHOT_2, "usage": TOKENS | PRICES},
        },
    ),
    (
        "run_succeeded",
        {"output": None, "details": DETAILS | {"deferred_tool_call": QUESTION}},
        {V16: {"deferred_tool_call": QUESTION, "session_snapshot": SNAPSHOT_1}},
    ),
    (
        "run_failed",
        {"error": "it broke", "error_type": "X"} | LEFT,
        {
            V16: {"error": "it broke", "reason": "X"},
            V17_0: {"error": "it broke", "reason": "X", "error_type": None},
            V17: {
                "error": "it broke",
                "reason": "X",
                "error_type": None,
                "session_snapshot": SNAPSHOT_1,
                "usage": TOKENS | PRICES,
            },
            V18: {
                "error": "it broke",
                "reason": "X",
                "error_type": None,
                "session_snapshot": SNAPSHOT_2,
                "usage": TOKENS | PRICES,
            },
        },
    ),
    *(
        (
            "run_failed",
            {"error": "it broke", "error_type": error_type, "details": {}},
            {V16: {"error": "it broke", "reason": reason}},
        )
        for error_type, reason in [
            ("ModelRateLimitError", "InvokeRateLimitError"),
            ("AgentRunValidationError", None),
        ]
    ),
    (
        "run_failed",
        {"error": "too much", "error_type": "run_time_limit", "details": {}},
        {
            V16: {"error": "too much", "reason": None},
            V17_0: LIMITED,
            V17: LIMITED,
        },
    ),
    (
        "run_cancelled",
        {"reason": "event_stream_failed\nThe stream broke."} | LEFT,
        {
            V16: {"reason": "event_stream_failed", "message": "The stream broke."},
            V17: {
                "reason": "event_stream_failed",
                "message": "The stream broke.",
                "session_snapshot": SNAPSHOT_1,
                "usage": TOKENS | PRICES,
            },
        },
    ),
    ("run_cancelled", {"reason": None}, {V18: {"reason": None, "message": None}}),
]


@pytest.mark.parametrize(
    ("type_", "data", "version", "expected"),
    [(type_, data, *each) for type_, data, of in ENDS for each in of.items()],
)
def test_a_run_begins_and_ends_with_the_keys_of_a_version_and_no_other(
    type_, data, version, expected
):
    shown = project(type_, data, version)
    assert (shown["type"], shown["data"]) == (type_, expected)


@pytest.mark.parametrize(
    ("type_", "data"),
    [("run_started", {"attempt": 2}), ("file", {}), ("model_request_started", {})],
)
def test_what_dify_has_no_word_for_is_left_out(type_, data):
    assert project(type_, data, V16) is None


@pytest.mark.parametrize("text", ["1", "1.15", "1.15.9", "v1.16", "1.16.0.1", ""])
def test_a_version_without_agents_is_refused(text):
    with pytest.raises(ValueError, match=r"expected a version of Dify from 1\.16\.0 on"):
        DifyVersion.parse(text)


def test_a_version_without_its_last_number_is_the_latest_of_its_line():
    assert DifyVersion.parse("1.17") > DifyVersion.parse("1.17.1")
    assert [str(DifyVersion.parse(text)) for text in ("1.18", "1.18.2")] == ["1.18", "1.18.2"]
