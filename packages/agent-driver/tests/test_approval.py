"""Runs that stop for a person's leave and go on later, in any process."""

import asyncio
import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from functools import partial

import pytest
from scripted import Script, as_tool, ask, use

from agent_driver import adrive, drive
from agent_loop import (
    AgentRun,
    AskApproval,
    Budgets,
    CallModel,
    Decision,
    Finished,
    InvalidSettingError,
    ModelDone,
    SnapshotError,
    ToolCallEnded,
    ToolCallStarted,
)
from agent_tooling import ApprovalRules, DeclarationError, Tool
from run_log import RunFile, RunLog, list_runs


KEY = b"a key of thirty-two random bytes"
QUESTION = [{"role": "user", "content": "?"}]


def blocking(*args, **settings):
    return list(drive(*args, **settings))


def awaited(*args, **settings):
    async def play():
        return [event async for event in adrive(*args, **settings)]

    return asyncio.run(play())


@pytest.fixture(params=[blocking, awaited])
def play(request):
    return partial(request.param, snapshot_key=KEY)


class Bank:
    """Tools that say whom they have paid, and note it."""

    def __init__(self):
        self.paid = []

    def pay(self, to: str, euros: int = 500) -> str:
        """Pay somebody."""
        self.paid.append(to)
        return f"paid {to} {euros}"

    def look_up(self, name: str) -> str:
        """Look somebody up."""
        return f"{name} is known"

    @property
    def tools(self):
        return {"pay": self.pay, "look_up": self.look_up}


def build(rules=None, **given):
    given.setdefault("maximum_iterations", 6)
    rules = ApprovalRules.parse({"pay": "always"} if rules is None else rules)
    return AgentRun(given.pop("messages", QUESTION), approval_rules=rules, **given)


def pay(call_id="c1", to="Ann"):
    return use("pay", json.dumps({"to": to}), call_id)


def stop(events):
    assert isinstance(events[-1], AskApproval)
    return events[-1].snapshot


def only(events, kind):
    return [event for event in events if isinstance(event, kind)]


def test_a_run_stops_for_leave_and_goes_on_in_another_run_with_the_same_requests(play):
    script = Script(ask(use("look_up", '{"name": "Ann"}', "c0"), pay()), ask(pay("c2")), "Done.")
    bank = Bank()
    first = play(build(), script, bank.tools)
    assert bank.paid == []
    second = play(build(), script, bank.tools, resume=stop(first), decisions=True)
    assert bank.paid == ["Ann"]
    third = play(build(), script, bank.tools, resume=stop(second), decisions={"c2": True})

    # The same by one process, without any rules.
    at_once = Script(*script.answers)
    whole = play(build({}), at_once, Bank().tools)

    assert [call.messages for call in script.requests] == [
        call.messages for call in at_once.requests
    ]
    assert third[-1] == whole[-1]
    together = only([*first, *second, *third], ToolCallEnded)
    assert [event.call.call_id for event in together] == ["c0", "c1", "c2"]


def test_a_denied_call_is_not_made_and_the_model_reads_why(play):
    script, bank = Script(ask(pay("c1"), pay("c2", "Bob")), "Done."), Bank()
    snapshot = stop(play(build(), script, bank.tools))

    decisions = {"c1": Decision(call_id="", is_approved=False, reason="Not Ann."), "c2": True}
    play(build(messages=[]), script, bank.tools, resume=snapshot, decisions=decisions)

    assert bank.paid == ["Bob"]
    told = [message.content for message in script.requests[1].messages[-2:]]
    assert told[0].endswith("They said: Not Ann.")
    assert told[1] == "paid Bob 500"


def test_a_default_that_the_tool_would_get_counts_for_the_rules(play):
    rules = [{"tool": "pay", "when": {"euros": {"above": 100}}, "ask": "always"}]
    script = Script(ask(pay()), "Done.")
    events = play(build(rules), script, Bank().tools)
    [shown] = events[-1].calls
    assert shown.arguments == '{"to": "Ann", "euros": 500}'


def test_a_parameter_of_which_a_schema_says_nothing_but_that_it_is_there_has_no_default(play):
    schema = {"type": "object", "properties": {"to": True, "note": {"default": None}}}
    pay_any = Tool.from_schema("pay", "", schema, lambda **_given: "paid")
    [shown] = play(build(), Script(ask(use("pay", "{}"))), [pay_any])[-1].calls
    assert shown.arguments == '{"note": null}'


