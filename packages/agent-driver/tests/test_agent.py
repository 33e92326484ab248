"""An agent that is declared once, and the results of its runs."""

import asyncio
import os
import runpy
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel
from scripted import Script, as_tool, ask, use

from agent_driver import Agent, Finished, Guardrails, NoAnswerError, ShowText
from agent_loop import (
    AgentEvent,
    Budgets,
    InvalidSettingError,
    Message,
    MessageError,
    RoundStarted,
    SnapshotError,
)
from agent_tooling import AnswerSchema, Context, DeclarationError, Tool, tool
from run_log import RunFeed


class Ticket(BaseModel):
    title: str
    euros: int


@dataclass
class Note:
    text: str


class Tag(TypedDict):
    name: str


def power(base: int, exponent: int) -> int:
    """Raise a whole number to a power."""
    return base**exponent


POWER = ask(use("power", '{"base": 2, "exponent": 10}'))


@pytest.fixture(params=["run", "arun"])
def run_of(request):
    """Run an agent to its end, blocking or in an event loop."""

    def run(agent, *args, **options):
        if request.param == "run":
            return agent.run(*args, **options)
        return asyncio.run(agent.arun(*args, **options))

    return run


def test_an_agent_is_run_with_a_text_and_answers_with_one(run_of):
    script = Script(POWER, "It is 1024.")
    result = run_of(Agent(script, [power], instruction="Be brief."), "What is 2 to the 10th?")
    assert result.answered
    assert (result.value, result.text, result.reason) == ("It is 1024.", "It is 1024.", "answered")
    assert (result.error, result.waiting, result.cause, result.unsaved) == (None,) * 4
    assert script.requests[0].messages == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is 2 to the 10th?"},
    )


def test_the_messages_of_a_result_are_the_history_of_the_next_turn(run_of):
    agent = Agent(Script("Two.", model_id="m"), instruction="Be brief.")
    first = run_of(agent, "One and one?")
    assert first.models == ("m",)
    script = Script("Four.")
    second = run_of(agent.with_(model=script), "And two and two?", history=first.messages)
    assert [message["role"] for message in first.messages[:1]] == ["user"]
    assert [getattr(m, "role", None) or m["role"] for m in script.requests[0].messages] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert len(second.messages) == 4


def test_messages_may_be_the_prompt(run_of):
    script = Script("Two.")
    question = Message(role="user", content="One and one?")
    assert run_of(Agent(script), [question]).value == "Two."
    assert script.requests[0].messages == (question,)


@pytest.mark.parametrize(
    ("answer", "text", "value"),
    [
        (Ticket, '{"title": "Leak", "euros": 3}', Ticket(title="Leak", euros=3)),
        (Note, '{"text": "Call."}', Note("Call.")),
        (Tag, '{"name": "red"}', {"name": "red"}),
        (list[Tag], '{"answer": [{"name": "red"}]}', [{"name": "red"}]),
        ({"type": "object", "required": ["n"]}, '{"n": 1}', {"n": 1}),
        ('{"type": "object", "required": ["n"]}', '{"n": 1}', {"n": 1}),
        (AnswerSchema.from_type(Note), '{"text": "Call."}', Note("Call.")),
    ],
    ids=["model", "dataclass", "typed dict", "list", "schema", "text of a schema", "read schema"],
)
def test_an_answer_is_a_value_of_its_type(run_of, answer, text, value):
    assert run_of(Agent(Script(text), answer=answer), "?").value == value


def test_the_text_of_a_typed_answer_is_its_json_and_nothing_else(run_of):
    note = '{"text": "Call."}'
    for said in (f"{note}{note}", f"{note}\n{note} ", f"```json\n{note}\n```"):
        result = run_of(Agent(Script(said), answer=Note), "?")
        assert (result.text, result.value) == (note, Note("Call."))


