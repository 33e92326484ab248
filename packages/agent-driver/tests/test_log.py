"""What a drive writes into a log."""

import json
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import Script, ask, use

from agent_driver import adrive, drive
from agent_loop import (
    AgentRun,
    Budgets,
    Failure,
    FallbackModel,
    LocalProtocolError,
    MessageError,
    ModelDelta,
    ModelFailure,
    TimeBudget,
    ToolResult,
    Usage,
)
from agent_tooling import AnswerSchema, Tool
from run_log import RunFile, RunLog, list_runs, to_plain


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail() -> str:
    """Fail."""
    raise OSError("no such thing")


@pytest.fixture
def log(tmp_path):
    return RunLog(tmp_path / "runs", about={"program": "test"})


def read(log):
    """Return the records of the only run."""
    [run] = list_runs(log.folder)
    return [record for record in RunFile(run.path).iter_records() if record["type"] != "long_text"]


def find(log, kind):
    return [record for record in read(log) if record["type"] == kind]


def test_a_run_is_written_from_its_start_to_its_end(play, run, log):
    model = Script(ask(use("add", '{"a": 2, "b": 3}')), ["It is ", {"text": "five."}])
    play(run, model, [add], log=log)
    records = read(log)
    assert [record["type"] for record in records] == [
        *("start", "request", "answer", "call", "bound", "started", "result"),
        *("request", "delta", "answer", "end"),
    ]
    times = [record["t"] for record in records]
    assert times == sorted(times)
    _, _, answer, call, bound, _, result, *_, delta, _, end = records
    assert answer["calls"] == [{"call_id": "c1", "name": "add", "arguments": '{"a": 2, "b": 3}'}]
    assert (call["arguments"], bound["arguments"]) == ('{"a": 2, "b": 3}', {"a": 2, "b": 3})
    assert (result["outcome"], result["content"]) == ("done", "5")
    assert delta["text"] == "It is five."
    assert (end["reason"], end["rounds"]) == ("answered", 2)


def test_each_request_says_what_is_new_of_its_model_and_the_tools_that_it_may_call(play, log):
    failure = ModelFailure(message="busy", is_transient=False, may_pass_elsewhere=True)
    run = AgentRun(
        [{"role": "user", "content": "?"}],
        maximum_iterations=5,
        allowed_tools=["add"],
        model="a",
        fallback=FallbackModel(name="b"),
    )
    model = Script(ask(use("add", '{"a": 2, "b": 3}')), [failure], ["Five."])
    play(run, model, [add], log=log)
    assert [call.model for call in model.requests] == ["a", "a", "b"]
    first, second, third = (record.get("set", {}) for record in find(log, "request"))
    assert (first["model"], first["allowed_tools"]) == ("a", ["add"])
    assert second == {}
    assert third == {"model": "b"}


def test_the_requests_are_those_that_the_model_got(play, run, log):
    body = {"responses_output": [{"encrypted_content": "x" * 5_000}]}
    first = [{"text": "Wait.", "tool_calls": [use("add", '{"a": 1, "b": 1}')], "opaque_body": body}]
    model = Script(first, ask(use("add", '{"a": 3, "b": 1}')), ["Done."])
    play(run, model, [add], log=log)
    [summary] = list_runs(log.folder)
    requests = list(RunFile(summary.path).iter_requests())
    asked = [[to_plain(message) for message in call.messages] for call in model.requests]
    assert [request.messages for request in requests] == asked
    assert [request.dropped for request in requests] == [0, 0, 0]
    [tool] = requests[0].settings["tools"]
    assert (tool["name"], tool["description"]) == ("add", "Add two numbers.")
    assert tool["parameters"]["required"] == ["a", "b"]
    assert find(log, "answer")[0]["opaque_body"]["responses_output"][0]["encrypted_content"][
        "$long_text"
    ]


