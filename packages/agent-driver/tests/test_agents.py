"""Agents that are called as tools: what they get, what they use, how they end, what is seen of them."""

import asyncio
import json
import threading
import time
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest
from scripted import Script, as_tool, ask, use

from agent_driver import adrive, drive
from agent_loop import (
    AgentEvent,
    AgentRun,
    Budgets,
    Finished,
    InvalidSettingError,
    ShowText,
    TimeBudget,
    ToolCallEnded,
)
from agent_tooling import AnswerSchema, DeclarationError, Tool
from run_log import RunLog


DOCS = Path(__file__).parents[3] / "docs"

TASK = '{"task": "find it"}'


def call(name="finder", arguments=TASK, call_id="c1"):
    return use(name, arguments, call_id)


def spend(*calls, text="", tokens=10, price="0.1"):
    usage = {"input_tokens": tokens, "total_price": Decimal(price), "currency": "USD"}
    return [{"tool_calls": list(calls), "text": text, "usage": usage}]


def results(events):
    return {e.call.call_id: e.result for e in events if isinstance(e, ToolCallEnded)}


def look(place: str = "here") -> str:
    """Look somewhere."""
    return f"nothing {place}"


def search(key: str) -> str:
    """Search."""
    return f"found with {key}"


def test_an_agent_answers_its_caller_and_sees_its_task_alone(play):
    model = Script(ask(use("look")), "<think>hm</think>It is there.")
    finder = as_tool("finder", "Finds things.", model, [look], instruction="Look well.")
    run = AgentRun(
        [
            {"role": "system", "content": "A secret."},
            {"role": "user", "content": "Where is it?"},
        ],
        maximum_iterations=3,
    )
    events = play(run, Script(ask(call()), "There."), [finder])
    assert [message["content"] for message in model.requests[0].messages] == [
        "Look well.",
        "find it",
    ]
    assert [tool.name for tool in model.requests[0].tools][:1] == ["look"]
    assert results(events)["c1"].content == "It is there."
    assert events[-1].answer == "There."


def test_an_agent_without_an_instruction_reads_nothing_but_the_task(play, run):
    model = Script("Done.")
    play(run, Script(ask(call()), "So."), [as_tool("finder", "Finds.", model)])
    assert [message["role"] for message in model.requests[0].messages] == ["user"]


def test_arguments_that_are_no_task_are_refused_before_anything_is_asked(play, run):
    model = Script()
    finder = as_tool("finder", "Finds.", model)
    events = play(run, Script(ask(call(arguments='{"tusk": 1}')), "So."), [finder])
    assert "validation error" in results(events)["c1"].error
    assert not model.requests


def test_what_happens_in_an_agent_is_seen_with_the_path_that_leads_to_it(play, run):
    inner = as_tool("inner", "Digs.", Script("Dug."))
    outer = as_tool("outer", "Finds.", Script(ask(call("inner", call_id="i1")), "Found."), [inner])
    events = play(run, Script(ask(call("outer", call_id="o1")), "So."), [outer])
    seen = {
        (event.path, event.agent, event.event.text)
        for event in events
        if isinstance(event, AgentEvent) and isinstance(event.event, ShowText)
    }
    assert seen == {(("o1", "i1"), "inner", "Dug."), (("o1",), "outer", "Found.")}
    assert "".join(e.text for e in events if isinstance(e, ShowText)).endswith("So.")
    assert not any(isinstance(e, AgentEvent) for e in events if isinstance(e, ShowText))


def test_what_agents_use_is_told_and_counted_for_their_caller(play):
    inner = as_tool("inner", "Digs.", Script(spend(text="Dug.", tokens=3), model_id="small"))
    script = Script(
        spend(call("inner", call_id="i1"), tokens=5),
        spend(text="Found.", tokens=7),
        model_id="medium",
    )
    outer = as_tool("outer", "Finds.", script, [inner])
    run = AgentRun(
        [],
        maximum_iterations=3,
        model="large",
        budgets=Budgets(max_total_tokens=1000, max_tool_calls=9),
    )
    top = Script(spend(call("outer", call_id="o1"), tokens=11), spend(text="So.", tokens=13))
    finished = play(run, top, [outer])[-1]
    assert finished.usage.total_tokens == 3 + 5 + 7 + 11 + 13
    assert finished.usage.total_price == Decimal("0.5")
    assert finished.models == ("large", "large")
    assert [(use.path, use.agent, use.models, use.model_calls) for use in finished.agents] == [
        (("o1",), "outer", ("medium", "medium"), 2),
        (("o1", "i1"), "inner", ("small",), 1),
    ]
    assert [use.usage.total_tokens for use in finished.agents] == [15, 3]
    assert [(use.name, use.used) for use in finished.budgets] == [
        ("max_total_tokens", 39),
        ("max_tool_calls", 2),
    ]


