"""Calls of agents that a person has to approve: what is asked, and how all of them go on."""

import io
import json
import random
import runpy
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scripted import Script, as_tool, ask, use

from agent_driver import Agent, drive
from agent_loop import (
    AgentEvent,
    AgentRun,
    AskApproval,
    Budgets,
    Decision,
    Finished,
    ToolCallEnded,
)
from agent_tooling import ApprovalRules, Tool
from run_log import RunFile, RunLog, list_runs


KEY = b"0123456789abcdef"
PAY = ApprovalRules.parse({"pay": "always"})


def paying(paid):
    """Return a tool that pays, and notes how much."""

    def pay(euros: int) -> str:
        """Pay."""
        paid.append(euros)
        return f"paid {euros}"

    return Tool.from_function(pay)


def pay(euros, call_id="p1"):
    return use("pay", json.dumps({"euros": euros}), call_id)


def task(name, call_id="c1"):
    return use(name, '{"task": "Go on."}', call_id)


def spend(*calls, text="", tokens=10):
    usage = {"input_tokens": tokens, "total_price": Decimal("0.1"), "currency": "USD"}
    return [{"tool_calls": list(calls), "text": text, "usage": usage}]


def begin(rules=PAY, **settings):
    return AgentRun([], maximum_iterations=5, approval_rules=rules, **settings)


def results(events):
    return {e.call.call_id: e.result for e in events if isinstance(e, ToolCallEnded)}


def ask_of(events):
    assert isinstance(events[-1], AskApproval)
    return [(call.key, call.agents, json.loads(call.arguments)) for call in events[-1].calls]


@pytest.mark.parametrize("own", [None, PAY])
def test_what_an_agent_wants_to_call_is_asked_of_the_person_with_its_path(play, own):
    paid = []
    rules = PAY if own is None else None

    def build():
        clerk = Script(ask(pay(50)), "I paid.")
        return Script(ask(task("clerk")), "So."), as_tool(
            "clerk", "Pays.", clerk, [paying(paid)], approval_rules=own
        )

    script, clerk = build()
    events = play(begin(rules), script, [clerk], snapshot_key=KEY)
    assert ask_of(events) == [("c1/p1", ("clerk",), {"euros": 50})]
    assert paid == []

    script, clerk = build()
    again = {"snapshot_key": KEY, "resume": events[-1].snapshot, "decisions": {"c1/p1": True}}
    events = play(begin(rules), script, [clerk], **again)
    assert paid == [50]
    assert results(events)["c1"].content == "I paid."
    assert events[-1].answer == "So."


def test_two_levels_are_asked_and_go_on(play):
    paid = []

    def build():
        inner = as_tool("inner", "Pays.", Script(ask(pay(50)), "Paid."), [paying(paid)])
        outer = as_tool("outer", "Delegates.", Script(ask(task("inner", "i1")), "Done."), [inner])
        return Script(ask(task("outer", "o1")), "So."), [outer]

    events = play(begin(), *build(), snapshot_key=KEY)
    assert ask_of(events) == [("o1/i1/p1", ("outer", "inner"), {"euros": 50})]
    again = {"snapshot_key": KEY, "resume": events[-1].snapshot, "decisions": True}
    events = play(begin(), *build(), **again)
    assert (paid, events[-1].answer) == ([50], "So.")
    assert [(use.path, use.agent, use.model_calls) for use in events[-1].agents] == [
        (("o1",), "outer", 2),
        (("o1", "i1"), "inner", 2),
    ]


