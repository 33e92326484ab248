"""The demonstration model: it stands in for a language model, so that everything around it can be tried without a key."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from gpt5_simulator._demo_values import Values, kind_of, words_apart
from gpt5_simulator._json import Json, dump, object_at, objects_in
from gpt5_simulator._request import ModelRequest, Tool, item_text, read_tool
from gpt5_simulator._turn import CustomToolCall, FunctionCall, Reasoning, Text, Turn, TurnItem


type _Call = tuple[Tool, Json]  # with its arguments
type _Result = tuple[str, str]  # a tool's name and its output

_ENOUGH_POINTS = 2
_MAX_QUOTE = 500
_PARTS = re.compile(
    r"(?<=[.?!;])\s+|(?<=[\u3002\uff01\uff1f])|\n+|,?\s+(?:and\s+)?then\s+"
    r"|,?\s+and\s+(?=(?:what|who|when|where|how|which|why|is|are|tell|show|use|call)\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{4,}")
_ACTION = re.compile(r"\bAction:\s*(?=\{)")
_OBSERVATION = re.compile(r"\bObservation:\s*(.*?)\s*(?=\n\s*Thought:|\Z)", re.DOTALL)


class DemoModel:
    """A demonstration that answers by rules; the same request always gets the same answer.

    It calls the tools that a question asks for, all at once where the request allows it, and answers by quoting their results. It does
    the same in plain text for agents that describe their tools in the instructions and read `Action: {...}` from the answer.

    - A question falls into parts: sentences, lines, and what follows a "then", or an "and" before a question word. A part goes to the
      tool with most points, if it has 2 or more: 2 for each word of the tool's name, 1 for each longer word of its description or
      parameters, 2 for each parameter of a kind that the part asks for: time zone, sum, place, address, date. No call is made twice.
    - A string gets the value of its parameter's kind, or what stands in quotation marks, or the part itself. A number gets the next
      number of the part, an enum the value that the part names. What the part lacks is null, the default, or the least that the
      schema allows. An optional parameter is left out unless the part has a value of its kind or enum.

    It cannot hand the result of one tool to another, call a tool for several cities, read sums in words, try again, ask back, or know
    anything. Of JSON schema it leaves out `allOf`, `pattern`, `format` and `multipleOf`. `ScriptedModel` says whatever else is needed.
    """

    def respond(self, request: ModelRequest) -> Turn:
        """Return reasoning and tool calls, or reasoning and an answer."""
        is_text = not request.tools and "action_input" in request.instructions
        tools = _tools_in(request.instructions) if is_text else request.tools
        question, results = _read_conversation(request.items)
        answer = _answer(question, results, offered=len(tools))
        calls = _open_calls(question, results, tools)
        if request.tool_mode == "required" and not calls:
            calls = _forced_calls(question, results, tools, text=answer if results else question)
        if is_text or not request.parallel:
            calls = calls[:1]
        names = " and ".join(dict.fromkeys(tool.name for tool, _ in calls))
        items: list[TurnItem] = []
        if request.effort not in {"none", "minimal"}:
            thought = f"The question asks for {names}." if calls else "No call is left to make."
            items.append(Reasoning(summary=(f"**Planning the next step**\n\n{thought}",)))
        if is_text:
            return [*items, Text(text=_text_step(request.instructions, calls, answer))]
        if calls and "preamble" in request.instructions:
            items.append(Text(text=f"I will use {names} for this."))
        if not calls:
            items.append(Text(text=_formatted(request.text_format, answer, question, results)))
        return [*items, *(_call_item(tool, arguments) for tool, arguments in calls)]


def _read_conversation(items: Sequence[Json]) -> tuple[str, list[_Result]]:
    """Return what was asked since the last answer, and what tools have said since then."""
    asked: list[str] = []
    results: list[_Result] = []
    names: dict[object, str] = {}
    is_answered = False
    for item in items:
        if item.get("role") == "user":
            if is_answered:
                asked, results, is_answered = [], [], False
            asked.append(item_text(item))
        elif item.get("role") == "assistant":
            steps = list(_iter_text_results(item_text(item)))
            results += steps
            is_answered = not steps
        elif item.get("type") in {"function_call", "custom_tool_call"}:
            is_answered = False  # what was said before a call is no answer
            names[item.get("call_id")] = str(item.get("name"))
        elif item.get("call_id") in names:
            results.append((names[item.get("call_id")], item_text(item)))
    return "\n".join(asked), results


def _open_calls(question: str, results: Sequence[_Result], tools: Sequence[Tool]) -> list[_Call]:
    """Return the calls that a question asks for, but for as many of each tool as were made already."""
    calls: dict[tuple[str, str], _Call] = {}
    for part in filter(None, map(str.strip, _PARTS.split(question))):
        tool = _best_tool(part, tools)
        if tool is not None and _points(part, tool) >= _ENOUGH_POINTS:
            arguments = _arguments(tool, part, text=part)
            calls.setdefault((tool.name, dump(arguments)), (tool, arguments))
    made = Counter(name for name, _ in results)
    open_calls: list[_Call] = []
    for tool, arguments in calls.values():
        made[tool.name] -= 1
        if made[tool.name] < 0:
            open_calls.append((tool, arguments))
    return open_calls


def _forced_calls(
    question: str, results: Sequence[_Result], tools: Sequence[Tool], *, text: str
) -> list[_Call]:
    """Return a call of the best tool not called yet; of equal ones the last, where agents put the tool that takes the answer."""
    made = {name for name, _ in results}
    fresh = [tool for tool in reversed(tools) if tool.name not in made]
    tool = _best_tool(question, fresh or tools)
    return [] if tool is None else [(tool, _arguments(tool, question, text=text))]


def _best_tool(part: str, tools: Sequence[Tool]) -> Tool | None:
    return max(tools, key=lambda tool: _points(part, tool), default=None)


def _points(part: str, tool: Tool) -> int:
    parameters = object_at(tool.parameters, "properties")
    words, name = _words(part), _words(tool.name)
    rest = {word for word in _words(" ".join([tool.description, *parameters])) if len(word) > 4}  # noqa: PLR2004  shorter ones say little
    kinds = filter(None, map(kind_of, parameters))
    topics = sum(re.search(kind.topic or kind.value, part) is not None for kind in kinds)
    return 2 * len(words & name) + len(words & rest - name) + 2 * topics


def _words(text: str) -> set[str]:
    return set(_WORD.findall(words_apart(text)))


def _arguments(tool: Tool, part: str, *, text: str) -> Json:
    if tool.kind == "custom":
        return {"input": text}
    return Values(tool.parameters, part=part, text=text).fields(tool.parameters)


def _answer(question: str, results: Sequence[_Result], *, offered: int) -> str:
    if results:
        lines = [
            f"- {name}: {output[:_MAX_QUOTE].strip() or '(nothing)'}" for name, output in results
        ]
        return "\n".join(["This is what the tools returned:", *lines])
    tools = f"None of the {offered} tools on offer fits" if offered else "There is no tool for"
    asked = f"“{question[:_MAX_QUOTE].strip()}”" if question.strip() else "what was asked"
    return f"I am a simulator that works by rules, not a language model. {tools} {asked}."


def _formatted(shape: Json, answer: str, question: str, results: Sequence[_Result]) -> str:
    """Return the answer in the format that the request asks for."""
    schema: Json = object_at(shape, "schema")
    if shape.get("type") == "json_object":
        schema = {"properties": {"answer": {}}, "required": ["answer"]}
    elif shape.get("type") != "json_schema":
        return answer
    words = "\n".join([*(output for _, output in results), question])
    return dump(Values(schema, part=words, text=answer).value("answer", schema))


def _call_item(tool: Tool, arguments: Json) -> TurnItem:
    if tool.kind == "custom":
        return CustomToolCall(name=tool.name, input=arguments["input"])
    return FunctionCall(name=tool.name, arguments=arguments)


def _tools_in(instructions: str) -> list[Tool]:
    """Return the tools that stand in instructions as a JSON array."""
    for start in re.finditer(r"\[(?=\s*\{)", instructions):
        entries = objects_in(_decoded_at(instructions, start.start()))
        if entries and all("name" in entry for entry in entries):
            return list(map(read_tool, entries))
    return []


def _iter_text_results(text: str) -> Iterator[_Result]:
    """Yield what tools have said in a text of actions and observations."""
    actions = [_decoded_at(text, match.end()) for match in _ACTION.finditer(text)]
    for action, output in zip(objects_in(actions), _OBSERVATION.findall(text), strict=False):
        yield str(next((value for key, value in action.items() if "input" not in key), "")), output


def _text_step(instructions: str, calls: Sequence[_Call], answer: str) -> str:
    """Return the next step as text. It does not quote the question, whose braces a reader might take for the action."""
    if not calls and "FinalAnswer:" in instructions:
        return f"Thought: I can answer.\nFinalAnswer: {answer}"
    name, value = "Final Answer", answer
    for tool, arguments in calls:
        name, value = tool.name, arguments
    return f"Thought: Next is {name}.\nAction: {dump({'action': name, 'action_input': value})}"


def _decoded_at(text: str, start: int) -> object:
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None
