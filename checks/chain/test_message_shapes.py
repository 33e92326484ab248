"""Thirty shapes of messages: through gpt5-messages alone, through the model plugin's process, and, with `--official`, through the official one."""

from contextlib import aclosing

import pytest

from conftest import running
from dify_plugin_host import PluginInvokeError
from dify_plugin_host.installation import installed
from gpt5_messages import build_input
from gpt5_simulator import ResponsesSimulator
from message_shapes import CALL_ID, SHAPES, differences, media_of


TOOL = {
    "name": "look",
    "description": "Look",
    "parameters": {"type": "object", "properties": {}},
}
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)


class Caller:
    """A caller of one running model plugin."""

    def __init__(self, runner, process, provider):
        self._runner, self._process, self._provider = runner, process, provider

    def ask(self, server, messages):
        """Return the input that arrives at the server, and the answer; or what the plugin said instead."""
        return self._runner.run(self._ask(server, messages))

    async def _ask(self, server, messages):
        data = {
            "provider": self._provider,
            "model_type": "llm",
            "model": "gpt-5.2",
            "credentials": {"openai_api_key": "key", "openai_api_base": server.base_url},
            "prompt_messages": messages,
            "model_parameters": {},
            "tools": [TOOL],
            "stop": [],
            "stream": True,
        }
        before = len(server.requests)
        text = ""
        try:
            async with aclosing(self._process.invoke("model", "invoke_llm", data)) as chunks:
                async for chunk in chunks:
                    content = chunk["delta"]["message"]["content"]
                    text += content if isinstance(content, str) else ""
        except PluginInvokeError as error:
            return None, str(error)
        return server.requests[before:][-1].body["input"], text


@pytest.fixture
def caller(runner, model_process):
    return Caller(runner, model_process, "openai_gpt5_responses")


@pytest.fixture(scope="module")
def simulator():
    with ResponsesSimulator() as simulator:
        yield simulator


def test_there_are_thirty_shapes_that_differ():
    assert len({shape.name for shape in SHAPES}) == len(SHAPES) == 30
    assert len({str(shape.messages) for shape in SHAPES}) == 30


@each_shape
def test_every_part_becomes_what_the_api_takes_in_order(shape):
    assert differences(shape, build_input(shape.messages)) == []


@each_shape
def test_every_part_arrives_through_the_model_plugin_byte_for_byte(shape, caller, simulator):
    """The server refuses what stands at a wrong place, and its demonstration model says what it was shown."""
    items, answer = caller.ask(simulator, shape.messages)

    assert items is not None, answer
    assert differences(shape, items) == []
    assert answer.count(" SHA-256 ") == sum(
        "file_data" in part or part.get("image_url", "").startswith("data:") for part in shape.media
    )
    holders = [item for item in items if media_of([item])]
    kind = "function_call_output" if shape.place == "tool" else "message"
    assert all(item["type"] == kind for item in holders)
    assert all(item.get("role", "user") == "user" for item in holders)
    assert shape.place != "tool" or items[-1]["call_id"] == CALL_ID


# It refuses sound, and leaves images and files, and even texts beside them, where the API takes none.
OFFICIAL_DIFFERS = {
    shape.name
    for shape in SHAPES
    if shape.place in ("system", "assistant") or shape.name.startswith("sound")
}


def test_what_the_official_plugin_does_otherwise_is_known(package_official, runner, simulator):
    found = {}
    with running(runner, installed(package_official("models/openai"))) as process:
        official = Caller(runner, process, "openai")
        for shape in SHAPES:
            items, answer = official.ask(simulator, shape.messages)
            told = [answer[:200]] if items is None else differences(shape, items)
            if told:
                found[shape.name] = told
    assert set(found) == OFFICIAL_DIFFERS
