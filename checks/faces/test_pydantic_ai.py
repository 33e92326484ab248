"""Pydantic AI, for which a served agent is the model of an agent of its own."""

import json

import pytest
from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolRequests,
    FunctionToolCallEvent,
    NativeOutput,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    UnexpectedModelBehavior,
)
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

from served_agents import Step, Sum


@pytest.fixture
def model_of(openai_client):
    """Give out a function that returns a served agent as a model."""
    provider = OpenAIProvider(openai_client=openai_client)
    return lambda name, **settings: OpenAIResponsesModel(
        name, provider=provider, settings=OpenAIResponsesModelSettings(**settings)
    )


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


async def test_it_gets_an_answer_with_its_thoughts_and_goes_on(model_of):
    result = await Agent(model_of("thinker"), instructions="Be brief.").run("Which?")
    assert result.output == "It is that. "
    thoughts = [one for one in result.response.parts if isinstance(one, ThinkingPart)]
    assert [one.content for one in thoughts] == ["First this, then that."]
    assert result.usage.total_tokens == 10

    agent = Agent(model_of("talker"))
    first = await agent.run("One.")
    second = await agent.run("Two.", message_history=first.all_messages())
    assert second.output == "This is answer 2. "
    settings = OpenAIResponsesModelSettings(openai_previous_response_id="auto")
    third = await agent.run(
        "Three.", message_history=second.all_messages(), model_settings=settings
    )
    assert third.output == "This is answer 3. "


@pytest.mark.parametrize(
    "settings", [{}, {"openai_store": False}, {"openai_previous_response_id": "auto"}]
)
async def test_its_tools_are_called(settings, model_of):
    agent = Agent(model_of("asker", **settings), tools=[get_weather])
    result = await agent.run("How is the weather?")
    assert result.output == "The client says: sunny in Paris "


async def test_it_streams_while_tools_are_called(model_of):
    agent = Agent(model_of("asker"), tools=[get_weather])
    texts, calls = [], []

    async def watch(_context, events):
        async for event in events:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    texts.append(text)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    texts.append(text)
                case FunctionToolCallEvent():
                    calls.append((event.part.tool_name, event.part.args))
                case _:
                    pass

    result = await agent.run("How is the weather?", event_stream_handler=watch)
    assert "".join(texts) == "Let me ask. The client says: sunny in Paris "
    assert len(texts) > 4
    assert calls == [("get_weather", '{"city": "Paris"}')]
    assert result.output == "The client says: sunny in Paris "


async def test_a_text_streams(model_of):
    async with Agent(model_of("talker")).run_stream("Hello.") as result:
        texts = [text async for text in result.stream_text(delta=True, debounce_by=None)]
    assert "".join(texts) == "This is answer 1. "
    assert len(texts) > 1


async def test_a_tool_of_its_own_that_waits_goes_on_later(model_of):
    agent = Agent(model_of("asker"), output_type=[str, DeferredToolRequests])
    agent.tool_plain(requires_approval=True)(get_weather)
    first = await agent.run("How is the weather?")
    assert [call.tool_name for call in first.output.approvals] == ["get_weather"]
    results = first.output.build_results(approve_all=True)
    second = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
    assert second.output == "The client says: sunny in Paris "


async def test_a_picture_reaches_the_agent(model_of):
    picture = BinaryContent(b"png", media_type="image/png")
    result = await Agent(model_of("reader")).run(["What?", picture])
    _, (_, content) = json.loads(result.output)
    assert [one["type"] for one in content] == ["input_text", "input_image"]
    assert content[1]["image_url"] == "data:image/png;base64,cG5n"


@pytest.mark.parametrize(
    ("name", "form", "answer"),
    [
        ("filler", Sum, Sum(total=4)),
        (
            "planner",
            Step,
            Step(name="go", weight=2, steps=[Step(name="left", weight=None, steps=[])]),
        ),
    ],
)
async def test_an_answer_has_the_form_that_the_agent_has(name, form, answer, model_of):
    result = await Agent(model_of(name), output_type=NativeOutput(form)).run("?")
    assert result.output == answer


async def test_what_a_person_would_have_to_allow_is_no_answer_to_it(model_of):
    """It knows no `mcp_approval_request`, and takes a response that has nothing else for an empty one."""
    with pytest.raises(UnexpectedModelBehavior):
        await Agent(model_of("payer"), retries=0).run("Refund me.")
