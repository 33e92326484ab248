"""Checking tool calls and bounding their results: which calls are made, which are answered without being made, what the model reads."""

import logging
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, Final, cast

from agent_loop import (
    AgentDecisions,
    AskApproval,
    AskedCall,
    Decision,
    Message,
    OwnFunction,
    RefusedAgentError,
    ToolCall,
    ToolResult,
)
from agent_tooling import (
    READ_RESULT,
    REPEATED_FAILURE,
    TOOL_FAILED,
    TOOL_UNFINISHED,
    AcceptedArguments,
    DeclarationError,
    FailureMemory,
    KeptResults,
    RefusedArguments,
    ResultBudget,
    Tool,
    ToolArguments,
    ToolContent,
    ToolOutput,
    call_signature,
    dropped_arguments_text,
    parse_error_text,
    parse_tool_arguments,
    read_result_schema,
    timed_out_text,
    unknown_tool_text,
)
from stream_text import is_object

from .guardrails import Guards, with_defaults


_log = logging.getLogger("agent_driver")
_MOST_SHOWN: Final = 500  # characters of the arguments of one call
_READER = (
    "Read on in an earlier tool result that was too long to be shown whole. The result says its id and what is left out. "
    "Give an offset to read from there, or a pattern to find the places where it stands."
)

type Tools = Iterable[Tool | Callable[..., Any]] | Mapping[str, Tool | Callable[..., Any]]
"""Tools, or functions that become tools by `Tool.from_function`; a mapping names them."""


class ToolTimeoutError(TimeoutError):
    """A tool that was given up because it took longer than it may; one that raises a `TimeoutError` itself has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A tool call that may be made.

    Attributes:
        call: The call.
        tool: The tool.
        args: What the tool takes, checked.
        shown: What of that the model may know; the rest is the same in every call.
        dropped: Names of arguments that were not used.
        resumed: What an agent continues with that has waited for a person; None where a call begins.
    """

    call: ToolCall
    tool: Tool
    args: Mapping[str, Any]
    shown: Mapping[str, Any]
    dropped: tuple[str, ...]
    resumed: AgentDecisions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """The calls of a round.

    Attributes:
        answered: The results of those that are not made.
        jobs: Those that are made, at once.
        repeats: Those that others of the same round will have answered.
    """

    answered: tuple[ToolResult, ...]
    jobs: tuple[Job, ...]
    repeats: tuple[Job, ...]