def test_an_answer_that_is_not_valid_is_asked_for_once_more(run_of):
    script = Script('{"title": "Leak"}', '{"title": "Leak", "euros": 3}')
    assert run_of(Agent(script, answer=Ticket), "?").value == Ticket(title="Leak", euros=3)
    assert "euros: Field required" in script.requests[1].messages[-1].content

    result = run_of(Agent(Script("Leak", "Leak"), answer=Ticket), "?")
    assert (result.answered, result.reason) == (False, "invalid_answer")
    with pytest.raises(NoAnswerError, match=r"no answer \(invalid_answer\): The answer does not"):
        _ = result.value


def test_a_client_that_takes_the_schema_as_its_format_is_not_asked_in_words():
    class Client:
        has_answer_format = True

        def __init__(self):
            self.requests = []

        def answer(self, call):
            self.requests.append(call)
            return '{"text": "Call."}'

    client = Client()
    assert Agent(client, answer=Note).run("?").value == Note("Call.")
    assert Agent(client.answer, answer=Note).run("?").value == Note("Call.")
    assert [len(call.messages) for call in client.requests] == [1, 1]


def broken(_):
    raise OSError("no route")


def exits(_):
    raise SystemExit(3)


def garbled(_):
    yield {"text": 3}


@pytest.mark.parametrize(
    ("model", "error", "cause"),
    [
        (broken, "no route", OSError),
        (exits, "3", SystemExit),
        (garbled, "answer[0].text: expected a text, got int", MessageError),
    ],
)
def test_what_a_model_raises_is_in_the_result(run_of, model, error, cause):
    result = run_of(Agent(model), "?")
    assert not result.answered
    assert error in result.error
    assert isinstance(result.cause, cause)
    assert list(result.messages)[:1] == [{"role": "user", "content": "?"}]
    with pytest.raises(NoAnswerError) as caught:
        _ = result.value
    assert caught.value.reason == "error"


@pytest.mark.parametrize(
    ("answers", "reason", "error"),
    [
        ([" "], "empty_answer", "The model gave no answer."),
        (
            [POWER, [{"finish_reason": "length"}]],
            "output_limit",
            "The model reached its output lim",
        ),
        ([POWER, POWER], "maximum_iterations", "Maximum iteration limit (2) reached."),
    ],
)
def test_an_answer_without_a_word_of_the_model_s_is_none(run_of, answers, reason, error):
    result = run_of(Agent(Script(*answers), [power], maximum_iterations=2), "?")
    assert (result.answered, result.reason) == (False, reason)
    assert result.error.startswith(error)


def test_what_a_tool_raises_is_read_by_the_model(run_of):
    def fail() -> None:
        """Fail."""
        raise SystemExit(1)

    result = run_of(Agent(Script(ask(use("fail")), "It failed."), [fail]), "?")
    assert result.value == "It failed."


def test_an_interrupt_leaves_the_run():
    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Agent(interrupted).run("?")


def test_a_run_that_is_cancelled_says_so(run_of):
    cancelled = threading.Event()
    cancelled.set()
    result = run_of(Agent(Script("never")), "?", cancelled=cancelled)
    assert (result.reason, result.answered) == ("cancelled", False)


def test_the_cost_is_what_the_model_tells_and_else_unknown(run_of):
    usage = {"input_tokens": 3, "total_price": Decimal("0.2"), "currency": "USD"}
    budgets = Budgets(max_total_tokens=100)
    result = run_of(Agent(Script([{"text": "Two.", "usage": usage}]), budgets=budgets), "?")
    assert (result.cost, result.usage.currency) == (Decimal("0.2"), "USD")
    assert [use.name for use in result.budgets] == ["max_total_tokens"]
    assert run_of(Agent(Script("Two.")), "?").cost is None


def test_a_stream_gives_the_events_and_at_its_end_the_result():
    stream = Agent(Script("Two.")).stream("One and one?")
    with pytest.raises(RuntimeError, match="before all its events"):
        _ = stream.result
    events = list(stream)
    assert "".join(e.text for e in events if isinstance(e, ShowText)) == "Two."
    assert isinstance(events[-1], Finished)
    assert stream.result.value == "Two."
    assert list(stream) == []


