"""One request, one turn: reasoning and tool calls, or reasoning and an answer."""

import re
from collections.abc import Sequence

from gpt5_simulator._json import dump, object_at
from gpt5_simulator._request import ModelRequest
from gpt5_simulator._rules._arguments import Evidence, build_value
from gpt5_simulator._rules._conversation import Conversation, read_conversation
from gpt5_simulator._rules._matching import best_tool
from gpt5_simulator._rules._plan import Plan, PlannedCall, build_call, build_plan
from gpt5_simulator._rules._wording import (
    answer,
    answering_thoughts,
    no_tool_answer,
    planning_thoughts,
    preamble,
)
from gpt5_simulator._turn import CustomToolCall, FunctionCall, Reasoning, Text, Turn, TurnItem


_SUMMARY_PARTS = {"low": 1, "medium": 1, "high": 2, "xhigh": 3, "max": 3}
_PREAMBLE = re.compile(r"(?<![a-z])preamble", re.IGNORECASE)
_CLOSING = re.compile(r"final|finish|answer|respond|response|output|submit", re.IGNORECASE)
_QUESTION = re.compile(
    r"(?:what|who|when|where|how|which|why|is|are|do|does|can|could|tell|give|find|show|calculate|compute)\b",
    re.IGNORECASE,
)


class RuleModel:
    """Answer by rules: the same request always gets the same answer.

    A question is taken apart into clauses. Each clause goes to the offered tool whose name, description and parameters share most
    words with it; arguments are taken from the clause by the parameters' JSON schema. What follows a "then" waits for the result
    before it. When nothing is left to call, the answer quotes the results; without fitting tools it says that this is a simulator.
    """

    def respond(self, request: ModelRequest) -> Turn:
        """Return reasoning and tool calls, or reasoning and an answer."""
        conversation = read_conversation(request.items)
        plan = build_plan(conversation, request.tools)
        calls = plan.calls or _forced_calls(request, conversation)
        if calls:
            return _calling_turn(request, calls if request.parallel else calls[:1])
        return _answering_turn(request, conversation, plan)


def _forced_calls(request: ModelRequest, conversation: Conversation) -> tuple[PlannedCall, ...]:
    """Return the call that has to be made although the plan has none.

    Agent frameworks ask for their output by a tool of its own, so what sounds like that comes first, then any tool not used yet.
    """
    if request.tool_mode != "required":
        return ()
    fresh = [tool for tool in request.tools if tool.name not in conversation.latest]
    closing = [tool for tool in fresh if _CLOSING.search(tool.name)]
    tool = best_tool(conversation.question, closing or fresh or request.tools)
    if tool is None:
        return ()
    results = conversation.results
    known = answer(results, open_calls=(), unserved=()) if results else None
    return (build_call(tool, conversation.question, result=known),)


def _calling_turn(request: ModelRequest, calls: Sequence[PlannedCall]) -> Turn:
    items: list[TurnItem] = [*_reasoning(request, planning_thoughts(calls))]
    if _PREAMBLE.search(request.instructions):
        items.append(Text(text=preamble(calls)))
    return [*items, *(_call(call) for call in calls)]


def _answering_turn(request: ModelRequest, conversation: Conversation, plan: Plan) -> Turn:
    thoughts = _reasoning(request, answering_thoughts(conversation.results))
    return [
        *thoughts,
        Text(text=_formatted(request, conversation, _answer(request, conversation, plan))),
    ]


def _answer(request: ModelRequest, conversation: Conversation, plan: Plan) -> str:
    if not conversation.results:
        return no_tool_answer(conversation.question, offered=len(request.tools))
    unserved = [
        clause for clause in plan.unserved if request.tools and _QUESTION.match(clause.text)
    ]
    return answer(conversation.results, open_calls=plan.calls, unserved=unserved)


def _formatted(request: ModelRequest, conversation: Conversation, text: str) -> str:
    """Return the answer in the format that the request asks for."""
    match request.text_format.get("type"):
        case "json_schema":
            schema = object_at(request.text_format, "schema")
            newest_first = [result.output for result in reversed(conversation.results)]
            words = "\n".join([*newest_first, conversation.question])
            evidence = Evidence(text=words, result=text)
            return dump(build_value(schema, evidence))
        case "json_object":
            return dump({"answer": text})
        case _:
            return text


def _reasoning(request: ModelRequest, thoughts: tuple[str, ...]) -> tuple[TurnItem, ...]:
    """Return a reasoning item with as many summary parts as the effort and the kind of summary ask for."""
    parts = _SUMMARY_PARTS.get(request.effort, 0)
    if not parts:
        return ()
    shown = 1 if request.summary == "concise" else parts + (request.summary == "detailed")
    return (Reasoning(summary=thoughts[:shown]),)


def _call(call: PlannedCall) -> TurnItem:
    if call.tool.kind == "custom":
        return CustomToolCall(name=call.tool.name, input=str(call.arguments["input"]))
    return FunctionCall(name=call.tool.name, arguments=call.arguments)