def test_what_becomes_of_each_call_is_told(play, run, log):
    calls = ask(
        use("add", '{"a": 1, "b": 1}', "c1"),
        use("fail", "{}", "c2"),
        use("nobody", "{}", "c3"),
        use("add", '{"a": "x"}', "c4"),
        use("add", "broken", "c5"),
    )
    again = ask(use("add", '{"a": 1, "b": 1}', "c1"), use("fail", "{}", "c2"))
    play(run, Script(calls, again, again, ["Done."]), [add, fail], log=log)
    outcomes = {}
    for result in find(log, "result"):
        outcomes.setdefault(result["call_id"], []).append(result["outcome"])
    assert outcomes["c3"] == outcomes["c4"] == outcomes["c5"] == ["refused"]
    assert outcomes["c2"][0] == "failed"
    assert set(outcomes["c2"][1:]) == {"refused"}
    assert set(outcomes["c1"]) == {"done", "recalled"}
    failed = next(result for result in find(log, "result") if result["call_id"] == "c2")
    assert failed["cause"] == {"kind": "OSError", "message": "no such thing"}
    assert "no such thing" not in json.dumps(failed["content"])


def test_what_is_hidden_from_the_model_is_masked_everywhere(play, run, log):
    def fetch(url: str, key: str, options: dict[str, str]) -> str:
        return f"{url}: {key}, {options['token']}"

    hidden = {"key": "unguessable-1", "options": {"token": "unguessable-2"}}
    tool = Tool.from_function(fetch, hidden=hidden, description="Fetch.")
    play(run, Script(ask(use("fetch", '{"url": "u"}')), ["unguess", "able-1"]), [tool], log=log)
    [bound] = find(log, "bound")
    assert bound["arguments"] == {"url": "u", "key": "[hidden]", "options": "[hidden]"}
    assert find(log, "result")[0]["content"] == "u: [redacted], [redacted]"
    assert "unguessable" not in json.dumps(read(log))


def test_what_a_builder_has_set_in_a_tool_is_masked_too(play, run, log):
    declared = {
        "identity": {"name": "fetch"},
        "description": {"llm": "Fetch."},
        "parameters": [
            {"name": "url", "type": "string", "form": "llm", "required": True},
            {"name": "region", "type": "string", "form": "form", "default": "unguessable-1"},
        ],
        "runtime_parameters": {},
    }
    tool = Tool.from_declaration(declared, lambda **arguments: f"from {arguments['region']}")
    play(run, Script(ask(use("fetch", '{"url": "u"}')), ["Done."]), [tool], log=log)
    [bound] = find(log, "bound")
    assert bound["arguments"] == {"url": "u", "region": "[hidden]"}
    assert "unguessable" not in json.dumps(read(log))


def test_arguments_that_a_schema_leaves_open_are_shown(play, run, log):
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    tool = Tool.from_schema("search", "Search.", schema, lambda **_: "found")
    play(run, Script(ask(use("search", '{"q": "x"}')), ["Done."]), [tool], log=log)
    assert find(log, "bound")[0]["arguments"] == {"q": "x"}


def test_tools_of_other_kinds_are_written_as_they_are(play, log):
    shown = {"type": "function", "name": "add"}
    run = AgentRun([{"role": "user"}], maximum_iterations=2, tools=[shown])
    play(run, Script(["Done."]), [add], log=log)
    assert find(log, "request")[0]["set"]["tools"] == [shown]


def test_a_tool_that_waits_for_others_begins_when_it_begins(play, run, log):
    def wait(seconds: float) -> str:
        """Wait."""
        time.sleep(seconds)
        return "done"

    calls = ask(*(use("wait", f'{{"seconds": 0.0{n + 3}}}', f"c{n}") for n in range(2)))
    play(run, Script(calls, ["Done."]), [wait], log=log, max_parallel_tools=1)
    began = {record["call_id"]: record["t"] for record in find(log, "started")}
    ended = {record["call_id"]: record["t"] for record in find(log, "result")}
    assert began["c1"] >= began["c0"] + 0.02
    assert ended["c1"] - began["c1"] >= 0.03


