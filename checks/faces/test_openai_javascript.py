"""The openai client for JavaScript, in a program of its own that prints what it was told."""

import pytest


@pytest.fixture(scope="module")
def told(run_program):
    return run_program("with_openai.mjs")


def test_it_streams_and_its_helper_puts_the_answer_together(told):
    assert told["text"] == "It is that. "
    assert told["numbers"] == list(range(len(told["types"])))
    assert told["types"][-1] == "response.completed"
    assert told["helped"] == told["added"] == "The sums are 3 and 7. "
    assert told["calls"] == ["3", "7"]


def test_it_calls_its_own_tool(told):
    assert told["asked"] == [["get_weather", {"city": "Paris"}]]
    assert told["answered"] == "The client says: sunny in Paris "


def test_a_person_is_asked(told):
    assert told["request"] == ["mcp_approval_request", "pay", "payer"]
    assert told["paid"] == "The bank says: 30 euros are on their way. "


def test_it_goes_on(told):
    assert told["turns"] == ["This is answer 1. ", "This is answer 2. ", "This is answer 2. "]
    assert told["items"] == ["user", "assistant", "user"]


def test_it_takes_up_a_stream_cancels_and_deletes(told):
    assert told["resumed"] == [told["resumed"][0], 5, "response.completed"]
    assert told["followed"] == list(range(5, told["resumed"][0]))
    assert told["followedText"] == "The sums are 3 and 7. "
    assert told["cancelled"] == "cancelled"
    deleted = {"kind": "NotFoundError", "status": 404, "code": "not_found", "param": None}
    assert told["deleted"] == deleted


def test_it_is_told_the_models_and_what_is_wrong(told):
    assert {"talker", "adder", "payer"} <= set(told["models"])
    assert told["refused"] == {
        "kind": "BadRequestError",
        "status": 400,
        "code": "unsupported_parameter",
        "param": "max_tool_calls",
    }


def test_it_parses_an_answer_in_the_form_that_the_agent_has(told):
    inner = {"name": "left", "weight": None, "steps": []}
    assert told["parsed"] == {"name": "go", "weight": 2, "steps": [inner]}
    assert "`properties.weight" in told["unlike"]
