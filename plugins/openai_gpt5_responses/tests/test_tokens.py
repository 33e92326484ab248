"""Counting tokens before a call is made, without a network."""

import hashlib
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpt5_simulator import RawServer, Reasoning, ResponsesSimulator, ScriptedModel, Text
from model_plugin import PLUGIN, ModelPlugin
from raw_answers import json_answers


TOOL = {"name": "lookup", "description": "Look a word up", "parameters": {"type": "object"}}
DIGEST = (
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"  # as tiktoken 0.14 knows it
)
VOCABULARY = PLUGIN / "model_adapter" / "vocabulary" / "o200k_base.tiktoken.xz"
RECORDED = Path(__file__).parent / "recordings" / "counted_requests.json"

COUNT = """
import dify_plugin, json, socket
def no_network(*arguments, **settings):
    raise AssertionError("the network was asked")
socket.create_connection = socket.getaddrinfo = no_network
from dify_plugin.entities.model.message import PromptMessageTool, UserPromptMessage
from model_adapter import ModelCall, estimate_tokens
tool = PromptMessageTool(name="lookup", description="Look a word up", parameters={"type": "object", "properties": {}})
print(json.dumps([
    estimate_tokens(ModelCall(model="gpt-5.2", credentials={}, messages=[UserPromptMessage(content=text)], tools=tools))
    for text, tools in (("hello world " * 500, []), ("hello world " * 500, [tool]), *((piece * count, []) for piece, count in ((" ", 1_000_000), ("a", 100_000), ("\\n", 100_000))))
]))
"""


def count(plugin: ModelPlugin, text: str, tools: list[object]) -> int:
    (answer,) = plugin.call(
        "get_llm_num_tokens",
        model="gpt-5.2",
        credentials={},
        prompt_messages=[{"role": "user", "content": text}],
        tools=tools,
    ).chunks
    return answer["num_tokens"]


def test_tokens_are_counted_with_the_tools(plugin: ModelPlugin) -> None:
    assert count(plugin, "word " * 1000, []) == pytest.approx(1000, rel=0.3)
    assert count(plugin, "日本語" * 100, []) == pytest.approx(300, rel=0.5)
    assert count(plugin, "word", [TOOL]) > count(plugin, "word", [])
    assert count(plugin, "", []) < count(plugin, "word", [])


def test_the_vocabulary_is_the_file_that_tiktoken_would_download() -> None:
    data = lzma.decompress(VOCABULARY.read_bytes())

    assert hashlib.sha256(data).hexdigest() == DIGEST


def test_tokens_are_counted_without_a_network(run_inside: Callable[..., Any]) -> None:
    """A million blanks in one piece end tiktoken."""
    words, with_tool, blanks, letters, lines = run_inside(COUNT)

    assert words == 1001 + 6
    assert with_tool == words + 15 + 13
    assert blanks == pytest.approx(1_000_000 / 128, rel=0.01)
    assert letters == pytest.approx(100_000 / 8, rel=0.01)
    assert lines == pytest.approx(100_000 / 16, rel=0.01)


def test_plain_text_counts_as_servers_have_counted_it(plugin: ModelPlugin) -> None:
    for told in json.loads(RECORDED.read_text()):
        (answer,) = plugin.call(
            "get_llm_num_tokens",
            model=told["model"],
            credentials={},
            prompt_messages=told["messages"],
            tools=[],
        ).chunks
        recorded = told["input_tokens"]

        assert answer["num_tokens"] == pytest.approx(recorded, abs=max(3, 0.03 * recorded)), told


def test_an_answer_that_a_stop_sequence_ended_costs_what_is_known_of_it(
    plugin: ModelPlugin,
) -> None:
    """The closed stream never reports its usage; nothing at all would be the worst estimate."""
    turn = (Reasoning(summary=("A plan. " * 20,)), Text(text="word STOP " + "more " * 5000))
    with ResponsesSimulator(model=ScriptedModel([turn]), delay_seconds=0.001) as server:
        usage = plugin.invoke(server, "Count these words. " * 100, stop=["STOP"]).last["usage"]

    assert usage["prompt_tokens"] == pytest.approx(480, rel=0.3)
    assert 30 < usage["completion_tokens"] < 2500
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert float(usage["total_price"]) > 0


THOUGHT = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "word " * 500}]}
WANTED = {
    "type": "function_call",
    "call_id": "c1",
    "name": "lookup",
    "arguments": json.dumps({"q": "word " * 300}),
}
SAID = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "word " * 200}],
}


@pytest.mark.parametrize(
    ("usage", "sent", "received"),
    [
        (None, 400, 1_000),
        ({"input_tokens": 0, "output_tokens": 0}, 400, 1_000),
        ({"prompt_tokens": "7", "completion_tokens": 9.0}, 7, 9),
        ({"total_tokens": 9}, 400, 1_000),
        ({"output_tokens": 9}, 400, 9),
    ],
    ids=str,
)
def test_what_a_server_does_not_count_is_estimated(
    plugin: ModelPlugin, usage: dict[str, object] | None, sent: int, received: int
) -> None:
    response = {"status": "completed", "output": [THOUGHT, WANTED, SAID], "usage": usage}
    with RawServer(json_answers(json.dumps(response).encode())) as server:
        told = plugin.invoke(server, "word " * 400, stream=False).last["usage"]

    for counted, expected in ((told["prompt_tokens"], sent), (told["completion_tokens"], received)):
        assert expected <= counted <= (expected if expected < 10 else expected * 1.1 + 20)
    assert told["total_tokens"] == told["prompt_tokens"] + told["completion_tokens"]