def test_calls_that_are_not_made_anyway_are_not_asked_for(play):
    script = Script(ask(use("nothing", "{}", "a"), use("pay", "{}", "b")), "Done.")
    events = play(build({"*": "always"}), script, Bank().tools)
    assert only(events, AskApproval) == []
    assert isinstance(events[-1], Finished)


def test_a_call_that_memory_answers_is_not_asked_for(play):
    def fail(to: str) -> str:
        raise OSError(to)

    bank, again = Bank(), use("fail", '{"to": "Ann"}', "f")
    script = Script(
        ask(pay("a"), again), ask(pay("b")), ask(pay("c"), {**again, "call_id": "g"}), "Done."
    )
    tools = {"fail": fail, **bank.tools}
    rules = {"pay": "always", "fail": "always"}
    events = play(build(rules), script, tools)
    for _ in range(2):
        events = play(build(rules), script, tools, resume=stop(events), decisions=True)

    assert isinstance(events[-1], Finished)
    assert bank.paid == ["Ann", "Ann"]
    repeated, failed = (message.content for message in script.requests[3].messages[-2:])
    assert "already made with the same arguments" in repeated
    assert "repeated failure" in failed


def test_a_client_is_handed_its_call_again_whatever_came_of_it_before(play):
    given = iter([*["1 failed"] * 3, "all passed", OSError("gone"), "all passed again"])

    def run_tests() -> str:
        """Run the tests of the client's project."""
        result = next(given)
        if isinstance(result, OSError):
            raise result
        return result

    tool = replace(Tool.from_function(run_tests, approval="always"), is_external=True)
    calls = [use("run_tests", "{}", name) for name in "abcdef"]
    script = Script(ask(*calls[:3]), *(ask(call) for call in calls[3:]), "Done.")
    events = play(build({}), script, [tool])
    while not isinstance(events[-1], Finished):
        events = play(build({}), script, [tool], resume=stop(events), decisions=True)

    told = [each.content for each in script.requests[-1].messages[1:] if each.role == "tool"]
    assert told[:4] == ["1 failed", "1 failed", "1 failed", "all passed"]
    assert "gone" not in told[4]
    assert told[5] == "all passed again"


def test_what_failed_before_is_remembered_and_what_was_cut_can_be_read_on(play):
    def fail(name: str) -> str:
        raise OSError(name)

    def tell() -> str:
        return "x" * 3_000

    def tools():
        return {"fail": fail, "tell": tell, **Bank().tools}

    again = use("fail", '{"name": "a"}', "f")
    read_on = use("read_result", '{"id": "r1", "offset": 2900}', "r")
    script = Script(
        ask(again, use("tell", "{}", "t"), pay()), ask({**again, "call_id": "g"}, read_on), "Done."
    )
    settings = {"result_characters": 1_000}
    snapshot = stop(play(build(), script, tools(), **settings))

    play(build(), script, tools(), resume=snapshot, decisions=False, **settings)

    repeated, read = (message.content for message in script.requests[2].messages[-2:])
    assert "repeated failure" in repeated
    assert "x" * 100 in read


def test_no_hidden_value_is_in_a_snapshot(play):
    declared = Tool.from_declaration(
        {
            "identity": {"name": "pay", "provider": "p"},
            "description": {"llm": "Pays."},
            "parameters": [
                {"name": "to", "type": "string", "form": "llm", "required": True},
                {"name": "token", "type": "secret-input", "form": "form"},
            ],
            "runtime_parameters": {"token": "t0psecret"},
        },
        lambda **given: [{"type": "text", "message": {"text": f"{given['token'][:2]} paid"}}],
    )
    hidden = Tool.from_function(lambda: None, name="f", hidden={})
    script = Script(ask(use("pay", '{"to": "a"}', "1")), ask(use("pay", '{"to": "b"}', "2")), "So.")
    rules = [{"tool": "pay", "when": {"to": {"equals": "b"}}, "ask": "always"}]

    snapshot = stop(play(build(rules), script, [declared, hidden]))

    assert '\\"pay\\",{\\"to\\":\\"a\\"}' in snapshot
    assert "t0psecret" not in snapshot


