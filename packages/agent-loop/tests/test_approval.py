"""Calls that a person has to approve, and runs that are resumed in another process."""

import json
import random
from collections import deque
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_loop import (
    AgentRun,
    AskApproval,
    Budgets,
    CallInstead,
    CallModel,
    Decision,
    Failure,
    FallbackModel,
    Finished,
    InvalidSettingError,
    LocalProtocolError,
    Message,
    ModelDelta,
    ModelDone,
    ModelFailure,
    OwnFunction,
    RunTools,
    SnapshotError,
    TimePassed,
    TimeShort,
    ToolCallEnded,
    ToolCallFragment,
    ToolCallStarted,
    ToolResult,
    Usage,
    Window,
)
from agent_tooling import (
    AcceptedArguments,
    AnswerSchema,
    ApprovalRules,
    RefusedArguments,
    parse_tool_arguments,
)


KEY = b"a key of thirty-two random bytes"
QUESTION = (Message(role="user", content="?"),)
SCHEMA = AnswerSchema.parse('{"properties": {"n": {"type": "integer"}}, "required": ["n"]}')


def build(rules, **given):
    given.setdefault("messages", QUESTION)
    given.setdefault("tools", ("pay", "search"))
    given.setdefault("maximum_iterations", 5)
    messages = given.pop("messages")
    return AgentRun(messages, approval_rules=ApprovalRules.parse(rules), **given)


def call(run, *names, arguments="{}"):
    """Have the model call tools, and return what follows."""
    fragments = [
        ToolCallFragment(call_id=f"{name}-{index}", name=name, arguments=arguments)
        for index, name in enumerate(names)
    ]
    run.feed(ModelDelta(text="Let me see.", tool_calls=tuple(fragments)))
    return run.feed(ModelDone())


def approve(run, call_id, *, is_approved=True, reason=None):
    return run.feed(Decision(call_id=call_id, is_approved=is_approved, reason=reason))


def only(events, kind):
    return [event for event in events if isinstance(event, kind)]


def save(run, **given):
    return run.to_snapshot(**{"key": KEY, "expires_at": 100.0, **given})


def test_a_call_waits_for_approval_and_is_made_when_a_person_approves_it():
    run = build({"pay": "always"})
    run.start()

    asked = call(run, "pay")
    assert [event.calls[0].name for event in only(asked, AskApproval)] == ["pay"]
    assert (run.state, only(asked, ToolCallStarted)) == ("approval", [])
    followed = approve(run, "pay-0")

    assert [type(event) for event in followed] == [ToolCallStarted, RunTools]
    [request] = only(run.feed(ToolResult(call_id="pay-0", content="paid")), CallModel)
    assert request.messages[-1].content == "paid"


def test_a_run_that_waits_tells_what_it_has_used_and_which_models_it_has_asked():
    run = build({"pay": "always"}, model="a", budgets=Budgets(max_tool_calls=3))
    run.start()
    call(run, "search", "pay")
    assert run.models == ("a",)
    assert [(use.name, use.used, use.maximum) for use in run.budget_uses] == [
        ("max_tool_calls", 2, 3)
    ]


def test_a_run_says_what_its_messages_would_be_if_its_open_calls_had_been_answered():
    run = build({"pay": "always"})
    run.start()
    call(run, "search", "pay")
    run.feed(ToolResult(call_id="search-0", content="found"))
    before = run.messages

    would_be = run.messages_if(lambda one: ToolResult(call_id=one.call_id, content="who knows"))
    told = [message.content for message in would_be[len(before) :]]
    assert told == ["Let me see.", "found", "who knows"]
    assert (run.messages, run.state) == (before, "approval")


def test_a_call_that_is_denied_is_told_to_the_model_with_the_reason():
    run = build({"pay": "always"})
    run.start()
    call(run, "pay")

    followed = approve(run, "pay-0", is_approved=False, reason="Too much.")

    assert only(followed, RunTools) == []
    [ended] = only(followed, ToolCallEnded)
    assert ended.result.error.endswith("They said: Too much.")
    assert only(followed, CallModel)[0].messages[-1].content == ended.result.error


