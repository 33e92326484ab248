"""Functions that check what a run begins with, its tool calls and its last answer."""

import asyncio
import hashlib
import hmac
import json
from dataclasses import replace
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel
from scripted import Script, as_tool, ask, use

from agent_driver import Agent, GuardedCall, Guardrails, ShowText, Stop
from agent_loop import AgentEvent, ModelCallEnded, ToolCallEnded
from agent_tooling import Tool
from run_log import RunFile, RunLog, list_runs


@pytest.fixture(params=["run", "arun"])
def run_of(request):
    def run(agent, *args, **options):
        if request.param == "run":
            return agent.run(*args, **options)
        return asyncio.run(agent.arun(*args, **options))

    return run


def no_politics(messages):
    if "election" in messages[-1]["content"]:
        return Stop("I do not talk about politics.")
    return None


def without_numbers(messages):
    *rest, question = messages
    return [*rest, {**question, "content": question["content"].replace("4711", "***")}]


def cheap(call: GuardedCall):
    euros = call.args["euros"]
    if euros > 100:
        return Stop("No more than 100 euros.")
    return {"euros": 10} if euros > 10 else None


def polite(answer):
    if "damn" in answer:
        return Stop("The answer was not polite.")
    return answer.replace("4711", "***") if "4711" in answer else None


def fails(_):
    raise OSError("sk-secret")


def paying(paid):
    def pay(euros: int) -> str:
        """Pay."""
        paid.append(euros)
        return f"paid {euros}"

    return pay


def pay(euros):
    return ask(use("pay", json.dumps({"euros": euros})))


def asking(model, done, guardrail, **settings):
    """Return an agent that asks a person before it pays, and whose calls a guardrail checks."""
    return Agent(
        model,
        [paying(done)],
        approval_rules={"pay": "always"},
        guardrails=Guardrails(tool_call=[guardrail]),
        **settings,
    )


def test_what_passes_is_as_it_was(run_of):
    guardrails = Guardrails(input=[no_politics], tool_call=[cheap], answer=[polite])
    paid = []
    script = Script(pay(5), "Paid.")
    result = run_of(Agent(script, [paying(paid)], guardrails=guardrails), "Pay 5.")
    assert (result.value, result.reason, paid) == ("Paid.", "answered", [5])


def test_an_input_that_is_stopped_reaches_no_model(run_of):
    script = Script("never")
    result = run_of(Agent(script, guardrails=Guardrails(input=[no_politics])), "The election?")
    assert (result.reason, result.error) == ("guardrail", "I do not talk about politics.")
    assert not script.requests


def test_an_input_is_changed_before_the_model_reads_it(run_of):
    script = Script("Sure.")
    agent = Agent(script, guardrails=Guardrails(input=[without_numbers, no_politics]))
    result = run_of(agent, "Call 4711.")
    assert script.requests[0].messages[-1]["content"] == "Call ***."
    assert result.messages[0]["content"] == "Call ***."


@pytest.mark.parametrize(("asked", "paid"), [(5, [5]), (50, [10]), (500, [])])
def test_a_tool_call_is_made_as_the_guardrail_leaves_it(run_of, asked, paid):
    done = []
    script = Script(pay(asked), "Done.")
    agent = Agent(script, [paying(done)], guardrails=Guardrails(tool_call=[cheap]))
    assert run_of(agent, "Pay.").answered
    assert done == paid
    result = script.requests[1].messages[-1].content
    assert ("No more than 100 euros." in result) is (asked == 500)


def test_a_person_is_asked_about_the_call_as_it_would_be_made(run_of):
    done = []
    agent = asking(Script(pay(50), "Done."), done, cheap)
    waiting = run_of(agent, "Pay.").waiting
    assert [json.loads(call.arguments) for call in waiting.calls] == [{"euros": 10}]
    assert run_of(agent, resume=waiting, decisions=True).answered
    assert done == [10]

    script = Script(pay(500), "Too much.")
    assert run_of(agent.with_(model=script), "Pay.").value == "Too much."


