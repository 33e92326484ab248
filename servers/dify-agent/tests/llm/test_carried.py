from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)


ITEMS = {"responses_output": [{"type": "reasoning", "encrypted_content": "gAAA"}]}


def own(*parts: object, **rest: Any) -> ModelResponse:
    """Build an answer as this model's provider gave it."""
    details = {"model_provider": "openai", "opaque_body": ITEMS}
    known = {"provider_name": "DifyPlugin/langgenius/openai", "provider_details": details}
    return ModelResponse(parts=list(parts), **{**known, **rest})


def reply_in_two_rounds(daemon, **first: Any) -> None:
    thought = daemon.chunk("<think>\nAdd them.\n</think>Let me add.")
    call = daemon.chunk("", tool_calls=[daemon.call("c1", "add", '{"a": 2, "b": 2}')], **first)
    daemon.reply(thought, call).reply(daemon.chunk("4"))


def make_agent(daemon, **settings: Any) -> Agent:
    agent = Agent(daemon.model(**settings))

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        return a + b

    return agent


async def run(agent: Agent, *, streamed: bool) -> str:
    if not streamed:
        return (await agent.run("2+2?")).output
    async with agent.iter("2+2?") as agent_run:
        async for node in agent_run:
            if Agent.is_model_request_node(node):
                async with node.stream(agent_run.ctx) as stream:
                    async for _ in stream:
                        pass
    return agent_run.result.output


@pytest.mark.parametrize("streamed", [False, True])
async def test_reasoning_items_go_back_with_the_tool_results(daemon, streamed):
    reply_in_two_rounds(daemon, opaque_body=ITEMS)

    output = await run(make_agent(daemon), streamed=streamed)

    assert output == "4"
    assert daemon.sent["prompt_messages"] == [
        {"role": "user", "content": "2+2?"},
        {
            "role": "assistant",
            "content": "<think>\nAdd them.\n</think>Let me add.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"a":2,"b":2}'},
                }
            ],
            "opaque_body": ITEMS,
        },
        {"role": "tool", "content": "4", "tool_call_id": "c1", "name": "add"},
    ]


async def test_items_survive_a_stored_history(daemon):
    reply_in_two_rounds(daemon, opaque_body=ITEMS)
    stored = (await make_agent(daemon).run("2+2?")).all_messages_json()
    daemon.reply(daemon.chunk("You asked for a sum."))

    history = ModelMessagesTypeAdapter.validate_json(stored)
    await make_agent(daemon).run("What did I ask?", message_history=history)

    first, last = (m for m in daemon.sent["prompt_messages"] if m["role"] == "assistant")
    assert first["opaque_body"] == ITEMS
    assert (last["content"], "opaque_body" in last) == ("4", False)


async def test_items_of_a_content_part_are_kept_too(daemon):
    daemon.reply(daemon.chunk([{"type": "text", "data": "Hi", "opaque_body": ITEMS}]))

    answer = await daemon.ask()

    assert answer.provider_details == {"model_provider": "openai", "opaque_body": ITEMS}


async def test_the_last_body_of_an_answer_counts(daemon):
    daemon.reply(
        daemon.chunk("a", opaque_body={"n": 1}),
        daemon.chunk(
            [{"type": "text", "data": "b", "opaque_body": {"n": 2}}], opaque_body={"n": 3}
        ),
        daemon.chunk("c"),
    )

    answer = await daemon.ask()

    assert answer.provider_details["opaque_body"] == {"n": 3}


@pytest.mark.parametrize("body", [{}, [], "", 0, False])
async def test_a_body_may_be_any_value_but_null(daemon, body):
    daemon.reply(daemon.chunk("a", opaque_body=body))
    answer = await daemon.ask()

    _, prompt = await daemon.ask_for(ModelRequest.user_text_prompt("hi"), answer)

    assert (prompt["content"], prompt["opaque_body"]) == ("a", body)


async def test_a_body_without_anything_else_goes_back(daemon):
    (prompt,) = await daemon.ask_for(own())

    assert (prompt["content"], prompt["opaque_body"]) == ("", ITEMS)


async def test_a_body_goes_on_the_message_beside_files_too(daemon):
    picture = FilePart(content=BinaryContent(data=b"png", media_type="image/png"))

    (prompt,) = await daemon.ask_for(own(picture, TextPart("Here.")))

    assert prompt["content"][0] == {"type": "text", "data": "Here."}
    assert prompt["content"][1]["type"] == "image"
    assert "opaque_body" not in prompt["content"][1]
    assert prompt["opaque_body"] == ITEMS


