"""@openai/agents, for which a served agent is the model of an agent of its own, in a program of its own that prints what it was told."""

import pytest


@pytest.fixture(scope="module")
def told(run_program):
    return run_program("with_openai_agents.mjs")


@pytest.mark.parametrize("kept", ["stored", "unstored"])
def test_it_streams_calls_its_tool_in_two_turns_and_goes_on(told, kept):
    assert told[kept]["first"] == told[kept]["second"] == "The client says: sunny in Paris "
    assert "".join(told[kept]["pieces"]) == "Let me ask. The client says: sunny in Paris "
    assert len(told[kept]["pieces"]) > 4
    assert told["byId"] == "This is answer 2. "


@pytest.mark.parametrize("store", ["true", "false"])
def test_a_person_is_asked_where_it_names_the_agent_as_a_server(told, store):
    assert told[f"{store} true"] == "The bank says: 30 euros are on their way. "
    assert "the user did not approve" in told[f"{store} false"]


def test_calls_of_the_agents_own_tools_are_not_its_business(told):
    assert told["adder"] == "The sums are 3 and 7. "
