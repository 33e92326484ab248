"""The request as a model reads it: with defaults, stored items, and its tools sorted."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gpt5_simulator._json import Json, is_object, object_at, objects_in
from gpt5_simulator._profiles import ModelProfile


_DATED = re.compile(r"_\d{4}_\d{2}_\d{2}$")
_CLIENT_TOOLS = frozenset({"function", "custom", "namespace"})

type ToolMode = Literal["none", "auto", "required"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that the client would run.

    Attributes:
        kind: `function` takes arguments by a JSON schema, `custom` takes free text.
        name: The tool's name.
        description: Its description; may be empty.
        parameters: The JSON schema of its arguments.
        namespace: Its namespace, if it has one.
        entry: The tool as the request declares it.
    """

    kind: Literal["function", "custom"]
    name: str
    description: str
    parameters: Json
    namespace: str | None = None
    entry: Json = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request as a model reads it.

    Attributes:
        body: The request as it was sent.
        profile: The profile of the model.
        instructions: The instructions, followed by those of system and developer messages.
        items: The conversation, oldest first, with the items from `previous_response_id`.
        tools: The tools that may be called, without those that `tool_choice` excludes and those that a search has yet to find.
        deferred: The tools that tool search may find.
        hosted: The tools that the server runs itself, as the request declares them, without those that `tool_choice` excludes.
        tool_mode: Whether a tool may, must or must not be called.
        parallel: Whether one response may hold several calls.
        effort: The reasoning effort in force: the request's, or the one to which the conversation has changed it.
        summary: The kind of reasoning summary that is requested, or None.
        text_format: `text.format`, `{"type": "text"}` by default.
        max_output_tokens: The budget for reasoning and visible text, or None.
        stream: Whether events are requested.
        encrypted: Whether `encrypted_content` is requested.
        include: The values of `include`.
        max_tool_calls: The maximum number of calls of hosted tools in one response, or None.
    """

    body: Json
    profile: ModelProfile
    instructions: str
    items: tuple[Json, ...]
    tools: tuple[Tool, ...]
    deferred: tuple[Tool, ...]
    hosted: tuple[Json, ...]
    tool_mode: ToolMode
    parallel: bool
    effort: str
    summary: str | None
    text_format: Json
    max_output_tokens: int | None
    stream: bool
    encrypted: bool
    include: frozenset[str]
    max_tool_calls: int | None


def input_items(body: Json) -> list[Json]:
    """Return `input` as items; a bare string is one user message."""
    value: object = body.get("input")
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    return objects_in(value)


def plain_type(entry: Json) -> str:
    """Return a tool's type without the date of its version, as in `web_search_2025_08_26`."""
    return _DATED.sub("", str(entry.get("type")))


def item_text(item: Json) -> str:
    """Return the text of a message or of a call's output, in any of its forms."""
    value: object = item.get("output", item.get("content"))
    if isinstance(value, str):
        return value
    named = (part.get("text", part.get("stdout")) for part in objects_in(value))
    return "\n".join(text for text in named if isinstance(text, str))


def read_tool(entry: Json, *, namespace: str | None = None) -> Tool:
    """Read a tool as requests declare it; one that does not call itself custom is a function."""
    return Tool(
        kind="custom" if entry.get("type") == "custom" else "function",
        name=str(entry["name"]),
        description=str(entry.get("description") or ""),
        parameters=object_at(entry, "parameters"),
        namespace=namespace,
        entry=entry,
    )


def read_request(body: Json, *, profile: ModelProfile, items: Sequence[Json]) -> ModelRequest:
    """Read the body of a request.

    Args:
        body: The request.
        profile: The profile of its model.
        items: The conversation, oldest first.
    """
    include = frozenset(map(str, body.get("include") or ()))
    reasoning = object_at(body, "reasoning")
    mode, choices = _read_choice(body.get("tool_choice"))
    entries = _chosen(objects_in(body.get("tools")), choices)
    tools, deferred = _client_tools(entries, _chosen(_loaded(items), choices))
    return ModelRequest(
        body=body,
        profile=profile,
        instructions=_instructions(body, items),
        items=tuple(items),
        tools=tools,
        deferred=deferred,
        hosted=tuple(entry for entry in entries if entry.get("type") not in _CLIENT_TOOLS),
        tool_mode=mode,
        parallel=body.get("parallel_tool_calls") is not False,
        effort=_effort(items) or str(reasoning.get("effort") or profile.default_effort),
        summary=reasoning.get("summary"),
        text_format=object_at(object_at(body, "text"), "format") or {"type": "text"},
        max_output_tokens=body.get("max_output_tokens"),
        stream=bool(body.get("stream")),
        encrypted="reasoning.encrypted_content" in include,
        include=include,
        max_tool_calls=body.get("max_tool_calls"),
    )


