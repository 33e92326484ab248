"""Tools that say themselves when a person has to approve a call."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import Script, as_tool, ask, use

from agent_driver import Agent, adrive, agent_tool, drive
from agent_loop import AgentRun, AskApproval, SnapshotError, ToolCallEnded
from agent_tooling import ApprovalRules, DeclarationError, Tool


KEY = b"a key of thirty-two random bytes"
TO = '{"to": "Ann", "euros": 50}'


def make(paid, **options):
    """Return a tool that pays and notes whom."""

    def pay(to: str, euros: int = 500) -> str:
        """Pay somebody."""
        paid.append(to)
        return f"paid {to} {euros}"

    return Tool.from_function(pay, **options)


def begin(rules=None):
    parsed = None if rules is None else ApprovalRules.parse(rules)
    return AgentRun([], maximum_iterations=4, approval_rules=parsed)


def results(events):
    return {e.call.call_id: e.result for e in events if isinstance(e, ToolCallEnded)}


def test_a_tool_that_asks_for_approval_stops_the_run_and_goes_on_with_a_decision(play):
    paid, script = [], Script(ask(use("pay", TO)), "So.")
    settings = {"snapshot_key": KEY}
    [*_, asked] = play(begin(), script, [make(paid, approval="always")], **settings)
    assert isinstance(asked, AskApproval)
    assert paid == []
    again = {**settings, "resume": asked.snapshot, "decisions": True}
    events = play(begin(), script, [make(paid, approval="always")], **again)
    assert (paid, events[-1].answer) == (["Ann"], "So.")


def test_a_condition_of_a_tool_sees_what_the_tool_would_get(play):
    paid = []
    pay = make(paid, approval={"euros": {"above": 100}})
    script = Script(ask(use("pay", TO)), ask(use("pay", '{"to": "Bob"}', "c2")), "So.")
    [*_, asked] = play(begin(), script, [pay], snapshot_key=KEY)
    assert paid == ["Ann"]
    assert [call.arguments for call in asked.calls] == ['{"to": "Bob", "euros": 500}']


ASKS = ["never", "once", "always"]


@given(
    st.lists(st.sampled_from(ASKS), max_size=2),
    st.none() | st.sampled_from(ASKS),
    st.none() | st.sampled_from(ASKS),
    st.sampled_from([drive, adrive]),
)
def test_of_the_runs_rules_the_tools_and_the_common_one_the_strictest_counts(
    own, of_tool, common, driver
):
    rules = [{"tool": "*", "ask": said} for said in own] or None
    run = begin(rules)
    settings = {"tool_approval": common, "snapshot_key": KEY}
    driver(run, Script(), [make([], approval=of_tool), print_it()], **settings)
    said = [*own[:1], *filter(None, (of_tool, common))]
    found = run.approval_rules or ApprovalRules()
    assert found.find("pay").ask == max(said, key=ASKS.index, default="never")
    others = [*own[:1], *filter(None, (common,))]
    assert found.find("print_it").ask == max(others, key=ASKS.index, default="never")


def print_it():
    return Tool.from_schema("print_it", "Prints.", {}, print)


def test_what_never_asks_needs_no_key_and_changes_no_rule(play):
    paid, run = [], begin()
    pay = make(paid, approval="never")
    assert play(run, Script(ask(use("pay", TO)), "So."), [pay], tool_approval="never")
    assert (paid, run.approval_rules) == (["Ann"], None)


def test_a_snapshot_is_not_taken_up_once_a_tool_asks_otherwise(play):
    def settle(script, **given):
        pay = make([], approval=given.pop("approval", None))
        return play(begin(), script, [pay], snapshot_key=KEY, **given)

    script = Script(ask(use("pay", TO)), "So.")
    [*_, asked] = settle(script, approval="always")
    late = {"resume": asked.snapshot, "decisions": True}
    others = [
        {"approval": "once"},
        {"approval": {"euros": {"above": 1}}},
        {},
        {"approval": "always", "tool_approval": "once"},
    ]
    for other in others:
        with pytest.raises(SnapshotError, match="approval_rules: the run that was saved has"):
            settle(script, **other, **late)
    assert settle(script, approval="always", **late)[-1].answer == "So."


def test_the_rule_counts_for_the_tool_that_a_call_of_call_tool_stands_for(play):
    call = use("call_tool", json.dumps({"name": "pay", "arguments": json.loads(TO)}))
    other = use("call_tool", json.dumps({"name": "print_it", "arguments": {}}), "c2")
    script, paid = Script(ask(call, other), "So."), []
    settings = {"snapshot_key": KEY, "tool_search": 2}
    tools = [make(paid, approval="always"), print_it()]
    events = play(begin(), script, tools, **settings)
    assert [asked.name for asked in events[-1].calls] == ["pay"]
    assert list(results(events)) == ["c2"]
    again = {**settings, "resume": events[-1].snapshot, "decisions": {"c1": True}}
    assert play(begin(), script, tools, **again)[-1].answer == "So."
    assert paid == ["Ann"]


def test_an_approval_that_is_good_for_the_run_is_asked_for_once(play):
    paid, script = [], Script(ask(use("pay", TO)), ask(use("pay", '{"to": "Bob"}', "c2")), "So.")
    settings = {"snapshot_key": KEY, "tool_approval": "once"}
    [*_, asked] = play(begin(), script, [make(paid)], **settings)
    again = {**settings, "resume": asked.snapshot, "decisions": True}
    assert play(begin(), script, [make(paid)], **again)[-1].answer == "So."
    assert paid == ["Ann", "Bob"]


def test_the_call_of_an_agent_may_have_to_be_approved(play):
    agent = agent_tool("clerk", "Pays.", Agent(Script("Paid.")), approval="always")
    script = Script(ask(use("clerk", '{"task": "Pay."}')), "So.")
    [*_, asked] = play(begin(), script, [agent], snapshot_key=KEY)
    assert [call.name for call in asked.calls] == ["clerk"]


@pytest.mark.parametrize(
    ("approval", "settings", "error", "message"),
    [
        ("once", {}, ValueError, "snapshot_key: expected a key, for pay asks for approval"),
        (
            None,
            {"tool_approval": "once"},
            ValueError,
            "snapshot_key: expected a key, for tool_approval is set",
        ),
        (
            {"euro": {"above": 1}},
            {"snapshot_key": KEY},
            DeclarationError,
            'approval of pay[0].when["euro"] must be a path into the arguments of pay (to, euros)',
        ),
        (None, {"tool_approval": "perhaps"}, DeclarationError, 'tool_approval[0].ask must be "never"'),
        (None, {"tool_approval": 3}, DeclarationError, 'tool_approval[0].ask must be "never"'),
    ],
    ids=range(5),
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_before_any_call(play, approval, settings, error, message):
    script = Script("never")
    with pytest.raises(error) as caught:
        play(begin(), script, [make([], approval=approval)], **settings)
    assert message in str(caught.value)
    assert script.requests == []


def test_a_path_that_the_tool_of_an_agent_cannot_have_is_refused_before_any_call(play):
    pay = make([], approval={"euro": {"above": 1}})
    agent = as_tool("clerk", "Pays.", Script(), [pay])
    with pytest.raises(DeclarationError, match="approval of pay"):
        play(begin(), Script("never"), [agent], snapshot_key=KEY)


@pytest.mark.parametrize("common", ["once", {"euros": {"above": 100}}])
def test_an_agent_that_asks_for_approval_needs_the_key_of_its_callers_run(play, common):
    agent = as_tool("clerk", "Pays.", Script(), [make([])], tool_approval=common)
    with pytest.raises(ValueError, match="snapshot_key: expected a key, for clerk asks"):
        play(begin(), Script("never"), [agent])