class ToolCalls:
    """The tool calls of one run.

    Args:
        tools: What can be called.
        result_characters: How much of one result the model reads.
        counts_media: Whether images and files count among what the results of a run may hold.
        guards: What checks each call once its arguments have been checked.

    Raises:
        DeclarationError: If something among them is no tool and cannot be made one.
        ValueError: If two tools have one name.
    """

    def __init__(
        self, tools: Tools, *, result_characters: int, counts_media: bool, guards: Guards
    ) -> None:
        self.tools = read_tools(tools)
        self._guards = guards
        # Of one run, and touched by the thread of the drive alone: tools only return their output.
        self._memory = FailureMemory()
        self._budget = ResultBudget(
            per_result=result_characters, counts_media=counts_media, kept=KeptResults()
        )

    def build_reader(self, taken: Container[object]) -> OwnFunction | None:
        """Return the function by which a model reads on in results that were cut; None if no result could be that long.

        Args:
            taken: Names that it must not have.
        """
        if not any(tool.may_be_long for tool in self.tools.values()):
            return None
        self._budget.read_by = free_name(READ_RESULT, taken)
        return OwnFunction(
            name=self._budget.read_by,
            description=_READER,
            parameters=read_result_schema(),
            answer=self._budget.read_on,
        )

    def forget(self, messages: Iterable[object]) -> None:
        """Free the result budget of everything that is not in these messages any more."""
        results = (message for message in messages if isinstance(message, Message))
        self._budget.release(
            message.content
            for message in results
            if message.role == "tool" and isinstance(message.content, str)
        )

    def sort(self, calls: Sequence[ToolCall], resumed: Mapping[str, AgentDecisions]) -> Sorted:
        """Check the calls of a round and say which are made.

        Args:
            calls: The calls.
            resumed: What agents among them continue with.
        """
        answered: list[ToolResult] = []
        due: list[Job] = []
        repeats: list[Job] = []
        counts = Counter[str]()
        for call in calls:
            job = self._prepare(call, resumed.get(call.call_id))
            if isinstance(job, ToolResult):
                answered.append(job)
                continue
            # Without hidden values: they are the same in every call, and a snapshot holds this.
            signature = call_signature(call.name, job.shown)
            counts[signature] += 1
            # The memory knows only calls that have ended, so those of this round are counted here.
            is_new = counts[signature] <= self._memory.identical_successes
            (due if is_new or job.tool.is_external else repeats).append(job)
        self._guards.forget()
        return Sorted(answered=tuple(answered), jobs=tuple(due), repeats=tuple(repeats))

    def settle(self, job: Job, output: ToolOutput) -> ToolResult:
        """Return the result of a call that was made, and remember it."""
        # Cut before it is remembered, so that a call answered from memory reads the same.
        content = self._budget.fit(_with_note(output.content, job.dropped))
        if output.error is not None:
            _log.warning("tool %s: %s", job.call.name, output.error, exc_info=output.cause)
            self._memory.record_failure(job.call.name, job.shown)
        elif not job.tool.is_external:
            self._memory.record_success(job.call.name, job.shown, content)
        return ToolResult(
            call_id=job.call.call_id,
            content=content,
            error=output.error,
            cause=output.cause,
            artifact=output.artifact,
            is_unfinished=isinstance(output.cause, ToolTimeoutError),
            is_pinned=job.tool.is_pinned and output.error is None,
        )

    def recall(self, job: Job) -> ToolResult | None:
        """Return the result of a call that need not be made again, else None."""
        recalled = self._look_up(job.tool, job.call, job.shown)
        if recalled is None:
            return None
        if recalled == REPEATED_FAILURE:
            return self._refuse(job.call, REPEATED_FAILURE)
        return ToolResult(call_id=job.call.call_id, content=self._budget.fit(recalled, is_cut=True))

    def find_arguments(self, call: ToolCall) -> ToolArguments:
        """Return the arguments that a call would be made with, including the declared defaults of those left out."""
        tool = self.tools.get(call.name)
        if tool is None:
            return RefusedArguments(error=unknown_tool_text(call.name))
        bound = self._guards.bind(tool, call)
        if isinstance(bound, RefusedArguments):
            return bound
        # Nobody is asked for a call that is answered from memory, or makes it in vain.
        if self._look_up(tool, call, tool.shown_arguments(bound.args)) is not None:
            return RefusedArguments(error=REPEATED_FAILURE)
        args = with_defaults(tool, bound.args)
        return AcceptedArguments(
            args=args,
            shown=tool.shown_arguments(args),
            schema=tool.parameters,
            is_external=tool.is_external,
        )

    def save(self, asked: AskApproval) -> dict[str, Any]:
        """Return what is remembered of the run's calls, and what a person sees of those that wait, as plain JSON without hidden values."""
        return {
            "memory": self._memory.save(),
            "budget": self._budget.save(),
            "seen": find_seen(asked.calls),
        }

    def load(self, saved: Mapping[str, Any], decisions: Iterable[Decision]) -> None:
        """Remember what `save` has returned, and hold the calls that were approved to what was seen of them."""
        self._memory.load(saved["memory"])
        self._budget.load(saved["budget"])
        seen = saved["seen"]
        approved = {decision.call_id for decision in decisions if decision.is_approved}
        self._guards.hold({name: seen[name] for name in seen.keys() & approved})

    def _prepare(self, call: ToolCall, resumed: AgentDecisions | None) -> Job | ToolResult:
        tool = self.tools.get(call.name)
        if tool is None:
            parsed = parse_tool_arguments(call.arguments)
            is_broken = isinstance(parsed, RefusedArguments)
            text = parse_error_text(parsed.error) if is_broken else unknown_tool_text(call.name)
            return self._refuse(call, text)
        bound = self._guards.bind(tool, call)
        if isinstance(bound, RefusedArguments):
            return self._refuse(call, bound.error)
        job = Job(
            call=call,
            tool=tool,
            args=bound.args,
            shown=tool.shown_arguments(bound.args),
            dropped=bound.dropped,
            resumed=resumed,
        )
        # What has begun goes on, whatever a call like it has come to meanwhile.
        return (None if resumed else self.recall(job)) or job

    def _look_up(self, tool: Tool, call: ToolCall, shown: Mapping[str, Any]) -> ToolContent | None:
        """Return what replaces a call; None if it has to be made."""
        # What a client's own function gives may have changed: it runs the same tests after each of its edits.
        return None if tool.is_external else self._memory.recall(call.name, shown)

    def _refuse(self, call: ToolCall, error: str) -> ToolResult:
        return ToolResult(call_id=call.call_id, error=self._budget.fit(error))


