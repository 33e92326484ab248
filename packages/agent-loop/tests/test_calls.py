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
        {"index": 0, "id": "c1", "name": "add", "arguments": '{"a"'},
        {"index": 1, "id": "c2", "name": "sub", "arguments": "{"},
        {"index": 0, "arguments": ": 1}"},
        {"index": 1, "arguments": "}"},
    ) == (
        ToolCall(id="c1", name="add", arguments='{"a": 1}'),
        ToolCall(id="c2", name="sub", arguments="{}"),
    )


def test_pieces_that_repeat_their_id_are_joined():
    assert merge(
        {"id": "c1", "name": "add", "arguments": '{"a"'},
        {"id": "c2", "name": "sub"},
        {"id": "c1", "arguments": ": 1}"},
    ) == (ToolCall(id="c1", name="add", arguments='{"a": 1}'), ToolCall(id="c2", name="sub"))


def test_pieces_without_id_and_index_belong_to_the_latest_call():
    assert merge({"id": "c1", "name": "add", "arguments": "{"}, {"arguments": "}"}) == (
        ToolCall(id="c1", name="add", arguments="{}"),
    )


def test_a_whole_call_sent_again_replaces_the_pieces():
    whole = {"id": "c1", "name": "add", "arguments": '{"a": 1}'}
    assert merge({**whole, "arguments": '{"a":'}, {"arguments": " 1}"}, whole, whole) == (
        ToolCall(id="c1", name="add", arguments='{"a": 1}'),
    )


@pytest.mark.parametrize("arguments", ['{"a": 1}{"a": 2}', "[" * 100_000, "{}x"])
def test_broken_arguments_are_never_mended(arguments):
    assert merge({"id": "c1", "name": "add", "arguments": arguments}) == (
        ToolCall(id="c1", name="add", arguments=arguments),
    )


def test_an_id_or_name_that_comes_later_completes_the_call():
    assert merge(
        {"index": 0, "arguments": "{"},
        {"index": 0, "id": "c1"},
        {"index": 0, "name": "add", "arguments": "}"},
    ) == (ToolCall(id="c1", name="add", arguments="{}"),)


def test_a_reused_index_with_another_id_is_another_call():
    assert merge(
        {"index": 0, "id": "c1", "name": "add"},
        {"index": 0, "id": "c2", "name": "sub"},
        {"index": 0, "arguments": "{}"},
    ) == (ToolCall(id="c1", name="add"), ToolCall(id="c2", name="sub", arguments="{}"))


@pytest.mark.parametrize(
    "fragments",
    [
        [{"arguments": "{}"}],
        [{"name": "add"}, {"name": "sub"}],
        [{"id": "c1"}],
        [{"id": " ", "name": "add"}],
    ],
)
def test_calls_without_id_or_name_are_left_out(fragments):
    assert merge(*fragments) == ()


def test_ids_that_differ_in_blank_space_only_are_one_call():
    assert merge({"id": "c1", "name": "a"}, {"id": "c1 ", "name": " b "}) == (
        ToolCall(id="c1", name="b"),
    )
