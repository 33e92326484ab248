import pytest

from agent_loop import (
    AgentRun,
    ModelDelta,
    ModelDone,
    ModelFailure,
    ShowReasoning,
    ShowText,
    should_emit_text,
)


@pytest.mark.parametrize(
    ("has_tool_calls", "iteration", "emits", "expected"),
    [
        (False, 1, False, True),
        (False, 1, True, True),
        (True, 1, True, True),
        (True, 1, False, False),
        (True, 2, False, False),
        (True, 3, False, True),
        (True, 4, False, True),
    ],
)
def test_text_beside_tool_calls_is_shown_on_request_or_in_the_last_round(
    has_tool_calls, iteration, emits, expected
):
    shown = should_emit_text(
        has_tool_calls=has_tool_calls,
        iteration=iteration,
        maximum_iterations=3,
        emit_intermediate_thoughts=emits,
    )
    assert shown is expected


@pytest.mark.parametrize("shows_thoughts", [True, False])
@pytest.mark.parametrize(
    "end",
    [ModelDone(), ModelFailure(message="broken off", is_transient=False)],
    ids=["done", "failed"],
)
def test_what_a_model_thinks_is_told_apart_from_what_it_says(shows_thoughts, end):
    run = AgentRun(
        [{"role": "user", "content": "?"}],
        maximum_iterations=3,
        emit_reasoning=True,
        emit_intermediate_thoughts=shows_thoughts,
    )
    run.start()
    inputs = [
        ModelDelta(text=text) for text in ("<think>\nAdd", " them.</th", "ink>", "It is 4.<thi")
    ]
    events = [event for received in (*inputs, end) for event in run.feed(received)]
    told = [event.text for event in events if isinstance(event, ShowReasoning)]
    assert told == ["Add", " them."]
    assert "It is 4." in "".join(e.text for e in events if isinstance(e, ShowText))


def test_a_thought_that_is_left_open_is_told_to_its_end():
    run = AgentRun([{"role": "user", "content": "?"}], maximum_iterations=3, emit_reasoning=True)
    run.start()
    events = [*run.feed(ModelDelta(text="<think>Is 3 <")), *run.feed(ModelDone())]
    told = [event.text for event in events if isinstance(event, ShowReasoning)]
    assert told == ["Is 3 ", "<"]


def test_nobody_is_told_what_a_model_thinks_unasked():
    run = AgentRun([{"role": "user", "content": "?"}], maximum_iterations=3)
    run.start()
    events = run.feed(ModelDelta(text="<think>Add.</think>4"))
    assert not any(isinstance(event, ShowReasoning) for event in events)