def test_a_call_that_is_not_made_for_another_reason_is_told_with_that():
    run = build({"pay": "always"})
    run.start()
    call(run, "pay")

    refused = Decision(call_id="pay-0", is_approved=False, reason="yes", refusal="It has changed.")

    [ended] = only(run.feed(refused), ToolCallEnded)
    assert ended.result.error == "It has changed."


def test_the_other_calls_of_the_round_are_made_first_and_once():
    run = build({"pay": "always"})
    run.start()

    events = call(run, "search", "pay", "search")
    assert [c.call_id for c in only(events, RunTools)[0].calls] == ["search-0", "search-2"]
    with pytest.raises(LocalProtocolError, match="no open call"):
        run.feed(ToolResult(call_id="pay-1", content="paid?"))
    assert run.feed(ToolResult(call_id="search-2", content="b")) != ()
    asked = run.feed(ToolResult(call_id="search-0", content="a"))
    assert only(asked, AskApproval)[0].calls[0].call_id == "pay-1"
    assert [c.call_id for c in only(approve(run, "pay-1"), RunTools)[0].calls] == ["pay-1"]

    [request] = only(run.feed(ToolResult(call_id="pay-1", content="p")), CallModel)
    assert [message.content for message in request.messages[-3:]] == ["a", "p", "b"]


def test_an_approval_for_the_run_is_asked_for_once_for_each_tool_and_a_denial_grants_nothing():
    run = build({"*": "once"}, maximum_iterations=9)
    run.start()

    assert only(call(run, "pay"), AskApproval)
    approve(run, "pay-0", is_approved=False)
    assert only(call(run, "pay"), AskApproval)
    approve(run, "pay-0")
    run.feed(ToolResult(call_id="pay-0", content="paid"))
    assert only(call(run, "pay"), RunTools)
    run.feed(ToolResult(call_id="pay-0", content="paid"))
    assert only(call(run, "search"), AskApproval)


@pytest.mark.parametrize("own", [None, {"pay": "never"}])
def test_rules_that_a_driver_adds_stand_beside_those_of_the_run_and_bind_its_snapshots(own):
    def begin(*added):
        rules = None if own is None else ApprovalRules.parse(own)
        run = AgentRun(QUESTION, tools=["pay"], maximum_iterations=5, approval_rules=rules)
        run.offer(approval_rules=map(ApprovalRules.parse, added))
        assert run.tools == ("pay",)
        return run

    run = begin({"pay": "once"}, {"*": "always"})
    run.start()
    assert only(call(run, "pay"), AskApproval)
    snapshot = save(run)
    with pytest.raises(SnapshotError, match=r"snapshot\.state\.settings\.approval_rules"):
        begin({"pay": "once"}).resume(snapshot, key=KEY, now=0)
    asked, _ = begin({"pay": "once"}, {"*": "always"}).resume(snapshot, key=KEY, now=0)
    assert [call.name for call in asked.calls] == ["pay"]
    assert begin().approval_rules == (own and ApprovalRules.parse(own))


def test_rules_see_the_arguments_that_the_tool_would_get_as_well_as_those_written():
    rules = [{"tool": "pay", "when": {"euros": {"above": 100}}, "ask": "always"}]

    def bind(made):
        if made.name != "pay":
            return None
        if "x" in made.arguments:
            return RefusedArguments(error="no number")
        return AcceptedArguments(args={"euros": 500, **json.loads(made.arguments)})

    run = build(rules)
    run.bind_by(bind)
    run.start()
    assert only(call(run, "pay"), AskApproval)
    approve(run, "pay-0", is_approved=False)
    assert only(call(run, "pay", arguments='{"euros": 5}'), RunTools)
    run.feed(ToolResult(call_id="pay-0", content="5"))
    # It would be refused by whoever binds it; a person is not bothered with it.
    assert only(call(run, "pay", arguments='{"euros": "x"}'), RunTools)
    run.feed(ToolResult(call_id="pay-0", content="no number"))
    assert only(call(run, "search"), RunTools)


