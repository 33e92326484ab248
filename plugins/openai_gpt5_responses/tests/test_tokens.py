"""Counting tokens before a call is made, without a network."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpt5_simulator import Reasoning, ResponsesSimulator, ScriptedModel, Text
from model_plugin import ModelPlugin


TOOL = {"name": "lookup", "description": "Look a word up", "parameters": {"type": "object"}}
FILE = hashlib.sha1(
    b"https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
    usedforsecurity=False,
).hexdigest()
CACHE = Path(os.environ.get("TIKTOKEN_CACHE_DIR", f"{tempfile.gettempdir()}/data-gym-cache"))

COUNT = """
import dify_plugin, json, socket
def no_network(*arguments, **settings):
    raise AssertionError("the network was asked")
socket.create_connection = socket.getaddrinfo = no_network
from dify_plugin.entities.model.message import PromptMessageTool, UserPromptMessage
from model_adapter import estimate_tokens
tool = PromptMessageTool(name="lookup", description="Look a word up", parameters={"type": "object", "properties": {}})
print(json.dumps([
    estimate_tokens([UserPromptMessage(content="hello world " * 500)], [], model="gpt-5.2"),
    estimate_tokens([UserPromptMessage(content="hello world " * 500)], [tool], model="gpt-5.2"),
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


@pytest.mark.parametrize("content", [None, b"", b"broken"])
def test_without_the_tokenizer_s_file_the_number_is_estimated(
    run_inside: Callable[..., Any], tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / FILE).write_bytes(content)

    words, with_tool = run_inside(COUNT, TIKTOKEN_CACHE_DIR=str(tmp_path))

    assert words == pytest.approx(1500, abs=20)
    assert with_tool > words
    assert [path.name for path in tmp_path.iterdir()] == ([] if content is None else [FILE])


@pytest.mark.skipif(not (CACHE / FILE).is_file(), reason="tiktoken's files are not on this machine")
def test_with_the_tokenizer_s_file_the_number_is_exact(run_inside: Callable[..., Any]) -> None:
    words, with_tool = run_inside(COUNT, TIKTOKEN_CACHE_DIR=str(CACHE))

    assert words == pytest.approx(1001, abs=6)
    assert with_tool > words


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
