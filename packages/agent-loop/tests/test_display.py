import pytest

from agent_loop import (
    AgentRun,
    AnswerChecked,
    Failure,
    Finished,
    ModelDelta,
    ModelDone,
    ModelFailure,
    ShowReasoning,
    ShowText,
    ToolCallFragment,
    ToolResult,
    should_emit_text,
)
from agent_tooling import AnswerSchema


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


ASKS = ModelDelta(tool_calls=(ToolCallFragment(call_id="c", name="clock", arguments="{}"),))
RESULT = ToolResult(call_id="c", content="<think>Sundial.</think>12:00")
SAYS = "<think>\nPlan.\n</think>\n"
ANSWER = ModelDelta(text=f"{SAYS}It is noon.\n")
REFUSED = "Maximum iteration limit (2) reached. Cannot call tool 'clock'. Please consider increasing the iteration limit."
OBJECT = AnswerSchema.parse({"type": "object"})
LATE = Failure(message="The time is up.", reason="time_limit")


@pytest.mark.parametrize(
    ("inputs", "maximum", "expected"),
    [
        ([ANSWER, ModelDone()], 3, "It is noon."),
        (
            [
                ModelDelta(text="Looking.", phase="commentary"),
                ModelDelta(text="It is noon.", phase="final_answer"),
                ModelDone(),
            ],
            3,
            "It is noon.",
        ),
        (
            [ModelDelta(text="Looking."), ASKS, ModelDone(), RESULT, ANSWER, ModelDone()],
            3,
            "It is noon.",
        ),
        ([ModelDelta(text=f"{SAYS}Looking."), ASKS, ModelDone(), RESULT], 1, "12:00"),
        (
            [ASKS, ModelDone(), RESULT, ANSWER, ASKS, ModelDone()],
            2,
            f"It is noon.\n{REFUSED}",
        ),
        (
            [ModelDelta(text="Looking."), ASKS, ModelDone(), RESULT, LATE],
            3,
            "The time is up.\nWhat the tools answered so far:\n- clock: 12:00",
        ),
        ([ModelDelta(text=SAYS), ModelDone()], 3, "The model returned no answer."),
        ([ModelFailure(message="broken off", is_transient=False)], 3, ""),
    ],
    ids=["answer", "commentary", "tools", "results", "refused", "late", "silent", "failed"],
)
def test_what_a_run_ends_with_is_told_without_thoughts_and_words_around_calls(
    inputs, maximum, expected
):
    run = AgentRun([{"role": "user", "content": "?"}], maximum_iterations=maximum)
    run.start()
    *_, finished = [event for received in inputs for event in run.feed(received)]
    assert isinstance(finished, Finished)
    assert finished.final_text == expected


@pytest.mark.parametrize(
    ("schema", "replacement", "expected"),
    [
        (OBJECT, None, '{"a": 1}'),
        (OBJECT, '{"a": 2}', '{"a": 2}'),
        (None, None, '```json\n{"a": 1}\n```'),
        (None, "{}", "{}"),
    ],
)
def test_a_checked_answer_is_what_a_run_ends_with(schema, replacement, expected):
    run = AgentRun([], maximum_iterations=3, answer_schema=schema, checks_answer=True)
    run.start()
    run.feed(ModelDelta(text=f'{SAYS}```json\n{{"a": 1}}\n```'))
    run.feed(ModelDone())
    *_, finished = run.feed(AnswerChecked(answer=replacement))
    assert finished.final_text == expected
