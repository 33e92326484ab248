"""Many tools at the price of few: the model is given one function that finds tools and one that calls what was found."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from agent_loop import CallInstead, OwnFunction
from agent_tooling import Tool, ToolError, unknown_tool_text, validation_error_text

from .calls import free_name, one_text
from .ranking import ToolRanking


_SEARCH: Final = "search_tools"
_CALL: Final = "call_tool"
_MIN_CHARACTERS: Final = 1_000
_MAX_FOUND: Final = 10
_MAX_NEAREST: Final = 5
_MAX_DESCRIPTION_CHARACTERS: Final = 400
_MAX_NAME_CHARACTERS: Final = 200

_QUERY: Final = one_text(
    "query",
    "What the tool shall do, in words that its name and description are likely to have, and in their language.",
)
_TARGET: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The tool's name, as the search has told it."},
        "arguments": {
            "type": "object",
            "description": "The tool's arguments, by its parameters.",
            "additionalProperties": True,
        },
    },
    "required": ["name", "arguments"],
    "additionalProperties": False,
}


class ToolSearch:
    """The two functions by which a model finds and calls many tools without being told of each.

    Hand `functions` to an `AgentRun` as own functions, and the tools to `drive`; or let `drive(..., tool_search=30)` do
    both. A call of `call_tool` becomes the call of the tool that it names, under all guards.

    Args:
        tools: The tools that can be found and called, each with a name of its own.
        allowed: The names of the only tools that are found; None for all.
        taken: Names that the two functions must not have: then they get others, such as `search_tools_2`.
        max_characters: How much the model reads of what a search has found: at least 1,000. Beyond that tools are told without their parameters.

    Attributes:
        functions: The functions, `search_tools(query)` and `call_tool(name, arguments)`.

    Raises:
        ValueError: If `max_characters` is under 1,000.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        *,
        allowed: Collection[str] | None = None,
        taken: Collection[str] = (),
        max_characters: int = 5_500,
    ) -> None:
        if max_characters < _MIN_CHARACTERS:
            raise ValueError(f"max_characters must be at least 1,000, not {max_characters!r}")
        named = {tool.name: tool for tool in tools}
        self._names = frozenset(named)
        self._found = {
            name: tool for name, tool in named.items() if allowed is None or name in allowed
        }
        self._ranking = ToolRanking(self._found.values())
        self._max_characters = max_characters
        # A tool of the caller's may have the name; two of one name would be refused.
        search, call = free_name(_SEARCH, taken), free_name(_CALL, taken)
        told = (
            f"Find tools. There are {len(self._found)}, and you are told of none before you search. Returns up to {_MAX_FOUND}, the best first, "
            f"with the parameters that {call} takes for each. Where none fits, search again in other words."
        )
        self.functions = (
            OwnFunction(name=search, description=told, parameters=_QUERY, answer=self._search),
            OwnFunction(
                name=call,
                description=f"Call a tool that {search} has found.",
                parameters=_TARGET,
                answer=self._call,
            ),
        )

    def find(self, query: str, limit: int = _MAX_FOUND) -> list[Tool]:
        """Return the tools that fit a query, the best first; none where nothing of it stands in any tool.

        Args:
            query: Words of what the tool shall do, in the tools' language; of identifiers each part counts.
            limit: How many at most.

        Raises:
            ToolError: If this Python has no SQLite that can search.
        """
        return self._ranking.rank(query)[:limit]

    def _search(self, arguments: Mapping[str, Any]) -> str:
        query = str(arguments["query"])
        if not query.strip():
            raise ToolError(validation_error_text("parameter 'query' must say what to find"))
        found = self.find(query)
        if not found:
            some = ", ".join(list(self._found)[:_MAX_FOUND]) or "none"
            return f"No tool has any of these words. Search in other words, or in the language of the tools. Some of them: {some}"
        heading = f"{len(found)} of {len(self._found)} tools, the best first:"
        return "\n".join([heading, *_tell_all(found, self._max_characters - len(heading))])

    def _call(self, arguments: Mapping[str, Any]) -> CallInstead:
        name = str(arguments["name"])
        # Names of tools that are not allowed, too: the run refuses them with its own sentence.
        # Whoever guesses a name without a search may call it.
        # Source: docs/decisions/0028-tool-search.md.
        if name not in self._names:
            raise ToolError(self._say_unknown(name[:_MAX_NAME_CHARACTERS]))
        written = json.dumps(arguments["arguments"], ensure_ascii=False)
        return CallInstead(name=name, arguments=written)

    def _say_unknown(self, name: str) -> str:
        alike = get_close_matches(name, self._found, n=_MAX_NEAREST)
        similar = (tool.name for tool in self.find(name, _MAX_NEAREST))
        nearest = ", ".join(list(dict.fromkeys((*alike, *similar)))[:_MAX_NEAREST]) or "none"
        return f"{unknown_tool_text(name)}; the nearest: {nearest}"


def _tell_all(tools: Sequence[Tool], max_characters: int) -> list[str]:
    """Return a line for each tool: with its parameters as long as there is room for those, first come first served."""
    lines = [_tell(tool) for tool in tools]
    room = max_characters - sum(len(line) + 1 for line in lines)
    for index, tool in enumerate(tools):
        whole = _tell(tool, has_parameters=True)
        if (more := len(whole) - len(lines[index])) <= room:
            room -= more
            lines[index] = whole
    return lines


def _tell(tool: Tool, *, has_parameters: bool = False) -> str:
    description = tool.description
    if len(description) > _MAX_DESCRIPTION_CHARACTERS and not has_parameters:
        description = f"{description[:_MAX_DESCRIPTION_CHARACTERS]} [...]"
    told = {"name": tool.name, "description": description}
    if has_parameters:
        told |= {"parameters": tool.parameters}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))
