"""What a model or a tool sends without measure: no line leaves that is too long, and nothing is held that nobody can read.

The host ends a plugin over a line of more than 5 MiB, as the daemon does, so a run that ends in good order shows that there was none.
"""

import asyncio
import json
import re

import pytest

from processes import forget_peak, memory_of
from scripted_dify import DifyError, call, chunk, parameter, text_message, tool, usage


long = pytest.mark.long
LONG = "あ" * 2_000_000  # 6 MB
ECHO = tool("echo", parameter("text"))


def cases(*values):
    """Return the cases, the first three to be run always and the others with `-m long`."""
    return [
        pytest.param(value, id=str(number), marks=long if number > 2 else ())
        for number, value in enumerate(values)
    ]


def run_echo(agent, *messages, **parameters):
    agent.dify.model = [[chunk(calls=[call("echo")])], [chunk("Done.")]]
    agent.dify.tools["echo"] = list(messages)
    return agent.run(tools=[ECHO], **parameters)


def shown(kind, text="https://a.test", meta=None):
    return {"type": kind, "message": {"text": text}, "meta": meta}


@pytest.mark.parametrize(
    "message",
    cases(
        text_message(LONG),
        {"type": "blob", "message": {"blob": "YWJj"}, "meta": {"filename": LONG}},
        DifyError(LONG),
        shown("link", LONG),
        shown("link", LONG, {"tool_file_id": "a"}),
        shown("link", meta={"tool_file_id": LONG}),
        shown("image", LONG),
        shown("image_link", meta={"mime_type": LONG}),
        shown("binary_link", meta={"filename": [LONG]}),
        {"type": "file", "message": None, "meta": {"file": {"url": LONG}}},
        {"type": "json", "message": {"json_object": {LONG: [LONG]}}},
        {"type": "variable", "message": {"variable_name": LONG, "variable_value": LONG}},
        {"type": LONG, "message": {"text": ""}},
    ),
)
def test_whatever_a_tool_says_at_length_the_run_goes_on(agent, message):
    transcript = run_echo(agent, message)
    assert transcript.text.endswith("Done.")
    assert transcript.metadata["stop_reason"] == "answered"