async def test_a_stream_is_read_in_an_event_loop_too():
    async def model(_):
        yield "Two."

    async with Agent(model).astream("One and one?") as stream:
        with pytest.raises(RuntimeError, match="before all its events"):
            _ = stream.result
        events = [event async for event in stream]
        assert [event async for event in stream] == []
    assert isinstance(events[-1], Finished)
    assert stream.result.value == "Two."


def test_who_leaves_a_stream_lets_go_of_the_run():
    closed = []

    def model(_):
        try:
            yield "One"
            yield "Two"
        finally:
            closed.append(True)

    with Agent(model).stream("?") as stream:
        for event in stream:
            if isinstance(event, ShowText):
                break
    assert closed == [True]
    Agent(model).stream("?").close()  # never begun


def test_many_runs_use_one_agent_at_once():
    def model(call):
        if call.round == 1:
            return {"tool_calls": [use("power", '{"base": 2, "exponent": 3}')]}
        return f"{call.messages[0]['content']}: {call.messages[-1].content}"

    agent = Agent(model, [power])
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(agent.run, map(str, range(40))))
    assert [result.value for result in results] == [f"{number}: 8" for number in range(40)]


def test_an_agent_keeps_its_tools_whatever_they_were_given_in():
    given = [power]
    agents = [Agent(Script(POWER, "Done."), tools) for tools in (iter(given), given)]
    given.clear()
    for agent in agents:
        assert agent.with_(instruction="Be brief.").run("?").messages[-2].content == "1024"


def test_with_other_settings_it_is_another_agent():
    agent = Agent(Script("Two."), maximum_iterations=3)
    other = agent.with_(instruction="Be brief.", answer=Note, model=Script('{"text": "x"}'))
    feed = RunFeed()
    assert other.run("?").value == Note("x")
    assert agent.run("?").value == "Two."
    assert (agent.log, agent.with_(log=feed).log) == (None, feed)


class GoneError(Exception):
    may_pass_elsewhere = True


def refuse():
    raise GoneError


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("big", "small"), ("big", "small")),
        ((None, None), ("model", "fallback")),
        (("same", "same"), ("same", "same_fallback")),
    ],
)
def test_a_fallback_takes_over_under_a_name_of_its_own(run_of, names, told):
    first, second = Script(refuse, model_id=names[0]), Script("", "Two.", model_id=names[1])
    result = run_of(Agent(first, fallback=second), "?")
    assert (result.value, result.models) == ("Two.", told)


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (TypeError, "model: expected a function that is called with a CallModel", {"model": 3}),
        (TypeError, "fallback: expected a function", {"fallback": "gpt"}),
        (TypeError, "colour: expected a setting of an agent: allowed_tools, ", {"colour": "red"}),
        (TypeError, "instruction: expected a text, got int", {"instruction": 3}),
        (TypeError, "guardrails: expected Guardrails, got list", {"guardrails": []}),
        (InvalidSettingError, "maximum_iterations", {"maximum_iterations": 0}),
        (DeclarationError, r"tools\[0\]", {"tools": [3]}),
        (DeclarationError, "answer must be a type that pydantic can check", {"answer": object()}),
        (DeclarationError, "approval_rules", {"approval_rules": {"pay": "perhaps"}}),
        (ValueError, "two 'power'", {"tools": [power, power]}),
        (ValueError, "max_parallel_tools", {"max_parallel_tools": 0}),
    ],
)
def test_an_agent_that_cannot_be_is_refused_where_it_is_declared(error, message, arguments):
    with pytest.raises(error, match=message):
        Agent(**{"model": Script()} | arguments)


