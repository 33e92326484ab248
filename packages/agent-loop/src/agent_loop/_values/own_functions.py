"""Functions among a run's tools that the run answers itself."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from agent_tooling import TOOL_FAILED, RefusedArguments, Tool, ToolContent, ToolError
from stream_text import read_member

from .errors import InvalidSettingError
from .inputs import ToolResult
from .messages import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class CallInstead:
    """The tool call to make in place of an own function's call; its result answers both.

    Attributes:
        name: The name of the tool.
        arguments: Its arguments, as JSON.
    """

    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFunction:
    """A function that the model can call like a tool and that the run itself answers, without its driver.

    Its calls count as tool calls of a budget. It may always be called, whatever tools are allowed.

    Attributes:
        name: The name that the model calls it by.
        description: Its description for the model.
        parameters: The JSON schema that its arguments are checked against.
        answer: Called with the arguments; returns what the model reads, or the tool call to make instead. A `ToolError`
            refuses the call, and the model reads its text. It does no I/O.
        save: Returns what the function remembers in a run, as plain JSON, for a snapshot of the run; None if it remembers nothing.
        load: Takes that back, in the function of the resumed run.
        tool: The function as it is offered among the tools.

    Raises:
        DeclarationError: If some API would not take the name, or `parameters` is not the JSON schema of an object.
        InvalidSettingError: If it has only one of `save` and `load`.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    answer: Callable[[Mapping[str, Any]], ToolContent | CallInstead]
    save: Callable[[], Any] | None = None
    load: Callable[[Any], None] | None = None
    tool: Tool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Build the tool that is offered and that checks the arguments."""
        if (self.save is None) != (self.load is None):
            expected = "functions with both save and load, or neither"
            raise InvalidSettingError("own_functions", expected, self.name)
        try:
            # `print` is a placeholder for the function: the cached tool has to fit every run.
            tool = _declare(self.name, self.description, json.dumps(self.parameters))
        except (TypeError, ValueError):  # JSON cannot write it, or it was refused: never cached.
            tool = Tool.from_schema(self.name, self.description, self.parameters, print)
        tool = replace(tool, function=self.answer)
        object.__setattr__(self, "tool", tool)

    def take(self, call: ToolCall) -> ToolResult | ToolCall:
        """Return the result of a call, or the tool call to make instead under the same id; a failure is a result, too."""
        bound = self.tool.bind(call.arguments)
        if isinstance(bound, RefusedArguments):
            return ToolResult(call_id=call.call_id, error=bound.error)
        try:
            answer = self.answer(bound.args)
        except ToolError as error:
            return ToolResult(call_id=call.call_id, error=str(error) or TOOL_FAILED, cause=error)
        if isinstance(answer, CallInstead):
            return ToolCall(call_id=call.call_id, name=answer.name, arguments=answer.arguments)
        return ToolResult(call_id=call.call_id, content=answer)


@lru_cache(maxsize=64)
def _declare(name: str, description: str, parameters: str) -> Tool:
    """Return the tool to offer, which checks the arguments. It is the same for every run and slow to make, so it is cached."""
    return Tool.from_schema(name, description, json.loads(parameters), print)


def read_functions(
    functions: Iterable[OwnFunction], tools: Iterable[object]
) -> dict[str, OwnFunction]:
    """Return functions by their names, which must differ from each other and from those of the tools.

    Raises:
        InvalidSettingError: If two functions, or a function and a tool, have the same name.
    """
    taken = [name_of(tool) for tool in tools]
    named: dict[str, OwnFunction] = {}
    for function in functions:
        if function.name in taken or function.name in named:
            expected = "functions with names that no tool and no other function has"
            raise InvalidSettingError("own_functions", expected, function.name)
        named[function.name] = function
    return named


def name_of(tool: object) -> object:
    """Return the name of a tool in any form; None if it has none."""
    return read_member(tool, "name") or read_member(read_member(tool, "function"), "name")
