"""The demonstration model: a stand-in for a language model, so that everything around it can be tried without a key."""

import json
import re
from collections.abc import Iterator, Sequence

from gpt5_simulator._json import Json, dump, object_at, objects_in
from gpt5_simulator._media import describe, media_in
from gpt5_simulator._model.demo_values import Values, is_asked_for
from gpt5_simulator._model.turn import (
    CustomToolCall,
    FunctionCall,
    Reasoning,
    Text,
    Turn,
    TurnItem,
)
from gpt5_simulator._request import ModelRequest, Tool, item_text, read_tool


type _Call = tuple[Tool, Json]  # with its arguments
type _Result = tuple[str, str]  # a tool's name and its output

_ENOUGH_POINTS = 2
_MAX_QUOTE = 500
_MOST_SHOWN = 50
_PARTS = re.compile(
    r"(?<=[.?!;])\s+|\n+|,?\s+(?:and\s+)?then\s+|,?\s+and\s+(?=wh|how)", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{4,}")
_ACTION = re.compile(r"\bAction:\s*(?=\{)")
_OBSERVATION = re.compile(r"\bObservation:\s*(.*?)\s*(?=\n\s*Thought:|\Z)", re.DOTALL)


class DemoModel:
    """A demonstration that answers by rules; the same request always gets the same answer.

    It calls the tools that a question asks for, all at once where the request allows it, and answers by quoting their results. It does
    the same in plain text for agents that describe their tools in the instructions and read `Action: {...}` from the answer.

    A part of the question (a sentence, a line, the words after a "then" or an "and what") goes to the tool with the
    most points, if it has at least 2: 2 for each word of the tool's name, 1 for each longer word of its description or
    parameters, 2 for a `timezone`, `expression`, `city` or `location` that the part mentions. Those parameters get the
    words of the part, any other string the number behind its name (`order 7`), else its quoted text or the part itself,
    a number the one beside its name (`30 euros`), else the next, an enum the value that it names as a word. Other
    optional parameters are left out.

    For images and files it gives type, dimensions, bytes and digest, and who showed them.

    It cannot use the tools of the server, pass the result of one tool to another, try again, or know anything. It ignores `allOf`, `pattern`,
    `format` and `multipleOf` in JSON schemas. For anything else there is `ScriptedModel`.
    """

    def respond(self, request: ModelRequest) -> Turn:
        """Return reasoning and tool calls, or reasoning and an answer."""
        # Agents that read actions out of text describe this member in their instructions.
        if not request.tools and "action_input" in request.instructions:
            return _text_turn(request)
        question, results = _read_conversation(request.items)
        answer = _answer(question, results, _shown(request.items))
        calls = _open_calls(question, results, request.tools)
        if request.tool_mode == "required" and request.tools and not calls:
            tool = _forced_tool(question, results, request.tools)
            calls = [(tool, _arguments(tool, question, text=answer if results else question))]
        calls = calls if request.parallel else calls[:1]
        items = _reasoning(request, [tool.name for tool, _ in calls])
        if calls and "preamble" in request.instructions:
            names = " and ".join(dict.fromkeys(tool.name for tool, _ in calls))
            items.append(Text(text=f"I will use {names} for this."))
        if not calls:
            items.append(Text(text=_formatted(request.text_format, answer, question, results)))
        return [*items, *(_call(tool, arguments) for tool, arguments in calls)]


def _text_turn(request: ModelRequest) -> Turn:
    """Return the next step of an agent that describes its tools in the instructions."""
    question, results = _read_conversation(request.items)
    tools = _tools_in(request.instructions)
    answer = _answer(question, results, _shown(request.items))
    calls = _open_calls(question, results, tools)[:1]
    step = _text_step(request.instructions, calls, answer)
    return [*_reasoning(request, [tool.name for tool, _ in calls]), Text(text=step)]


def _reasoning(request: ModelRequest, names: Sequence[str]) -> list[TurnItem]:
    if request.effort in {"none", "minimal"}:
        return []
    asked = " and ".join(dict.fromkeys(names))
    thought = f"The question asks for {asked}." if names else "No call is left to make."
    return [Reasoning(summary=(f"**Planning the next step**\n\n{thought}",))]


def _call(tool: Tool, arguments: Json) -> TurnItem:
    if tool.kind == "custom":
        return CustomToolCall(name=tool.name, input=arguments["input"])
    namespace = tool.namespace or (tool.name if "defer_loading" in tool.entry else None)
    return FunctionCall(name=tool.name, arguments=arguments, namespace=namespace)


def _read_conversation(items: Sequence[Json]) -> tuple[str, list[_Result]]:
    """Return the user's words since the last answer, and the results of tools since then."""
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
        elif "call_id" in item and (kind := str(item.get("type"))).endswith("_call"):
            is_answered = False  # Text before a call was commentary.
            names[item["call_id"]] = str(item.get("name") or kind.removesuffix("_call"))
        elif item.get("call_id") in names and str(item.get("type")).endswith("_output"):
            results.append((names[item.get("call_id")], item_text(item)))
    return "\n".join(asked), results


def _open_calls(question: str, results: Sequence[_Result], tools: Sequence[Tool]) -> list[_Call]:
    """Return the calls that a question asks for, less as many of each tool as were made already."""
    calls: dict[tuple[str, str], _Call] = {}
    for part in filter(None, map(str.strip, _PARTS.split(question))):
        tool = max(tools, key=lambda tool: _points(part, tool), default=None)
        if tool is not None and _points(part, tool) >= _ENOUGH_POINTS:
            arguments = _arguments(tool, part, text=part)
            calls.setdefault((tool.name, dump(arguments)), (tool, arguments))
    for name, _ in results:
        calls.pop(next((key for key in calls if key[0] == name), ("", "")), None)
    return list(calls.values())


def _forced_tool(question: str, results: Sequence[_Result], tools: Sequence[Tool]) -> Tool:
    """Return the best tool that was not called yet; of equal ones the last, where agents put the tool for the answer."""
    made = {name for name, _ in results}
    fresh = [tool for tool in reversed(tools) if tool.name not in made]
    return max(fresh or tools, key=lambda tool: _points(question, tool))


def _points(part: str, tool: Tool) -> int:
    parameters = object_at(tool.parameters, "properties")
    words, name = _words(part), _words(tool.name)
    rest = {word for word in _words(" ".join([tool.description, *parameters])) if len(word) > 4}  # noqa: PLR2004  shorter ones say little
    topics = sum(is_asked_for(parameter, part) for parameter in parameters)
    return 2 * len(words & name) + len(words & rest - name) + 2 * topics


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower().replace("_", " ")))


