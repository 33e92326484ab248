"""The request as a model reads it: defaults filled in, stored items fetched, tools sorted out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gpt5_simulator._json import Json, is_object, object_at, objects_in
from gpt5_simulator._profiles import ModelProfile


type ToolMode = Literal["none", "auto", "required"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that the client would run.

    Attributes:
        kind: `function` takes arguments by a JSON schema, `custom` takes free text.
        name: The tool's name.
        description: What it is for; may be empty.
        parameters: The JSON schema of its arguments.
    """

    kind: Literal["function", "custom"]
    name: str
    description: str
    parameters: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request as a model reads it.

    Attributes:
        body: The request as it was sent.
        profile: What the model accepts.
        instructions: The instructions, with those of system and developer messages after them.
        items: The conversation, oldest first, with what `previous_response_id` stands for.
        tools: The tools that may be called; those that `tool_choice` rules out are missing.
        tool_mode: Whether a tool may, must or must not be called.
        parallel: Whether one response may hold several calls.
        effort: The reasoning effort that is in force.
        summary: The kind of reasoning summary asked for, or None.
        text_format: `text.format`, `{"type": "text"}` by default.
        max_output_tokens: The budget for reasoning and visible text, or None.
        stream: Whether events are asked for.
        encrypted: Whether `encrypted_content` is asked for.
    """

    body: Json
    profile: ModelProfile
    instructions: str
    items: tuple[Json, ...]
    tools: tuple[Tool, ...]
    tool_mode: ToolMode
    parallel: bool
    effort: str
    summary: str | None
    text_format: Json
    max_output_tokens: int | None
    stream: bool
    encrypted: bool


def input_items(body: Json) -> list[Json]:
    """Return `input` as items: a bare string is one user message."""
    value: object = body.get("input")
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    return objects_in(value)


def item_text(item: Json) -> str:
    """Return the text of a message or of a call's output, whatever form it has."""
    value: object = item.get("output", item.get("content"))
    if isinstance(value, str):
        return value
    return "\n".join(str(part["text"]) for part in objects_in(value) if "text" in part)


def read_tool(entry: Json) -> Tool:
    """Read a tool as requests declare it; what is not said to be a custom tool is a function."""
    return Tool(
        kind="custom" if entry.get("type") == "custom" else "function",
        name=str(entry["name"]),
        description=str(entry.get("description") or ""),
        parameters=object_at(entry, "parameters"),
    )


def read_request(
    body: Json, *, profile: ModelProfile, earlier: Sequence[Json] = ()
) -> ModelRequest:
    """Read the body of a request.

    Args:
        body: The request.
        profile: The profile of its model.
        earlier: The items that `previous_response_id` stands for.
    """
    items = (*earlier, *input_items(body))
    reasoning = object_at(body, "reasoning")
    mode, tools = _offered_tools(body)
    return ModelRequest(
        body=body,
        profile=profile,
        instructions=_instructions(body, items),
        items=items,
        tools=tools,
        tool_mode=mode,
        parallel=body.get("parallel_tool_calls") is not False,
        effort=str(reasoning.get("effort") or profile.default_effort),
        summary=reasoning.get("summary"),
        text_format=object_at(object_at(body, "text"), "format") or {"type": "text"},
        max_output_tokens=body.get("max_output_tokens"),
        stream=bool(body.get("stream")),
        encrypted="reasoning.encrypted_content" in (body.get("include") or ()),
    )


def _instructions(body: Json, items: Sequence[Json]) -> str:
    notes = [item_text(item) for item in items if item.get("role") in {"system", "developer"}]
    return "\n\n".join(filter(None, [body.get("instructions") or "", *notes]))


def _offered_tools(body: Json) -> tuple[ToolMode, tuple[Tool, ...]]:
    tools = tuple(read_tool(entry) for entry in objects_in(body.get("tools")) if _is_ours(entry))
    choice: object = body.get("tool_choice")
    match choice:
        case "none":
            return "none", ()
        case "required":
            return "required", tools
        case {"type": "allowed_tools"}:
            return _allowed(choice, tools)
        case {"name": str(name)}:
            return "required", tuple(tool for tool in tools if tool.name == name)
        case _:
            return "auto", tools


def _allowed(choice: object, tools: tuple[Tool, ...]) -> tuple[ToolMode, tuple[Tool, ...]]:
    entry = choice if is_object(choice) else {}
    names = {allowed.get("name") for allowed in objects_in(entry.get("tools"))}
    mode: ToolMode = "required" if entry.get("mode") == "required" else "auto"
    return mode, tuple(tool for tool in tools if tool.name in names)


def _is_ours(entry: Json) -> bool:
    return entry.get("type") in {"function", "custom"}