def test_the_time_of_a_run_goes_on_and_that_of_the_person_does_not_count(play):
    budgets = Budgets(max_seconds=50)
    run = build(budgets=budgets)
    script, bank = Script(ask(pay()), ask(pay("c2")), "Done."), Bank()
    snapshot = stop(play(run, script, bank.tools))
    late = json.loads(snapshot)
    assert 0 < late["state"]["run"]["spending"]["seconds"] < 10

    events = play(build(budgets=budgets), script, bank.tools, resume=snapshot, decisions=True)

    assert isinstance(events[-1], AskApproval)


def read_log(log, kind):
    """Return the records of a type, of all runs, the oldest first."""
    files = [RunFile(summary.path) for summary in reversed(list_runs(log.folder))]
    assert [file.problems for file in files if list(file.iter_records()) and file.problems] == []
    return [record for file in files for record in file.iter_records() if record["type"] == kind]


def test_a_log_ends_with_the_question_and_that_of_the_run_that_goes_on_begins_with_the_decision(
    play, tmp_path
):
    first, second = RunLog(tmp_path / "1"), RunLog(tmp_path / "2")
    script, bank = Script(ask(pay("c1"), pay("c2", "Bob")), "Done."), Bank()
    snapshot = stop(play(build(), script, bank.tools, log=first))
    [question], [end] = read_log(first, "question"), read_log(first, "end")
    written = [(one["call_id"], one["name"], one["arguments"]) for one in question["calls"]]
    assert written == [
        ("c1", "pay", '{"to": "Ann", "euros": 500}'),
        ("c2", "pay", '{"to": "Bob", "euros": 500}'),
    ]
    assert (question["round"], end["reason"]) == (1, "approval")

    yes = Decision(call_id="c1", is_approved=True, by="Eve")
    no = Decision(call_id="c2", is_approved=False, by="Eve", reason="Not Bob.")
    decisions = {"c1": yes, "c2": no}
    play(build(), script, bank.tools, log=second, resume=snapshot, decisions=decisions)

    [before], [start] = read_log(first, "start"), read_log(second, "start")
    assert (start["resumes"], "resumes" in before) == (before["run"], False)
    decided = read_log(second, "decision")
    assert [(one["call_id"], one["is_approved"], one["by"]) for one in decided] == [
        ("c1", True, "Eve"),
        ("c2", False, "Eve"),
    ]
    assert [one.get("reason") for one in decided] == [None, "Not Bob."]
    assert before["time"] <= question["time"] <= start["time"] <= decided[0]["time"]


def test_a_run_that_stopped_without_a_log_goes_on_with_one(play, tmp_path):
    script = Script(ask(pay()), "Done.")
    snapshot = stop(play(build(), script, Bank().tools))
    log = RunLog(tmp_path)
    play(build(), script, Bank().tools, log=log, resume=snapshot, decisions=False)
    [start], [decision] = read_log(log, "start"), read_log(log, "decision")
    assert "resumes" not in start
    assert not decision["is_approved"]


def test_a_snapshot_of_a_run_without_a_driver_is_played_on(play):
    script, bank = Script(ask(pay()), "Done."), Bank()
    run = build()
    drive(run, script, bank.tools, snapshot_key=KEY)  # Offers the tools, and is never played.
    run.start()
    run.feed({"tool_calls": [pay()]})
    run.feed(ModelDone())
    snapshot = run.to_snapshot(key=KEY, expires_at=9e9)

    events = play(build(), script, bank.tools, resume=snapshot, decisions=True)

    assert (bank.paid, events[-1].reason) == (["Ann"], "answered")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"snapshot_key": None}, ValueError, "snapshot_key: expected a key, for the run has"),
        ({"snapshot_key": b"short"}, InvalidSettingError, "snapshot_key must be at least 16"),
        ({"snapshot_key": "text"}, InvalidSettingError, "snapshot_key must be bytes"),
        ({"decisions": True}, ValueError, "decisions: expected none where nothing is resumed"),
        ({"resume": "{}", "decisions": True}, SnapshotError, "snapshot.format"),
        ({"rules": {"apy": "always"}}, DeclarationError, 'approval_rules["apy"].tool must be'),
        (
            {"rules": [{"tool": "pay", "when": {"euro": {"above": 1}}, "ask": "once"}]},
            DeclarationError,
            'approval_rules[0].when["euro"] must be a path into the arguments of pay (to, euros)',
        ),
    ],
    ids=range(7),
)
def test_what_cannot_stop_or_go_on_is_refused_before_any_call(play, settings, error, message):
    settings = dict(settings)
    rules = settings.pop("rules", None)
    script = Script("Done.")
    with pytest.raises(error) as caught:
        play(build(rules), script, Bank().tools, **settings)
    assert message in str(caught.value)
    assert script.requests == []


