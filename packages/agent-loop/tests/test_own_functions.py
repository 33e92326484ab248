"""Functions that a run answers by itself."""

import pytest

from agent_loop import (
    AgentRun,
    Budgets,
    CallInstead,
    CallModel,
    InvalidSettingError,
    LocalProtocolError,
    Message,
    ModelDelta,
    ModelDone,
    OwnFunction,
    RunTools,
    ToolCall,
    ToolCallEnded,
    ToolCallFragment,
    ToolCallStarted,
    ToolResult,
)
from agent_tooling import TOOL_FAILED, DeclarationError, ToolError


QUESTION = (Message(role="user", content="?"),)
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def function(name="echo", answer=lambda arguments: arguments["text"]):
    return OwnFunction(name=name, description="Says it.", parameters=SCHEMA, answer=answer)


def refuse(arguments):
    raise ToolError(arguments["text"])


def start(*functions, **settings):
    tools = [{"name": "add"}, {"type": "function", "function": {"name": "sub"}}]
    run = AgentRun(
        QUESTION,
        **{"tools": tools, "own_functions": functions, "maximum_iterations": 5} | settings,
    )
    return run, run.start()[-1]


def ask(run, *calls):
    fragments = tuple(
        ToolCallFragment(call_id=f"c{index}", name=name, arguments=arguments)
        for index, (name, arguments) in enumerate(calls)
    )
    run.feed(ModelDelta(tool_calls=fragments))
    return run.feed(ModelDone())


def results(events):
    return [event.result for event in events if isinstance(event, ToolCallEnded)]


def test_an_own_function_is_offered_behind_the_tools_and_answered_without_the_driver():
    run, request = start(function())
    assert [tool["name"] for tool in request.tools[:1]] == ["add"]
    [offered] = request.tools[2:]
    assert (offered.name, offered.description) == ("echo", "Says it.")
    assert offered.parameters["required"] == ["text"]
    events = ask(run, ("echo", '{"text": "hello"}'))
    assert [event for event in events if isinstance(event, RunTools)] == []
    [ended] = [event for event in events if isinstance(event, ToolCallEnded)]
    assert (ended.is_own, ended.result.content) == (True, "hello")
    following = events[-1]
    assert isinstance(following, CallModel)
    assert following.tools == request.tools
    assert following.messages[-1] == Message(
        role="tool", content="hello", tool_call_id="c0", name="echo"
    )


def test_it_is_answered_beside_tools_that_run_and_results_stay_in_the_order_of_the_calls():
    run, _ = start(function())
    events = ask(run, ("add", "{}"), ("echo", '{"text": "hello"}'))
    assert [call.name for call in events[-1].calls] == ["add"]
    request = run.feed(ToolResult(call_id="c0", content="4"))[-1]
    assert [m.content for m in request.messages if m.role == "tool"] == ["4", "hello"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [('{"text": 1}', "text"), ("{", "parse error"), ('{"text": "a", "more": 1}', "more")],
)
def test_its_arguments_are_checked(arguments, told):
    run, _ = start(function())
    [result] = results(ask(run, ("echo", arguments)))
    assert told in result.error
    assert result.content == result.error


@pytest.mark.parametrize(
    ("text", "told"), [("No such thing.", "No such thing."), ("", TOOL_FAILED)]
)
def test_it_may_refuse_a_call_with_a_sentence(text, told):
    run, _ = start(function(answer=refuse))
    [result] = results(ask(run, ("echo", f'{{"text": "{text}"}}')))
    assert result.error == result.content == told


def test_it_counts_among_the_tool_calls_of_a_budget():
    run, _ = start(function(), budgets=Budgets(max_tool_calls=1))
    events = ask(run, ("echo", '{"text": "a"}'), ("echo", '{"text": "b"}'))
    contents = {result.call_id: result.content for result in results(events)}
    assert contents["c0"] == "a"
    assert "budget" in contents["c1"]
    assert events[-1].is_closing


def test_it_may_be_called_whatever_tools_are_allowed_and_the_model_is_told_so():
    run, request = start(function(), allowed_tools=["add"])
    assert request.allowed_tools == ("add", "echo")
    [result] = results(ask(run, ("echo", '{"text": "a"}')))
    assert result.content == "a"


def call_tool(arguments):
    return CallInstead(name=arguments["text"], arguments='{"a": 1}')


def test_it_may_stand_for_the_call_of_a_tool_which_is_made_in_its_place():
    run, _ = start(function("call_tool", call_tool))
    events = ask(run, ("call_tool", '{"text": "sub"}'))
    made = ToolCall(call_id="c0", name="sub", arguments='{"a": 1}')
    assert events[-1] == RunTools(calls=(made,))
    [started] = [event for event in events if isinstance(event, ToolCallStarted)]
    assert (started.call.name, started.made) == ("call_tool", made)
    *_, request = run.feed(ToolResult(call_id="c0", content="4"))
    asked, answer = request.messages[-2:]
    assert asked.tool_calls[0].arguments == '{"text": "sub"}'
    assert (answer.name, answer.content) == ("call_tool", "4")


def test_a_tool_that_may_not_be_called_may_not_be_called_so_either():
    run, _ = start(function("call_tool", call_tool), allowed_tools=["add"])
    events = ask(run, ("call_tool", '{"text": "sub"}'), ("call_tool", '{"text": "add"}'))
    [refused] = results(events)
    assert "sub may not be called" in refused.error
    assert [call.name for call in events[-1].calls] == ["add"]


@pytest.mark.parametrize("name", ["add", "sub", "echo"])
def test_no_two_may_have_one_name(name):
    with pytest.raises(InvalidSettingError, match=f"own_functions must be .* not '{name}'"):
        start(function("echo"), function(name))


def test_what_is_no_function_that_a_model_could_call_is_refused():
    with pytest.raises(DeclarationError):
        function("two words")
    with pytest.raises(DeclarationError):
        OwnFunction(name="odd", description="", parameters={"type": object()}, answer=str)


def test_a_driver_may_offer_tools_and_own_functions_before_the_run_starts():
    run = AgentRun(QUESTION, own_functions=[function("one")], maximum_iterations=2)
    run.offer([{"name": "add"}], own_functions=[function("two")])
    assert [getattr(tool, "name", "add") for tool in run.tools] == ["add", "one", "two"]
    assert [own.name for own in run.own_functions] == ["one", "two"]
    assert run.tool_names == {"add", "one", "two"}
    run.offer([{"name": "sub"}])
    assert run.tools[0] == {"name": "sub"}
    assert run.start()[-1].tools == run.tools
    with pytest.raises(LocalProtocolError):
        run.offer(own_functions=[function("three")])


def test_a_run_knows_the_names_of_what_it_offers():
    tools = ({"function": {"name": "look"}}, object())
    assert AgentRun([], tools=tools, maximum_iterations=1).tool_names == {"look"}
