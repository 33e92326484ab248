"""Real streams through the real process: the simulator sends the recorded bytes, the host drives the plugin."""

import json
import re
from pathlib import Path

import pytest

from gpt5_messages import without_addenda
from gpt5_simulator import Recording, ResponsesSimulator
from model_plugin import Answer, ModelPlugin


RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.sse"))
THINK = re.compile(r"\n?<think>\n(.*?)\n</think>", re.DOTALL)


def replay(plugin: ModelPlugin, path: Path, *, chunk_bytes: int | None = None) -> Answer:
    recording = Recording(name=path.stem, body=path.read_bytes(), is_stream=True)
    with ResponsesSimulator(replay=[recording], chunk_bytes=chunk_bytes, strict=False) as server:
        return plugin.invoke(server)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_stream_comes_out_as_what_was_said(plugin: ModelPlugin, path: Path) -> None:
    truth = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    is_whole = truth["status"] == "completed"

    answer = replay(plugin, path)

    assert without_addenda(THINK.sub("", answer.text)) == truth["text"] + (truth["refusal"] or "")
    assert "\n\n".join(THINK.findall(answer.text)) == "\n\n".join(truth["reasoning_summaries"])
    calls = [(call["call_id"], call["name"], call["arguments"]) for call in truth["function_calls"]]
    calls += [(call["call_id"], call["name"], call["input"]) for call in truth["custom_tool_calls"]]
    assert answer.calls == (calls if is_whole else [])
    usage = answer.last["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (
        truth["usage"]["input_tokens"],
        truth["usage"]["output_tokens"],
        truth["usage"]["total_tokens"],
    )
    finished = "tool_calls" if calls else "stop"
    assert answer.last["finish_reason"] == (finished if is_whole else "length")


def test_a_recording_cut_into_single_bytes_comes_out_the_same(plugin: ModelPlugin) -> None:
    path = next(path for path in RECORDINGS if path.stem == "unicode_arguments")

    assert replay(plugin, path, chunk_bytes=1).calls == replay(plugin, path).calls


def test_every_recording_has_its_truth_and_its_source() -> None:
    readme = (Path(__file__).parent / "recordings" / "README.md").read_text(encoding="utf-8")

    assert all(path.with_suffix(".expected.json").exists() for path in RECORDINGS)
    assert all(f"`{path.stem}`" in readme for path in RECORDINGS)
