"""What is still to be called: clauses matched with tools, and with the results that are there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from gpt5_simulator._json import Json, dump
from gpt5_simulator._request import Tool
from gpt5_simulator._rules._arguments import Evidence, build_arguments
from gpt5_simulator._rules._clauses import Clause, split_clauses, with_reference
from gpt5_simulator._rules._conversation import Conversation, ToolResult
from gpt5_simulator._rules._extract import result_value
from gpt5_simulator._rules._matching import find_tools, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """Be a call that is to be made.

    Attributes:
        tool: The tool.
        arguments: Its arguments, or `{"input": text}` for a custom tool.
        clause: The words that ask for it.
    """

    tool: Tool
    arguments: Json
    clause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Be what follows from a question and the results so far.

    Attributes:
        calls: The calls that can be made now.
        unserved: The clauses for which there is no tool, or whose earlier result is missing.
    """

    calls: tuple[PlannedCall, ...]
    unserved: tuple[Clause, ...]


def build_plan(conversation: Conversation, tools: Sequence[Tool]) -> Plan:
    """Decide what to call next."""
    starters = {word for tool in tools for word in words_of(tool.name)}
    clauses = split_clauses(conversation.question, starters=starters)
    waiting = list(conversation.results)
    unserved: list[Clause] = []
    previous: ToolResult | None = None
    for _, group in groupby(clauses, key=lambda clause: clause.stage):
        wanted = [
            (clause, _wanted_calls(clause, tools, previous, conversation.question))
            for clause in group
        ]
        unserved += [clause for clause, calls in wanted if not calls]
        distinct = _distinct(call for _, calls in wanted for call in calls)
        results = [_take(waiting, call.tool.name) for call in distinct]
        calls = [call for call, result in zip(distinct, results, strict=True) if result is None]
        if calls:
            return Plan(calls=tuple(calls), unserved=tuple(unserved))
        previous = results[-1] if results else None
    return Plan(calls=(), unserved=tuple(unserved))


def build_call(tool: Tool, text: str, *, result: str | None = None) -> PlannedCall:
    """Build the call of a tool that has to be called, whatever the text says."""
    evidence = Evidence(text=text, result=result, names=frozenset({tool.name}))
    return PlannedCall(tool=tool, arguments=_arguments(tool, evidence)[0], clause=text)


def _wanted_calls(
    clause: Clause, tools: Sequence[Tool], previous: ToolResult | None, question: str
) -> list[PlannedCall]:
    value: str | None = None
    if clause.refers:
        if previous is None or previous.failed:
            return []
        value = result_value(previous.output)
    text = clause.text if value is None else with_reference(clause, value)
    names = frozenset(tool.name for tool in tools)
    evidence = Evidence(text=text, context=question, result=value, names=names)
    return [
        PlannedCall(tool=tool, arguments=arguments, clause=clause.text)
        for tool in find_tools(clause.text, tools, filled=text)
        for arguments in _arguments(tool, evidence)
    ]


def _arguments(tool: Tool, evidence: Evidence) -> list[Json]:
    if tool.kind == "custom":
        return [{"input": evidence.text}]
    return build_arguments(tool.parameters, evidence)


def _distinct(calls: Iterable[PlannedCall]) -> list[PlannedCall]:
    """Return the calls without those that repeat an earlier one, word for word."""
    distinct: dict[tuple[str, str], PlannedCall] = {}
    for call in calls:
        distinct.setdefault((call.tool.name, dump(call.arguments)), call)
    return list(distinct.values())


def _take(results: list[ToolResult], name: str) -> ToolResult | None:
    """Take the oldest result of a tool out of the list."""
    for result in results:
        if result.name == name:
            results.remove(result)
            return result
    return None
