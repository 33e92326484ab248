import pytest

from agent_loop import (
    AgentRun,
    ModelCallEnded,
    ModelDelta,
    ModelDone,
    ModelFailure,
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
        [{"call_id": "c1"}],
        [{"call_id": "c1", "name": " "}],
    ],
)
def test_calls_without_a_name_are_left_out(fragments):
    assert merge(*fragments) == ()


@pytest.mark.parametrize("error", [None, "It failed."])
def test_the_end_of_a_call_has_what_the_client_told_last(error):
    run = AgentRun([], maximum_iterations=2)
    run.start()
    run.feed(ModelDelta(text="a", opaque_body={"first": 1}))
    run.feed(ModelDelta(opaque_body={"last": 1}))
    events = run.feed(
        ModelDone() if error is None else ModelFailure(message=error, is_transient=False)
    )

    [ended] = [event for event in events if isinstance(event, ModelCallEnded)]
    assert ended.opaque_body == {"last": 1}