@pytest.mark.parametrize("said", [{"euros": 900}, {"euros": "many"}, None, "junk"])
def test_after_a_yes_a_call_is_made_as_it_was_seen_whatever_a_guardrail_says_then(run_of, said):
    def at_first(call: GuardedCall):
        seen.append(call.args["euros"])
        return {"euros": 5} if len(seen) == 1 else said

    done, seen = [], []
    agent = asking(Script(pay(50), "Done."), done, at_first)
    waiting = run_of(agent, "Pay.").waiting
    assert [json.loads(call.arguments) for call in waiting.calls] == [{"euros": 5}]
    assert run_of(agent, resume=waiting.snapshot, decisions=True).answered
    assert (done, seen) == ([5], [50, 5])


@pytest.mark.parametrize("says", [Stop("Not any more."), OSError("sk-secret")])
def test_after_a_yes_a_guardrail_may_still_stop_a_call(run_of, says):
    def closes(_):
        asked.append(1)
        if len(asked) > 1 and isinstance(says, OSError):
            raise says
        return says if len(asked) > 1 else None

    done, asked, script = [], [], Script(pay(5), "So.")
    agent = asking(script, done, closes)
    result = run_of(agent, resume=run_of(agent, "Pay.").waiting, decisions=True)
    assert (result.value, done) == ("So.", [])
    told = script.requests[-1].messages[-1].content
    assert told == (
        "Not any more." if isinstance(says, Stop) else "A guardrail of this agent failed."
    )