def item_type(item: Json) -> object:
    """Return the type of an input item; one without a type is a message, or a reference if it only has an id."""
    kind: object = item.get("type")
    if kind is not None:
        return kind
    return "item_reference" if "id" in item and "role" not in item else "message"


def _effort(items: Sequence[Json]) -> str | None:
    """Return the effort to which the conversation has changed; None if it has not."""
    updates = [item for item in items if item.get("type") == "configuration_update"]
    efforts = [object_at(item, "reasoning").get("effort") for item in updates]
    return next((str(effort) for effort in reversed(efforts) if effort is not None), None)


def _instructions(body: Json, items: Sequence[Json]) -> str:
    notes = [item_text(item) for item in items if item.get("role") in {"system", "developer"}]
    return "\n\n".join(filter(None, [body.get("instructions") or "", *notes]))


def _read_choice(choice: object) -> tuple[ToolMode, list[Json] | None]:
    """Return whether tools may be called, and the choices of those that may; None if all may."""
    if is_object(choice):
        if choice.get("type") != "allowed_tools":
            return "required", [choice]
        mode: ToolMode = "required" if choice.get("mode") == "required" else "auto"
        return mode, objects_in(choice.get("tools"))
    if choice == "none":
        return "none", []
    return ("required" if choice == "required" else "auto"), None


def _chosen(entries: list[Json], choices: list[Json] | None) -> list[Json]:
    if choices is None:
        return entries
    within = [
        entry | {"tools": _chosen(objects_in(entry.get("tools")), choices)}
        if entry.get("type") == "namespace"
        else entry
        for entry in entries
    ]
    return [entry for entry in within if any(_names(choice, entry) for choice in choices)]


def _names(choice: Json, entry: Json) -> bool:
    """Return whether a choice names a tool, or one in a namespace, by its name, its server, or only its type."""
    if entry.get("type") == "namespace":
        return bool(entry["tools"])
    if entry.get("type") in _CLIENT_TOOLS:
        return entry.get("name") == choice.get("name")
    labels = {"server_label": choice.get("server_label")} if "server_label" in choice else {}
    return all(
        entry.get(key) == value for key, value in ({"type": choice.get("type")} | labels).items()
    )


def _loaded(items: Sequence[Json]) -> list[Json]:
    """Return the tools from the conversation: added ones, and those that a search has found."""
    return [
        entry
        for item in items
        if item.get("type") in {"additional_tools", "tool_search_output"}
        for entry in objects_in(item.get("tools"))
    ]


def _client_tools(
    entries: Sequence[Json], loaded: Sequence[Json]
) -> tuple[tuple[Tool, ...], tuple[Tool, ...]]:
    """Return the tools that the client runs: those that may be called, and those that a search has yet to find."""
    # A tool that a search has found may be called, although it is still declared as one to be searched.
    ready = {(tool.namespace, tool.name): tool for tool in _iter_tools(loaded)}
    deferred: list[Tool] = []
    declared: dict[tuple[str | None, str], Tool] = {}
    for tool in _iter_tools(entries):
        key = (tool.namespace, tool.name)
        if tool.entry.get("defer_loading") is True and key not in ready:
            deferred.append(tool)
        else:
            declared[key] = tool
    return tuple((declared | ready).values()), tuple(deferred)


def _iter_tools(entries: Sequence[Json]) -> Iterator[Tool]:
    for entry in entries:
        if entry.get("type") == "namespace":
            space = str(entry.get("name"))
            yield from (read_tool(tool, namespace=space) for tool in objects_in(entry.get("tools")))
        elif entry.get("type") in _CLIENT_TOOLS:
            yield read_tool(entry)
