"""How calls of a tool are made: its context, timeout, retries and approval."""

import asyncio
import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import ApprovalRules, Context, DeclarationError, Tool, tool


@dataclass
class Database:
    url: str


@tool(timeout=5, retries=2, approval="always")
def look_up(context: Context[Database], key: str) -> str:
    """Look up a key."""
    return f"{context.deps.url}/{key} {context.tool} {context.call_id} {context.attempt}"


CONTEXT = Context(deps=Database("db"), call_id="c1", tool="look_up")


def test_the_model_does_not_see_the_context_and_the_function_gets_it():
    assert look_up.parameters["properties"] == {"key": {"type": "string"}}
    assert look_up.deps_type is Database
    assert look_up.invoke({"key": "k"}, context=CONTEXT).content == "db/k look_up c1 1"
    assert not CONTEXT.is_cancelled()


def test_an_async_function_gets_the_context_too():
    async def look_up(context: "Context[Database]", key: str) -> str:
        return context.deps.url + key

    made = Tool.from_function(look_up)
    assert asyncio.run(made.ainvoke({"key": "k"}, context=CONTEXT)).content == "dbk"


def test_a_context_may_hold_anything():
    def count(context: Context, upto: int) -> int:
        return context.deps + upto

    made = Tool.from_function(count)
    assert made.deps_type is object
    assert made.invoke({"upto": 1}, context=Context(deps=2)).content == "3"


def test_a_call_without_the_context_that_its_function_takes_has_failed():
    output = look_up.invoke({"key": "k"})
    assert output.error is not None
    assert "the tool look_up takes a context" in str(output.cause)


def test_a_model_cannot_write_the_context():
    assert "unknown" in str(look_up.bind('{"key": "k", "context": 1}').error)


def test_a_context_that_is_not_the_first_parameter_is_refused():
    def look_up(key: str, context: Context[Database]) -> str:
        return f"{key}{context}"

    with pytest.raises(DeclarationError, match="parameter 'context' of look_up"):
        Tool.from_function(look_up)


def test_the_options_of_a_tool_stand_on_it():
    assert (look_up.timeout, look_up.retries, look_up.approval) == (5, 2, "always")
    made = Tool.from_schema("t", "", {}, print, timeout=math.inf, approval={"n": {"above": 3}})
    assert (made.timeout, made.retries) == (math.inf, None)
    assert made.approval_rules is not None
    assert [made.approval_rules.find("t", {"n": n}).ask for n in (3, 4)] == ["never", "always"]
    assert made.approval_rules.find("other", {"n": 4}).ask == "never"
    assert Tool.from_schema("t", "", {}, print).approval_rules is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 0}, "timeout must be a number of seconds over 0, got 0"),
        ({"timeout": True}, "timeout must be a number of seconds over 0, got True"),
        ({"timeout": "5"}, "timeout must be a number of seconds over 0, got '5'"),
        ({"retries": -1}, "retries must be a whole number from 0 on, got -1"),
        ({"retries": 1.5}, "retries must be a whole number from 0 on, got 1.5"),
        ({"approval": "sometimes"}, r'approval of t\[0\].ask must be "never", "once" or'),
        ({"approval": {"n": {"over": 3}}}, r"approval of t\[0\].when\[\"n\"\] must be"),
    ],
)
def test_an_option_that_is_none_is_refused_by_name(options, message):
    with pytest.raises(DeclarationError, match=message):
        Tool.from_schema("t", "", {}, print, **options)


ASKS = ["never", "once", "always"]


@given(st.lists(st.sampled_from(ASKS), min_size=1, max_size=4))
def test_of_rules_that_stand_beside_each_other_the_strictest_counts(asks):
    first, *others = [ApprovalRules.parse({"pay": ask}) for ask in asks]
    found = first.beside(others).find("pay")
    assert found.ask == max(asks, key=ASKS.index)


def test_rules_beside_others_are_called_by_the_names_of_the_run_and_tell_runs_apart():
    rules = ApprovalRules.parse({"pay": "once"}).beside([ApprovalRules.parse({"mail": "always"})])
    named = rules.for_tools({"pay_2": ["pay"], "mail_2": ["mail"]})
    assert [named.find(tool).ask for tool in ("pay_2", "mail_2")] == ["once", "always"]
    assert rules.text != ApprovalRules.parse({"pay": "once"}).text
    with pytest.raises(DeclarationError, match="mail"):
        rules.for_tools({"pay": []})