@pytest.mark.parametrize(
    ("error", "message", "arguments", "options"),
    [
        (TypeError, "depth: expected a run option of an agent", ("?",), {"depth": 3}),
        (TypeError, "prompt: expected a text or a list of messages, got int", (3,), {}),
        (TypeError, "session: expected a Session, got int", ("?",), {"session": 5}),
        (TypeError, "prompt: expected a text or a list of messages, got dict", ({},), {}),
        (
            MessageError,
            r"messages\[0\].role: expected system, .* got 'robot'",
            ([{"role": "robot"}],),
            {},
        ),
        (ValueError, "prompt: expected a text or messages where nothing is resumed", (), {}),
        (ValueError, "prompt: expected none where a run is resumed", ("?",), {"resume": "{}"}),
        (SnapshotError, "snapshot", (), {"resume": "{}", "decisions": True}),
    ],
)
def test_a_run_that_cannot_be_is_refused_at_once(run_of, error, message, arguments, options):
    with pytest.raises(error, match=message):
        run_of(Agent(Script()), *arguments, **options)


def test_an_async_model_needs_an_event_loop():
    async def model(_):
        yield "Two."

    with pytest.raises(TypeError, match="expected one that is not async"):
        Agent(model).run("?")
    assert asyncio.run(Agent(model).arun("?")).value == "Two."


def paying(paid):
    def pay(euros: int) -> str:
        """Pay."""
        paid.append(euros)
        return "paid"

    return pay


PAY = ask(use("pay", '{"euros": 5}'))


def test_a_run_that_waits_goes_on_with_a_decision(run_of):
    paid = []
    agent = Agent(Script(PAY, "Paid."), [paying(paid)], approval_rules={"pay": "always"})
    result = run_of(agent, "Pay 5.")
    assert (result.answered, result.reason, result.error) == (False, "approval", None)
    assert [call.arguments for call in result.waiting.calls] == ['{"euros": 5}']
    with pytest.raises(NoAnswerError, match="approval"):
        _ = result.value
    assert not paid

    assert run_of(agent, resume=result.waiting, decisions=True).value == "Paid."
    assert paid == [5]
    snapshot = result.waiting.snapshot
    assert run_of(agent, resume=snapshot, decisions={"c1": False}).value == "Paid."
    assert paid == [5]


def test_an_agent_with_a_key_goes_on_where_another_one_has_stopped():
    paid = []

    def declare(key):
        return Agent(
            Script(PAY, "Paid."), [paying(paid)], approval_rules={"pay": "once"}, snapshot_key=key
        )

    waiting = declare(b"0123456789abcdef").run("Pay 5.").waiting
    assert declare(b"0123456789abcdef").run(resume=waiting, decisions=True).answered
    with pytest.raises(SnapshotError):
        declare(b"fedcba9876543210").run(resume=waiting, decisions=True)


def test_an_agent_is_a_tool_of_another_one(run_of):
    helper = as_tool("helper", "Helps.", Script("Four."), instruction="Be brief.")
    agent = Agent(Script(ask(use("helper", '{"task": "2 + 2?"}')), "It is four."), [helper])
    result = run_of(agent, "?")
    assert result.value == "It is four."
    assert [use.agent for use in result.agents] == ["helper"]
    events = list(agent.stream("?"))
    assert any(isinstance(event, AgentEvent) for event in events)


def test_an_agent_gets_more_tools_by_being_another_one(run_of):
    agent = Agent(Script(ask(use("look", call_id="c2")), "Done."), [paying([])])

    def look() -> str:
        """Look."""
        return "found"

    another = agent.with_(tools=[*agent.tools, look])
    assert [tool.name for tool in another.tools] == ["pay", "look"]
    assert run_of(another, "?").messages[2].content == "found"
    assert [tool.name for tool in agent.tools] == ["pay"]


def test_a_tool_of_the_client_is_one_that_waits_for_its_result(run_of):
    @tool(approval="always")
    def place(context: Context[dict[str, str]]) -> str:
        """Say where the client is."""
        return context.deps[context.call_id]

    agent = Agent(Script(ask(use("place")), "Here.")).with_(tools=[place])
    waiting = run_of(agent, "?", deps={}).waiting
    result = run_of(agent, resume=waiting, decisions=True, deps={"c1": "Bonn"})
    assert (result.value, result.messages[2].content) == ("Here.", "Bonn")


