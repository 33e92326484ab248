"""Whatever a stream is broken by: a correct answer or an error that Dify knows, in bounded memory, and never a hang."""

import re

import pytest
import yaml

from broken_streams import BrokenStream, broken_streams
from gpt5_messages import without_addenda
from gpt5_simulator import ResponsesSimulator
from model_plugin import PLUGIN, Answer, ModelPlugin, credentials_for


MANIFEST = yaml.safe_load((PLUGIN / "manifest.yaml").read_text(encoding="utf-8"))
COUNT = 50
THINK = re.compile(r"\n?<think>\n(.*?)\n</think>", re.DOTALL)
DIFY_ERRORS = {
    "InvokeAuthorizationError",
    "InvokeBadRequestError",
    "InvokeConnectionError",
    "InvokeRateLimitError",
    "InvokeServerUnavailableError",
}
STREAMS = list(broken_streams(COUNT, seed=5))


def send(streams: list[BrokenStream], plugin: ModelPlugin) -> dict[str, Answer]:
    """Send every stream through the real process, one after the other; a call that hangs would end as a time-out."""
    recordings = [stream.recording for stream in streams]
    cuts = [stream.cut for stream in streams]
    with ResponsesSimulator(replay=recordings, faults=cuts, strict=False) as server:
        calls = [
            {"credentials": credentials_for(server, "key"), "model": stream.name}
            for stream in streams
        ]
        answers = plugin.invoke_all(calls, at_once=1)
    assert plugin.peak_memory_bytes < MANIFEST["resource"]["memory"]
    return {stream.name: answer for stream, answer in zip(streams, answers, strict=True)}


def assert_correct_or_known_error(answer: Answer, stream: BrokenStream) -> None:
    assert answer.text.count("<think>") == answer.text.count("</think>")
    if answer.error is not None:
        assert answer.error.error_type in DIFY_ERRORS
    else:
        truth = stream.truth
        assert without_addenda(THINK.sub("", answer.text)) == stream.added + truth["text"] + (
            truth["refusal"] or ""
        )
        calls = [call["call_id"] for call in truth["function_calls"] + truth["custom_tool_calls"]]
        assert [call_id for call_id, _, _ in answer.calls] == calls


@pytest.fixture(scope="module")
def outcomes(plugin: ModelPlugin) -> dict[str, Answer]:
    return send(STREAMS, plugin)


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_a_broken_stream_is_a_correct_answer_or_an_error_that_dify_knows(
    outcomes: dict[str, Answer], stream: BrokenStream
) -> None:
    assert_correct_or_known_error(outcomes[stream.name], stream)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 180))
def test_so_are_thousands_of_others(plugin: ModelPlugin, seed: int) -> None:
    streams = list(broken_streams(COUNT, seed=seed))
    answers = send(streams, plugin)

    for stream in streams:
        assert_correct_or_known_error(answers[stream.name], stream)


def test_both_outcomes_occur(outcomes: dict[str, Answer]) -> None:
    failed = [name for name, answer in outcomes.items() if answer.error is not None]

    assert COUNT // 4 < len(failed) < 3 * COUNT // 4
