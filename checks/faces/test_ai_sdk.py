"""Vercel's AI SDK, for which a served agent is a model of its provider for OpenAI, in a program of its own that prints what it was told."""

import pytest


@pytest.fixture(
    scope="module", params=[("ai", "@ai-sdk/openai"), ("ai-6", "ai-6-openai")], ids=["7", "6"]
)
def told(request, run_program):
    return run_program("with_ai_sdk.mjs", *request.param)


@pytest.mark.parametrize("kept", ["stored", "unstored"])
def test_it_streams_calls_its_tool_in_two_turns_and_goes_on(told, kept):
    assert told[kept]["first"] == "The client says: sunny in Paris "
    assert told[kept]["steps"] == 2
    assert "".join(told[kept]["pieces"]) == "Let me ask. The client says: sunny in Paris "
    assert len(told[kept]["pieces"]) > 4
    assert told["byId"] == "This is answer 2. "


@pytest.mark.parametrize("kept", ["stored", "unstored"])
def test_what_the_agent_does_itself_is_told_and_goes_on(told, kept):
    calls = 2 * ["tool-call", "tool-result"]
    assert told[kept]["adder"] == [[*calls, "text"], "The sums are 3 and 7. "]
    assert told[kept]["thinker"] == [["reasoning", "text"], "It is that. "]


@pytest.mark.parametrize("kept", ["stored", "unstored"])
def test_a_person_is_asked_and_it_goes_on(told, kept):
    asked = ["tool-call", "tool-approval-request"]
    assert told[kept]["payer"] == [asked, "The bank says: 30 euros are on their way. ", asked]
    assert "the user did not approve" in told[kept]["refused"]


def test_an_answer_has_the_form_that_the_agent_has_and_another_is_named(told):
    inner = {"name": "left", "weight": None, "steps": []}
    assert told["step"] == {"name": "go", "weight": 2, "steps": [inner]}
    assert told["sum"] == {"total": 4}
    assert told["other"].endswith("it is another at `properties.total.type`")


def test_what_the_agent_decides_and_what_fails_is_told(told):
    assert "`toolChoice`" in told["choice"]
    assert told["failed"].endswith("the model is down")
