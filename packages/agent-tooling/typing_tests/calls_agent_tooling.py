"""What a strict type checker says of code that uses this package; it is checked and never run."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_type

from agent_tooling import (
    AcceptedArguments,
    Context,
    FailureMemory,
    RefusedArguments,
    ResultBudget,
    Tool,
    ToolArguments,
    ToolContent,
    ToolError,
    ToolOutput,
    parse_tool_arguments,
    tool,
)


@tool
def weather(city: str, days: int = 3) -> str:
    """Look up the weather."""
    if not city:
        raise ToolError("There is no such city.")
    return f"{city}: {days} sunny days"


@tool(name="find", hidden={"user": "alice"})
async def search(query: str, *, user: str) -> list[str]:
    """Search."""
    return [query, user]


def forward(**arguments: object) -> object:
    """Hand on what the model wrote."""
    return arguments


TOOLS: Sequence[Tool] = [weather, search, Tool.from_schema("forward", "", {}, forward)]
assert_type(weather, Tool[object])
assert_type(search.with_hidden(user="eve"), Tool[object])


@dataclass
class Database:
    """What a run is given."""

    url: str


@tool(timeout=5, retries=1, approval={"days": {"above": 3}})
def look_up(context: Context[Database], days: int) -> str:
    """Look something up."""
    return f"{context.deps.url}: {days}"


assert_type(look_up, Tool[Database])
FOR_DATABASE: Sequence[Tool[Database]] = [weather, look_up]
FOR_A_TEXT: Sequence[Tool[str]] = [look_up]  # type: ignore[list-item] # pyright: ignore[reportAssignmentType]


def narrow(bound: ToolArguments) -> str:
    """Return the refusal, which is there where `ok` is False."""
    if bound.ok is True:
        assert_type(bound, AcceptedArguments)
        return ""
    assert_type(bound, RefusedArguments)
    return bound.error


def narrow_by_truth(bound: ToolArguments) -> str:
    """Return the refusal, in the shortest form that every checker narrows by."""
    if not bound:
        assert_type(bound, RefusedArguments)
        return bound.error
    assert_type(bound, AcceptedArguments)
    return "" if bound.error is None else bound.error


def narrow_by_error(bound: ToolArguments) -> str:
    """Return the refusal, found by its sentence."""
    return "" if bound.error is None else bound.error


def run(made: Tool, text: str, memory: FailureMemory, budget: ResultBudget) -> ToolContent:
    """Make one call, with all guards."""
    bound = made.bind(text)
    if isinstance(bound, RefusedArguments):
        return bound.error
    recalled = memory.recall(made.name, bound.args)
    if recalled is not None:
        return recalled
    output = asyncio.run(made.ainvoke(bound.args)) if made.is_async else made.invoke(bound.args)
    assert_type(output, ToolOutput)
    assert_type(budget.fit("text"), str)
    return budget.fit(output.content)


assert_type(parse_tool_arguments("{}"), AcceptedArguments | RefusedArguments)
