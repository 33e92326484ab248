"""Calls of a conversation that have no result: which they are, and how they are marked."""

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from dify_agent.runtime._history import (  # noqa: PLC2701 - of the runner, which is slow to be asked for each case
    INTERRUPTED,
    find_open_calls,
    interrupt_open_calls,
)


# As snapshots of earlier versions have it.
RETRY = {"part_kind": "retry-prompt", "content": "No.", "tool_name": "look"}


def asks(*ids):
    return ModelResponse([TextPart("Let me see."), *(ToolCallPart("look", {}, one) for one in ids)])


def results(*ids):
    return [ToolReturnPart("look", "seen", one) for one in ids]


def ids_of(message):
    return [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]


def test_the_calls_of_the_last_answer_are_open_until_they_have_results():
    said = [ModelRequest([UserPromptPart("Look.")]), asks("a", "b"), ModelRequest(results("a"))]

    assert find_open_calls([]) == find_open_calls(said[:1]) == []
    assert find_open_calls(said[:2]) == ["a", "b"]
    assert find_open_calls(said) == ["b"]
    retried = ModelMessagesTypeAdapter.validate_python(
        [{"kind": "request", "parts": [RETRY | {"tool_call_id": "b"}]}]
    )
    assert find_open_calls([*said, *retried]) == []


def test_open_calls_are_marked_where_models_look_for_their_results():
    given_first = ModelRequest(results("a"))
    closed = interrupt_open_calls([asks("a", "b"), given_first, asks("c")])

    assert [ids_of(message) for message in closed] == [[], ["b", "a"], [], ["c"]]
    assert closed[-1].parts[0].content == INTERRUPTED
    assert ids_of(given_first) == ["a"]


def test_requests_in_a_row_are_one_in_which_results_come_first():
    wanted = [UserPromptPart("Look."), UserPromptPart("Still there?")]
    row = [ModelRequest(wanted[:1]), ModelRequest(results("a")), ModelRequest(wanted[1:])]
    closed = interrupt_open_calls([asks("a"), *row])

    assert len(closed) == 2
    assert closed[1].parts == [*row[1].parts, *wanted]
    assert len(row[0].parts) == 1


def test_answers_in_a_row_are_one_unless_a_model_gave_them():
    told = [ModelResponse([TextPart(str(n))]) for n in range(5)]
    told[3] = ModelResponse(told[3].parts, model_name="gpt-5")
    closed = interrupt_open_calls(told)

    said = [[part.content for part in message.parts] for message in closed]
    assert said == [["0", "1", "2"], ["3"], ["4"]]
    assert closed[1].model_name == "gpt-5"
    assert len(told[0].parts) == 1


def test_calls_that_get_their_results_still_are_not_marked():
    closed = interrupt_open_calls([asks("a"), asks("b")], but={"b"})

    assert [ids_of(message) for message in closed] == [[], ["a"], []]


messages = st.lists(
    st.one_of(
        st.builds(
            lambda ids: asks(*ids), st.lists(st.sampled_from("abcd"), unique=True, max_size=3)
        ),
        st.builds(
            lambda ids: ModelRequest(results(*ids)),
            st.lists(st.sampled_from("abcd"), unique=True, max_size=3),
        ),
    ),
    max_size=8,
)


@given(messages)
def test_afterwards_no_call_is_open_and_nothing_that_was_said_is_gone(said):
    closed = interrupt_open_calls(said)

    assert interrupt_open_calls(closed) == closed
    assert find_open_calls(closed) == []
    parts = [part for message in closed for part in message.parts]
    assert all(part in parts for message in said for part in message.parts)
