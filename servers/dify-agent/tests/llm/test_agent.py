import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelRateLimitError
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    ThinkingPartDelta,
)


@pytest.fixture
def agent(daemon):
    agent = Agent(daemon.model(), instructions="Use the tools.")

    @agent.tool_plain
    def weather(city: str) -> str:
        return f"Sunny in {city}."

    return agent


@pytest.fixture
def two_rounds(daemon):
    arguments = ['{"city":', '"Kyoto"}']
    daemon.reply(
        daemon.chunk("<think>\nLook "),
        daemon.chunk("it up.\n</think>"),
        daemon.chunk("", tool_calls=[daemon.call("c1", "weather", arguments[0])]),
        daemon.chunk(
            "",
            tool_calls=[daemon.call("c1", None, arguments[1])],
            usage=daemon.usage(prompt_tokens=10, completion_tokens=5),
            finish_reason="tool_calls",
        ),
    )
    daemon.reply(
        daemon.chunk("It is "),
        daemon.chunk("sunny."),
        daemon.chunk(
            "",
            usage=daemon.usage(prompt_tokens=20, completion_tokens=6),
            finish_reason="stop",
        ),
    )


@pytest.mark.usefixtures("two_rounds")
async def test_an_agent_runs_with_a_tool(daemon, agent):
    result = await agent.run("Kyoto?")

    assert result.output == "It is sunny."
    assert (result.usage.input_tokens, result.usage.output_tokens) == (30, 11)
    assert [prompt["role"] for prompt in daemon.sent["prompt_messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert daemon.sent["prompt_messages"][-1]["content"] == "Sunny in Kyoto."
    assert [body["data"]["stream"] for body in daemon.bodies] == [False, False]


@pytest.mark.usefixtures("two_rounds")
async def test_an_agent_streams_with_a_tool(daemon, agent):
    events = []

    async def keep(_, stream):
        events.extend([event async for event in stream])

    async with agent.run_stream("Kyoto?", event_stream_handler=keep) as result:
        deltas = [delta async for delta in result.stream_text(delta=True, debounce_by=None)]

    assert deltas == ["It is ", "sunny."]
    assert [type(event) for event in events if isinstance(event, FunctionToolCallEvent)]
    assert [type(event) for event in events if isinstance(event, FunctionToolResultEvent)]
    assert [body["data"]["stream"] for body in daemon.bodies] == [True, True]
    thoughts = [
        event.delta.content_delta
        for event in events
        if isinstance(event, PartDeltaEvent) and isinstance(event.delta, ThinkingPartDelta)
    ]
    starts = [event.part for event in events if isinstance(event, PartStartEvent)]
    assert [starts[0].content, *thoughts] == ["Look ", "it up."]


@pytest.mark.usefixtures("two_rounds")
async def test_a_run_ends_with_the_plugins_error(daemon, agent):
    daemon.answers[1] = (daemon.chunk("It "), daemon.error("InvokeRateLimitError", "slow down"))

    with pytest.raises(ModelRateLimitError, match="slow down"):
        await agent.run("Kyoto?")