def _arguments(tool: Tool, part: str, *, text: str) -> Json:
    if tool.kind == "custom":
        return {"input": text}
    return Values(tool.parameters, part=part, text=text).fields(tool.parameters)


def _shown(items: Sequence[Json]) -> list[str]:
    """Return a line for each image and file of the conversation, with who showed it."""
    names = {item.get("call_id"): item.get("name") for item in items if "name" in item}
    return [
        f"- {item.get('role') or names.get(item.get('call_id'))}: {describe(part)}"
        for item in items
        for part in media_in(item)
    ]


def _answer(question: str, results: Sequence[_Result], shown: Sequence[str]) -> str:
    lines: list[str] = []
    if shown:
        further = len(shown) - _MOST_SHOWN
        rest = [f"- and {further} more"] if further > 0 else []
        lines += ["This is what I was shown:", *shown[:_MOST_SHOWN], *rest]
    if results:
        quotes = (f"- {name}: {said[:_MAX_QUOTE].strip() or '(nothing)'}" for name, said in results)
        lines += ["This is what the tools returned:", *quotes]
    else:
        asked = f"“{question[:_MAX_QUOTE].strip()}”" if question.strip() else "what was asked"
        lines.append(f"I am a simulator, not a language model. There is no tool for {asked}.")
    return "\n".join(lines)


def _formatted(shape: Json, answer: str, question: str, results: Sequence[_Result]) -> str:
    """Return the answer in the format that the request asks for."""
    schema: Json = object_at(shape, "schema")
    if shape.get("type") == "json_object":
        schema = {"properties": {"answer": {}}, "required": ["answer"]}
    elif shape.get("type") != "json_schema":
        return answer
    words = "\n".join([*(output for _, output in results), question])
    return dump(Values(schema, part=words, text=answer).value("answer", schema))


def _tools_in(instructions: str) -> list[Tool]:
    """Return the tools in instructions, where they are a JSON array."""
    for start in re.finditer(r"\[(?=\s*\{)", instructions):
        entries = objects_in(_decoded_at(instructions, start.start()))
        if entries and all("name" in entry for entry in entries):
            return list(map(read_tool, entries))
    return []


def _iter_text_results(text: str) -> Iterator[_Result]:
    """Yield the results of tools in a text of actions and observations."""
    actions = [_decoded_at(text, match.end()) for match in _ACTION.finditer(text)]
    for action, output in zip(objects_in(actions), _OBSERVATION.findall(text), strict=False):
        yield str(next((value for key, value in action.items() if "input" not in key), "")), output


def _text_step(instructions: str, calls: Sequence[_Call], answer: str) -> str:
    """Return the next step as text, without quoting the question, whose braces a reader might take for the action."""
    if not calls and "FinalAnswer:" in instructions:
        return f"Thought: I can answer.\nFinalAnswer: {answer}"
    name, value = (calls[0][0].name, calls[0][1]) if calls else ("Final Answer", answer)
    return f"Thought: Next is {name}.\nAction: {dump({'action': name, 'action_input': value})}"


def _decoded_at(text: str, start: int) -> object:
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None
