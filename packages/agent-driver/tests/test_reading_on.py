"""Reading on in results that were too long to be shown whole."""

import json
import re

from scripted import Script, ask, use

from agent_loop import AgentRun, CallModel, RunTools, ToolCallEnded
from agent_tooling import Tool
from run_log import RunFile, RunLog, list_runs


BOOK = "".join(f"line {number}\n" for number in range(2_000))


def fetch() -> str:
    """Fetch a book."""
    return BOOK


def names(request):
    return [tool.name for tool in request.tools]


def contents(events):
    return [event.result.content for event in events if isinstance(event, ToolCallEnded)]


def read(call_id, **arguments):
    return ask(use("read_result", json.dumps(arguments), call_id))


def test_the_model_reads_on_where_it_was_cut_and_no_tool_runs_for_it(play, run):
    model = Script(
        ask(use("fetch")),
        read("c2", id="r1", offset=1_500),
        read("c3", id="r1", pattern="line 1[0-9]99"),
        "done",
    )
    events = play(run, model, [fetch], result_characters=2_000)
    cut, page, found = contents(events)
    assert 'read on with read_result: id "r1", offset 1500' in cut
    assert page.startswith(BOOK[1_500:3_500])
    assert "characters 1,500 to 3,500" in page
    assert len(re.findall("line 1[0-9]99", found)) >= 1
    assert len([event for event in events if isinstance(event, RunTools)]) == 1
    assert [names(request) for request in model.requests] == [["fetch", "read_result"]] * 4


def test_it_is_offered_from_the_first_request_on_where_a_tool_could_return_as_much(play):
    def count() -> int:
        """Count."""
        return 1

    for tools, offered in [([], []), ([count], ["count"]), ([fetch], ["fetch", "read_result"])]:
        [request] = [
            event
            for event in play(AgentRun([], maximum_iterations=3), Script("ok"), tools)
            if isinstance(event, CallModel)
        ]
        assert names(request) == offered


def test_it_is_not_offered_where_no_call_would_follow(play):
    model = Script(ask(use("fetch")))
    play(AgentRun([], maximum_iterations=1), model, [fetch])
    assert names(model.requests[0]) == ["fetch"]


def test_a_tool_that_has_its_name_keeps_it(play, run):
    def book(page: int) -> str:
        """Read."""
        return BOOK * page

    own = Tool.from_function(book, name="read_result")
    model = Script(
        ask(use("read_result", '{"page": 1}')),
        ask(use("read_result_2", '{"id": "r1"}', "c2")),
        "ok",
    )
    cut, page = contents(play(run, model, [own], result_characters=2_000))
    assert "read on with read_result_2" in cut
    assert page.startswith(BOOK[:2_000])


def test_what_cannot_be_read_is_refused_with_a_sentence(play, run):
    model = Script(read("c1", id="r1"), ask(use("read_result", "{}", "c2")), "ok")
    first, second = contents(play(run, model, [fetch]))
    assert first == 'id: no result has the id "r1"; kept are: none'
    assert "id" in second


def test_a_call_that_was_made_already_is_answered_with_the_same_id(play, run):
    model = Script(*[ask(use("fetch", call_id=f"c{number}")) for number in range(3)], "ok")
    first, second, third = contents(play(run, model, [fetch], result_characters=2_000))
    assert third.endswith(second)
    assert 'id "r2"' in second
    assert first != second


def test_the_run_log_says_that_it_was_done(play, run, tmp_path):
    model = Script(ask(use("fetch")), read("c2", id="r1"), read("c3", id="r7"), "ok")
    play(run, model, [fetch], result_characters=2_000, log=RunLog(tmp_path))
    [summary] = list_runs(tmp_path)
    records = list(RunFile(summary.path).iter_records())
    told = {
        record["call_id"]: record["outcome"] for record in records if record["type"] == "result"
    }
    assert told == {"c1": "done", "c2": "done", "c3": "failed"}