@pytest.mark.parametrize(
    ("decisions", "error", "message"),
    [
        (None, TypeError, "decisions: expected true or false, or one for each call that waits"),
        ({}, ValueError, "decisions['c1']: expected one for each call that waits, got none"),
        ({"c1": True, "c2": True}, ValueError, "decisions['c2']: expected one for each call"),
        ({"c1": "yes"}, TypeError, "decisions['c1']: expected true, false or a Decision, got str"),
    ],
    ids=range(4),
)
def test_every_call_that_waits_needs_a_decision(play, decisions, error, message):
    script = Script(ask(pay()), "Done.")
    snapshot = stop(play(build(), script, Bank().tools))
    with pytest.raises(error) as caught:
        play(build(), script, Bank().tools, resume=snapshot, decisions=decisions)
    assert message in str(caught.value)
    assert len(script.requests) == 1


def test_a_snapshot_needs_its_key_and_expires(play):
    script = Script(ask(pay()), "Done.")
    snapshot = stop(play(build(), script, Bank().tools, snapshot_seconds=-1))
    with pytest.raises(SnapshotError, match="expired"):
        play(build(), script, Bank().tools, resume=snapshot, decisions=True)
    no_rules = AgentRun(QUESTION, maximum_iterations=6)
    with pytest.raises(ValueError, match="expected the key that the snapshot was signed with"):
        list(drive(no_rules, script, Bank().tools, resume=snapshot, decisions=True))
    with pytest.raises(InvalidSettingError, match="snapshot_key"):
        play(build(), script, Bank().tools, snapshot_key=b"short")


def test_another_process_goes_on_where_this_one_has_stopped(tmp_path):
    snapshot = stop(list(drive(build(), Script(ask(pay())), {"pay": Bank().pay}, snapshot_key=KEY)))
    stranger = textwrap.dedent(
        """
        import sys
        from agent_driver import drive
        from agent_loop import AgentRun, CallModel, Finished
        from agent_tooling import ApprovalRules

        def pay(to: str, euros: int = 500) -> str:
            '''Pay somebody.'''
            print("paid", to)
            return "paid"

        def model(call):
            print("asked", call.round, [message.role for message in call.messages[1:]])
            return "Done."

        run = AgentRun([], maximum_iterations=6, approval_rules=ApprovalRules.parse('{"pay": "always"}'))
        key = b"a key of thirty-two random bytes"
        for event in drive(run, model, [pay], snapshot_key=key, resume=sys.stdin.read(), decisions=True):
            if isinstance(event, Finished):
                print(event.reason, event.rounds)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", stranger],
        input=snapshot,
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.splitlines() == ["paid Ann", "asked 2 ['assistant', 'tool']", "answered 2"]


def test_a_call_is_shown_as_started_only_once_it_is_approved(play):
    script, bank = Script(ask(pay()), "Done."), Bank()
    first = play(build(), script, bank.tools)
    assert only(first, ToolCallStarted) == []
    second = play(build(), script, bank.tools, resume=stop(first), decisions=True)
    assert [type(event) for event in second[:1]] == [ToolCallStarted]
    assert len(only(second, CallModel)) == 1


def test_the_call_of_an_agent_can_wait_for_a_person(play):
    script = Script(ask(use("helper", '{"task": "Help."}', "c1")), "Done.")
    tools = [as_tool("helper", "Helps.", model=lambda _: "Helped.")]
    snapshot = stop(play(build({"helper": "always"}), script, tools))

    events = play(build({"helper": "always"}), script, tools, resume=snapshot, decisions=True)

    assert script.requests[1].messages[-1].content == "Helped."
    assert [use.agent for use in events[-1].agents] == ["helper"]