@pytest.mark.parametrize(
    "bind",
    [None, lambda _: AcceptedArguments(args={"to": "支付", "key": 1}, shown={"to": "支付"})],
)
def test_a_person_is_asked_about_json_made_anew_of_what_the_tool_would_get(bind):
    run = build({"pay": "always"})
    if bind:
        run.bind_by(bind)
    run.start()
    [asked] = only(call(run, "pay", arguments='{"to":"\\u652f\\u4ed8"}'), AskApproval)
    assert asked.calls[0].arguments == '{"to": "支付"}'


def test_arguments_that_nobody_can_read_are_shown_as_they_are():
    run = build({"pay": "always"})
    run.start()
    [asked] = only(call(run, "pay", arguments='{"to":'), AskApproval)
    assert asked.calls[0].arguments == '{"to":'


@pytest.mark.parametrize("name", ["pay", "call_tool"])
def test_a_key_that_stands_twice_is_refused_where_a_rule_may_ask_for_the_tool(name):
    inner = '{"to": {"name": "Ann", "name": "Bob"}}'
    function = OwnFunction(
        name="call_tool",
        description="Calls a tool.",
        parameters={"type": "object", "properties": {"to": {"type": "object"}}},
        answer=lambda args: CallInstead(name="pay", arguments=json.dumps(args)),
    )
    rules = [{"tool": "pay", "when": {"to.name": {"equals": "Ann"}}, "ask": "always"}]
    run = build(rules, own_functions=[function], budgets=Budgets(max_tool_calls=1))
    run.start()
    [ended] = only(call(run, name, arguments=inner), ToolCallEnded)
    sentence = 'tool arguments parse error: the key "name" stands twice; each may stand once'
    assert ended.result.error == sentence
    assert only(call(run, "search", arguments=inner), RunTools)  # And nothing was counted.


def test_a_person_is_asked_about_twenty_calls_at_a_time_and_reads_each_whole_or_not_at_all():
    run = build({"pay": "always"})
    run.start()
    whole = json.dumps({"to": "x" * 19_990})
    too_long = json.dumps({"to": "x" * 19_991})
    events = [*call(run, "pay", arguments=too_long), *call(run, *["pay"] * 22, arguments=whole)]
    refused = [event.result.error for event in only(events, ToolCallEnded)]
    assert refused == [
        "tool invoke error: the arguments have 20,001 characters, and a person is asked about 20,000 at most; this call was not run",
        *["tool invoke error: only 20 calls are asked for at a time; this one was not run"] * 2,
    ]
    [asked] = only(events, AskApproval)
    assert {one.arguments for one in asked.calls} == {whole}
    assert len(asked.calls) == 20


def test_calls_that_nobody_reads_before_they_are_made_have_no_bound_and_take_no_room():
    def bind(made):
        args = {"text": made.arguments}
        return AcceptedArguments(args=args, is_external=made.name == "write")

    run = build({"*": "always"}, tools=("pay", "write"))
    run.bind_by(bind)
    run.start()

    events = call(run, *["write"] * 21, *["pay"] * 21, arguments="x" * 19_988)

    [asked] = only(events, AskApproval)
    assert [one.name for one in asked.calls] == ["write"] * 21 + ["pay"] * 20
    assert {len(one.arguments) for one in asked.calls} == {20_000}
    for one in asked.calls:
        approve(run, one.call_id, is_approved=False)
    events = call(run, "write", "pay", arguments="x" * 19_989)
    assert [one.name for one in only(events, AskApproval)[0].calls] == ["write"]


def test_a_call_that_stands_for_another_is_held_against_the_rules_by_what_is_made():
    function = OwnFunction(
        name="call_tool",
        description="Calls a tool.",
        parameters={"type": "object", "properties": {"name": {"type": "string"}}},
        answer=lambda args: CallInstead(name=args["name"], arguments='{"euros": 7}'),
    )
    run = build({"pay": "always"}, own_functions=[function])
    run.start()

    [asked] = only(call(run, "call_tool", arguments='{"name": "pay"}'), AskApproval)

    assert (asked.calls[0].name, asked.calls[0].arguments) == ("pay", '{"euros": 7}')
    [started] = only(approve(run, "call_tool-0"), ToolCallStarted)
    assert (started.call.name, started.made.name) == ("call_tool", "pay")