def test_agents_that_wait_at_once_and_the_run_itself_are_one_question(play):
    paid = []

    def build():
        tools = [paying(paid)]
        first = as_tool("first", "Pays.", Script(ask(pay(1), pay(2, "p2")), "First."), tools)
        second = as_tool("second", "Pays.", Script(ask(pay(3)), "Second."), tools)
        calls = (task("first", "a"), task("second", "b"), pay(4))
        return Script(ask(*calls), "So."), [first, second, *tools]

    script, tools = build()
    events = play(begin(), script, tools, snapshot_key=KEY)
    assert {key for key, *_ in ask_of(events)} == {"p1", "a/p1", "a/p2", "b/p1"}

    script, tools = build()
    no = Decision(call_id="", is_approved=False, reason="Too much.")
    decisions = {"p1": True, "a/p1": True, "a/p2": no, "b/p1": False}
    again = {"snapshot_key": KEY, "resume": events[-1].snapshot, "decisions": decisions}
    events = play(begin(), script, tools, **again)
    assert sorted(paid) == [1, 4]
    ends = results(e.event for e in events if isinstance(e, AgentEvent) and e.agent == "first")
    assert "Too much." in ends["p2"].error
    assert {name: results(events)[name].content for name in ("a", "b")} == {
        "a": "First.",
        "b": "Second.",
    }


def write(text, call_id):
    return use("write", json.dumps({"text": text}), call_id)


def test_calls_of_external_tools_leave_an_agent_the_room_to_ask_and_its_own_are_for_a_person(play):
    def write_it(text: str) -> None:
        """Write."""

    external = Tool.from_function(write_it, name="write", approval="always")
    external = replace(external, is_external=True)
    own = [write("x" * 30_000, "w1"), *(pay(n, f"p{n}") for n in range(21))]
    clerk = as_tool("clerk", "Pays.", Script(ask(*own), "Paid."), [external, paying([])])
    writes = [write("x" * 30_000 * (n == 20), f"w{n}") for n in range(21)]
    script = Script(ask(task("clerk"), *writes), "So.")

    events = play(begin(), script, [external, clerk], snapshot_key=KEY)

    asked = ask_of(events)
    assert [key for key, *_ in asked[:21]] == [f"w{n}" for n in range(21)]
    assert len(asked[20][2]["text"]) == 30_000
    # Where an agent is called, all that waits is asked of a person.
    assert [key for key, *_ in asked[21:]] == [f"c1/p{n}" for n in range(20)]
    agents = [e.event for e in events if isinstance(e, AgentEvent)]
    assert "a person is asked about 20,000 at most" in results(agents)["w1"].error


def test_an_agent_may_ask_again_and_again(play):
    paid = []

    def build():
        clerk = as_tool(
            "clerk", "Pays.", Script(ask(pay(1)), ask(pay(2, "p2")), "Paid."), [paying(paid)]
        )
        return Script(ask(task("clerk")), ask(pay(3)), "So."), [clerk, paying(paid)]

    events = play(begin(), *build(), snapshot_key=KEY)
    asked = []
    while isinstance(events[-1], AskApproval):
        asked += [key for key, *_ in ask_of(events)]
        again = {"snapshot_key": KEY, "resume": events[-1].snapshot, "decisions": True}
        events = play(begin(), *build(), **again)
    assert asked == ["c1/p1", "c1/p2", "p1"]
    assert (paid, events[-1].answer) == ([1, 2, 3], "So.")


def test_what_was_approved_once_is_not_asked_again_by_whoever_asked(play):
    paid = []

    def build():
        clerk = as_tool(
            "clerk", "Pays.", Script(ask(pay(1)), ask(pay(2, "p2")), "Paid."), [paying(paid)]
        )
        return Script(ask(task("clerk")), ask(pay(3)), "So."), [clerk, paying(paid)]

    once = ApprovalRules.parse({"pay": "once"})
    events = play(begin(once), *build(), snapshot_key=KEY)
    again = {"snapshot_key": KEY, "resume": events[-1].snapshot, "decisions": True}
    assert isinstance(play(begin(once), *build(), **again)[-1], Finished)
    assert paid == [1, 2, 3]


