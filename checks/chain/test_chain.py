"""The whole way: a Pydantic AI agent, dify-agent, `dify-host serve`, real plugin processes, a Responses server."""

import asyncio
import json
import sys

import pytest

from dify_agent.runtime.event_sink import InMemoryRunEventSink
from gpt5_simulator import FunctionCall, HttpError, Reasoning, Text
from runs import KEY, ask, our_model, results, run, runner, simulate


pytestmark = pytest.mark.anyio


async def test_a_run_streams_and_calls_tools_of_two_plugins(daemon, http_client, tool):
    calls = [
        FunctionCall(name="words", arguments={"text": "from the first"}),
        FunctionCall(name="more_words", arguments={"text": "from the second"}),
    ]
    # Aloud, as a server other than OpenAI's may send it.
    thought = Reasoning(summary=("Both plugins have words.",), text=("I want both.",))
    answer = Text(text="They say so. " * 40)
    with simulate([thought, *calls], [answer]) as simulator:
        more_words = tool("words", plugin="more_tools", name="more_words")
        events = await run(
            daemon, http_client, ask(our_model(simulator), tool("words"), more_words)
        )
        first, second = [request.body for request in simulator.requests]

    assert events[-1].type == "run_succeeded", events[-1]
    assert events[-1].output == "They say so. " * 40
    assert results(events) == {"words": "from the first", "more_words": "from the second"}
    texts = [event.text for event in events if event.type == "text_delta"]
    assert len(texts) > 1
    assert "".join(texts) == events[-1].output
    thoughts = "".join(event.text for event in events if event.type == "thinking_delta")
    assert "Both plugins have words." in thoughts
    reasoning = [item for item in second["input"] if item.get("type") == "reasoning"]
    assert [bool(item["encrypted_content"]) for item in reasoning] == [True]
    assert [item["content"][0]["text"] for item in reasoning] == ["I want both."]
    assert not {"made_by"} & {key for item in second["input"] for key in item}
    assert "I want both." not in str(events)
    assert second["input"][: len(first["input"])] == first["input"]


def test_the_daemon_writes_null_where_a_plugin_declares_nothing(declarations):
    """So that the tools of these tests are prepared from what a real daemon sends, and not from the plugin's file."""
    [text, _] = declarations["tests/demo_tools", "words"]["parameters"]
    nulls = {field for field, value in text.items() if value is None}
    assert nulls == {
        *("auto_generate", "default", "max", "min", "options", "precision", "scope", "template")
    }


async def test_a_plugin_error_nested_in_the_daemons_becomes_what_the_model_reads(
    daemon, http_client, tool
):
    call = FunctionCall(name="fail", arguments={"way": "value_error"})
    with simulate([call], [Text(text="It failed.")]) as simulator:
        events = await run(daemon, http_client, ask(our_model(simulator), tool("fail")))

    assert events[-1].output == "It failed."
    assert results(events) == {"fail": "tool invoke error: cannot do 'value_error'"}


async def test_a_blob_is_told_of_and_not_shown(daemon, http_client, tool):
    call = FunctionCall(name="blob", arguments={"size": 100_000})
    with simulate([call], [Text(text="Done.")]) as simulator:
        events = await run(daemon, http_client, ask(our_model(simulator), tool("blob")))

    assert len(results(events)["blob"]) < 200
    assert "100" in results(events)["blob"]


async def test_a_refusal_of_the_models_server_fails_the_run_without_showing_the_key(
    daemon, http_client
):
    refusal = HttpError(status=401, times=None)
    with simulate([Text(text="never")], faults=[refusal]) as simulator:
        events = await run(daemon, http_client, ask(our_model(simulator)))

    assert [event.type for event in events][-1] == "run_failed"
    assert events[-1].error_type == "InvokeAuthorizationError"
    assert KEY not in repr(events)


async def test_a_cancelled_run_says_so_and_leaves_the_daemon_working(
    daemon, http_client, tool, tmp_path
):
    gate = tmp_path / "gate"
    call = FunctionCall(name="slow", arguments={})
    sink = InMemoryRunEventSink()
    with simulate([call], [Text(text="never")]) as simulator:
        slow = tool("slow", runtime_parameters={"until": str(gate)})
        task = asyncio.create_task(
            runner(daemon, http_client, sink).run("run-1", ask(our_model(simulator), slow))
        )
        async for event in sink.iter_events("run-1"):
            if event.type == "tool_call":
                task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sink.events("run-1")[-1].type == "run_cancelled"
        gate.touch()
    with simulate([Text(text="Still here.")]) as simulator:
        events = await run(daemon, http_client, ask(our_model(simulator)))
    assert events[-1].output == "Still here."


async def test_the_server_tells_the_same_run_as_events(server, http_client, tool):
    calls = [FunctionCall(name="words", arguments={"text": "from the server"})]
    with simulate(calls, [Text(text="Told.")]) as simulator:
        request = ask(our_model(simulator), tool("words"))
        accepted = await http_client.post(
            f"{server}/v1/runs",
            content=request.model_dump_json(),
            headers={"content-type": "application/json"},
        )
        run = f"{server}/v1/runs/{accepted.json()['run_id']}"
        events = await http_client.get(f"{run}/events", headers={"accept": "text/event-stream"})
        ended = (await http_client.get(run)).json()

    lines = [line for line in events.text.splitlines() if line.startswith("data: ")]
    told = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert [event["number"] for event in told] == list(range(1, len(told) + 1))
    [result] = [event["data"] for event in told if event["type"] == "tool_result"]
    assert (result["tool_name"], result["content"].strip()) == ("words", "from the server")
    assert told[-1]["data"]["output"] == ended["output"] == "Told."
    assert ended["usage"]["model_requests"] == 2
    assert float(ended["usage"]["cost"]) > 0
    assert KEY not in events.text


def test_the_agents_process_never_loads_the_plugin_sdk():
    assert {"gevent", "dify_plugin"}.isdisjoint(sys.modules)