def test_a_denied_call_leaves_its_place_in_the_budget_to_another():
    run = build({"pay": "always"}, budgets=Budgets(max_tool_calls=1))
    run.start()
    call(run, "pay")

    [request] = only(approve(run, "pay-0", is_approved=False), CallModel)

    assert not request.is_closing


def test_a_run_that_is_cancelled_while_a_person_decides_ends_in_good_order():
    run = build({"pay": "always"}, budgets=Budgets(max_tool_calls=5))
    run.start()
    call(run, "pay")

    events = run.feed(Failure(message="Cancelled.", reason="cancelled"))

    started, ended = only(events, ToolCallStarted), only(events, ToolCallEnded)
    assert [e.call.call_id for e in started] == [e.call.call_id for e in ended] == ["pay-0"]
    assert only(events, Finished)[0].budgets[0].used == 0


@pytest.mark.parametrize("call_id", ["pay-0", "other"])
def test_a_decision_that_nobody_waits_for_changes_nothing(call_id):
    run = build({"*": "always"})
    run.start()
    with pytest.raises(LocalProtocolError):
        approve(run, "pay-0")
    call(run, "pay", "search")
    approve(run, "pay-0")

    with pytest.raises(LocalProtocolError, match="no call that waits"):
        approve(run, call_id)

    assert only(approve(run, "search-1"), RunTools)


def test_a_snapshot_is_made_only_of_a_run_that_waits_and_taken_only_by_one_that_has_not_started():
    run = build({"*": "always"})
    with pytest.raises(LocalProtocolError):
        save(run)
    run.start()
    call(run, "pay")

    with pytest.raises(LocalProtocolError):
        run.resume(save(run), key=KEY, now=0)


def wait(rules=None, **given):
    run = build(rules or {"*": "always"}, **given)
    run.start()
    call(run, "pay")
    return run


def test_a_resumed_run_ends_with_the_results_of_its_only_round_without_the_words_around_its_calls():
    run = build({"*": "always"}, maximum_iterations=1)
    run.resume(save(wait(maximum_iterations=1)), key=KEY, now=0)
    approve(run, "pay-0")
    *_, finished = run.feed(ToolResult(call_id="pay-0", content="paid"))
    assert finished.final_text == "paid"


def changed(snapshot, **fields):
    return json.dumps({**json.loads(snapshot), **fields})


@pytest.mark.parametrize(
    ("spoil", "fault", "message"),
    [
        (lambda s: s[:-1], "unreadable", "snapshot: expected JSON"),
        (lambda _: "[]", "unreadable", "snapshot: expected a JSON object, got list"),
        (lambda _: 3, "unreadable", "snapshot: expected a JSON object, got int"),
        (lambda _: "{}", "unreadable", "snapshot.format: expected"),
        (lambda s: changed(s, more=1), "unreadable", "snapshot: expected version 3 with"),
        (lambda s: changed(s, version=0), "unreadable", "snapshot: expected version 3 with"),
        (lambda s: changed(s, version=1), "older", "has to be asked again"),
        (lambda s: changed(s, version=2), "older", "has to be asked again"),
        (lambda s: changed(s, version=4), "newer", "snapshot.version: 4 is of a later release"),
        (lambda s: changed(s, expires_at=9e9), "tampered", "snapshot.signature: it was changed"),
        (lambda s: changed(s, signature=None), "tampered", "snapshot.signature: it was changed"),
        (lambda s: changed(s, state={}), "tampered", "snapshot.signature: it was changed"),
        (
            lambda s: changed(s, key_id="0"),
            "foreign",
            "snapshot.key_id: it was signed with another",
        ),
    ],
    ids=range(13),
)
def test_a_snapshot_that_is_not_what_was_signed_is_refused_by_what_is_wrong(spoil, fault, message):
    snapshot = spoil(save(wait()))
    with pytest.raises(SnapshotError) as caught:
        build({"*": "always"}).resume(snapshot, key=KEY, now=0)
    assert (caught.value.fault, message in str(caught.value)) == (fault, True)