def test_what_was_seen_holds_for_calls_of_agents_and_for_no_later_call(run_of):
    def halves(call: GuardedCall):
        return {"euros": call.args["euros"] // 2} if call.name == "pay" else None

    done = []
    rules = {"approval_rules": {"pay": "always"}}
    calls = [use("pay", '{"euros": 40}', "a"), use("pay", '{"euros": 80}', "b")]
    clerk = as_tool("clerk", "Pays.", Script(ask(*calls), pay(60), "Paid."), [paying(done)])
    guardrails = Guardrails(tool_call=[halves])
    boss = Script(ask(use("clerk", '{"task": "Pay."}', "c")), "So.")
    agent = Agent(boss, [clerk], guardrails=guardrails, **rules)
    decisions = {"c/a": True, "c/b": False}
    result = run_of(agent, resume=run_of(agent, "Pay.").waiting, decisions=decisions)
    assert [json.loads(call.arguments) for call in result.waiting.calls] == [{"euros": 30}]
    assert run_of(agent, resume=result.waiting, decisions=True).value == "So."
    assert done == [20, 30]


def test_a_call_that_its_tool_does_not_take_as_it_was_seen_is_not_made(run_of):
    def open_until_asked(euros):
        assert not asked, "closed"
        return euros

    def pay_(euros: Annotated[int, AfterValidator(open_until_asked)], to: str = None) -> str:  # noqa: RUF013 - as people write it
        """Pay."""
        done.append((euros, to))
        return "paid"

    asked, done, script = [], [], Script(pay(50), "So.")
    agent = Agent(
        script,
        [Tool.from_function(pay_, name="pay")],
        approval_rules={"pay": "always"},
        guardrails=Guardrails(tool_call=[lambda call: {**call.args, "euros": 5}]),
    )
    waiting = run_of(agent, "Pay.").waiting
    assert run_of(agent, resume=waiting, decisions=True).answered
    assert done == [(5, None)]

    waiting = run_of(agent.with_(model=(script := Script(pay(50), "So."))), "Pay.").waiting
    asked.append(waiting)
    assert run_of(agent.with_(model=script), resume=waiting, decisions=True).answered
    assert "pay was changed after the user was asked" in script.requests[-1].messages[-1].content
    assert done == [(5, None)]


KEY = b"0123456789abcdef"


def of_the_release_before(asked):
    """Return a question whose snapshot does not hold what was seen."""
    return replace(asked, snapshot=without_what_was_seen(asked.snapshot))


def without_what_was_seen(text):
    snapshot = json.loads(text)
    del snapshot["state"]["extra"]["seen"], snapshot["signature"]
    for agent in snapshot["state"]["run"]["waiting_agents"].values():
        agent["snapshot"] = without_what_was_seen(agent["snapshot"])
    text = json.dumps(snapshot, sort_keys=True, separators=(",", ":"))
    signed = hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()
    return json.dumps({**snapshot, "signature": signed})


def test_a_run_that_waits_since_the_release_before_goes_on(run_of):
    done = []
    agent = asking(Script(pay(50), "Done.", "Done."), done, cheap, snapshot_key=KEY)
    waiting = of_the_release_before(run_of(agent, "Pay.").waiting)
    assert run_of(agent, resume=waiting.snapshot, decisions=True).answered
    # Whoever still holds the question holds what was seen.
    dear = agent.with_(guardrails=Guardrails(tool_call=[lambda _: {"euros": 900}]))
    assert run_of(dear, resume=waiting, decisions=True).answered
    assert done == [10, 10]


def test_an_agent_that_waits_since_the_release_before_is_held_to_what_was_seen(run_of):
    done = []
    clerk = as_tool("clerk", "Pays.", Script(pay(50), "Paid."), [paying(done)])
    agent = Agent(
        Script(ask(use("clerk", '{"task": "Pay."}', "c")), "So."),
        [clerk],
        snapshot_key=KEY,
        approval_rules={"pay": "always"},
        guardrails=Guardrails(tool_call=[lambda call: cheap(call) if call.name == "pay" else None]),
    )
    waiting = of_the_release_before(run_of(agent, "Pay.").waiting)
    dear = Guardrails(tool_call=[lambda call: {"euros": 900} if call.name == "pay" else None])
    result = run_of(agent.with_(guardrails=dear), resume=waiting.snapshot, decisions=True)
    assert (result.value, done) == ("So.", [10])


def test_each_call_is_checked_once(run_of):
    seen = []
    agent = Agent(
        Script(pay(5), pay(5), "Done."),
        [paying([])],
        approval_rules={"pay": "never"},
        guardrails=Guardrails(tool_call=[seen.append]),
    )
    run_of(agent, "Pay.")
    assert [call.args for call in seen] == [{"euros": 5}, {"euros": 5}]


def test_arguments_that_a_guardrail_gets_wrong_are_refused(run_of):
    done = []
    guardrails = Guardrails(tool_call=[lambda _: {"euros": "many"}, cheap])
    script = Script(pay(5), "Done.")
    run_of(Agent(script, [paying(done)], guardrails=guardrails), "Pay.")
    assert not done
    assert "validation error" in script.requests[1].messages[-1].content


def shown(events):
    return "".join(event.text for event in events if isinstance(event, ShowText))


def test_what_a_guardrail_changes_in_place_changes_no_call(run_of):
    done = []
    agent = Agent(
        Script(pay(50), "Done."),
        [paying(done)],
        guardrails=Guardrails(tool_call=[lambda call: call.args.update(euros=2)]),
    )
    assert run_of(agent, "Pay.").answered
    assert done == [50]


def test_an_answer_is_shown_once_it_has_passed():
    agent = Agent(Script(["Call ", "4711."]), guardrails=Guardrails(answer=[polite]))
    stream = agent.stream("?")
    assert shown(stream) == "Call ***."
    assert (stream.result.value, stream.result.messages[-1].content) == ("Call ***.", "Call ***.")

    stream = Agent(Script("Yes."), guardrails=Guardrails(answer=[polite])).stream("?")
    assert shown(stream) == "Yes."


def test_an_answer_that_is_stopped_is_nowhere(run_of):
    agent = Agent(Script("damn 4711"), guardrails=Guardrails(answer=[polite]))
    result = run_of(agent, "?")
    assert (result.reason, result.error) == ("guardrail", "The answer was not polite.")
    assert "4711" not in repr(result.messages)
    assert shown(agent.stream("?")) == ""


ANSWER = {"text": "damn 4711", "opaque_body": {"of": "damn 4711"}, "files": ["picture 4711"]}


@pytest.mark.parametrize("by_agent", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_no_event_holds_an_answer_that_was_stopped(events_of, by_agent, last):
    # In the last call allowed, tools that are called for beside the answer are refused.
    calls = {"tool_calls": [use("pay", "{}")]} if last else {}
    settings = {"maximum_iterations": 1} if last else {}
    guards = {"guardrails": Guardrails(answer=[polite])}
    model = Script([{**ANSWER, **calls}])
    agent = Agent(model, **guards, **settings)
    if by_agent:
        helper = as_tool("helper", "Helps.", model, **guards, **settings)
        agent = Agent(Script(ask(use("helper", '{"task": "?"}')), "So."), [helper])
    events = events_of(agent)
    assert "4711" not in repr(events)
    assert "The answer was not polite." in repr(events)
    ended = [e.event if isinstance(e, AgentEvent) else e for e in events]
    assert len([e for e in ended if isinstance(e, ModelCallEnded)]) == (3 if by_agent else 1)


@pytest.fixture(params=["stream", "astream"])
def events_of(request):
    def events(agent):
        if request.param == "stream":
            return list(agent.stream("?"))
        return asyncio.run(collect(agent.astream("?")))

    async def collect(stream):
        return [event async for event in stream]

    return events


def test_events_hold_an_answer_as_it_was_changed_or_as_it_passed(events_of):
    guards = {"guardrails": Guardrails(answer=[polite])}
    told = {"text": "Call 4711.", "opaque_body": {"of": "Call 4711."}}
    events = events_of(Agent(Script([told]), **guards))
    assert "4711" not in repr(events)
    [ended] = [e for e in events if isinstance(e, ModelCallEnded)]
    assert (ended.text, ended.opaque_body) == ("Call ***.", None)
    names = [type(event).__name__ for event in events]
    assert names.index("CheckAnswer") < names.index("ModelCallEnded") < names.index("ShowText")

    events = events_of(Agent(Script([{**told, "text": "Call."}]), **guards))
    [ended] = [e for e in events if isinstance(e, ModelCallEnded)]
    assert (ended.text, ended.opaque_body) == ("Call.", told["opaque_body"])


class Ticket(BaseModel):
    euros: int


def test_an_answer_by_a_type_is_checked_as_a_value(run_of):
    def halve(ticket: Ticket):
        return Ticket(euros=ticket.euros // 2)

    agent = Agent(Script('{"euros": 8}'), answer=Ticket, guardrails=Guardrails(answer=[halve]))
    result = run_of(agent, "?")
    assert result.value == Ticket(euros=4)
    assert result.messages[-1].content == '{"euros":4}'


@pytest.mark.parametrize("place", ["input", "tool_call", "answer"])
def test_a_guardrail_that_fails_lets_nothing_pass(run_of, place):
    done = []
    script = Script(pay(5), "Done.")
    agent = Agent(script, [paying(done)], guardrails=Guardrails(**{place: [fails]}))
    result = run_of(agent, "Pay.")
    said = script.requests[-1].messages[-1].content if place == "tool_call" else result.error
    assert said == "A guardrail of this agent failed."
    assert done == ([5] if place == "answer" else [])


async def test_guardrails_of_input_and_answer_may_be_async():
    async def stop(_):
        await asyncio.sleep(0)
        return Stop("No.")

    for place in ("input", "answer"):
        agent = Agent(Script("Yes."), guardrails=Guardrails(**{place: [stop]}))
        assert (await agent.arun("?")).error == "No."
        assert (await asyncio.to_thread(agent.run, "?")).error.startswith("A guardrail")


def test_the_tool_calls_of_agents_are_checked_by_their_callers_too(run_of):
    done = []
    helper = as_tool(
        "helper",
        "Pays.",
        Script(pay(500), "I could not."),
        [paying(done)],
        guardrails=Guardrails(answer=[lambda answer: answer.upper()]),
    )
    script = Script(ask(use("helper", '{"task": "Pay."}')), "So.")
    agent = Agent(
        script,
        [helper],
        guardrails=Guardrails(
            tool_call=[lambda call: None if call.name == "helper" else cheap(call)]
        ),
    )
    assert run_of(agent, "?").value == "So."
    assert not done
    assert script.requests[1].messages[-1].content == "I COULD NOT."


def test_verdicts_stand_in_the_log(run_of, tmp_path):
    log = RunLog(tmp_path)
    guardrails = Guardrails(input=[no_politics], tool_call=[cheap, fails], answer=[polite])
    agent = Agent(Script(pay(50), "4711"), [paying([])], guardrails=guardrails, log=log)
    run_of(agent, "Pay.")
    [run] = list_runs(tmp_path)
    records = [
        record for record in RunFile(run.path).iter_records() if record["type"] == "guardrail"
    ]
    told = [(r["name"], r["checked"], r["outcome"], r.get("call_id")) for r in records]
    assert told == [
        ("no_politics", "input", "passed", None),
        ("cheap", "tool_call", "changed", "c1"),
        ("fails", "tool_call", "failed", "c1"),
        ("polite", "answer", "changed", None),
    ]
    assert "sk-secret" not in run.path.read_text()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"input": no_politics}, "input: expected functions in a list, got function"),
        ({"answer": "polite"}, "answer: expected functions in a list, got str"),
        ({"tool_call": [3]}, r"tool_call\[0\]: expected a function, got int"),
    ],
)
def test_what_is_no_guardrail_is_refused_by_name(given, message):
    with pytest.raises(TypeError, match=message):
        Guardrails(**given)


