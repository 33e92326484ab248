"""Our own client, `gpt5_responses.ResponsesClient`, by which a served agent is the model of another one."""

import json

import pytest

from agent_driver import Agent
from gpt5_messages import BlockDelta
from gpt5_responses import AsyncResponsesClient, Conversation, ModelConfig, Request, ResponsesClient


@pytest.fixture
def client_of(base_url):
    """Give out a function that returns a client for a served agent."""

    def connect(name, kind=ResponsesClient):
        return kind(ModelConfig(model_id=name, api_key="k1", base_url=base_url))

    return connect


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


def get_time(zone: str) -> str:
    """Tell the time."""
    return f"noon in {zone}"


def test_a_conversation_streams_calls_tools_and_goes_on(client_of):
    client = client_of("asker")
    tool = {
        "name": "get_weather",
        "description": "Tell the weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    conversation = Conversation()
    said = []
    for question in ("How is the weather?", "And now?"):
        conversation.ask(question)
        for _ in range(2):
            with client.stream(conversation.request(tools=[tool])) as stream:
                said += [
                    event.text
                    for event in stream
                    if isinstance(event, BlockDelta) and event.content == "text"
                ]
            conversation.add(stream.completion)
            for call in stream.completion.tool_calls:
                conversation.answer(call, "sunny")
    assert "".join(said) == "Let me ask. The client says: sunny " * 2
    assert stream.completion.usage.total_tokens == 10


def test_it_is_the_model_of_an_agent_with_tools(client_of):
    agent = Agent(client_of("asker"), [get_weather, get_time], instruction="Be brief.")
    with agent.stream("How is the weather?") as events:
        shown = [type(event).__name__ for event in events]
    result = events.result
    assert result.answered, result.error
    assert result.value == "The client says: sunny in Paris and noon in Paris "
    assert shown.count("ShowText") > 2
    again = agent.run("And now?", history=result.messages)
    assert again.value == result.value


@pytest.mark.parametrize(
    ("approve", "said"), [(True, "30 euros are on their way"), (False, "too much")]
)
def test_a_person_is_asked_and_the_answer_sent_with_the_history(approve, said, client_of):
    client, question = client_of("payer"), {"role": "user", "content": "Refund me."}
    first = client.complete(Request(messages=[question]))
    [asked] = first.approval_requests
    assert (asked.server_label, asked.name, asked.arguments) == ("payer", "pay", '{"euros": 30}')
    answer = {
        "type": "mcp_approval_response",
        "approval_request_id": asked.item_id,
        "approve": approve,
        "reason": "too much",
    }
    history = [question, *first.items, answer]
    second = client.complete(Request(messages=history))
    assert said in second.text
    # The run has gone on: what is asked after it is another turn.
    history += [*second.items, {"role": "user", "content": "And again."}]
    assert len(client.complete(Request(messages=history)).approval_requests) == 1


async def test_the_asynchronous_one_does_the_same(client_of):
    async with client_of("asker", AsyncResponsesClient) as client:
        agent = Agent(client, [get_weather])
        result = await agent.arun("How is the weather?")
    assert result.value == "The client says: sunny in Paris "


def test_what_the_served_agent_does_itself_is_not_asked_of_it(client_of):
    result = Agent(client_of("adder"), [get_weather]).run("Add.")
    assert result.value == "The sums are 3 and 7. "
    thinking = Agent(client_of("thinker"), emit_reasoning=True)
    with thinking.stream("Which?") as events:
        thoughts = [event.text for event in events if type(event).__name__ == "ShowReasoning"]
    assert "".join(thoughts) == "First this, then that."


def test_a_picture_reaches_the_served_agent(client_of):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}
    asked = {"role": "user", "content": [{"type": "text", "text": "What?"}, picture]}
    result = Agent(client_of("reader")).run([asked])
    _, (_, content) = json.loads(result.value)
    assert content[1]["image_url"] == "data:image/png;base64,cG5n"
