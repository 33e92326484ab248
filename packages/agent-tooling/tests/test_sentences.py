import pytest

from agent_tooling import (
    BUDGET_USED_UP,
    CHECK_CREDENTIALS,
    LOCAL_FILE_FAILED,
    REPEATED_FAILURE,
    TOOL_FAILED,
    TOOL_UNFINISHED,
    disallowed_tool_text,
    invoke_error_text,
    parameters_error_text,
    parse_error_text,
    repeated_key_text,
    timed_out_text,
    too_long_question_text,
    too_many_calls_text,
    too_many_questions_text,
    unknown_tool_text,
    validation_error_text,
)


@pytest.mark.parametrize(
    ("sentence", "wording"),
    [
        (TOOL_FAILED, "tool invoke error: failed to execute tool"),
        (
            REPEATED_FAILURE,
            "tool invoke error: repeated failure detected; skipped duplicate call",
        ),
        (CHECK_CREDENTIALS, "Please check your tool provider credentials"),
        (LOCAL_FILE_FAILED, "Failed to process generated image file."),
        (
            BUDGET_USED_UP,
            "tool invoke error: the budget of the run is used up; this call was not run",
        ),
        (TOOL_UNFINISHED, "tool invoke error: the tool did not answer in time"),
        (
            timed_out_text("X", 1),
            "tool invoke error: X did not answer within 1 second; it may still be going on",
        ),
        (
            timed_out_text("X", 2.5, may_go_on=False),
            "tool invoke error: X did not answer within 2.5 seconds; it was cancelled",
        ),
        (
            too_many_calls_text(128),
            "tool invoke error: only the first 128 calls of a round are made; this one was not run",
        ),
        (
            disallowed_tool_text("X", ["a", "b"]),
            "tool invoke error: X may not be called in this run; allowed are: a, b",
        ),
        (
            disallowed_tool_text("X", []),
            "tool invoke error: X may not be called in this run; allowed are: none",
        ),
        (
            too_many_questions_text(20),
            "tool invoke error: only 20 calls are asked for at a time; this one was not run",
        ),
        (
            too_long_question_text(23_456, 20_000),
            "tool invoke error: the arguments have 23,456 characters, and a person is asked about 20,000 at most; this call was not run",
        ),
        (
            repeated_key_text("a"),
            'tool arguments parse error: the key "a" stands twice; each may stand once',
        ),
        (unknown_tool_text("X"), "there is not a tool named X"),
        (parse_error_text("E"), "tool arguments parse error: E"),
        (validation_error_text("E"), "tool arguments validation error: E"),
        (
            parameters_error_text("E"),
            "tool parameters validation error: E, please check your tool parameters",
        ),
        (invoke_error_text("E"), "tool invoke error: E"),
    ],
)
def test_the_wording_is_part_of_the_contract(sentence, wording):
    assert sentence == wording
