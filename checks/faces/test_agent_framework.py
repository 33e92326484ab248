"""Microsoft's agent-framework, for which a served agent is the model of an agent of its own."""

import pytest
from agent_framework import Agent, Message
from agent_framework.openai import OpenAIChatClient

from served_agents import Sum


@pytest.fixture(params=[True, False], ids=["stored", "unstored"])
def agent_of(request, openai_client):
    """Give out a function that returns an agent whose model is a served agent."""

    def make(name, **settings):
        client = OpenAIChatClient(model=name, async_client=openai_client)
        options = {"store": request.param, "max_tokens": 100}
        return Agent(client=client, default_options=options, **settings)

    return make


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


async def test_it_calls_its_tool_in_two_turns_and_streams_the_second(agent_of):
    agent = agent_of("asker", tools=[get_weather])
    session = agent.create_session()
    first = await agent.run("How is the weather?", session=session)
    assert first.text == "Let me ask. The client says: sunny in Paris "

    stream = agent.run("And now?", session=session, stream=True)
    contents = [content async for update in stream for content in update.contents]
    # A text comes in pieces, and then as a whole that takes their place.
    pieces = [one.text for one in contents if one.type == "text" and one.merge_mode == "append"]
    assert len([one for one in pieces if one]) > 4
    assert "".join(pieces) == "Let me ask. The client says: sunny in Paris "
    assert (await stream.get_final_response()).text == "".join(pieces)


@pytest.mark.parametrize(("approve", "said"), [(True, "on their way"), (False, "did not approve")])
async def test_a_person_is_asked_and_it_goes_on(approve, said, agent_of):
    agent = agent_of("payer")
    session = agent.create_session()
    waiting = await agent.run("Refund me.", session=session)
    [asked] = waiting.user_input_requests
    decision = Message("user", [asked.to_function_approval_response(approve)])
    assert said in (await agent.run(decision, session=session)).text
    again = await agent.run("And again.", session=session)
    assert len(again.user_input_requests) == 1


async def test_what_the_agent_thinks_and_does_itself_is_told(agent_of):
    agent = agent_of("thinker")
    session = agent.create_session()
    first = await agent.run("Which?", session=session)
    contents = [content for message in first.messages for content in message.contents]
    assert [one.text for one in contents if one.type == "text_reasoning"] == [
        "First this, then that."
    ]
    assert (await agent.run("Again?", session=session)).text == "It is that. "
    assert (await agent_of("adder").run("Add.")).text == "The sums are 3 and 7. "


async def test_an_answer_has_the_form_that_the_agent_has(agent_of):
    answered = await agent_of("filler").run("?", options={"response_format": Sum})
    assert answered.value == Sum(total=4)