def test_a_snapshot_is_good_until_it_expires_and_with_its_own_key():
    snapshot = save(wait())
    fresh = build({"*": "always"})
    with pytest.raises(SnapshotError, match="it expired 5 seconds ago"):
        fresh.resume(snapshot, key=KEY, now=105)
    with pytest.raises(SnapshotError, match="signed with another key"):
        fresh.resume(snapshot, key=b"another key of 32 bytes and more", now=0)
    with pytest.raises(InvalidSettingError, match="snapshot_key must be at least 16 bytes long"):
        fresh.resume(snapshot, key=b"short", now=0)
    with pytest.raises(InvalidSettingError, match="snapshot_key must be bytes"):
        fresh.resume(snapshot, key="a text of more than 16 letters", now=0)

    asked, extra = fresh.resume(json.loads(snapshot), key=KEY, now=99)

    assert (asked.calls[0].call_id, extra, fresh.state) == ("pay-0", None, "approval")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"allowed_tools": ["pay"]}, "settings.allowed_tools"),
        ({"rules": {"pay": "always"}}, "settings.approval_rules"),
        ({"tools": ("pay",)}, "tools.search"),
        ({"tools": ("pay", {"name": "search", "description": "Finds."})}, "tools.search"),
        ({"model": "b"}, "settings.model"),
        ({"answer_schema": SCHEMA}, "settings.answer_schema"),
        ({"fallback": FallbackModel(name="b"), "model": "a"}, "settings.(fallback|model)"),
    ],
)
def test_a_run_in_which_a_call_may_mean_something_else_does_not_take_it_up(given, named):
    rules = given.pop("rules", {"*": "always"})
    with pytest.raises(SnapshotError, match=rf"snapshot\.state\.{named}") as caught:
        build(rules, **given).resume(save(wait()), key=KEY, now=0)
    assert caught.value.fault == "other_run"
    assert build(rules, **given).fingerprint != build({"*": "always"}).fingerprint


@pytest.mark.parametrize(
    "given",
    [
        {"maximum_iterations": 6},
        {"budgets": Budgets(max_tool_calls=9)},
        {"window": Window(tokens=100_000)},
        {"max_request_bytes": 1_000_000},
        {"emit_intermediate_thoughts": False},
        {"has_tool_choice": False, "tool_choice": "auto"},
        {"max_agent_depth": 0},
        {"own_functions": [OwnFunction(name="f", description="", parameters={}, answer=str)]},
    ],
    ids=lambda given: next(iter(given)),
)
def test_what_a_run_may_use_and_show_may_change_while_a_person_decides(given):
    run = build({"*": "always"}, **given)

    asked, _ = run.resume(save(wait()), key=KEY, now=0)

    assert [waiting.name for waiting in asked.calls] == ["pay"]
    assert only(approve(run, "pay-0"), RunTools)
    assert run.fingerprint == build({"*": "always"}).fingerprint
    assert (run.round, build({"*": "always"}).round) == (1, 0)


@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_a_maximum_that_has_been_passed_while_a_person_decided_makes_the_next_call_the_last(schema):
    settings = {"maximum_iterations": 9, "answer_schema": schema}
    run = build({"pay": "always"}, **settings)
    run.start()
    for _ in range(3):
        call(run, "search")
        run.feed(ToolResult(call_id="search-0", content="found"))
    call(run, "pay")
    resumed = build({"pay": "always"}, **{**settings, "maximum_iterations": 2})
    resumed.resume(save(run), key=KEY, now=0)

    approve(resumed, "pay-0")
    [request] = only(resumed.feed(ToolResult(call_id="pay-0", content="paid")), CallModel)
    assert request.is_closing
    resumed.feed(ModelDelta(text="Done."))
    [finished] = only(resumed.feed(ModelDone()), Finished)
    assert finished.reason == ("invalid_answer" if schema else "maximum_iterations")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ((object(),), "run.messages[0].content[0]: expected plain JSON"),
        (({"x": {1: 2}},), "run.messages[0].content[0].x: expected keys that are text"),
        (({"x": float("nan")},), "content[0].x: expected plain JSON"),
    ],
)
def test_what_cannot_be_written_is_refused_by_its_place(content, message):
    run = wait(messages=[Message(role="user", content=content)])
    with pytest.raises(SnapshotError) as caught:
        save(run)
    assert (caught.value.fault, message in str(caught.value)) == ("not_plain", True)


