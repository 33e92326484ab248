"""The same conversation, held by the client, by an agent and by the plugin: a picture, a tool and a thought in each of two turns."""

import re
from contextlib import aclosing
from pathlib import Path

from agent_driver import Agent
from dify_plugin_host import PluginProcess
from gpt5_messages import build_input, read_item
from gpt5_responses import Conversation, ModelConfig, Request, ResponsesClient


_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
PLUGIN = Path(__file__).parents[2] / "plugins/openai_gpt5_responses"
PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"  # one red pixel
QUESTIONS = ("How is the weather there?", "And now?")
INSTRUCTION = "Be brief."
SAID = ["The tool says: sunny in Paris."] * 2
TOOL = {
    "name": "get_weather",
    "description": "Tell the weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


def _asked(question):
    """Return a question with the picture."""
    picture = {"type": "image_url", "image_url": {"url": PICTURE}}
    return {"role": "user", "content": [{"type": "text", "text": question}, picture]}


def _client(base_url, model, key):
    config = ModelConfig(model_id=model, api_key=key, base_url=base_url)
    return ResponsesClient(config, defaults=Request(effort="low"))


async def talk_by_client(base_url, model, key):
    """Return the answers of the two turns."""
    client, said = _client(base_url, model, key), []
    conversation = Conversation()
    for question in QUESTIONS:
        items = map(read_item, build_input([_asked(question)]))
        conversation = Conversation([*conversation.items, *items])
        calls = True
        while calls:
            asked = conversation.request(instructions=INSTRUCTION, tools=[TOOL], effort="low")
            with client.stream(asked) as stream:
                list(stream)
            conversation.add(stream.completion)
            calls = stream.completion.tool_calls
            for call in calls:
                conversation.answer(call, get_weather("Paris"))
        said.append(stream.completion.text)
    return said


async def talk_by_agent(base_url, model, key):
    """Return the answers of the two turns."""
    agent = Agent(_client(base_url, model, key), [get_weather], instruction=INSTRUCTION)
    history, said = (), []
    for question in QUESTIONS:
        result = agent.run([_asked(question)], history=history)
        assert result.answered, result.error
        history = result.messages
        # ogx sends a summary of its thoughts after the answer, which begins a line there.
        said.append(result.value.rstrip())
    return said


async def talk_by_plugin(base_url, model, key):
    """Return the answers of the two turns, as `talk_with` does."""
    async with PluginProcess(PLUGIN) as process:
        return await talk_with(process, base_url, model, key)


async def talk_with(process, base_url, model, key):
    """Return the answers of the two turns by a plugin's process, without the thoughts that it shows beside them."""
    credentials = {"openai_api_key": key, "openai_api_base": base_url, "max_retries": "0"}
    history, said = [{"role": "system", "content": INSTRUCTION}], []
    for question in QUESTIONS:
        picture = {"type": "image", "format": "png", "mime_type": "image/png"}
        picture |= {"base64_data": PICTURE.partition(",")[2], "detail": "low"}
        parts = [{"type": "text", "data": question}, picture]
        history.append({"role": "user", "content": parts})
        calls = True
        while calls:
            data = {
                "provider": "openai_gpt5_responses",
                "model_type": "llm",
                "model": model,
                "credentials": credentials,
                "prompt_messages": history,
                "model_parameters": {"reasoning_effort": "low"},
                "tools": [TOOL],
                "stop": None,
                "stream": True,
            }
            chunks = process.invoke("model", "invoke_llm", data, user_id="user")
            async with aclosing(chunks):
                told = [chunk["delta"]["message"] async for chunk in chunks]
            text = "".join(map(_text, told))
            calls = [call for chunk in told for call in chunk["tool_calls"]]
            history.append({"role": "assistant", "content": text, "tool_calls": calls})
            results = [
                {"role": "tool", "content": get_weather("Paris"), "tool_call_id": call["id"]}
                for call in calls
            ]
            history += results
        said.append(_THOUGHT.sub("", text).strip())
    return said


def _text(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(one.get("data", "") for one in content)


TALKS = {"client": talk_by_client, "agent": talk_by_agent, "plugin": talk_by_plugin}
