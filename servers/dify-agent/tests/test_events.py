import typing

import pytest
from pydantic import ValidationError

from dify_agent.compositor import CompositorSessionSnapshot
from dify_agent.protocol import (
    RUN_EVENT_ADAPTER,
    FileEvent,
    ModelRequestStartedEvent,
    RunCancelledEvent,
    RunEvent,
    RunFailedEvent,
    RunStartedEvent,
    RunSucceededEvent,
    TextDeltaEvent,
    ThinkingDeltaEvent,
    ToolCallEvent,
    ToolResultEvent,
)


EVENTS: list[RunEvent] = [
    RunStartedEvent(run_id="run-1"),
    ModelRequestStartedEvent(run_id="run-1", request_index=1, attempt=1),
    ThinkingDeltaEvent(run_id="run-1", text="Hm"),
    TextDeltaEvent(run_id="run-1", text="Hello"),
    ToolCallEvent(run_id="run-1", tool_call_id="c1", tool_name="search", arguments={"q": [1]}),
    ToolCallEvent(run_id="run-1", tool_call_id="c2", tool_name="search", arguments="{"),
    ToolResultEvent(
        run_id="run-1", tool_call_id="c1", tool_name="search", outcome="success", content="found"
    ),
    FileEvent(run_id="run-1", media_type="image/png", data=b"\x89PNG\xff\0", filename="a.png"),
    FileEvent(run_id="run-1", media_type="image/png", data=b"", tool_call_id="c1"),
    RunSucceededEvent(
        run_id="run-1", output={"a": 1}, session_snapshot=CompositorSessionSnapshot()
    ),
    RunFailedEvent(run_id="run-1", error="no", error_type="ValueError"),
    RunCancelledEvent(run_id="run-1"),
]


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_survives_json(event):
    assert RUN_EVENT_ADAPTER.validate_json(event.model_dump_json()) == event


@pytest.mark.parametrize("event", EVENTS)
def test_only_the_ends_of_a_run_are_terminal(event):
    ends = {"run_succeeded", "run_failed", "run_cancelled"}
    assert event.is_terminal == (event.type in ends)


def test_every_kind_of_event_is_tried_here():
    union = typing.get_args(RunEvent.__value__)[0]
    assert {type(event) for event in EVENTS} == set(typing.get_args(union))


def test_an_event_knows_when_it_happened_and_that_nobody_has_numbered_it():
    event = RunStartedEvent(run_id="run-1")
    assert event.sequence == 0
    assert event.created_at.utcoffset() is not None


def test_an_unknown_type_of_event_is_refused():
    with pytest.raises(ValidationError, match="does not match any of the expected tags"):
        RUN_EVENT_ADAPTER.validate_python({"type": "run_paused", "run_id": "run-1"})