def test_what_only_json_refuses_is_refused_too():
    with pytest.raises(SnapshotError, match="cannot be written as JSON"):
        save(wait(), expires_at=float("inf"))


def remembering():
    """Return a function that counts its calls, and remembers how many there were."""
    calls = []
    return OwnFunction(
        name="count",
        description="Counts.",
        parameters={"type": "object", "properties": {}},
        answer=lambda _: calls.append(1) or str(len(calls)),
        save=lambda: len(calls),
        load=lambda saved: calls.extend([1] * saved),
    )


def test_what_an_own_function_remembers_is_saved():
    run = build({"pay": "always"}, own_functions=[remembering()])
    run.start()
    call(run, "count", "pay")
    resumed = build({"pay": "always"}, own_functions=[remembering()])

    resumed.resume(save(run), key=KEY, now=0)

    approve(resumed, "pay-1")
    resumed.feed(ToolResult(call_id="pay-1", content="paid"))
    [ended] = only(call(resumed, "count"), ToolCallEnded)
    assert ended.result.content == "2"


def test_a_function_that_saves_has_to_load():
    with pytest.raises(InvalidSettingError, match="both save and load"):
        OwnFunction(name="f", description="", parameters={}, answer=str, save=str)


def test_what_a_run_has_lasted_and_whether_it_asks_goes_on_with_it():
    run = wait(messages=[{"role": "user", "content": "?", "$": ({"a": Decimal("1.0")},)}])
    run.feed(TimePassed(seconds=12.5))
    resumed = build({"*": "always"}, messages=[])

    resumed.resume(save(run), key=KEY, now=0)

    assert resumed.seconds == 12.5
    assert resumed.approval_rules == ApprovalRules.parse({"*": "always"})
    assert resumed.messages == run.messages
    assert build({}, tools=({"name": "pay"}, object())).tool_names == {"pay"}


def test_what_agents_have_used_is_told_at_the_end_of_a_run_that_was_put_by():
    run = build({"pay": "always"})
    run.start()
    call(run, "search", "pay")
    helper = AgentRun(QUESTION, maximum_iterations=2)
    run.agents.adopt(helper, name="helper", call_id="search-0")
    helper.start()
    helper.feed(ModelDelta(text="Helped.", usage=Usage(total_tokens=7)))
    helper.feed(ModelDone())
    run.feed(ToolResult(call_id="search-0", content="Helped."))
    resumed = build({"pay": "always"})

    resumed.resume(save(run), key=KEY, now=0)

    assert resumed.agents.uses == run.agents.uses
    assert [use.usage.total_tokens for use in resumed.agents.uses] == [7]


