"""Plugins and daemons that are killed, replaced or refused in the middle of a call."""

import asyncio
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from client import DaemonError
from dify import (
    KEY,
    MODEL_PLUGIN,
    answer_of,
    model_call,
    run_agent,
    text_of,
    user,
)
from dify_agent.plugin_daemon_transport import SilenceLimits
from dify_agent.protocol import CreateRunRequest, RunComposition, RunLayerSpec
from dify_agent.runtime.event_sink import InMemoryRunEventSink
from dify_agent.runtime.layer_providers import create_default_layer_providers
from dify_agent.runtime.runner import AgentRunRunner
from dify_plugin_host import PythonTool
from gpt5_simulator import FunctionCall, RawServer, ResponsesSimulator, ScriptedModel, Text
from servers import SERVER_KEY, wait_until


SENTENCE = "A sentence, word by word. "
LIMIT = 25
"""The daemon's limit for a call in these tests, in seconds."""


@pytest.fixture(scope="module")
def daemon(start_daemon):
    with start_daemon(PLUGIN_MAX_EXECUTION_TIMEOUT=str(LIMIT)) as daemon:
        yield daemon


@pytest.fixture
def simulate():
    """Run a model that says a text slowly, and then others."""

    def run(*texts, delay_seconds=0.0):
        model = ScriptedModel([[Text(text=text)] for text in texts])
        return ResponsesSimulator(model=model, api_keys=[KEY], delay_seconds=delay_seconds)

    return run


def call(client, simulator):
    return list(
        client.call(MODEL_PLUGIN, "llm/invoke", model_call(simulator.base_url, user("Hello.")))
    )


def test_a_silent_model_server_is_told_before_the_daemons_limit(client):
    with RawServer(lambda peer: peer.recv(1)) as silent, pytest.raises(DaemonError) as caught:
        call(client, silent)

    assert "exceeded its total time limit (PLUGIN_MAX_EXECUTION_TIMEOUT)" in str(caught.value)
    assert len(silent.requests) == 1


def test_a_call_whose_plugin_dies_ends_by_the_daemons_limit_and_the_next_one_works(
    daemon, client, simulate
):
    with simulate(SENTENCE * 400, "Alive again.", delay_seconds=0.05) as simulator:
        with ThreadPoolExecutor() as pool:
            running = pool.submit(call, client, simulator)
            wait_until(lambda: simulator.requests, "the model to be asked")
            kill_plugin(daemon, "openai_gpt5_responses")
            with pytest.raises(DaemonError, match="killed by timeout"):
                running.result()
        wait_until(lambda: daemon.plugin_pids("openai_gpt5_responses"), "the plugin to come back")
    with simulate("Alive again.") as simulator:
        assert answer_of(retried(lambda: call(client, simulator))).endswith("Alive again.")


def test_dify_agent_gives_up_a_model_whose_plugin_dies_before_the_daemons_limit(
    daemon, client, simulate
):
    """The daemon says nothing until its limit; dify-agent's own is shorter here."""

    async def run_alone(base_url):
        providers = create_default_layer_providers(
            plugin_daemon_url=daemon.base_url,
            plugin_daemon_api_key=SERVER_KEY,
            silence=SilenceLimits(model_seconds=4),
        )
        sink = InMemoryRunEventSink()
        async with httpx.AsyncClient(timeout=LIMIT * 2, trust_env=False) as http_client:
            runner = AgentRunRunner(
                http_client=http_client, event_sink=sink, layer_providers=providers
            )
            await runner.run("run-1", agent_request(client, base_url))
        return sink.events("run-1")

    with simulate(SENTENCE * 400, delay_seconds=0.05) as simulator, ThreadPoolExecutor() as pool:
        begin = time.monotonic()
        running = pool.submit(asyncio.run, run_alone(simulator.base_url))
        wait_until(lambda: simulator.requests, "the model to be asked")
        time.sleep(1)  # some of its text is to come through
        kill_plugin(daemon, "openai_gpt5_responses")
        events = running.result()
    assert time.monotonic() - begin < LIMIT
    assert [event.type for event in events][:2] == ["run_started", "text_delta"]
    assert events[-1].type == "run_failed"
    assert "sent nothing for 4 seconds" in events[-1].error