def test_a_tool_that_is_given_up_is_unfinished(play, run, log, released, clock):
    def hang() -> str:
        """Hang."""
        clock.move(0.3)
        released.wait(600)
        return "too late"

    budget = TimeBudget(run_seconds=60.2, closing_seconds=60, silence_seconds=60)
    play(run, Script(ask(use("hang")), ["Done."]), [hang], log=log, time_budget=budget)
    assert [result["outcome"] for result in find(log, "result")] == ["unfinished"]


def test_usage_prices_and_budgets_are_written(play, log):
    budgets = Budgets(max_total_tokens=1_000, max_tool_calls=5)
    run = AgentRun([{"role": "user", "content": "?"}], maximum_iterations=5, budgets=budgets)
    usage = {"input_tokens": 100, "output_tokens": 20, "currency": "USD"}
    asked = [{"tool_calls": [use("add", '{"a": 1, "b": 1}')], "usage": usage}]
    answered = [ModelDelta(text="Done.", usage=Usage.read(usage), finish_reason="stop")]
    play(run, Script(asked, answered), [add], log=log)
    sums = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, "currency": "USD"}
    answers = find(log, "answer")
    assert [answer["usage"] for answer in answers] == [sums, sums]
    assert answers[1]["finish_reason"] == "stop"
    used = [record["budgets"]["max_total_tokens"]["used"] for record in find(log, "budgets")]
    assert used == [120, 240]
    assert find(log, "end")[0]["usage"]["total_tokens"] == 240


def test_what_a_model_has_made_is_written_with_its_answer(play, run, log):
    deltas = [ModelDelta(text="Here.", phase="final_answer"), ModelDelta(files=({"data": b"abc"},))]
    play(run, Script(deltas), log=log)
    assert find(log, "answer")[0]["files"] == [{"data": {"$bytes": "YWJj"}}]
    assert find(log, "delta")[0]["phase"] == "final_answer"


def test_a_model_that_fails_is_told(play, run, log):
    def model(_):
        raise OSError("no network")

    play(run, model, log=log)
    assert find(log, "answer")[0]["error"]
    assert (find(log, "end")[0]["reason"], "first" in find(log, "answer")[0]) == ("error", False)


def test_what_breaks_a_drive_is_told(play, run, log):
    with pytest.raises(MessageError):
        play(run, Script([{"text": 5}]), log=log)
    [error], [end] = find(log, "error"), find(log, "end")
    assert (error["kind"], end["reason"]) == ("MessageError", "closed")
    assert "answer[0].text" in error["message"]


def test_a_run_that_cannot_begin_is_told(play, run, log):
    run.start()
    with pytest.raises(LocalProtocolError):
        play(run, Script(), log=log)
    assert [record["type"] for record in read(log)] == ["start", "error", "end"]


def test_a_drive_that_is_let_go_of_ends_its_log(run, log):
    events = drive(run, Script(["a", "b"]), log=log)
    next(events)
    events.close()
    assert [record["type"] for record in read(log)] == ["start", "request", "end"]
    assert find(log, "end")[0]["reason"] == "closed"


async def test_an_asynchronous_drive_that_is_let_go_of_ends_its_log(run, log):
    events = adrive(run, Script(["a", "b"]), log=log)
    await anext(events)
    await events.aclose()
    assert find(log, "end")[0]["reason"] == "closed"


def test_a_drive_that_nobody_begins_writes_nothing(run, log):
    drive(run, Script(["a"]), log=log).close()
    assert not log.folder.exists()


