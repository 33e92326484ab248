"""Runs that come near the platform's time limit."""

import asyncio

import pytest

from processes import memory_of
from scripted_dify import PATIENCE_SECONDS, call, chunk, parameter, text_message, tool


ECHO = tool("echo", parameter("text"))


@pytest.fixture(scope="session")
def hurried_process(start_agent):
    return start_agent(GPT5_AGENT_RUN_SECONDS="6", GPT5_AGENT_CLOSING_SECONDS="1")


@pytest.fixture
def hurried_agent(hurried_process):
    return hurried_process.reset()


async def never(_request):
    await asyncio.Event().wait()
    yield {}


def test_a_tool_that_does_not_answer_leaves_time_for_the_closing_call(limited_agent):
    calls = [call("echo", '{"text": "x"}'), call("slow", id_="c2")]
    limited_agent.dify.model = [[chunk(calls=calls)], [chunk("So far: x.")]]
    limited_agent.dify.tools = {"echo": [text_message("x")], "slow": never}
    transcript = limited_agent.run(tools=[ECHO, tool("slow")])
    closing = limited_agent.dify.model_requests[1]
    assert [message["content"] for message in closing["prompt_messages"][-2:]] == [
        "x",
        "tool invoke error: the tool did not answer in time",
    ]
    assert closing["completion_params"] == {"tool_choice": "none"}
    assert transcript.error is None
    assert transcript.text.endswith("\nNot finished in time, so missing here: slow.\nSo far: x.")
    assert transcript.metadata["stop_reason"] == "time_limit"


def test_nobody_reads_what_a_tool_says_after_it_was_given_up(limited_agent):
    held = []

    async def flood(_request):
        while True:
            yield text_message("x" * 15_000)  # under the bound of a result until then
            await asyncio.sleep(0.005)

    async def answer(_request):
        held.append(memory_of(limited_agent.process.pid))
        await asyncio.sleep(0.7)
        held.append(memory_of(limited_agent.process.pid))
        yield chunk("Without it.")

    limited_agent.dify.model = [[chunk(calls=[call("echo")])], answer]
    limited_agent.dify.tools["echo"] = flood
    assert limited_agent.run(tools=[ECHO]).text.endswith("Without it.")
    assert held[1] - held[0] < 5


def test_a_tool_that_stays_silent_is_given_up_long_before_the_run_is(impatient_agent):
    """C16: the official strategy waits for it until the platform ends the run."""
    impatient_agent.dify.model = [
        [chunk(calls=[call("echo", '{"text": "x"}'), call("slow", id_="c2")])],
        [chunk(calls=[call("slow", id_="c3")])],
        [chunk("Without it.")],
    ]
    impatient_agent.dify.tools = {"echo": [text_message("x")], "slow": never}
    transcript = impatient_agent.run(tools=[ECHO, tool("slow")])
    messages = impatient_agent.dify.model_requests[2]["prompt_messages"]
    assert [message["content"] for message in messages if message["role"] == "tool"] == [
        "x",
        "tool invoke error: failed to execute tool",
        "tool invoke error: repeated failure detected; skipped duplicate call",
    ]
    assert transcript.metadata["stop_reason"] == "answered"
    assert transcript.text.endswith("Without it.")


def test_a_tool_that_keeps_answering_is_waited_for(impatient_agent):
    async def steady(_request):
        for _ in range(25):  # the clock that is tested is the plugin's own
            await asyncio.sleep(PATIENCE_SECONDS / 20)
            yield text_message(".")

    impatient_agent.dify.model = [[chunk(calls=[call("steady")])], [chunk("Done.")]]
    impatient_agent.dify.tools = {"steady": steady}
    impatient_agent.run(tools=[tool("steady")])
    last = impatient_agent.dify.model_requests[1]["prompt_messages"][-1]
    assert last["content"] == "." * 25


def test_a_model_call_that_ends_late_is_followed_by_the_closing_call(limited_agent):
    async def think_long(_request):
        await asyncio.sleep(PATIENCE_SECONDS + 0.1)  # beyond what is kept for tools, within the run
        yield chunk(calls=[call("echo", '{"text": "x"}')])

    limited_agent.dify.model = [think_long, [chunk("What I know.")]]
    transcript = limited_agent.run(tools=[ECHO])
    closing = limited_agent.dify.model_requests[1]
    assert closing["completion_params"] == {"tool_choice": "none"}
    assert limited_agent.dify.tool_requests == []
    assert transcript.text.endswith("What I know.")
    assert transcript.metadata["stop_reason"] == "time_limit"


def test_a_model_that_falls_silent_ends_the_run_in_time(hurried_agent):
    async def say_a_word(_request):
        yield chunk("Well")
        await asyncio.Event().wait()

    hurried_agent.dify.model = [say_a_word]
    transcript = hurried_agent.run()
    assert transcript.text == (
        "Well\nThe run reached its time limit of 6 seconds before the model was done."
    )
    assert transcript.error is None
    assert transcript.metadata["stop_reason"] == "time_limit"
    assert {log["status"] for log in transcript.logs.values()} == {"error"}


def test_a_model_that_never_stops_is_stopped_in_time(hurried_agent):
    async def chatter(_request):
        while True:
            yield chunk("x")
            await asyncio.sleep(0.01)  # leaves the plugin time to read

    hurried_agent.dify.model = [chatter]
    transcript = hurried_agent.run()
    said, _, sentence = transcript.text.partition("\n")
    assert set(said) == {"x"}
    assert sentence == "The run reached its time limit of 6 seconds before the model was done."
    assert transcript.metadata["stop_reason"] == "time_limit"


def test_the_platforms_knobs_are_read_and_clamped(inside):
    program = """
import main
config = main.plugin.config
result = [config.MAX_REQUEST_TIMEOUT, config.MAX_INVOCATION_TIMEOUT]
"""
    assert inside.evaluate(program) == [900, 60]  # for "bad" and 10


def test_where_nothing_is_set_the_defaults_hold(inside):
    program = """
from agent_adapter import Settings
result = Settings.from_environment({}) == Settings()
"""
    assert inside.evaluate(program)
