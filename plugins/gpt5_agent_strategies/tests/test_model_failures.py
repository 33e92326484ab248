"""Model calls that the platform breaks off, in the words of the platform."""

import asyncio
import re
import time

import pytest

from scripted_dify import DifyError, call, chunk, parameter, text_message, tool, usage


ECHO = tool("echo", parameter("text"))
CUT = "read llm model failed: read tcp 127.0.0.1:33968->127.0.0.1:5001: use of closed network connection\nfailed to read system header"
HTML = (
    "invoke llm model failed: request failed with status code: 500 and respond with: "
    "<!doctype html>\n<html lang=en>\n<title>500 Internal Server Error</title>"
)
NOT_RUNNING = "read llm model failed: request failed: req_id: 9e1e2daabe PluginDaemonInternalServerError: no proper instance"
DEAD_DIFY = 'invoke llm model failed: Post "http://api:5001/inner/api/invoke/llm": dial tcp [::1]:5001: connect: connection refused'
SENTENCES = {
    CUT: (
        "Dify's plugin daemon ended it, because it took longer than one call may "
        "(DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT, 240 seconds by default)"
    ),
    HTML: "Dify's API failed (status 500)",
    NOT_RUNNING: "the model's plugin is not running at the moment",
    DEAD_DIFY: "a connection on the way to the model failed",
}
FUNCTION_CALLING, REACT = "gpt5_function_calling", "gpt5_react"


def states(transcript):
    """How often each log was opened and closed, by its id."""
    found = {}
    for message in transcript.of("log"):
        found.setdefault(message["message"]["id"], []).append(message["message"]["status"])
    return list(found.values())


@pytest.mark.parametrize(
    ("strategy", "text"),
    [(FUNCTION_CALLING, CUT), (REACT, CUT), (FUNCTION_CALLING, HTML)],
)
def test_a_call_that_the_platform_broke_off_is_made_once_more(agent, strategy, text):
    agent.dify.model = [[chunk(calls=[call("echo")], usage=usage())], [DifyError(text)]]
    agent.dify.model += [[chunk("Done.", usage=usage())]]
    agent.dify.tools["echo"] = [text_message("391")]
    transcript = agent.run(strategy=strategy, tools=[ECHO], emit_intermediate_thoughts=False)
    assert (transcript.text, transcript.error) == ("Done.", None)
    assert agent.dify.model_requests[1] == agent.dify.model_requests[2]
    assert (transcript.metadata["iterations"], transcript.metadata["total_tokens"]) == (3, 30)
    sentence = f"The model call of round 2 failed: {SENTENCES[text]}"
    assert transcript.logs["ROUND 2"]["error"] == sentence
    assert re.search(r"a model call failed: \S", agent.log)


@pytest.mark.parametrize(
    ("strategy", "first", "second"),
    [(FUNCTION_CALLING, CUT, NOT_RUNNING), (REACT, CUT, DEAD_DIFY), (REACT, CUT, HTML)],
)
def test_a_run_whose_model_is_gone_answers_with_what_is_known(agent, strategy, first, second):
    agent.dify.model = [[chunk(calls=[call("echo")], usage=usage())], [DifyError(first)]]
    agent.dify.model += [[chunk("<think>hid"), DifyError(second)]]
    agent.dify.tools["echo"] = [text_message("391")]
    transcript = agent.run(strategy=strategy, tools=[ECHO], emit_intermediate_thoughts=False)
    assert transcript.error is None
    assert transcript.text == (
        f"The model call of round 3 failed: {SENTENCES[second]}\n"
        "What the tools answered so far:\n- echo: 391"
    )
    assert all(state in (["start", "success"], ["start", "error"]) for state in states(transcript))
    assert transcript.metadata["stop_reason"] == "error"
    assert transcript.metadata["total_tokens"] == 15
    assert len(agent.dify.model_requests) == 3


@pytest.mark.parametrize(
    ("strategy", "failures"),
    [
        (FUNCTION_CALLING, [[DifyError(CUT)], [DifyError(NOT_RUNNING)]]),
        (REACT, [[DifyError(HTML)], [chunk("<think>hid"), DifyError(NOT_RUNNING)]]),
    ],
)
def test_a_model_that_fails_before_anything_is_there_fails_the_node(agent, strategy, failures):
    agent.dify.model = failures
    transcript = agent.run(strategy=strategy, tools=[ECHO], emit_intermediate_thoughts=False)
    assert transcript.text == ""
    sentence = f"The model call of round 2 failed: {SENTENCES[NOT_RUNNING]}"
    assert transcript.error.message == sentence
    assert transcript.logs["ROUND 2"]["error"] == sentence
    assert transcript.metadata["stop_reason"] == "error"
    assert len(agent.dify.model_requests) == 2


