"""The model plugin, for which a served agent is a model of a compatible server."""

from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from dify_plugin_host import PluginProcess


PLUGIN = Path(__file__).parents[2] / "plugins/openai_gpt5_responses"
WEATHER = {
    "name": "get_weather",
    "description": "Tell the weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture
async def invoke(base_url):
    """Give out a function that calls the plugin's process, and returns the text of each chunk and the calls of tools."""
    credentials = {"openai_api_key": "k1", "openai_api_base": base_url, "max_retries": "0"}
    async with PluginProcess(PLUGIN) as process:

        async def call(model, *messages, tools=()):
            data: dict[str, Any] = {
                "provider": "openai_gpt5_responses",
                "model_type": "llm",
                "model": model,
                "credentials": credentials,
                "prompt_messages": list(messages),
                "model_parameters": {},
                "tools": list(tools),
                "stop": None,
                "stream": True,
            }
            chunks = process.invoke("model", "invoke_llm", data, user_id="user")
            async with aclosing(chunks):
                return [chunk["delta"]["message"] async for chunk in chunks]

        yield call


def texts(told):
    """Return the texts of the chunks; one with reasoning has it beside its text."""
    contents = [one["content"] for one in told]
    return [one if isinstance(one, str) else one[0].get("data", "") for one in contents]


async def test_it_streams_calls_a_tool_and_goes_on(invoke):
    question = {"role": "user", "content": "How is the weather?"}
    told = await invoke("asker", question, tools=[WEATHER])
    assert "".join(texts(told)) == "Let me ask. "
    calls = [one for chunk in told for one in chunk["tool_calls"]]
    assert [(one["function"]["name"], one["function"]["arguments"]) for one in calls] == [
        ("get_weather", '{"city": "Paris"}')
    ]
    asked = {"role": "assistant", "content": "Let me ask. ", "tool_calls": calls}
    result = {"role": "tool", "content": "sunny", "tool_call_id": calls[0]["id"]}
    history = [question, asked, result]
    told = await invoke("asker", *history, tools=[WEATHER])
    assert "".join(texts(told)) == "The client says: sunny "
    assert len([text for text in texts(told) if text]) > 1

    history += [{"role": "assistant", "content": "The client says: sunny "}, question]
    again = await invoke("asker", *history, tools=[WEATHER])
    assert len([one for chunk in again for one in chunk["tool_calls"]]) == 1


async def test_what_the_served_agent_thinks_and_does_itself_is_told(invoke):
    told = await invoke("thinker", {"role": "user", "content": "Which?"})
    assert "".join(texts(told)).endswith("It is that. ")
    assert "First this, then that." in "".join(texts(told))
    told = await invoke("adder", {"role": "user", "content": "Add."})
    assert "".join(texts(told)) == "The sums are 3 and 7. "
    assert not [one for chunk in told for one in chunk["tool_calls"]]


async def test_what_a_person_would_have_to_allow_is_told_and_not_done(invoke):
    """Dify has no place where a person could allow a call of its model's: docs/plugins/openai-gpt5-responses.md."""
    question = {"role": "user", "content": "Refund me."}
    said = "The model asks for approval to call `payer.pay`"
    told = await invoke("payer", question)
    assert said in "".join(texts(told))
    answer = {"role": "assistant", "content": "".join(texts(told))}
    again = await invoke("payer", question, answer, {"role": "user", "content": "yes"})
    assert said in "".join(texts(again))
