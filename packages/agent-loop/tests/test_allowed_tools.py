"""The tools that a run may call, among all that it offers."""

from agent_loop import (
    AgentRun,
    Budgets,
    CallModel,
    Message,
    ModelDelta,
    ModelDone,
    RunTools,
    TimeShort,
    ToolCallEnded,
    ToolCallFragment,
    ToolResult,
)


QUESTION = (Message(role="user", content="?"),)
REFUSED = "tool invoke error: {} may not be called in this run; allowed are: {}"


def start(allowed, **settings):
    run = AgentRun(
        QUESTION,
        tools=("add", "sub"),
        allowed_tools=allowed,
        **{"maximum_iterations": 5} | settings,
    )
    return run, run.start()


def ask(run, *names):
    calls = tuple(
        ToolCallFragment(call_id=f"c{index}", name=name) for index, name in enumerate(names)
    )
    run.feed(ModelDelta(tool_calls=calls))
    return run.feed(ModelDone())


def refusals(events):
    return {e.call.name: e.result.content for e in events if isinstance(e, ToolCallEnded)}


def test_every_request_offers_all_tools_and_says_which_are_allowed():
    run, events = start(["add", "add"])
    run.feed(TimeShort())
    requests = [events[-1]]
    requests.append([*ask(run, "add"), *run.feed(ToolResult(call_id="c0", content="4"))][-1])
    assert [request.tools for request in requests] == [("add", "sub")] * 2
    assert [request.allowed_tools for request in requests] == [("add",)] * 2
    assert start(None)[1][-1].allowed_tools is None


def test_a_run_says_what_it_allows_and_asks_for():
    run, _ = start(["add", "add"], tool_choice="add")
    assert (run.allowed_tools, run.tool_choice) == (("add",), "add")
    assert start(None)[0].allowed_tools is None


def test_a_call_of_another_tool_is_refused_with_a_sentence_and_the_others_are_made():
    run, _ = start(iter(["add", "mul"]))
    events = ask(run, "sub", "add", "nothing")
    assert refusals(events) == {
        name: REFUSED.format(name, "add, mul") for name in ("sub", "nothing")
    }
    [request] = [e for e in events if isinstance(e, RunTools)]
    assert [call.name for call in request.calls] == ["add"]
    request = run.feed(ToolResult(call_id="c1", content="4"))[-1]
    assert [m.content for m in request.messages if m.role == "tool"] == [
        REFUSED.format("sub", "add, mul"),
        "4",
        REFUSED.format("nothing", "add, mul"),
    ]


def test_a_round_of_refused_calls_is_followed_by_the_next():
    run, _ = start([])
    events = ask(run, "add")
    assert refusals(events) == {"add": REFUSED.format("add", "none")}
    assert isinstance(events[-1], CallModel)


def test_a_long_list_is_told_in_part():
    run, _ = start([f"t{number}" for number in range(50)])
    told = refusals(ask(run, "add"))["add"]
    assert told.endswith("t18, t19, ...")


def test_a_refused_call_takes_nothing_from_the_budget():
    run, _ = start(["add"], budgets=Budgets(max_tool_calls=1))
    events = ask(run, "sub", "add")
    assert [call.name for call in events[-1].calls] == ["add"]


def test_with_one_round_the_refusal_is_what_is_shown():
    run, _ = start(["add"], maximum_iterations=1)
    events = ask(run, "sub")
    assert any("sub may not be called" in getattr(event, "text", "") for event in events)
    assert events[-1].is_answered


def test_what_nobody_may_read_of_a_name_is_not_said_back():
    run, _ = start(["add"], redact=lambda text: text.replace("hush", "***"))
    assert refusals(ask(run, "hush")) == {"hush": REFUSED.format("***", "add")}