def test_an_agent_ends_with_what_there_is_where_its_caller_has_nothing_left(play):
    model = Script(spend(use("look"), tokens=50), spend(use("look"), tokens=50), "never")
    finder = as_tool("finder", "Finds.", model, [look])
    run = AgentRun([], maximum_iterations=4, budgets=Budgets(max_total_tokens=100))
    events = play(run, Script(spend(call()), spend(text="That is all.")), [finder])
    assert len(model.requests) == 2  # No closing call of its own.
    told = results(events)["c1"]
    assert told.error is None
    assert "max_total_tokens" in told.content
    assert "nothing here" in told.content
    assert (events[-1].reason, events[-1].answer) == ("budget", "That is all.")


def test_an_agent_has_a_closing_call_where_only_its_own_budget_is_used_up(play):
    model = Script(spend(use("look"), tokens=50), spend(text="As far as I know.", tokens=50))
    finder = as_tool("finder", "Finds.", model, [look], budgets=Budgets(max_total_tokens=40))
    run = AgentRun([], maximum_iterations=4, budgets=Budgets(max_total_tokens=1000))
    events = play(run, Script(spend(call()), spend(text="So.")), [finder])
    assert model.requests[1].is_closing
    assert results(events)["c1"].content == "As far as I know."
    assert events[-1].reason == "answered"


def test_agents_at_once_share_the_tool_calls_of_their_caller(play):
    made = []

    def count() -> str:
        """Count."""
        made.append(1)
        return "counted"

    def greedy(request):
        yield from ask(*[use("count", call_id=f"{request.round}-{n}") for n in range(4)])

    agents = [as_tool(f"a{n}", "Counts.", greedy, [count]) for n in range(5)]
    run = AgentRun([], maximum_iterations=3, budgets=Budgets(max_tool_calls=12))
    calls = [call(f"a{n}", call_id=f"c{n}") for n in range(5)]
    finished = play(run, Script(ask(*calls), "So."), agents)[-1]
    assert len(made) <= 12 - 5
    assert finished.budgets[0].used == 12
    assert finished.answer == "So."


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_agents_call_agents_no_deeper_than_the_outermost_run_allows(play, depth):
    agent, asked = None, []

    def build(level):
        def model(request):
            if request.round == 1 and level < 4:
                asked.append(level)
                return ask(call(f"a{level + 1}"))
            return "done"

        tools = [build(level + 1)] if level < 4 else []
        return as_tool(f"a{level}", "Delegates.", model, tools)

    agent = build(1)
    run = AgentRun([], maximum_iterations=3, max_agent_depth=depth)
    events = play(run, Script(ask(call("a1")), "So."), [agent])
    assert asked == list(range(1, depth + 1))
    ends = [e.event if isinstance(e, AgentEvent) else e for e in events]
    [refused] = [e.result for e in ends if isinstance(e, ToolCallEnded) and e.result.error]
    assert refused.error == (
        f"tool invoke error: agents may call agents {depth} deep at most; this one was not called"
    )


@pytest.mark.usefixtures("patient")
def test_a_cancel_reaches_agents_and_ends_with_what_they_know(play, run, released):
    cancelled = threading.Event()

    def model(request):
        if request.round == 1:
            yield from ask(use("look"))
        else:
            yield "It may be"
            released.wait(600)

    def look_on(event):
        if isinstance(event, AgentEvent) and event.event == ShowText(text="It may be"):
            cancelled.set()

    finder = as_tool("finder", "Finds.", model, [look])
    top = Script(ask(call()), "never")
    events = play(run, top, [finder], look_on, cancelled=cancelled)
    assert len(top.requests) == 1
    assert (events[-1].reason, events[-1].rounds) == ("cancelled", 1)
    shown = "".join(e.text for e in events if isinstance(e, ShowText))
    assert "It may be" in shown
    assert "nothing here" in shown
    [end] = [e.event for e in events if isinstance(e, AgentEvent) and isinstance(e.event, Finished)]
    assert end.reason == "cancelled"


