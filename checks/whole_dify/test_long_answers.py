"""Answers that take longer than a call may: taken up in the next turn of a chat, or polled where Dify polls."""

import re
import time

import pytest

from apps import llm_node
from conftest import ROOT
from dify import Refused
from gpt5_simulator import ResponsesSimulator, ScriptedModel
from upstream import KEY, said, thought


ANSWER = " ".join(map(str, range(80)))


@pytest.fixture
def call_seconds(pytestconfig):
    """How long a call may take, which is made short for this test."""
    seconds = pytestconfig.getoption("--background-seconds")
    if not seconds:
        pytest.skip(
            "start the daemon with OPENAI_GPT5_BACKGROUND_SECONDS=5 and say --background-seconds 5"
        )
    return seconds


@pytest.fixture
def slow(call_seconds, save_credentials):
    """A server that takes longer than a call may."""
    turns = [[thought("One after the other."), said(ANSWER)]]
    with ResponsesSimulator(
        model=ScriptedModel(turns), background_seconds=call_seconds + 3
    ) as server:
        save_credentials(server.base_url)
        yield server
    save_credentials()


def test_an_answer_that_outlives_its_call_goes_on_in_the_next_turn(apps, slow):
    app = apps.chat(background=True)
    runs = [app.chat("Count.")]
    assert "This answer is not finished." in runs[0].text
    while "resume:" in runs[-1].text and len(runs) < 5:
        time.sleep(1.2)  # Dify orders messages by whole seconds
        runs.append(app.chat("continue", conversation=runs[0].conversation))

    assert runs[-1].error == ""
    shown = "".join(run.text for run in runs)
    told = re.sub("\u2063[^\u2063]*\u2063|</?think>|One after the other.", "", shown)
    assert "".join(told.split()) == ANSWER.replace(" ", "")
    asked = [request.body for request in slow.requests if request.method == "POST" and request.body]
    assert len([body for body in asked if body.get("background")]) == 1
    assert runs[-1].usage["completion_tokens"] > 0


@pytest.fixture
def polling_package(make_package):
    return make_package(ROOT / "plugins/openai_gpt5_responses", "--variant", "polling")


def test_a_dify_that_does_not_poll_refuses_the_polling_variant(console, polling_package):
    if console.release >= (1, 15):
        pytest.skip("this Dify polls")
    with pytest.raises(Refused):
        console.install(polling_package)
    assert console.get("/workspaces/current/models/model-types/llm")["data"]


@pytest.fixture
def polling(console, polling_package, upstream):
    """The provider of the polling variant, in a Dify that polls, with a model that answers."""
    if console.release < (1, 15):
        pytest.skip("Dify polls from 1.15 on")
    console.install(polling_package)
    provider = "gpt5-agent/openai_gpt5_responses_polling/openai_gpt5_responses"
    console.save_credentials(
        provider, {"openai_api_key": KEY, "openai_api_base": upstream.base_url}
    )
    upstream.plays([thought(), said("Done.")], repeat=True)
    return provider


def test_an_llm_node_polls_the_polling_variant(polling, apps, upstream):
    node = llm_node(provider=polling, query="{{#start.text#}}")
    run = apps.workflow("llm", node).run({"text": "Think long."})

    assert run.error == ""
    assert run.outputs["found"].endswith("Done.")
    assert upstream.requests[0]["background"]


def test_a_chatflow_shows_a_polled_answer_where_an_aggregator_stands_before_the_answer_node(
    console, polling, apps
):
    node = llm_node(provider=polling)
    run = apps.chatflow("llm", node, aggregated=True).chat("Think long.")
    assert (run.error, run.answer) == ("", "Done.")

    run = apps.chatflow("llm", node).chat("Think long.")
    assert run.error == ""
    assert run.node("node")["outputs"]["text"].endswith("Done.")
    # A text without a chunk is not shown: up to 1.16.0, the last that was looked at.
    assert run.answer in ({""} if console.release <= (1, 16) else {"", "Done."})