def agent_request(client, base_url):
    """Ask dify-agent for an answer of the model plugin."""
    layers = [
        ("plugin", "dify.plugin", {}, {"tenant_id": client.tenant}),
        ("prompt", "plain.prompt", {}, {"user": "Hello."}),
        (
            "llm",
            "dify.plugin.llm",
            {"plugin": "plugin"},
            {
                "plugin_id": MODEL_PLUGIN,
                "model_provider": "openai_gpt5_responses",
                "model": "gpt-5.2",
                "credentials": {"openai_api_key": KEY, "openai_api_base": base_url},
            },
        ),
    ]
    specs = [
        RunLayerSpec(name=name, type=kind, deps=deps, config=config)
        for name, kind, deps, config in layers
    ]
    return CreateRunRequest(composition=RunComposition(layers=specs))


def test_a_run_whose_model_dies_ends_with_an_answer_before_the_daemons_limit(
    daemon, client, simulate, between
):
    with simulate(SENTENCE * 400, delay_seconds=0.05) as simulator:
        between(client, simulator.base_url)
        with ThreadPoolExecutor() as pool:
            begin = time.monotonic()
            running = pool.submit(run_agent, client, simulator.base_url)
            wait_until(lambda: simulator.requests, "the model to be asked")
            kill_plugin(daemon, "openai_gpt5_responses")
            messages = running.result()
    assert time.monotonic() - begin < LIMIT
    assert "killed by timeout" not in text_of(messages)
    assert_closed_and_readable(messages)


@pytest.mark.parametrize("strategy", ["gpt5_function_calling", "gpt5_react"])
def test_a_run_whose_tool_outlasts_the_daemons_limit_says_what_is_missing(
    client, between, inner_api, strategy
):
    is_over = threading.Event()
    inner_api.tool = lambda _parameters: str(is_over.wait(2 * LIMIT))
    slow = PythonTool(name="slow", description="Takes long.", parameters=(), function=str)
    rounds = [[FunctionCall(name="slow", arguments={})], [Text(text="Without the tool.")]]
    with ResponsesSimulator(model=ScriptedModel(rounds), api_keys=[KEY]) as simulator:
        between(client, simulator.base_url)
        begin = time.monotonic()
        messages = run_agent(client, simulator.base_url, slow, strategy=strategy)
    is_over.set()
    assert time.monotonic() - begin < LIMIT
    text = text_of(messages)
    assert text.endswith("Not finished in time, so missing here: slow.\nWithout the tool.")


def test_a_run_survives_one_failure_of_difys_inner_api(client, simulate, between, inner_api):
    with simulate("Said at the second try.") as simulator:
        between(client, simulator.base_url)
        inner_api.failures = [500]
        messages = run_agent(client, simulator.base_url)
    assert text_of(messages) == "Said at the second try."


def test_a_run_that_dify_refuses_ends_in_a_sentence_that_people_can_read(
    client, simulate, between, inner_api
):
    with simulate() as simulator:
        between(client, simulator.base_url)
        inner_api.failures = [500] * 5
        messages = run_agent(client, simulator.base_url)
    inner_api.failures = []
    assert text_of(messages)
    assert_closed_and_readable(messages)


def test_streams_of_a_killed_daemon_end_and_a_new_one_serves_the_same_plugins(
    daemon, client, simulate
):
    with simulate(SENTENCE * 400, delay_seconds=0.05) as simulator, ThreadPoolExecutor() as pool:
        running = pool.submit(call, client, simulator)
        wait_until(lambda: simulator.requests, "the model to be asked")
        plugins = daemon.plugin_pids()
        daemon.kill()
        assert isinstance(running.exception(timeout=10), Exception | None)
        wait_until(lambda: not alive(plugins), "the plugins of the killed daemon to end", 10)
        daemon.start()
    with simulate("After the restart.") as simulator:
        assert answer_of(retried(lambda: call(client, simulator))).endswith("After the restart.")


def assert_closed_and_readable(messages):
    logs = [m["message"] for m in messages if m["type"] == "log"]
    opened = {log["id"] for log in logs if log["status"] == "start"}
    assert opened == {log["id"] for log in logs if log["status"] in {"success", "error"}}
    text = text_of(messages)
    assert not any(sign in text for sign in ("127.0.0.1", "<", "{", "Traceback", KEY))


def kill_plugin(daemon, name):
    [pid] = daemon.plugin_pids(name)
    os.kill(pid, signal.SIGKILL)


def alive(pids):
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def retried(make_call, seconds=60):
    """Call until the daemon has the plugin running again, which it may take a while to."""
    end = time.monotonic() + seconds
    while True:
        try:
            return make_call()
        except DaemonError:
            if time.monotonic() > end:
                raise
            time.sleep(1)