def test_events_of_agents_are_held_back_like_their_answers(run_of):
    del run_of
    helper = as_tool("helper", "Helps.", Script("damn"), guardrails=Guardrails(answer=[polite]))
    agent = Agent(Script(ask(use("helper", '{"task": "?"}')), "So."), [helper])
    events = list(agent.stream("?"))
    assert shown(e.event for e in events if isinstance(e, AgentEvent)) == ""
    [ended] = [e for e in events if isinstance(e, ToolCallEnded)]
    assert "The answer was not polite." in str(ended.result.error)


@pytest.mark.parametrize("made", [{"euros": "many"}, "junk", object()])
def test_an_answer_that_a_guardrail_gets_wrong_is_none(run_of, made):
    script = Script('{"euros": 5}')
    agent = Agent(script, answer=Ticket, guardrails=Guardrails(answer=[lambda _: made]))
    result = run_of(agent, "How much?")
    assert (result.answered, result.reason) == (False, "guardrail")
    assert result.error.startswith("A guardrail's answer is not valid: ")


class Book:
    """A book of steps."""

    def __init__(self) -> None:
        self.records: dict[str, bytes] = {}

    async def step(self, key, work, /):
        if key not in self.records:
            self.records[key] = await work()
        return self.records[key]


@pytest.mark.parametrize("sees", ["input", "answer"])
@pytest.mark.parametrize(
    ("says", "error"),
    [
        (lambda _: None, None),
        (lambda _: Stop("No."), "No."),
        (fails, "A guardrail of this agent failed."),
    ],
)
async def test_what_a_guardrail_has_said_is_recorded_and_it_is_not_asked_again(sees, says, error):
    asked = []

    async def guard(value):
        asked.append(value)
        return says(value)

    agent, book = Agent(Script("Four."), guardrails=Guardrails(**{sees: [guard]})), Book()
    results = [await agent.arun("?", steps=book) for _ in range(2)]
    assert results[0] == results[1]
    assert (results[0].error, len(asked)) == (error, 1)
    key = f"guardrail:{sees}.{'0' if sees == 'input' else '1.0'}"
    assert {key} <= book.records.keys() <= {key, "model:1"}


async def test_the_steps_of_an_agents_guardrails_have_its_call_in_front():
    guards = Guardrails(input=[no_politics, without_numbers], answer=[polite])
    inner = as_tool("find", "Finds.", Script("There."), guardrails=guards)
    agent = Agent(Script(ask(use("find", '{"task": "it"}', "f")), "Done."), [inner])
    book = Book()
    await agent.with_(guardrails=Guardrails(answer=[polite])).arun("?", steps=book)
    assert [key for key in book.records if key.startswith("guardrail")] == [
        *("guardrail:1.f/input.0", "guardrail:1.f/input.1", "guardrail:1.f/answer.1.0"),
        "guardrail:answer.2.0",
    ]


async def test_what_a_guardrail_says_that_json_cannot_express_is_its_failure(caplog):
    agent = Agent(Script("Four."), guardrails=Guardrails(answer=[lambda _: object()]))
    book = Book()
    for _ in range(2):
        result = await agent.arun("?", steps=book)
        assert (result.reason, result.error) == ("guardrail", "A guardrail of this agent failed.")
        assert "what the guardrail says cannot be recorded: value: expected plain" in caplog.text
        caplog.clear()