class World:
    """A model, tools, a clock and a person, all by chance; the same seed decides the same whether the run is interrupted or not.

    Args:
        seed: Decides everything.
        is_interrupted: Whether the run goes on in another process whenever a person is asked.
    """

    def __init__(self, seed, *, is_interrupted):
        self.chance = random.Random(seed)
        self.is_interrupted = is_interrupted
        pick = self.chance.choice
        conditional = [
            {"tool": "pay", "when": {"n": {"above": 4}}, "ask": pick(["once", "always"])},
            {"tool": "*", "when": {"n": {"equals": 1}}, "ask": "never"},
            {"tool": "search", "ask": pick(["never", "once", "always"])},
        ]
        self.rules = ApprovalRules.parse(
            pick([{"*": "always"}, {"*": "once"}, {"pay": "always", "search": "once"}, conditional])
        )
        limits = {
            "max_total_tokens": self.chance.randint(50, 400),
            "max_cost": Decimal(self.chance.randint(20, 200)) / 50,
            "max_seconds": self.chance.randint(30, 400),
            "max_tool_calls": self.chance.randint(0, 12),
        }
        self.settings = {
            "tools": ("pay", {"name": "search", "parameters": {"type": "object"}}),
            "maximum_iterations": self.chance.randint(1, 8),
            "emit_intermediate_thoughts": pick([True, False]),
            "tool_choice": pick([None, "auto", "required", "pay"]),
            "has_tool_choice": pick([True, True, False]),
            "budgets": Budgets(**{k: v for k, v in limits.items() if self.chance.random() < 0.4}),
            "allowed_tools": pick([None, None, ["pay"], ["pay", "search"]]),
            "answer_schema": pick([None, None, SCHEMA]),
            "has_answer_format": pick([True, False]),
            "model": "a",
            "fallback": pick([None, FallbackModel(name="b", has_tool_choice=False)]),
            "max_request_bytes": pick([None, 4_000]),
        }
        self.granted = set()
        self.made = []
        self.events = []
        self.run = self.build(QUESTION)

    def build(self, messages):
        return AgentRun(
            messages, approval_rules=self.rules, own_functions=[remembering()], **self.settings
        )

    def play(self):
        pending = deque(self.run.start())
        while pending:
            event = pending.popleft()
            self.events.append(event)
            for received in self.act(event):
                pending += self.run.feed(received)
                if self.run.state == "finished":
                    break
        return self

    def act(self, event):
        match event:
            case CallModel():
                yield from self.answer(event)
            case RunTools(calls=calls):
                self.made += calls
                for made in self.chance.sample(calls, len(calls)):
                    yield from self.wait()
                    yield self.result(made)
            case AskApproval(calls=calls):
                if self.is_interrupted:
                    self.go_on_elsewhere(event)
                for made in self.chance.sample(calls, len(calls)):
                    yield from self.wait()
                    yield self.decide(made)

    def go_on_elsewhere(self, asked):
        now = self.chance.getstate()
        snapshot = save(self.run, extra={"seed": 1})
        self.run = self.build([])
        assert self.run.resume(snapshot, key=KEY, now=0) == (asked, {"seed": 1})
        self.chance.setstate(now)

    @property
    def told(self):
        """All events; of a request's tools their names, for an own function of another run is another."""
        return [
            replace(event, tools=[getattr(tool, "name", tool) for tool in event.tools])
            if isinstance(event, CallModel)
            else event
            for event in self.events
        ]

    def decide(self, made):
        is_approved = self.chance.random() < 0.7
        if is_approved:
            self.granted.add(made.call_id)
        return Decision(call_id=made.call_id, is_approved=is_approved, reason="So.")

    def answer(self, request):
        chance = self.chance
        if chance.random() < 0.5:
            text = chance.choice(['{"n": 4}', "<think>4</think>So.", "<think>", " ", "Let me.\n"])
            yield ModelDelta(text=text, phase=chance.choice([None, "commentary"]))
        for number in range(chance.randint(0, 4)):
            name = chance.choice(["pay", "search", "count", "nothing"])
            arguments = chance.choice(["", "{", '{"n": 1}', '{"n": "5"}', '{"n": 9}'])
            fragment = ToolCallFragment(
                call_id=f"{request.round}-{number}", name=name, arguments=arguments
            )
            yield ModelDelta(tool_calls=(fragment,))
        usage = Usage(total_tokens=chance.randint(1, 40), total_price=Decimal("0.07"))
        body = {"of": request.model, "$": [1, {"$": None}]}
        yield ModelDelta(usage=usage, opaque_body=chance.choice([None, body]))
        yield from self.wait()
        if chance.random() < 0.15:
            yield ModelFailure(
                message="the line broke",
                is_transient=chance.random() < 0.8,
                wait_seconds=chance.choice([0, 2]),
                may_pass_elsewhere=chance.random() < 0.5,
            )
        else:
            yield ModelDone()

    def result(self, made):
        image = {"type": "image", "data": "x" * 1_500}
        content = self.chance.choice(["4", "", ({"type": "text", "text": "5"}, image)])
        error = "failed" if self.chance.random() < 0.2 else None
        is_late = self.chance.random() < 0.1
        return ToolResult(call_id=made.call_id, content=content, error=error, is_unfinished=is_late)

    def wait(self):
        yield TimePassed(seconds=self.chance.choice([0.5, 20, 60]) * len(self.events))
        if self.chance.random() < 0.03:
            yield TimeShort()
        if self.chance.random() < 0.03:
            yield Failure(message="Cancelled.", reason="cancelled")