@pytest.mark.parametrize(
    "origin",
    [
        {"provider_name": "DifyPlugin/langgenius/anthropic"},
        {"provider_name": None},
        {"provider_details": {"model_provider": "azure", "opaque_body": ITEMS}},
        {"provider_details": {"opaque_body": ITEMS}},
        {"provider_details": None},
    ],
)
async def test_items_of_another_provider_stay_behind(daemon, origin):
    answer = own(ThinkingPart("Add."), TextPart("4"), ToolCallPart("add", "{}", "c1"), **origin)

    (prompt,) = await daemon.ask_for(answer)

    assert prompt["content"] == "<think>\nAdd.\n</think>4"
    assert "opaque_body" not in prompt


async def test_a_phase_is_nothing_to_carry_back(daemon):
    said = [{"type": "text", "data": "I add.", "opaque_body": {"phase": "commentary"}}]
    daemon.reply(daemon.chunk(said), daemon.chunk("", opaque_body={"phase": "final_answer"}))
    assert (await daemon.ask()).provider_details == {"model_provider": "openai"}

    daemon.reply(daemon.chunk("", opaque_body=ITEMS), daemon.chunk(said))
    assert (await daemon.ask()).provider_details["opaque_body"] == ITEMS

    more = {"phase": "commentary", "id": 1}
    daemon.reply(daemon.chunk([{"type": "text", "data": "a", "opaque_body": more}]))
    assert (await daemon.ask()).provider_details["opaque_body"] == more


AS_GIVEN = [
    "<think>\n<!--marker-->1 &lt; 2\n</think>\n\nLet me add. ",
    "<think>plan</think>Adding.",
    "<THINK>plan</Think> Adding.",
    "One. <think>a<think>b</think>c</think>\n<think></think>Two.",
    "<think>\nleft open\n",
    "stray</think>tag",
    "\n\n",
    "No thought at all.",
]


@pytest.mark.parametrize("body", [None, {"reasoning_content": "1 < 2"}])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("text", AS_GIVEN)
async def test_a_text_goes_back_as_its_plugin_gave_it(daemon, text, streamed, body):
    """The plugins of DeepSeek and Moonshot rebuild a model's reasoning from it."""
    half = len(text) // 2
    call = daemon.chunk(text[half:], tool_calls=[daemon.call("c1", "add", '{"a": 2, "b": 2}')])
    daemon.reply(daemon.chunk(text[:half]), call, daemon.chunk("", opaque_body=body))
    daemon.reply(daemon.chunk("4"))

    await run(make_agent(daemon), streamed=streamed)

    prompt = daemon.sent["prompt_messages"][1]
    assert (prompt["content"], prompt.get("opaque_body")) == (text, body)


async def test_a_text_goes_back_as_it_came_from_a_stored_history(daemon):
    daemon.reply(daemon.chunk("<think>greet\n</think>\n\nHi"))
    stored = (await make_agent(daemon).run("Hello")).all_messages_json()
    daemon.reply(daemon.chunk("Again."))

    history = ModelMessagesTypeAdapter.validate_json(stored)
    await make_agent(daemon).run("And now?", message_history=history)

    assert daemon.sent["prompt_messages"][1]["content"] == "<think>greet\n</think>\n\nHi"


async def test_what_somebody_has_changed_in_a_history_counts(daemon):
    daemon.reply(daemon.chunk("<think>greet\n</think>\n\nHi Ann"))
    answer = await daemon.ask()
    changed = replace(answer, parts=[ThinkingPart("greet"), TextPart("Hi X")])

    (prompt,) = await daemon.ask_for(changed)

    assert prompt["content"] == "<think>\ngreet\n</think>Hi X"


async def test_the_text_of_another_provider_goes_as_its_parts_say(daemon):
    daemon.reply(daemon.chunk("<think><!--mark-->greet</think>\n\nHi"))
    answer = replace(await daemon.ask(), provider_name="DifyPlugin/langgenius/deepseek")

    (prompt,) = await daemon.ask_for(answer)

    assert prompt["content"] == "<think>\n<!--mark-->greet\n</think>Hi"
