"""Events of an agent for Dify, as the versions of Pydantic AI read them that Dify has had."""

from datetime import UTC, datetime

import pytest

from agent_server.runs import StoredEvent
from dify_agent.dify_versions import DifyVersion
from dify_agent.server._dify.events import project_event  # noqa: PLC2701 - every outcome, one by one


CALL = {"tool_call_id": "c1", "tool_name": "search"}
TOLD = [
    ("text_delta", {"text": "Hi"}),
    ("thinking_delta", {"text": "Hm"}),
    ("tool_call", CALL | {"arguments": {"q": ["a", {"b": None}]}}),
    ("tool_call", CALL | {"arguments": "no JSON"}),
    *(
        ("tool_result", CALL | {"outcome": outcome, "content": "found"})
        for outcome in ("success", "failed", "denied", "retried", "interrupted", "later")
    ),
]


def build_events(version):
    at = datetime.now(UTC)
    told = (
        StoredEvent(number=number, type=type_, created_at=at, data=data)
        for number, (type_, data) in enumerate(TOLD, start=1)
    )
    return [project_event("run-1", event, DifyVersion.parse(version)) for event in told]


@pytest.mark.parametrize(("pydantic_ai", "dify"), [("1.102.0", "1.16.0"), ("2.30.0", "1.18.0")])
def test_all_that_an_agent_does_is_read(read_events, pydantic_ai, dify):
    events = build_events(dify)

    assert len(events) == len(TOLD)
    wrong = events[0] | {"surprise": 1}
    [(unread, why)] = read_events(pydantic_ai, [*events, wrong])
    assert unread == wrong
    assert "surprise" in why
