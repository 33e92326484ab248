"""What fails, and what a run is worth all the same."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from scripted_dify import (
    SHOWN_ALONE,
    DifyError,
    call,
    chunk,
    parameter,
    text_message,
    tool,
    usage,
)


PLUGIN = Path(__file__).parent.parent
ECHO = tool("echo", parameter("text"))


def statuses(transcript):
    """The states that each log went through, by label."""
    found = {}
    for message in transcript.of("log"):
        found.setdefault(message["message"]["id"], []).append(message["message"])
    return {logs[0]["label"]: [log["status"] for log in logs] for logs in found.values()}


def echo_call(number):
    return call("echo", json.dumps({"text": str(number)}), id_=f"c{number}")


def test_one_slow_and_one_failing_call_of_many_do_not_hold_or_break_the_others(agent):
    others_done = asyncio.Event()
    answered = []

    async def echo(request):
        answered.append(request["tool_parameters"]["text"])
        if len(answered) == 8:
            others_done.set()
        yield text_message(answered[-1])

    async def slow(_request):
        await others_done.wait()
        yield text_message("late")

    calls = [call("slow", id_="s"), call("bad", id_="b"), *map(echo_call, range(8))]
    agent.dify.model = [[chunk(calls=calls)], [chunk("Done.")]]
    agent.dify.tools = {"echo": echo, "slow": slow, "bad": [DifyError("broken")]}
    transcript = agent.run(tools=[ECHO, tool("slow"), tool("bad")])
    results = agent.dify.model_requests[1]["prompt_messages"][-10:]
    assert [message["content"] for message in results] == [
        "late",
        "tool invoke error: failed to execute tool",
        *map(str, range(8)),
    ]
    assert transcript.text.endswith("Done.")


@pytest.mark.parametrize("fails_in", [1, 2, 3])
def test_a_model_call_that_fails_in_any_round_leaves_text_logs_figures_and_one_sentence(
    agent, fails_in
):
    rounds = [
        [chunk(f"Step {n}. "), chunk(calls=[echo_call(n)], usage=usage())]
        for n in range(1, fails_in)
    ]
    closed = "the account is closed. The server says: org-7 owes 3 USD"
    agent.dify.model = [*rounds, [chunk("So "), DifyError(closed)]]
    agent.dify.tools["echo"] = [text_message("ok")]
    transcript = agent.run(tools=[ECHO])
    assert transcript.text.endswith("So ")
    sentence = f"The model call of round {fails_in} failed: the account is closed."
    assert transcript.error.message == sentence
    assert "org-7 owes 3 USD" in transcript.logs[f"ROUND {fails_in}"]["error"]
    assert transcript.final_answer is None
    assert all(
        states in (["start", "success"], ["start", "error"])
        for states in statuses(transcript).values()
    )
    assert transcript.metadata["total_tokens"] == 15 * (fails_in - 1)
    assert transcript.metadata["iterations"] == fails_in
    assert transcript.messages[-1]["type"] == "json"


@pytest.mark.parametrize("strategy", ["gpt5_function_calling", "gpt5_react"])
def test_figures_are_told_once_whatever_the_end(agent, strategy):
    endings = [
        [[chunk("Done.")]],
        [[chunk("")]],
        [[DifyError("down")]],
        [[chunk(calls=[echo_call(1)])], [chunk(calls=[echo_call(2)])]],
    ]
    for ending in endings:
        agent.dify.model = ending
        agent.dify.tools["echo"] = [text_message("ok")]
        transcript = agent.run(strategy=strategy, tools=[ECHO], maximum_iterations=2)
        assert len(transcript.of("json")) == 1
        assert set(transcript.metadata) >= {"stop_reason", "total_tokens", "total_price", "latency"}


@pytest.mark.parametrize(
    "arguments", ['{"text": "half \\ud83d"}', '{"text": "\\udc00", "x": ["\\ud83d"]}']
)
def test_half_a_character_in_arguments_ends_nothing(agent, arguments):
    """The SDK cannot write it, so a single one in a log or a call would end the run without a word."""
    agent.dify.model = [[chunk(calls=[call("echo", arguments)])], [chunk("Done.")]]
    transcript = agent.run(tools=[ECHO])
    assert transcript.error is None
    assert agent.dify.tool_requests == []
    assert transcript.logs["CALL echo"]["error"].startswith("tool arguments parse error: ")


def test_a_message_that_no_sdk_knows_is_a_failure_of_its_tool_alone(agent):
    agent.dify.model = [[chunk(calls=[echo_call(1)])], [chunk("Done.")]]
    agent.dify.tools["echo"] = [{"type": "hologram", "message": {"text": "?"}}]
    transcript = agent.run(tools=[ECHO])
    assert transcript.text.endswith("Done.")
    assert "Input should be 'text', " in transcript.logs["CALL echo"]["error"]
    assert "hologram" not in agent.dify.model_requests[1]["prompt_messages"][-1]["content"]


def test_a_result_that_no_model_can_read_keeps_its_beginning_and_its_end(agent):
    """Whole it would make a line for which the platform kills the plugin's process, and every run in it."""
    agent.dify.model = [[chunk(calls=[echo_call(1)])], [chunk("Done.")]]
    agent.dify.tools["echo"] = [text_message("b" * 3_000_000), text_message("e" * 3_000_000)]
    transcript = agent.run(tools=[ECHO])
    assert transcript.text.endswith("Done.")
    content = agent.dify.model_requests[1]["prompt_messages"][-1]["content"]
    assert content == (
        f"{'b' * 150_000}\n[... 5,800,000 characters left out here ...]\n"
        f'[read on with read_result: id "r1", offset 150000, or a pattern]\n{"e" * 50_000}'
    )


def test_a_request_that_the_platform_cannot_carry_fails_its_run_and_no_other(agent):
    agent.dify.model = [[chunk("Still there.")]]
    history = [{"role": "user", "content": "ä" * (5 * 1024 * 1024 // 2)}]
    transcript = agent.run(model={"history_prompt_messages": history})
    assert re.fullmatch(
        r"The model call of round 1 failed: the request has 5,2\d\d,\d\d\d bytes, "
        r"but Dify's plugin daemon takes 5,242,880 at most",
        transcript.error.message,
    )
    assert agent.run().text == "Still there."


def test_an_error_of_our_own_closes_what_can_be_closed_and_says_so(break_plugin):
    agent = break_plugin("_dify_log.py", "\n\nDifyLog.start_tool_call = None\n")
    agent.dify.model = [[chunk("Looking."), chunk(calls=[echo_call(1)], usage=usage())]]
    transcript = agent.run(tools=[ECHO])
    assert transcript.text == "Looking."
    assert (transcript.error.error_type, transcript.error.message) == (
        SHOWN_ALONE,
        "The agent run broke because of an error in the plugin. The plugin's log says more.",
    )
    assert statuses(transcript) == {
        "ROUND 1": ["start", "error"],
        "gpt-5.2 Thought": ["start", "success"],
    }
    assert transcript.metadata["total_tokens"] == 15
    assert transcript.metadata["stop_reason"] == "error"
    assert "the agent run broke: Traceback" in agent.log
    assert "TypeError: 'NoneType' object is not callable" in agent.log