def test_one_log_takes_runs_at_once(log):
    def play_one(number):
        run = AgentRun([{"role": "user", "content": f"{number}"}], maximum_iterations=2)
        list(drive(run, Script([f"{number}!"]), log=log))

    threads = [threading.Thread(target=play_one, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked = set()
    for summary in list_runs(log.folder):
        file = RunFile(summary.path)
        asked |= {request.messages[0]["content"] for request in file.iter_requests()}
        assert file.problems == ()
    assert asked == {str(number) for number in range(8)}


def test_a_log_that_cannot_be_written_changes_nothing(play, run, tmp_path, caplog):
    (tmp_path / "runs").write_text("no folder")
    events = play(run, Script(["Done."]), log=RunLog(tmp_path / "runs"))
    assert events[-1].answer == "Done."
    assert [record.name for record in caplog.records] == ["run_log"]


class Odd:
    """Neither a message nor anything else that could be written."""

    role = "user"

    @property
    def content(self):
        raise RuntimeError


PIECES = st.one_of(
    st.text(max_size=5),
    st.builds(ModelDelta, text=st.text(max_size=5), phase=st.sampled_from([None, "commentary"])),
    st.just({"tool_calls": [use("add", '{"a": 1, "b": 2}', "c1"), use("fail", "{}", "c2")]}),
    st.just({"tool_calls": [use("add", '{"a": "', "c3")], "opaque_body": {"x": Odd()}}),
    st.just(Failure(message="Stop.", reason="cancelled")),
    st.just({"usage": {"input_tokens": 3}, "files": [Odd(), b"x"]}),
)


@given(st.lists(st.lists(PIECES, max_size=4), min_size=5, max_size=5), st.integers(1, 5))
def test_a_log_changes_nothing_and_tells_all(tmp_path_factory, answers, maximum):
    def play_one(**options):
        messages = [{"role": "user", "content": "?"}, Odd()]
        run, asked = AgentRun(messages, maximum_iterations=maximum), []

        def model(call):
            asked.append(call)
            return list(answers[call.round - 1])

        events = list(drive(run, model, [add, fail], max_parallel_tools=1, **options))
        return events, asked

    log = RunLog(tmp_path_factory.mktemp("runs"))
    without, _ = play_one()
    events, asked = play_one(log=log)
    assert list(map(type, events)) == list(map(type, without))
    [summary] = list_runs(log.folder)
    assert summary.end["reason"] == events[-1].reason
    file = RunFile(summary.path)
    requests = list(file.iter_requests())
    assert file.problems == ()
    sent = [[to_plain(message) for message in call.messages] for call in asked]
    assert [request.messages for request in requests] == sent
    told = sum(record["type"] == "result" for record in file.iter_records())
    assert told == sum(type(event).__name__ == "ToolCallEnded" for event in events)


def test_inputs_of_other_shapes_are_read_as_the_run_reads_them(run, log):
    events = drive(run, lambda _: ToolResult(call_id="c1", content="x"), log=log)
    with pytest.raises(LocalProtocolError):
        list(events)
    assert find(log, "error")[0]["kind"] == "LocalProtocolError"


def test_the_schema_of_an_answer_is_part_of_the_request(play, log):
    schema = {"type": "object", "required": ["n"]}
    messages = [{"role": "user", "content": "?"}]
    run = AgentRun(messages, maximum_iterations=3, answer_schema=AnswerSchema.parse(schema))
    play(run, Script(['{"m": 1}'], ['{"n": 1}']), log=log)
    [summary] = list_runs(log.folder)
    first, second = RunFile(summary.path).iter_requests()
    assert first.settings["answer_schema"]["required"] == ["n"]
    assert (second.settings, second.changed, second.dropped) == (first.settings, (), 0)


def test_which_model_is_asked_is_part_of_the_request(play, log):
    fallback = FallbackModel(name="second")
    messages = [{"role": "user", "content": "?"}]
    run = AgentRun(messages, maximum_iterations=3, model="first", fallback=fallback)
    limited = ModelFailure(message="limited", is_transient=False, may_pass_elsewhere=True)
    play(run, Script([limited], ["Done."]), log=log)
    [summary] = list_runs(log.folder)
    first, second = RunFile(summary.path).iter_requests()
    assert (first.settings["model"], second.settings["model"]) == ("first", "second")
    assert second.changed == ("model",)
    assert "limited" in find(log, "answer")[0]["error"]