@pytest.mark.parametrize(("strategy", "flag"), [(FUNCTION_CALLING, True), (REACT, "true")])
def test_a_node_that_is_to_fail_with_its_model_does_so_whatever_is_there(agent, strategy, flag):
    agent.dify.model = [
        [chunk(calls=[call("echo")], usage=usage())],
        [chunk("Well"), DifyError(CUT)],
    ]
    agent.dify.tools["echo"] = [text_message("391")]
    transcript = agent.run(strategy=strategy, tools=[ECHO], fail_on_model_failure=flag)
    assert transcript.text.endswith("Well")
    assert transcript.error.message == f"The model call of round 2 failed: {SENTENCES[CUT]}"
    assert transcript.metadata["stop_reason"] == "error"
    assert transcript.metadata["total_tokens"] == 15


def test_another_model_takes_over_before_the_node_fails(agent):
    agent.dify.model = [[DifyError(CUT)], [DifyError(CUT)], [chunk("4")]]
    transcript = agent.run(fallback_model="second", fail_on_model_failure=True)
    assert (transcript.text, transcript.error) == ("4", None)


def test_what_was_shown_is_not_shown_twice(agent):
    agent.dify.model = [[chunk("It is 4"), DifyError(CUT)]]
    transcript = agent.run()
    assert transcript.text.startswith("It is 4\nThe model call of round 1 failed: Dify's plugin")
    assert transcript.error is None
    assert len(agent.dify.model_requests) == 1


def test_a_stream_that_ends_without_a_word_is_asked_for_again(agent):
    agent.dify.model = [[], [chunk("4")]]
    assert agent.run().text == "4"


def test_a_failure_that_would_come_again_is_told_at_once(agent):
    agent.dify.model = [
        [DifyError("read llm model failed: request failed: PluginNotFoundError: plugin not found")]
    ]
    transcript = agent.run()
    assert transcript.error.message == (
        "The model call of round 1 failed: the model's plugin is not installed"
    )
    assert len(agent.dify.model_requests) == 1


def test_an_answer_with_a_figure_that_is_none_is_told_by_its_field(agent):
    agent.dify.model = [[chunk("4", usage={**usage(), "total_tokens": "many"})]]
    failed = agent.run().logs["ROUND 1"]["error"]
    assert failed.startswith(
        "The model call of round 1 failed: the answer could not be read: Input should be a valid integer"
    )
    assert failed.endswith("(delta.usage.total_tokens)")


async def never(_request):
    await asyncio.Event().wait()
    yield {}


# The seconds that it has really taken.
TOO_LONG = re.compile(
    r"The model call of round 1 failed: it took over [1-9]\d* seconds, and Dify's plugin daemon would have ended it "
    r"\(DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT\)"
)


def test_a_call_ends_before_the_daemon_ends_it_and_is_made_once_more(short_agent):
    short_agent.dify.model = [never, [chunk("4")]]
    transcript = short_agent.run()
    assert transcript.text == "4"
    assert TOO_LONG.fullmatch(transcript.logs["ROUND 1"]["error"])


def test_a_call_that_flows_ends_before_the_daemon_ends_it_too(short_agent):
    async def chatter(_request):
        while True:
            yield chunk("x")
            await asyncio.sleep(0.01)  # leaves the plugin time to read

    short_agent.dify.model = [chatter]
    transcript = short_agent.run()
    said, _, sentence = transcript.text.partition("\n")
    assert set(said) == {"x"}
    assert TOO_LONG.fullmatch(sentence)


def test_the_operators_limit_leaves_an_answer_that_says_what_is_missing(limited_agent):
    agent = limited_agent
    calls = [call("echo"), call("slow", id_="c2")]
    agent.dify.model = [[chunk(calls=calls)], [chunk("So far: 391.")]]
    agent.dify.tools = {"echo": [text_message("391")], "slow": never}
    start = time.monotonic()
    transcript = agent.run(tools=[ECHO, tool("slow")])
    assert time.monotonic() - start < 200
    assert transcript.error is None
    assert "Not finished in time, so missing here: slow.\nSo far: 391." in transcript.text
    assert agent.dify.model_requests[1]["completion_params"] == {"tool_choice": "none"}
    assert transcript.metadata["stop_reason"] == "time_limit"


@pytest.mark.long
def test_a_minute_of_silence_after_keep_alives_is_death(agent):
    async def die(_request):
        yield chunk("")
        await asyncio.Event().wait()

    agent.dify.model = [die, [chunk("4")]]
    start = time.monotonic()
    assert agent.run().text == "4"
    assert 60 <= time.monotonic() - start < 600  # and not the 900 s of a model that sends none
