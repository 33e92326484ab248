import pytest

from agent_loop import should_emit_text


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
