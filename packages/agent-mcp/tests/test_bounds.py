"""Whatever a server does, a run goes on: in time, and in bounded memory."""

import logging
import threading
import time

import psutil
import pytest

from agent_driver import Agent
from agent_mcp import McpError, McpServers
from conftest import call, find, hostile


def one_call(call):
    asked = {"tool_calls": [{"call_id": "c1", "name": "bad_t", "arguments": "{}"}]}
    return call.messages[-1].content if call.round > 1 else asked


@pytest.mark.parametrize("how", ["endless-line", "flood", "lines", "answers-to-nobody"])
def test_a_flood_ends_the_call_and_takes_no_memory(how):
    me = psutil.Process()
    with McpServers(hostile(how)) as servers:
        before, began = me.memory_info().rss, time.monotonic()
        output = call(servers, "bad_t")
        assert time.monotonic() - began < 60
        assert me.memory_info().rss - before < 200_000_000

    assert str(output.cause) == "MCP server 'bad': it has ended during the call"


@pytest.mark.parametrize(
    ("text", "times", "is_read"),
    [
        ("x", 9_900_000, True),
        ("“ ”", 1_400_000, True),
        ("😀", 2_450_000, False),
        ('", "', 2_000_000, False),
        ('"},{"type":"text","text":"', 380_000, False),
    ],
)
def test_a_large_answer_takes_bounded_memory_and_leaves_the_interpreter_to_others(
    text, times, is_read
):
    me, outputs, longest = psutil.Process(), [], 0.0
    before = most = me.memory_info().rss
    with McpServers(hostile("huge", text, times)) as servers:
        thread = threading.Thread(target=lambda: outputs.append(call(servers, "bad_t")))
        thread.start()
        while thread.is_alive():
            began = time.process_time()
            thread.join(0.005)
            longest = max(longest, time.process_time() - began)
            most = max(most, me.memory_info().rss)

    assert (outputs[0].error is None) == is_read
    assert most - before < 120_000_000  # With all that the first test starts besides.
    assert longest < 10  # of the processor's seconds, where it needs a tenth of one


def test_what_a_server_writes_beside_stops_nothing():
    with McpServers(hostile("loud")) as servers:
        assert call(servers, "bad_t").content == "done"
        assert call(servers, "bad_t").content == "done"


def test_a_server_that_hangs_is_given_up(monkeypatch):
    # Whoever runs the tool gives up first, even if this process stands still in that moment.
    monkeypatch.setattr("agent_mcp._connection._GRACE_SECONDS", 600)
    with McpServers(hostile("hang", timeout=0.3)) as servers:
        result = Agent(one_call, servers.tools).run("?")

    assert "bad_t did not answer within 0.3 seconds" in result.value


def test_a_long_result_is_cut_as_any_tools():
    with McpServers(hostile("large")) as servers:
        result = Agent(one_call, servers.tools, result_characters=1_000).run("?")

    assert len(result.value) < 2_000


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("many-tools", "it lists more than 1000 tools"),
        ("many-pages", "it lists its tools on more than 100 pages"),
        ("no-names", "the answer of 800,[0-9]+ bytes holds more than 200,000 values"),
        ("long-list", "the answer has more than 16,000,000 bytes"),
    ],
)
def test_a_list_without_an_end_or_names_is_refused(how, reason):
    with pytest.raises(McpError, match=f"'bad': {reason}"):
        McpServers(hostile(how)).__enter__()


def test_a_tool_with_a_schema_that_nobody_could_use_is_left_out_by_name():
    # Without this secret, the schema of one tool is no JSON any more.
    with McpServers(hostile("schemas", env={"API_KEY": 'the end"}'})) as servers:
        names = [tool.name for tool in servers.tools]
        left_out = servers.left_out
        good = call(servers, "bad_good")
        doubled = find(servers, "bad_doubled").bind('{"a": 1}')
        patterns = find(servers, "bad_patterns").bind('{"a": "' + "a" * 50 + '!"}')
        description = find(servers, "bad_talkative").description

    values = next(name for name in left_out if name.startswith("bad_v_"))
    assert {*left_out} == {"bad_large", "bad_quoting", "bad_deep", values}
    assert left_out["bad_large"].startswith("its schema has 200")
    assert left_out["bad_deep"] == "it nests deeper than 200 levels"
    assert left_out[values].startswith("it does not fit: the list holds more than 200,000 values")
    assert "bad_elsewhere" in names
    assert good.content == "done"
    assert "could not be checked" in doubled.error
    assert patterns.error is not None
    assert len(description) == 10_000


def test_the_schemas_count_among_the_time_to_start(monkeypatch):
    has_begun, may_end = threading.Event(), threading.Event()

    def make_slowly(*_):
        has_begun.set()
        may_end.wait()

    def is_met(seconds: float) -> bool:
        with pytest.raises(McpError, match=rf"'bad': no list of its tools within {seconds} s"):
            McpServers(hostile("fine", start_timeout=seconds)).__enter__()
        return has_begun.is_set()

    monkeypatch.setattr("agent_mcp._mcp_servers.make_tool", make_slowly)
    # On a busy machine the time may be over before the list is there.
    assert any(map(is_met, (1, 10, 100)))
    may_end.set()


def test_a_call_ends_without_an_answer_or_progress(monkeypatch):
    monkeypatch.setattr("agent_mcp._connection._SILENT_SECONDS", 0.5)
    with McpServers(hostile("hang")) as servers:
        error = call(servers, "bad_t").error
        assert error == "neither an answer nor progress within 0.5 s, its `timeout` being None"


def test_a_call_with_progress_may_take_longer(monkeypatch):
    # The server tells of it that often that it is silent for a tenth of the limit, unless the machine is busy.
    def is_done(seconds: float) -> bool:
        monkeypatch.setattr("agent_mcp._connection._SILENT_SECONDS", seconds)
        with McpServers(hostile("progress", seconds / 10)) as servers:
            return call(servers, "bad_t").content == "done"

    assert any(map(is_done, (1, 10, 100)))


def test_a_call_is_given_up_where_whoever_runs_it_does_not():
    with McpServers(hostile("hang", timeout=0.2)) as servers:
        assert call(servers, "bad_t").error == "no answer within 0.2 s"


def test_what_is_no_result_is_told():
    with McpServers(hostile("nonsense")) as servers:
        assert "is not a result" in call(servers, "bad_t").error


def test_a_list_that_changes_stays_and_is_told(caplog):
    caplog.set_level(logging.INFO, "agent_mcp")
    with McpServers(hostile("changes")) as servers:
        assert servers.changed == frozenset()
        call(servers, "bad_t")
        call(servers, "bad_t")
        assert servers.changed == {"bad"}
        assert [tool.name for tool in servers.tools] == ["bad_t"]

    assert caplog.text.count("has other tools by now") == 1