def test_an_agent_that_has_changed_meanwhile_is_not_run_on(play):
    paid = []

    def build(**settings):
        clerk = as_tool("clerk", "Pays.", Script(ask(pay(1)), "Paid."), [paying(paid)], **settings)
        return Script(ask(task("clerk")), "So."), [clerk]

    events = play(begin(), *build(), snapshot_key=KEY)
    again = {"snapshot_key": KEY, "resume": events[-1].snapshot, "decisions": True}
    script, tools = build(allowed_tools=["pay"])
    events = play(begin(), script, tools, **again)
    assert "the agent has changed since the user was asked" in results(events)["c1"].error
    assert (paid, events[-1].answer) == ([], "So.")


def test_the_snapshot_of_an_agent_is_no_snapshot_of_a_run(play):
    clerk = as_tool("clerk", "Pays.", Script(ask(pay(1)), "Paid."), [paying([])])
    events = play(begin(), Script(ask(task("clerk")), "So."), [clerk], snapshot_key=KEY)
    [inner] = [
        e.event for e in events if isinstance(e, AgentEvent) and isinstance(e.event, AskApproval)
    ]
    with pytest.raises(Exception, match="the run that was saved has another"):
        play(
            begin(),
            Script("never"),
            [clerk],
            snapshot_key=KEY,
            resume=inner.snapshot,
            decisions=True,
        )


def test_whoever_may_be_asked_needs_a_key(play):
    inner = as_tool("inner", "Pays.", Script(), [paying([])], approval_rules=PAY)
    outer = as_tool("outer", "Delegates.", Script(), [inner])
    with pytest.raises(
        ValueError, match="snapshot_key: expected a key, for inner asks for approval"
    ):
        play(begin(None), Script("never"), [outer])


def test_an_agent_that_nobody_drives_cannot_ask():
    clerk = as_tool("clerk", "Pays.", Script(ask(pay(1))), [paying([])], approval_rules=PAY)
    output = clerk.invoke({"task": "Pay."})
    assert (
        output.error == "the agent has to ask a person about a call, and nobody can be asked here"
    )


def test_budgets_count_before_and_after_a_question(play):
    def build():
        model = Script(
            spend(pay(1), tokens=30), spend(pay(2, "p2"), tokens=30), spend(text="Paid.")
        )
        return Script(spend(task("clerk")), spend(text="So.")), [
            as_tool("clerk", "Pays.", model, [paying([])])
        ]

    budgets = Budgets(max_total_tokens=60)
    events = play(begin(budgets=budgets), *build(), snapshot_key=KEY)
    again = {"snapshot_key": KEY, "resume": events[-1].snapshot, "decisions": True}
    events = play(begin(budgets=budgets), *build(), **again)
    assert isinstance(events[-1], Finished)
    assert (events[-1].reason, events[-1].usage.total_tokens) == ("budget", 10 + 30 + 30 + 10)


def test_an_agent_declared_once_asks_for_its_agents():
    paid = []

    def declare():
        clerk = as_tool(
            "clerk",
            "Pays.",
            Script(ask(pay(5)), "Paid."),
            [paying(paid)],
            approval_rules={"pay": "always"},
        )
        return Agent(Script(ask(task("clerk")), "So."), [clerk], snapshot_key=KEY)

    result = declare().run("Pay.")
    assert [call.key for call in result.waiting.calls] == ["c1/p1"]
    assert declare().run(resume=result.waiting, decisions={"c1/p1": True}).value == "So."
    assert paid == [5]


def test_the_logs_say_who_decided_and_which_run_goes_on(play, tmp_path):
    log = RunLog(tmp_path)

    def build():
        clerk = as_tool("clerk", "Pays.", Script(ask(pay(5)), "Paid."), [paying([])])
        return Script(ask(task("clerk")), "So."), [clerk]

    events = play(begin(), *build(), snapshot_key=KEY, log=log)
    decision = Decision(call_id="c1/p1", is_approved=True, by="Ann", reason="Fine.")
    again = {"snapshot_key": KEY, "resume": events[-1].snapshot, "decisions": {"c1/p1": decision}}
    play(begin(), *build(), **again, log=log)
    records = {run.path.stem: list(RunFile(run.path).iter_records()) for run in list_runs(tmp_path)}
    starts = {
        name: next(r for r in found if r["type"] == "start") for name, found in records.items()
    }
    resumed = {name: start["resumes"] for name, start in starts.items() if "resumes" in start}
    assert len(records) == 4
    assert len(resumed) == 2
    agents = {name: start["about"].get("agent") for name, start in starts.items()}
    assert all(agents[name] == agents[before] for name, before in resumed.items())
    told = [r for found in records.values() for r in found if r["type"] == "decision"]
    assert {(r["call_id"], r["is_approved"], r.get("by")) for r in told} == {
        ("c1/p1", True, "Ann"),
        ("p1", True, "Ann"),
    }
    [question] = [
        r
        for r in records[min(set(records) - set(resumed), key=lambda n: agents[n] or "")]
        if r["type"] == "question"
    ]
    assert question["calls"][0]["path"] == ["c1"]


