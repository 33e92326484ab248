"""A server's tools as an agent's: named, checked, called, with whatever they return."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from agent_driver import Agent, CallModel
from agent_mcp import McpError, McpServers, StdioServer
from conftest import call, find, hostile, until


def test_a_servers_tools_have_its_name_in_front_and_its_descriptions(plain):
    tool = find(plain, "plain_add")

    assert tool.description == "Add two numbers."
    assert tool.parameters["required"] == ["a", "b"]
    assert plain.left_out == {}


@pytest.mark.parametrize(
    ("name", "args", "content"),
    [
        ("add", {"a": 1, "b": 2}, "3"),
        ("weather", {"city": "Oslo"}, '{\n  "city": "Oslo",\n  "degrees": 21.5\n}'),
        ("letters", {}, "a\nb"),
    ],
)
def test_a_model_reads_what_a_tool_returns(plain, name, args, content):
    assert call(plain, f"plain_{name}", **args).content == content


def test_a_model_sees_pictures(plain):
    text, picture = call(plain, "plain_picture").content

    assert text == {"type": "text", "text": "A dot:"}
    assert (picture["type"], picture["mime_type"]) == ("image", "image/png")


def test_what_a_model_cannot_see_is_named():
    with McpServers(hostile("kinds")) as servers:
        content = call(servers, "bad_t").content

    file = {
        "type": "file",
        "data": "AAAA",
        "mime_type": "application/pdf",
        "filename": "a.pdf",
    }
    assert [part if part["type"] == "file" else part["text"] for part in content] == [
        "done",
        "[audio/wav of 3 bytes, which cannot be shown]",
        "[image/svg+xml of 3 bytes, which cannot be shown]",
        "page: https://x.example/a",
        "A text.",
        file,
        "[data of 3 bytes, which cannot be shown]",
        '{"a": 1}',
    ]


def test_a_structured_result_that_a_text_has_said_is_not_read_twice():
    with McpServers(hostile("wrapped")) as servers:
        assert call(servers, "bad_t").content == "done"


def test_a_failure_is_told_with_the_servers_words(plain):
    assert call(plain, "plain_fail", reason="no").error == "Error executing tool fail"
    with McpServers(hostile("bare-failure")) as servers:
        assert call(servers, "bad_t").error == "the tool has failed"


def test_progress_is_told_and_disturbs_no_call(plain, heard):
    heard.clear()
    assert call(plain, "plain_count").content == "three"

    assert [(one.progress, one.total, one.message) for one in heard] == [
        (1, 3, "at 1"),
        (2, 3, "at 2"),
        (3, 3, "at 3"),
    ]
    assert {(one.server, one.tool) for one in heard} == {("plain", "count")}


def test_a_call_that_takes_too_long_is_cancelled_at_the_server(plain, tmp_path):
    note = tmp_path / "note"
    arguments = f'{{"seconds": 60, "note": "{note}"}}'
    asked = {"call_id": "c1", "name": "plain_wait", "arguments": arguments}
    agent = Agent(
        lambda call: call.messages[-1].content if call.round > 1 else {"tool_calls": [asked]},
        [replace(find(plain, "plain_wait"), timeout=0.3)],
    )

    def has_begun(run: Callable[[Agent, str], Any]) -> bool:
        assert "plain_wait" in run(agent, "?").value
        # A server that stood still that long hears of the call and of its end at once, and does not begin; of what comes later it hears after them.
        return call(plain, "plain_add", a=1, b=2).content == "3" and note.exists()

    for run in (Agent.run, lambda agent, text: asyncio.run(agent.arun(text))):
        until(partial(has_begun, run))
        until(lambda: note.read_text() == "cancelled")
        note.unlink()


def test_only_some_tools_are_taken():
    with McpServers(hostile("twins", tools=["a_b"])) as servers:
        assert [tool.name for tool in servers.tools] == ["bad_a_b"]
    with pytest.raises(McpError, match=r"'bad': expected tools .*\['subtract'\]"):
        McpServers(hostile("twins", tools=["a_b", "subtract"])).__enter__()


def test_tools_whose_schema_is_not_one_of_an_object_are_left_out():
    with McpServers(hostile("shapes")) as servers:
        names = ["t", "empty", "untyped", "typed_twice", "listed", "anything", "wild"]
        assert [tool.name for tool in servers.tools] == [f"bad_{name}" for name in names]
        assert [*find(servers, "bad_untyped").parameters["properties"]] == ["a"]
        reason = "expected inputSchema as the schema of an object"
        assert servers.left_out == dict.fromkeys(("bad_text", "bad_number"), reason)
        wild = find(servers, "bad_wild")
        assert wild.bind('{"a": [1], "b": null, "c": 2}').ok
        assert "'c'" in wild.bind('{"a": [1], "c": 1}').error
        assert "missing required parameter 'a'" in wild.bind('{"c": 2}').error


def test_odd_tools_cost_no_others():
    with McpServers(hostile("odd")) as servers:
        names = [tool.name for tool in servers.tools]
        left_out = servers.left_out

    assert names[0] == "bad_t"
    assert {"bad_unnamed_1", "bad_unnamed_2", "bad_unnamed_4"} <= left_out.keys()
    assert {*names[1:], *left_out} >= {"bad_required", "bad_properties"}


def test_tools_that_the_sdk_drops_are_left_out_and_a_server_may_ask_for_many_rounds():
    with McpServers(hostile("modern", 12)) as servers:
        assert [tool.name for tool in servers.tools] == ["bad_t"]
        assert "'no header' is not an RFC 9110 token" in servers.left_out["bad_misplaced"]
        assert call(servers, "bad_t").content == "13 rounds"
    with McpServers(hostile("modern", 10**6, timeout=1)) as servers:
        assert call(servers, "bad_t").error == "no answer within 1 s"


def test_an_error_with_the_code_of_a_closed_connection_ends_nothing():
    line = '{"jsonrpc": "2.0", "id": ID, "error": {"code": -32000, "message": "No such file"}}'
    with McpServers(hostile("raw", line)) as servers:
        assert call(servers, "bad_t").error == "No such file"


def test_half_a_surrogate_pair_is_read_and_not_sent():
    with McpServers(hostile("half")) as servers:
        assert call(servers, "bad_t").content == "half: ?"
        assert "halves of surrogate pairs" in call(servers, "bad_t", text="\ud83d").error
        assert call(servers, "bad_t").content == "half: ?"


def test_an_answer_that_cannot_be_read_ends_its_call():
    with McpServers(hostile("unreadable")) as servers:
        assert call(servers, "bad_t").error == "the answer cannot be read"
    with McpServers(hostile("unreadable-question")) as servers:
        assert call(servers, "bad_t").content == "done"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"jsonrpc":"2.0","id":ID,"result":' + "[" * 5_000 + "]" * 5_000 + "}", "nests deeper"),
        ('{"result":' + "[" * 5_000 + "]" * 5_000 + ',"jsonrpc":"2.0","id":ID}', "nests deeper"),
        ('{"jsonrpc": "2.0", "id": ID, "result": {"content": [', "cannot be read"),
    ],
)
def test_an_answer_that_is_too_deep_or_cut_ends_its_call(line, why):
    with McpServers(hostile("raw", line, timeout=60)) as servers:
        assert why in call(servers, "bad_t").error
        assert why in call(servers, "bad_t").error


def test_an_answer_in_another_encoding_is_read():
    result = '{"content": [{"type": "text", "text": "café"}]}'
    line = '{"level": "info", "id": ID}\n{"jsonrpc": "2.0", "id": ID, "result": ' + result + "}"
    with McpServers(hostile("raw", line)) as servers:
        assert call(servers, "bad_t").content == "caf\ufffd"


def test_names_are_valid_and_unique():
    with McpServers(hostile("twins")) as servers:
        names = [tool.name for tool in servers.tools]

    assert len({*names}) == 4
    assert names[1] == "bad_a_b"
    assert all(name.startswith("bad_") and len(name) <= 64 for name in names)


def test_an_agent_uses_the_tools_in_a_thread_and_in_a_loop(plain):
    def model(call: CallModel) -> object:
        if call.round > 1:
            return call.messages[-1].content
        arguments = '{"a": 2, "b": 2}'
        return {"tool_calls": [{"call_id": "c1", "name": "plain_add", "arguments": arguments}]}

    agent = Agent(model, plain.tools)

    assert agent.run("2 + 2?").value == "4"
    assert asyncio.run(agent.arun("2 + 2?")).value == "4"


def test_a_server_says_how_its_tools_are_called():
    settings = {"timeout": 3, "retries": 2, "approval": "always"}
    with McpServers(hostile("fine", **settings)) as servers:
        [tool] = servers.tools

    assert {name: getattr(tool, name) for name in settings} == settings


def test_a_person_approves_calls_of_a_server():
    asked = {"tool_calls": [{"call_id": "c1", "name": "bad_t", "arguments": "{}"}]}
    with McpServers(hostile("fine", approval="always")) as servers:
        agent = Agent(lambda call: "ok" if call.round > 1 else asked, servers.tools)
        result = agent.run("?")
        assert [one.name for one in result.waiting.calls] == ["bad_t"]
        assert agent.run(resume=result.waiting, decisions=True).value == "ok"


def test_servers_are_used_from_an_event_loop():
    async def use() -> object:
        async with McpServers(hostile("fine")) as servers:
            return (await find(servers, "bad_t").ainvoke({})).content

    assert asyncio.run(use()) == "done"


def test_several_servers_start_together_and_know_nothing_of_each_other():
    other = StdioServer("other", hostile("bare-failure").command)
    with McpServers(hostile("fine"), other) as servers:
        assert [tool.name for tool in servers.tools] == ["bad_t", "other_t"]
        assert call(servers, "bad_t").content == "done"
        assert call(servers, "other_t").error == "the tool has failed"


def test_importing_it_needs_no_driver_and_the_driver_needs_not_it():
    code = "import {0}, sys; sys.exit({1!r} in sys.modules)"
    for pair in (("agent_mcp", "agent_driver"), ("agent_driver", "mcp")):
        subprocess.run([sys.executable, "-c", code.format(*pair)], check=True)