def nested(levels):
    """Return JSON of so many levels. The SDK's parser takes 200 of a line."""
    inside = "deep"
    for _ in range(levels // 2):
        inside = {"a": [inside]}
    return inside


@pytest.mark.parametrize("levels", [180, 400])
def test_however_deep_a_tool_s_answer_nests_the_run_goes_on(agent, levels):
    transcript = run_echo(
        agent,
        {"type": "json", "message": {"json_object": nested(levels)}},
        text_message("And text."),
    )
    assert transcript.text.endswith("Done.")
    told = json.dumps(agent.dify.model_requests[-1]["prompt_messages"][-1])
    assert "And text." in told
    assert ("nested deeper than 150 levels" in told) == (levels == 400)


def test_however_deep_a_model_s_answer_nests_the_run_ends(agent):
    agent.dify.model = [[chunk("Done.", opaque={"responses_output": [nested(400)]})]]
    assert agent.run().text == "Done."


def test_what_is_too_long_to_be_shown_is_told_to_be_left_out(agent):
    transcript = run_echo(agent, shown("image_link", meta={"mime_type": LONG}))
    assert "A file of the tool is left out: what describes it is too long." in transcript.text
    transcript = run_echo(agent, shown("image", LONG))
    assert "A message of 6,000,1" in transcript.text
    link = shown("image", f"data:image/png;base64,{'A' * 1_000_000}")
    assert run_echo(agent, link).of("image") == [link]


@pytest.mark.parametrize(
    "answer",
    cases(
        [chunk("Done.", usage={**usage(), "currency": LONG})],
        [chunk("Done.", usage=usage(price="9e+9999999"))],
        [chunk(LONG)],
        [chunk("Done.", opaque={"responses_output": [LONG]})],
        [DifyError(LONG)],
        [DifyError(json.dumps({"message": LONG}))],
    ),
)
def test_whatever_a_model_says_at_length_the_run_ends_in_good_order(agent, answer):
    agent.dify.model = [answer]
    transcript = agent.run()
    assert transcript.metadata["stop_reason"] in {"answered", "error"}
    assert transcript.error is None or len(transcript.error.message) < 1_000


def test_a_long_text_arrives_whole(agent):
    agent.dify.model = [[chunk(LONG)]]
    transcript = agent.run()
    assert transcript.text == transcript.final_answer == LONG


@pytest.mark.parametrize(
    "calls",
    cases(
        [call(LONG)],
        [call("echo", json.dumps({"text": LONG}, ensure_ascii=False))],
        [call("echo", LONG)],
        [call("echo", id_=LONG)],
        [call("echo", f'{{"text": "{"あ" * 3_000}"}}', id_=f"c{n}") for n in range(1_000)],
    ),
)
def test_a_call_that_no_request_can_carry_ends_its_run_with_a_sentence(agent, calls):
    agent.dify.model = [[chunk(calls=calls, usage=usage())], [chunk("Done.")]]
    agent.dify.tools["echo"] = [text_message("ok")]
    transcript = agent.run(tools=[ECHO])
    assert transcript.error is None
    assert re.search(
        r"The run cannot go on: its next request to the model has [\d,]+ bytes, "
        r"and Dify's plugin daemon takes 5,242,880 at most\.",
        transcript.text,
    )
    assert transcript.metadata["stop_reason"] == "size_limit"
    assert transcript.metadata["total_tokens"] == 15
    assert all(log["status"] != "start" for log in transcript.logs.values())
    agent.dify.model = [[chunk("Still there.")]]
    assert agent.run().text == "Still there."


def test_sources_of_any_length_are_told_or_left_out(agent):
    agent.dify.model = [[chunk("Done.")]]
    transcript = agent.run(context=[{"title": "t", "content": LONG}])
    assert transcript.text == "Done."
    assert transcript.logs["retriever_resources"]["status"] == "error"


def test_a_log_that_is_too_long_keeps_its_frame(agent):
    agent.dify.model = [[chunk("Done.")]]
    tools = [{"identity": {"name": f"{number} {'あ' * 1_000}"}} for number in range(2_000)]
    transcript = agent.run(tools=tools)
    log = transcript.logs["Tools left out"]
    assert log["data"]["left_out"].startswith("A message of 6,")
    assert (log["status"], log["parent_id"]) == ("error", None)
    assert len(agent.log) < 10_000
    assert transcript.text == "Done."


@long
@pytest.mark.parametrize("piece", ["x", "😀", "\x01", '"'])
def test_a_thousand_results_do_not_fail_the_run(agent, piece):
    rounds = [
        [chunk(calls=[call("echo", f'{{"text": "{r}.{n}"}}', id_=f"c{r}.{n}") for n in range(125)])]
        for r in range(8)
    ]
    agent.dify.model = [*rounds, [chunk("Done.")]]
    agent.dify.tools["echo"] = [text_message(piece * (3_000 // len(piece.encode())))]
    transcript = agent.run(tools=[ECHO], maximum_iterations=10)
    assert transcript.text.endswith("Done.")
    results = [m for m in agent.dify.model_requests[-1]["prompt_messages"] if m["role"] == "tool"]
    assert len(results) == 1_000


@pytest.mark.parametrize("size", [100_000, pytest.param(0, marks=long)])
def test_a_tool_that_never_stops_is_stopped_and_its_words_are_kept(agent, size):
    async def flood(_request):
        message = text_message("x" * size)
        for _ in range(1_000 if size else 60_000):
            yield message
            await asyncio.sleep(0)

    agent.dify.model = [[chunk(calls=[call("echo")])], [chunk("Done.")]]
    agent.dify.tools["echo"] = flood
    transcript = agent.run(tools=[ECHO])
    observation = agent.dify.model_requests[1]["prompt_messages"][-1]["content"]
    assert transcript.text.endswith("Done.")
    assert observation.endswith("tool invoke error: failed to execute tool")
    assert transcript.logs["CALL echo"]["error"] == (
        "OutputTooLargeError: the output of the tool is over 33,554,432 bytes"
    )


FLOODS = {
    "text": text_message("x" * 1_000_000),
    "wide text": text_message("\N{GRINNING FACE}" * 250_000),
    "nested JSON": {"type": "json", "message": {"json_object": {"a": [{"b": {"c": {}}}] * 50_000}}},
}


@pytest.mark.parametrize(
    ("kind", "messages", "tools"),
    [
        pytest.param("text", 12, 8, marks=long),
        pytest.param("wide text", 36, 1, marks=long),
        ("nested JSON", 2, 1),
    ],
)
def test_memory_does_not_follow_what_tools_say(agent, kind, messages, tools):
    """Each takes more memory than it has characters, or all of them together do."""
    pid = agent.process.pid

    def peak(messages):
        async def flood(_request):
            for _ in range(messages):
                yield FLOODS[kind]
                await asyncio.sleep(0)

        forget_peak(pid)
        calls = [call("echo", f'{{"text": "{n}"}}', id_=f"c{n}") for n in range(tools)]
        agent.dify.model = [[chunk(calls=calls)], [chunk("Done.")]]
        agent.dify.tools["echo"] = flood
        assert agent.run(tools=[ECHO]).text.endswith("Done.")
        return memory_of(pid)

    forget_peak(pid)
    before = memory_of(pid)
    bounded = peak(messages)
    assert bounded - before < 256
    assert peak(2 * messages) - bounded < 32


@long
def test_a_model_that_never_stops_is_stopped(agent):
    agent.dify.model = [[chunk("x" * 1_000_000) for _ in range(20)]]
    transcript = agent.run()
    assert transcript.error.message == (
        "The model call of round 1 failed: the answer is over 16,777,216 characters"
    )


def test_lines_of_many_runs_at_once_stay_whole(agent):
    async def run_many():
        return await asyncio.gather(
            *(agent.arun(strategy="gpt5_react", tools=[None]) for _ in range(20))
        )

    agent.dify.model = [[chunk("word ") for _ in range(20)] for _ in range(20)]
    transcripts = agent.run_async(run_many())
    assert [transcript.text for transcript in transcripts] == ["word " * 20] * 20
    assert agent.process.protocol_errors == 0