def test_rounds_go_on_counting_where_a_run_has_waited():
    model = Script(ask(use("look")), PAY, "Paid.")

    def look() -> str:
        """Look."""
        return "found"

    agent = Agent(model, [paying([]), look], approval_rules={"pay": "always"})
    waiting = agent.run("?").waiting
    events = list(agent.stream(resume=waiting, decisions=True))
    assert waiting.round == 2
    assert [event.round for event in events if isinstance(event, RoundStarted)] == [3]


def helped(description: str = "Helps.", **settings: Any) -> Agent:
    """Return an agent with another as its tool, which has to ask before it pays."""
    inner = Script(PAY, "Paid.")
    return Agent(
        Script(ask(use("helper", '{"task": "pay"}')), "Done."),
        [as_tool("helper", "Helps.", inner, [described(description)], **settings)],
        snapshot_key=b"0123456789abcdef",
    )


def described(description: str) -> Tool:
    """Return a tool that a person has to approve."""
    parameters = {"type": "object", "properties": {"euros": {"type": "integer"}}}
    return Tool.from_schema("pay", description, parameters, str, approval="always")


def asking(**settings: Any) -> Agent:
    """Return an agent that has to ask before it pays."""
    settings = {"approval_rules": {"pay": "always"}, **settings}
    return Agent(Script(PAY, "Paid."), [paying([])], snapshot_key=b"0123456789abcdef", **settings)


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        (asking(), asking(), True),
        (asking(), asking(instruction="Be brief.", maximum_iterations=3, budgets=None), True),
        (asking(), asking(tool_timeout=3.0, guardrails=Guardrails(input=[len])), True),
        (asking(), asking(approval_rules={"*": "always"}), False),
        (asking(), asking(tool_approval="always"), False),
        (asking(), asking(allowed_tools=["pay"]), False),
        (asking(), asking(answer={"type": "object"}), False),
        (asking(), asking(fallback=Script("")), False),
        (asking(), asking(tool_search=1), False),
        (asking(), asking().with_(tools=[described("Pays.")]), False),
        (helped(), helped(), True),
        (helped(), helped("Helps more."), False),
        (helped(), helped(allowed_tools=["pay"]), False),
    ],
)
def test_agents_of_one_fingerprint_go_on_with_each_others_runs(first, second, is_same):
    assert (first.fingerprint == second.fingerprint) is is_same
    waiting = first.run("Pay 5.").waiting
    try:
        result = second.run(resume=waiting, decisions=True)
    except SnapshotError:
        assert not is_same
    else:
        refused = [m.content for m in result.messages if "has changed since" in str(m)]
        assert is_same is not bool(refused)


def test_a_fingerprint_is_the_same_in_every_process(tmp_path, capsys):
    program = tmp_path / "program.py"
    program.write_text(
        "from agent_driver import Agent, agent_tool\n"
        "def look(a: int, b: str = '') -> str:\n    'Look.'\n    return ''\n"
        "inner = Agent(print, [look], allowed_tools={'look'})\n"
        "rules = {'look': 'once', 'find': 'always'}\n"
        "agent = Agent(print, [look, agent_tool('find', 'Finds.', inner)], approval_rules=rules)\n"
        "print(agent.fingerprint)"
    )
    runpy.run_path(str(program))
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    elsewhere = subprocess.run(
        [sys.executable, program],
        env={"PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
        text=True,
    )
    assert elsewhere.stdout == capsys.readouterr().out


def test_an_agent_says_what_it_was_declared_with():
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}}
    agent = Agent(Script("4"), instruction="Be brief.", answer=schema)

    assert (agent.instruction, agent.with_(instruction="").instruction) == ("Be brief.", "")
    assert agent.answer_schema == schema
    assert Agent(Script("4")).answer_schema is None
