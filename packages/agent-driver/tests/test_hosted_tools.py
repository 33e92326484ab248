"""Tools that a model's server runs by itself, beside those of the run."""

import asyncio

import pytest
from scripted import Script, as_tool, ask, use

from agent_driver import Agent, AgentRun, Budgets, ShowFile, drive
from agent_loop import ModelFailure
from agent_tooling import ApprovalRules, DeclarationError


GONE = ModelFailure(message="gone", is_transient=False, may_pass_elsewhere=True)
SEARCHED = [{"text": "It rains.", "hosted_calls": 2}]
EVERY = {"*": "always"}


class Client(Script):
    """A client whose server runs tools."""

    def __init__(self, *answers, hosted=("web_search",), lacking=(), reason=None, model_id=None):
        super().__init__(*answers, model_id=model_id)
        self.hosted_tools, self.lacking_tools, self.no_agent_reason = hosted, lacking, reason


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADD = use("add", '{"a": 1, "b": 2}')


class Book(dict):
    """Records steps."""

    async def step(self, key, work, /):
        if key not in self:
            self[key] = await work()
        return self[key]


@pytest.mark.parametrize("tools", [[], [add]])
def test_they_are_offered_and_their_calls_count_as_tool_calls(tools):
    client = Client([{"hosted_calls": 3}, *(ask(ADD) if tools else ["So."])], "Three.")
    agent = Agent(client, tools, budgets=Budgets(max_tool_calls=5))
    result, book = agent.run("?"), Book()
    assert [use.used for use in result.budgets] == [3 + len(tools)]
    assert [call.max_hosted_calls for call in client.requests] == [5, 1][: 1 + len(tools)]
    assert {call.hosted_tools for call in client.requests} == {("web_search",)}
    for _ in range(2):  # The second time all is read back.
        assert asyncio.run(agent.arun("?", steps=book)).budgets == result.budgets


def test_their_calls_use_up_the_budget_and_the_model_answers():
    client = Client(SEARCHED, "So.")
    result = Agent(client, budgets=Budgets(max_tool_calls=0)).run("?")
    assert (client.requests[0].is_closing, result.text) == (True, "It rains.")
    agent = as_tool("ask", "Asks.", Client(SEARCHED))
    caller = Script(ask(use("ask", '{"task": "?"}')), "So.")
    result = Agent(caller, [agent], budgets=Budgets(max_tool_calls=3)).run("?")
    assert [use.used for use in result.budgets] == [3]
    assert caller.requests[-1].is_closing


def test_a_choice_may_name_one_where_the_run_has_no_tools():
    client = Client("So.")
    Agent(client, tool_choice="web_search").run("?")
    assert client.requests[0].tool_choice == "web_search"


@pytest.mark.parametrize(
    ("second", "offered", "left_out"),
    [
        (Client("So.", "Two."), ("web_search",), ()),
        (Client("So.", "Two.", lacking=("web_search",)), (), ("web_search",)),
        (Client("So.", "Two.", hosted=()), (), ("web_search",)),
        (Script("So.", "Two."), (), ("web_search",)),
        (Client("So.", "Two.", hosted=("draw",)), ("draw",), ("web_search",)),
    ],
)
def test_a_fallback_model_that_lacks_one_does_without_it_and_that_is_told(
    second, offered, left_out, caplog
):
    result = Agent(Client(GONE), fallback=second).run("?")
    assert (result.text, result.left_out_tools) == ("Two.", left_out)
    request = second.requests[-1]
    assert request.hosted_tools == offered
    assert ("web_search" in str(request.messages)) == bool(left_out)
    assert ("web_search" in caplog.text) == bool(left_out)


def test_a_client_that_no_agent_can_use_is_refused_with_its_reason():
    unfit = Client("So.", reason="defaults.tools[0]: nobody would answer")
    for settings in ({"model": unfit}, {"model": Client("So."), "fallback": unfit}):
        with pytest.raises(ValueError, match=r"model: defaults.tools\[0\]: nobody would answer"):
            Agent(**settings)


@pytest.mark.parametrize("is_below", [False, True])
@pytest.mark.parametrize("settings", [{"tool_approval": "once"}, {"approval_rules": EVERY}])
def test_one_that_a_person_would_have_to_approve_is_refused(settings, *, is_below):
    client = Client("So.")
    given = [Script("So."), [as_tool("ask", "Asks.", client)]] if is_below else [client]
    with pytest.raises(ValueError, match="approval: web_search would need a person's leave"):
        Agent(*given, **settings)
    run = AgentRun([], maximum_iterations=3, approval_rules=ApprovalRules.parse(EVERY))
    with pytest.raises(ValueError, match="a rule may say 'never' for it"):
        next(drive(run, *given, snapshot_key=b"0123456789abcdef"))
    rules = EVERY | {"web_search": "never"}
    assert Agent(*given, approval_rules=rules).run("?").text == "So."
    with pytest.raises(ValueError, match="tool_approval is for every tool"):
        Agent(*given, approval_rules=rules, tool_approval="always")
    with pytest.raises(DeclarationError, match="the name of a tool of this run"):
        Agent(*given, approval_rules={"draw": "never"}).run("?")


def test_what_the_server_has_drawn_is_shown_and_the_run_is_answered():
    image = {"media_type": "image/png", "data": "QUJD"}
    with Agent(Client([{"files": [image], "hosted_calls": 1}])).stream("Draw.") as events:
        files = [event.file for event in events if isinstance(event, ShowFile)]
    assert (files, events.result.answered) == ([image], True)