def hold_the_laws_of_approval(seed):
    whole = World(seed, is_interrupted=False).play()
    parted = World(seed, is_interrupted=True).play()

    assert parted.told == whole.told
    started = [event.call.call_id for event in only(whole.events, ToolCallStarted)]
    ended = [event.call.call_id for event in only(whole.events, ToolCallEnded)]
    assert sorted(started) == sorted(ended)
    assert len({made.call_id for made in parted.made}) == len(parted.made)
    grants = set()
    for made in parted.made:
        written = parse_tool_arguments(made.arguments)
        approval = parted.rules.find(made.name, written.args if written.ok else None)
        is_approved = made.call_id in parted.granted
        assert is_approved or approval.ask == "never" or approval.grant in grants
        if is_approved and approval.ask == "once":
            grants.add(approval.grant)


@pytest.mark.untraced
@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_a_resumed_run_equals_the_one_that_was_not_interrupted(seed):
    hold_the_laws_of_approval(seed)


@pytest.mark.long
@settings(max_examples=10_000)
@given(st.integers(0, 2**32))
def test_a_resumed_run_equals_the_one_that_was_not_interrupted_at_length(seed):
    hold_the_laws_of_approval(seed)


FORMAT = {  # What stands in a snapshot by name: whoever changes it raises the version of the format.
    "RunState": "agent_uses decisions display fallback grants has_tool_choice heard held_text is_repair is_retry "
    "is_time_short marks messages model models round spending steered tool_choice waiting_agents waiting_calls window",
    "Round": "answer closing commentary is_beyond_budget made_calls number open_calls results",
    "ModelAnswer": "calls final finish_reason has_files is_whole opaque_body read text usage words",
    "Spending": "has_warned model_calls seconds tool_calls unknown usage",
    "Display": "ends_line has_shown has_words known known_count owes_break unfinished",
    "Marks": "fixed pinned summary",
}
NOT_SAVED = {  # What is empty, or found out again, whenever a run waits for a person.
    "RunState": "cause compaction held_files is_rewritten request_size status to_check window_use",
    "Round": "told",
    "ModelAnswer": "fragments hosted_calls in_commentary shown spoken thoughts",
}


def iter_states(value):
    """Yield every part of the state of a run that may change."""
    if is_dataclass(value) and not type(value).__dataclass_params__.frozen:
        yield value
        for known in fields(value):
            yield from iter_states(getattr(value, known.name))


def test_all_that_changes_in_a_run_is_in_its_snapshot_under_names_that_are_fixed():
    run = wait(answer_schema=SCHEMA, fallback=FallbackModel(name="b"), model="a")
    saved = json.loads(save(run))
    states = {type(state).__name__: state for state in iter_states(run._run.state)}

    assert (saved["version"], saved["state"]["run"]["$"]) == (3, "RunState")
    assert set(states) == set(FORMAT)
    for name, state in states.items():
        kept = {known.name for known in fields(state) if known.init}
        assert kept == set(FORMAT[name].split()), f"{name}: raise the version of snapshots"
        left_out = {known.name for known in fields(state)} - kept
        assert left_out == set(NOT_SAVED.get(name, "").split()), (
            f"{name}: what changes has to be saved, if a run may wait meanwhile"
        )


def test_a_run_keeps_nothing_that_changes_outside_its_state():
    run = wait()
    around = {"bind", "caller", "joined_at", "lock", "agent_depth", "called", "kept"}

    # What was said to it from another thread, and it was not fed with.
    said = {"_said", "_saying", "_is_read_by_driver"}
    assert set(vars(run)) == {"_run", "agents", *said}
    assert {known.name for known in fields(run._run)} == {"settings", "state", *around}
    with pytest.raises(FrozenInstanceError):
        run.settings.maximum_iterations = 6
