import pytest

from agent_loop import (
    AgentRun,
    ModelCallEnded,
    ModelDelta,
    ModelDone,
    ToolCall,
    ToolCallFragment,
)


def merge(*fragments):
    run = AgentRun([], maximum_iterations=2)
    run.start()
    for fragment in fragments:
        run.feed(ModelDelta(tool_calls=(ToolCallFragment(**fragment),)))
    [ended] = [event for event in run.feed(ModelDone()) if isinstance(event, ModelCallEnded)]
    return ended.tool_calls


def test_pieces_with_an_index_are_joined():
    assert merge(
        {"index": 0, "call_id": "c1", "name": "add", "arguments": '{"a"'},
        {"index": 1, "call_id": "c2", "name": "sub", "arguments": "{"},
        {"index": 0, "arguments": ": 1}"},
        {"index": 1, "arguments": "}"},
    ) == (
        ToolCall(call_id="c1", name="add", arguments='{"a": 1}'),
        ToolCall(call_id="c2", name="sub", arguments="{}"),
    )


@pytest.mark.parametrize(
    "fragments",
    [
        [{"arguments": "{}"}],
        [{"name": "add"}, {"name": "sub"}],
        [{"call_id": "c1"}],
        [{"call_id": " ", "name": "add"}],
    ],
)
def test_calls_without_id_or_name_are_left_out(fragments):
    assert merge(*fragments) == ()