def find_seen(calls: Iterable[AskedCall]) -> dict[str, str]:
    """Return what a person sees of a run's own calls that wait: the JSON of the arguments, by the ids of the calls."""
    return {call.call_id: call.arguments for call in calls if not call.path}


def describe_calls(calls: Iterable[AskedCall]) -> str:
    """Return calls in a line for a person, long arguments shortened."""
    return "; ".join(
        f"{'/'.join((*call.agents, call.name))} {_shorten(call.arguments)}" for call in calls
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _with_note(content: ToolContent, dropped: Sequence[str]) -> ToolContent:
    if not dropped:
        return content
    note = dropped_arguments_text(dropped)
    return (
        note + content if isinstance(content, str) else ({"type": "text", "text": note}, *content)
    )


def give_up(job: Job) -> ToolResult:
    """Return the result of an abandoned call."""
    return ToolResult(
        call_id=job.call.call_id,
        error=TOOL_UNFINISHED,
        is_unfinished=True,
        cause=TimeoutError("no answer within the time that the run has for tools"),
    )


def timed_out(job: Job, seconds: float, *, may_go_on: bool) -> ToolOutput:
    """Return the output of a call whose tool took longer than it may.

    Args:
        job: The call.
        seconds: How long it may take.
        may_go_on: Whether the tool could not be stopped.
    """
    told = timed_out_text(job.tool.name, seconds, may_go_on=may_go_on)
    cause = ToolTimeoutError(f"no answer within {seconds:g} s")
    return ToolOutput(content=told, error=told, cause=cause)


def broken(error: BaseException) -> ToolOutput:
    """Return the output of a call that ended in an error which is not the tool's to raise; the model reads no words but those of a refused agent."""
    told = str(error) if isinstance(error, RefusedAgentError) else TOOL_FAILED
    return ToolOutput(content=told, error=told, cause=error)


def read_tools(tools: Tools) -> dict[str, Tool]:
    """Return tools by their names; functions become some.

    Raises:
        DeclarationError: If something among them is no tool and cannot be made one.
        ValueError: If two tools have one name.
    """
    if isinstance(tools, str) or not hasattr(tools, "__iter__"):
        raise DeclarationError("tools", "tools or functions, in a list or by their names", tools)
    named: Iterable[Any] = tools.items() if is_object(tools) else ((None, tool) for tool in tools)
    read: dict[str, Tool] = {}
    for index, (name, tool) in enumerate(named):
        place = f"tools[{index if name is None else repr(name)}]"
        made = _read_tool(tool, name, place)
        if made.name in read:
            raise ValueError(f"tools: expected one tool of each name, got two {made.name!r}")
        read[made.name] = made
    return read


def one_text(name: str, description: str) -> dict[str, Any]:
    """Return the JSON schema of an object with one text."""
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": description}},
        "required": [name],
        "additionalProperties": False,
    }


def free_name(name: str, taken: Container[object]) -> str:
    """Return a name that is not taken: `name` itself, or with the first number from 2 on that makes it one."""
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(candidate for candidate in names if candidate not in taken)


def _read_tool(tool: Any, name: Any, place: str) -> Tool:
    if isinstance(tool, Tool):
        made = cast("Tool", tool)
        return made if name in {None, made.name} else replace(made, name=name)
    if not callable(tool):
        raise DeclarationError(place, "a tool or a function", tool)
    return Tool.from_function(tool, name=name)