def test_an_agent_ends_when_its_caller_has_no_more_time_for_tools(play, released, clock):
    is_shown = threading.Event()

    def look_on(event):
        if isinstance(event, AgentEvent) and isinstance(event.event, ShowText):
            is_shown.set()

    def model(_):
        yield "It may be"
        is_shown.wait(600)
        clock.move(1)
        released.wait(600)

    finder = as_tool("finder", "Finds.", model)
    run = AgentRun([], maximum_iterations=3, budgets=Budgets(max_seconds=0.4))
    began = time.perf_counter()
    events = play(run, Script(ask(call()), "That is all."), [finder], look_on)
    assert time.perf_counter() - began < 60
    told = results(events)["c1"]
    assert "The time of the run was up" in told.content
    assert "It may be" in told.content
    assert events[-1].answer == "That is all."


def test_an_agent_answers_within_the_time_that_its_caller_has_for_tools(play, run, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def model(request):
        if not request.is_closing:
            now[0] += 20
            return ask(use("look", call_id=f"c{request.round}"))
        return "As far as I know."

    finder = as_tool("finder", "Finds.", model, [look], maximum_iterations=50)
    budget = TimeBudget(run_seconds=200, closing_seconds=50)
    events = play(run, Script(ask(call()), "That is all."), [finder], time_budget=budget)
    assert results(events)["c1"].content == "As far as I know."
    assert results(events)["c1"].artifact.reason == "time_limit"


def test_an_agent_without_time_is_given_up_like_any_tool(play, clock):
    finder = as_tool("finder", "Finds.", Script("never"))
    run = AgentRun([], maximum_iterations=3, budgets=Budgets(max_seconds=0.2))

    def slow(request):
        if request.round > 1:
            return "So."
        clock.move(0.3)
        return {"tool_calls": [call()]}

    assert play(run, slow, [finder])[-1].answer == "So."


def test_a_failure_of_an_agent_is_told_to_the_model_without_its_words(play, run):
    def model(_):
        raise OSError("key sk-123 was refused")

    finder = as_tool("finder", "Finds.", model)
    events = play(run, Script(ask(call()), "So."), [finder])
    assert results(events)["c1"].error.startswith("tool invoke error: ")
    assert "sk-123" not in str(results(events)["c1"])
    assert events[-1].answer == "So."


def test_an_agent_ends_no_process(run):
    def model(_):
        raise SystemExit(3)

    events = list(drive(run, Script(ask(call()), "So."), [as_tool("finder", "Finds.", model)]))
    assert results(events)["c1"].error == "tool invoke error: failed to execute tool"


def test_what_an_agent_knows_is_told_with_its_failure(play, run):
    class BrokenError(OSError):
        is_transient = True

    def model(request):
        if request.round == 1:
            return ask(use("look"))
        raise BrokenError("sk-123")

    finder = as_tool("finder", "Finds.", model, [look])
    told = results(play(run, Script(ask(call()), "So."), [finder]))["c1"]
    assert told.error.startswith("tool invoke error: the agent ended with an error")
    assert "nothing here" in told.error
    assert "sk-123" not in told.error


@pytest.mark.parametrize("price", ["0", "-5", "NaN", "Infinity"])
def test_a_budget_that_an_agents_model_cannot_keep_ends_the_caller(play, price):
    model = Script(spend(text="For nothing.", price=price))
    run = AgentRun([], maximum_iterations=3, budgets=Budgets(max_cost=Decimal(5)))
    top = Script(spend(call()), spend(text="never"))
    finished = play(run, top, [as_tool("finder", "Finds.", model)])[-1]
    assert finished.error == "max_cost cannot be kept: the model does not tell its prices"
    assert len(top.requests) == 1


def test_an_agent_answers_in_json_where_it_has_a_schema(play, run):
    schema = AnswerSchema.parse('{"properties": {"n": {"type": "integer"}}, "required": ["n"]}')
    finder = as_tool("finder", "Finds.", Script("four", '{"n": 4}'), answer=schema)
    told = results(play(run, Script(ask(call()), "So."), [finder]))["c1"]
    assert told.content == '{"n": 4}'
    assert told.artifact.value == {"n": 4}
    bad = as_tool("finder", "Finds.", Script("four", "five"), answer=schema)
    run = AgentRun([], maximum_iterations=3)
    told = results(play(run, Script(ask(call()), "So."), [bad]))["c1"]
    assert "does not fulfil answer_schema" in told.error


def test_an_agent_has_a_log_of_its_own_that_names_the_run_and_the_call_it_answers(
    play, run, tmp_path
):
    secret, other = "hidden-of-the-agent", "hidden-of-the-caller"
    tools = [
        Tool.from_function(search, hidden={"key": key}, name=name)
        for name, key in [("look", secret), ("ask", other)]
    ]
    finder = as_tool("finder", "Finds.", Script(ask(use("look")), f"Say {secret}"), tools[:1])
    script = Script(ask(call(), use("ask", call_id="c2")), f"So {other} {secret}.")
    events = play(run, script, [finder, tools[1]], log=RunLog(tmp_path))
    schema = json.loads((DOCS / "run-log-1.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    files = sorted(tmp_path.glob("*.jsonl"))
    runs = {}
    for path in files:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for record in records:
            validator.validate(record)
        runs[path.stem] = records
        assert secret not in path.read_text(encoding="utf-8")
        assert other not in path.read_text(encoding="utf-8")
    outcome = results(events)["c1"].artifact
    child = runs.pop(outcome.run)
    [(name, parent)] = runs.items()
    assert child[0]["about"] == {"agent": "finder", "called_by": {"run": name, "call_id": "c1"}}
    assert child[-1]["reason"] == "answered"
    [told] = [r for r in parent if r["type"] == "result" and r["call_id"] == "c1"]
    assert told["artifact"]["run"] == outcome.run
    assert parent[-1]["reason"] == "answered"


def test_an_agent_is_an_ordinary_tool_for_anybody_else():
    model = Script(ask(use("look")), "It is there.")
    finder = as_tool("finder", "Finds.", model, [look])
    assert finder.invoke({"task": "find it"}).content == "It is there."

    def broken(_):
        raise OSError("sk-123")

    output = as_tool("finder", "Finds.", broken).invoke({"task": "find it"})
    assert output.error.startswith("tool invoke error: the agent ended with an error")


def test_an_agent_may_have_an_async_model_under_either_driver(play, run):
    async def model(_):
        await asyncio.sleep(0)
        yield "It is there."

    finder = as_tool("finder", "Finds.", model)
    assert results(play(run, Script(ask(call()), "So."), [finder]))["c1"].content == "It is there."


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (TypeError, {"model": 3}),
        (TypeError, {"model": Script(), "colour": "red"}),
        (InvalidSettingError, {"model": Script(), "maximum_iterations": 0}),
        (DeclarationError, {"model": Script(), "tools": [3]}),
        (DeclarationError, {"model": Script(), "name": "no name"}),
        (ValueError, {"model": Script(), "tools": [look, look]}),
    ],
)
def test_an_agent_that_cannot_be_is_refused_before_any_run(error, arguments):
    with pytest.raises(error):
        as_tool(**{"name": "finder", "description": "Finds."} | arguments)


async def test_whoever_lets_go_of_a_run_lets_go_of_its_agents():
    closed = threading.Event()

    def model(_):
        try:
            while True:
                yield "on and on "
                time.sleep(0.01)
        finally:
            closed.set()

    finder = as_tool("finder", "Finds.", model)
    assert isinstance(finder, Tool)

    def start():
        return AgentRun([], maximum_iterations=3), Script(ask(call())), [finder]

    def is_said(event):
        return isinstance(event, AgentEvent) and isinstance(event.event, ShowText)

    events = drive(*start())
    next(filter(is_said, events))
    events.close()
    assert closed.wait(60)

    closed.clear()
    events = adrive(*start())
    async for event in events:
        if is_said(event):
            break
    await events.aclose()
    assert await asyncio.to_thread(closed.wait, 60)