PROGRAM = """
import json, sys
from agent_driver import Agent, agent_tool

def pay(euros: int) -> str:
    \"\"\"Pay.\"\"\"
    print(f"paid {euros}")
    return "paid"

def clerk(call):
    if call.round > 1:
        return "Paid."
    return {"tool_calls": [{"call_id": "p", "name": "pay", "arguments": '{"euros": 5}'}]}

def boss(call):
    if call.round > 1:
        return f"So: {call.messages[-1].content}"
    return {"tool_calls": [{"call_id": "c", "name": "clerk", "arguments": '{"task": "Pay."}'}]}

clerk = agent_tool("clerk", "Pays.", Agent(clerk, [pay], approval_rules={"pay": "always"}))
agent = Agent(boss, [clerk], snapshot_key=b"0123456789abcdef")
snapshot = sys.stdin.read()
if snapshot:
    print(agent.run(resume=snapshot, decisions={"c/p": True}).value)
else:
    print(agent.run("Pay.").waiting.snapshot)
"""


def test_another_process_goes_on(tmp_path, capsys, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    runpy.run_path(str(program))
    snapshot = capsys.readouterr().out.strip()

    command = [sys.executable, program]
    done = subprocess.run(command, input=snapshot, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["paid 5", "So: Paid."]


def play_team(seed, *, stops):
    """Play a random team of agents, stopped by approval or not, and return what came of it."""
    chance, paid = random.Random(seed), []
    depth = chance.randint(1, 3)
    plans = [[chance.randint(0, 2) for _ in range(chance.randint(1, 2))] for _ in range(depth)]

    def build(level):
        tools = [paying(paid)]
        if level + 1 < depth:
            inner = build(level + 1)
            tools.append(
                as_tool(f"agent{level}", "Helps.", inner[0], inner[1], maximum_iterations=9)
            )
        answers = []
        for number, count in enumerate(plans[level]):
            calls = [pay(10 * level + n, f"p{n}") for n in range(count)]
            if level + 1 < depth and number == 0:
                calls.append(task(f"agent{level}", "a"))
            answers.append(spend(*calls) if calls else spend(pay(99)))
        return Script(*answers, spend(text=f"Level {level}.")), tools

    rules = ApprovalRules.parse({"pay": "always" if stops else "never"})

    def start():
        return AgentRun([], maximum_iterations=9, approval_rules=rules), *build(0)

    run, script, tools = start()
    events = list(drive(run, script, tools, snapshot_key=KEY))
    while isinstance(events[-1], AskApproval):
        again = {"snapshot_key": KEY, "resume": events[-1].snapshot, "decisions": True}
        run, script, tools = start()
        events = list(drive(run, script, tools, **again))
    finished = events[-1]
    agents = sorted(
        (use.path, use.agent, use.model_calls, use.usage.total_tokens) for use in finished.agents
    )
    return finished.messages, finished.usage, agents, sorted(paid)


@hypothesis_settings(max_examples=hypothesis_settings.default.max_examples // 2)
@given(st.integers(0, 2**32))
def test_a_team_that_is_stopped_for_every_call_comes_to_the_same(seed):
    assert play_team(seed, stops=True) == play_team(seed, stops=False)
