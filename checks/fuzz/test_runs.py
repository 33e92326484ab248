"""Runs of agents with models and tools that do anything: a bounded number of calls, one result for each, an end."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_loop import (
    AgentRun,
    CallModel,
    Failure,
    Finished,
    Message,
    ModelDelta,
    ModelDone,
    RunTools,
    ShowText,
    TimeShort,
    ToolCallFragment,
    ToolResult,
)
from shapes import TEXTS, VALUES
from stream_text import ThinkFilter
from test_texts import JSON_TEXTS, TAGGED


QUESTION = (Message(role="user", content="?"),)
IDS = st.sampled_from(["c1", "c2", "call_0", ""]) | TEXTS
FRAGMENTS = st.builds(
    ToolCallFragment,
    call_id=IDS,
    name=st.sampled_from(["add", "sub", ""]) | TEXTS,
    arguments=JSON_TEXTS,
    index=st.none() | st.integers(0, 200),
)
DELTAS = st.builds(
    ModelDelta,
    text=TAGGED | TEXTS,
    tool_calls=st.lists(FRAGMENTS, max_size=3).map(tuple) | FRAGMENTS.map(lambda one: (one,) * 150),
    opaque_body=st.none() | VALUES,
    finish_reason=st.none() | TEXTS,
    phase=st.none() | st.sampled_from(["commentary", "final_answer"]) | TEXTS,
)
SETTINGS = st.fixed_dictionaries(
    {
        "maximum_iterations": st.integers(1, 4),
        "emit_intermediate_thoughts": st.booleans(),
        "tool_choice": st.sampled_from([None, "auto", "none", "required", "add"]),
        "has_tool_choice": st.booleans(),
    }
)


def drive(
    run: AgentRun, script: list[list[ModelDelta]], results: list[str], trouble: int
) -> list[Any]:
    """Answer a run by the script; after `trouble` events time runs short, and the tools after it fail."""
    events, pending = [], list(run.start())
    while pending:
        event = pending.pop(0)
        events.append(event)
        if run.state == "finished":
            continue
        trouble -= 1
        received: list[Any] = [TimeShort()] if trouble == 0 else []
        match event:
            case CallModel():
                received += [*script[event.round - 1], ModelDone()]
            case RunTools() if trouble == 1:
                received += [Failure(message="It broke.")]
            case RunTools(calls=calls):
                received += [
                    ToolResult(call_id=call.call_id, content=results[number % len(results)])
                    for number, call in enumerate(reversed(calls))
                ]
            case _:
                pass
        for one in received:
            pending += run.feed(one)
    return events


@given(
    SETTINGS,
    st.lists(st.lists(DELTAS, max_size=3), min_size=4, max_size=4),
    st.lists(TAGGED | TEXTS, min_size=1, max_size=3),
    st.integers(0, 30),
)
def test_any_model_and_any_tools_come_to_an_end(
    settings: dict[str, Any], script: list[list[ModelDelta]], results: list[str], trouble: int
) -> None:
    events = drive(AgentRun(QUESTION, tools=("add", "sub"), **settings), script, results, trouble)

    assert isinstance(events[-1], Finished)
    requests = [event for event in events if isinstance(event, CallModel)]
    assert 1 <= len(requests) <= settings["maximum_iterations"]
    assert all(len(event.calls) <= 128 for event in events if isinstance(event, RunTools))
    for before, after in pairwise(requests):
        assert after.messages[: len(before.messages)] == before.messages
    for request in requests:
        calls = [call for message in request.messages for call in message.tool_calls]
        answers = [message.tool_call_id for message in request.messages if message.role == "tool"]
        assert answers == [call.call_id for call in calls]
        assert all(isinstance(json.loads(call.arguments), dict) for call in calls)
    shown = "".join(event.text for event in events if isinstance(event, ShowText))
    if settings["emit_intermediate_thoughts"]:
        thoughts = ThinkFilter(show=True)
        assert thoughts.feed(shown) + thoughts.close() == shown
