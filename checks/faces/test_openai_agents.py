"""openai-agents, for which a served agent is the model of an agent of its own."""

import pytest
from agents import (
    Agent,
    HostedMCPTool,
    MCPToolApprovalRequest,
    ModelSettings,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)


@pytest.fixture
def model_of(openai_client):
    """Give out a function that returns a served agent as a model."""
    set_tracing_disabled(disabled=True)
    return lambda name: OpenAIResponsesModel(model=name, openai_client=openai_client)


@function_tool
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


async def test_it_gets_an_answer_and_goes_on(model_of):
    agent = Agent(name="clerk", instructions="Be brief.", model=model_of("talker"))
    first = await Runner.run(agent, "One.")
    assert first.final_output == "This is answer 1. "
    history = [*first.to_input_list(), {"role": "user", "content": "Two."}]
    assert (await Runner.run(agent, history)).final_output == "This is answer 2. "
    by_id = await Runner.run(agent, "Two.", previous_response_id=first.last_response_id)
    assert by_id.final_output == "This is answer 2. "


@pytest.mark.parametrize("store", [True, False])
async def test_its_tools_are_called_with_the_whole_history(store, model_of):
    agent = Agent(
        name="clerk",
        model=model_of("asker"),
        tools=[get_weather],
        model_settings=ModelSettings(store=store),
    )
    result = await Runner.run(agent, "How is the weather?")
    assert result.final_output == "The client says: sunny in Paris "
    kinds = [item.type for item in result.new_items]
    assert kinds == [
        *("message_output_item", "tool_call_item", "tool_call_output_item"),
        "message_output_item",
    ]


async def test_its_tools_are_called_with_the_id_of_the_response(model_of):
    agent = Agent(name="clerk", model=model_of("asker"), tools=[get_weather])
    result = await Runner.run(agent, "How is the weather?", auto_previous_response_id=True)
    assert result.final_output == "The client says: sunny in Paris "


async def test_it_streams_while_tools_are_called(model_of):
    agent = Agent(name="clerk", model=model_of("asker"), tools=[get_weather])
    result = Runner.run_streamed(agent, "How is the weather?")
    events = [event async for event in result.stream_events()]
    raw = [event.data for event in events if event.type == "raw_response_event"]
    texts = [one.delta for one in raw if one.type == "response.output_text.delta"]
    assert "".join(texts) == "Let me ask. The client says: sunny in Paris "
    assert result.final_output == "The client says: sunny in Paris "


async def test_calls_of_the_agents_own_tools_are_not_its_business(model_of):
    agent = Agent(name="clerk", model=model_of("adder"), tools=[get_weather])
    result = await Runner.run(agent, "Add.")
    assert result.final_output == "The sums are 3 and 7. "
    calls = [one.raw_item for one in result.new_items if one.type == "tool_call_item"]
    assert [(one.type, one.output) for one in calls] == [("mcp_call", "3"), ("mcp_call", "7")]


@pytest.mark.parametrize("approve", [True, False])
@pytest.mark.parametrize("by_id", [True, False])
async def test_a_person_is_asked_where_it_names_the_agent_as_a_server(approve, by_id, model_of):
    def decide(asked: MCPToolApprovalRequest):
        assert (asked.data.name, asked.data.arguments) == ("pay", '{"euros": 30}')
        return {"approve": approve, "reason": "too much"}

    named = {"type": "mcp", "server_label": "payer", "require_approval": "always"}
    tool = HostedMCPTool(tool_config=named, on_approval_request=decide)
    agent = Agent(name="clerk", model=model_of("payer"), tools=[tool])
    result = await Runner.run(agent, "Refund me.", auto_previous_response_id=by_id)
    said = "30 euros are on their way" if approve else "too much"
    assert said in result.final_output
