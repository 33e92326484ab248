"""The clients that speak the WebSocket of the Responses API, against the simulator; our servers have none, and say so at once."""

import pytest
from agents import Agent as OpenAIAgent
from agents import (
    ModelSettings,
    function_tool,
    responses_websocket_session,
    set_tracing_disabled,
)
from openai import AsyncOpenAI, OpenAI
from openai.lib.responses_websocket import ResponsesWebSocketLimits, ResponsesWebSocketSession
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider
from websockets.exceptions import InvalidStatus

from gpt5_simulator import ResponsesSimulator


QUESTION = 'How is the weather in "Oslo"?'
ANSWER = "It snows."
LIMITS = ResponsesWebSocketLimits(
    max_lanes=1,
    max_events_per_lane=100,
    max_events=100,
    max_bytes_per_lane=2**20,
    max_bytes=2**20,
)


@pytest.fixture
def simulator():
    with ResponsesSimulator() as simulator:
        yield simulator


@pytest.fixture
def client(simulator):
    with OpenAI(base_url=simulator.base_url, api_key="k1", max_retries=0) as client:
        yield client


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return ANSWER if city == "Oslo" else "?"


def sent_to(simulator):
    """Return what the one socket carried: the types of each request's new items."""
    upgrade, *messages = simulator.requests
    assert (upgrade.method, upgrade.socket) == ("GET", None)
    assert {message.socket for message in messages} == {upgrade.number}
    return [
        [item.get("type", item.get("role")) for item in message.body["input"]]
        for message in messages
    ]


def test_openai_for_python_sends_only_what_is_new(simulator, client):
    tools = [
        {
            "type": "function",
            "name": "weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        }
    ]
    settings = {"model": "gpt-5.2", "tools": tools, "store": False}

    with client.responses.connect() as socket:
        socket.response.create(**settings, input=[{"role": "user", "content": QUESTION}])
        asked = next(event.response for event in socket if event.type == "response.completed")
        call = asked.output[-1]
        result = {"type": "function_call_output", "call_id": call.call_id, "output": ANSWER}
        socket.response.create(**settings, input=[result], previous_response_id=asked.id)
        answered = next(event.response for event in socket if event.type == "response.completed")
        socket.response.create(**settings, input=[], previous_response_id="resp_0")
        refused = socket.recv()

    assert ANSWER in answered.output_text
    assert (refused.status, refused.error.code) == (400, "previous_response_not_found")
    assert sent_to(simulator) == [["user"], ["function_call_output"], []]


def test_openai_for_python_puts_a_response_together(client):
    with (
        client.responses.connect() as socket,
        ResponsesWebSocketSession(socket, limits=LIMITS) as session,
    ):
        lane = session.default
        lane.send({"type": "response.create", "model": "gpt-5.2", "input": "Hello"})
        assert lane.get_final_response().output_text


def test_openai_for_javascript_sends_only_what_is_new(run_program, simulator):
    told = run_program("with_openai_websocket.mjs", simulator.base_url)
    assert told["call"] == '{"city":"Oslo"}'
    assert ANSWER in told["answer"]
    assert told["refused"] == [400, "previous_response_not_found"]


async def test_openai_agents_sends_only_what_is_new(simulator):
    set_tracing_disabled(disabled=True)
    agent = OpenAIAgent(
        name="clerk",
        model="gpt-5.2",
        tools=[function_tool(weather)],
        model_settings=ModelSettings(store=False),
    )
    history = [{"role": "user", "content": QUESTION}]
    async with responses_websocket_session(api_key="k1", base_url=simulator.base_url) as session:
        result = await session.run(agent, history, auto_previous_response_id=True)

    assert ANSWER in result.final_output
    assert sent_to(simulator) == [["user"], ["function_call_output"]]


async def test_pydantic_ai_sends_only_what_is_new(simulator):
    settings = OpenAIResponsesModelSettings(openai_transport="websocket", openai_store=False)
    async with AsyncOpenAI(base_url=simulator.base_url, api_key="k1", max_retries=0) as client:
        provider = OpenAIProvider(openai_client=client)
        model = OpenAIResponsesModel("gpt-5.2", provider=provider, settings=settings)
        async with model:
            result = await Agent(model, tools=[weather]).run(QUESTION)

    assert ANSWER in result.output
    assert sent_to(simulator) == [["user"], ["function_call_output"]]


def test_our_servers_refuse_a_websocket_at_once(base_url):
    with (
        OpenAI(base_url=base_url, api_key="k1") as client,
        pytest.raises(InvalidStatus) as refused,
    ):
        client.responses.connect().enter()
    assert refused.value.response.status_code == 405
