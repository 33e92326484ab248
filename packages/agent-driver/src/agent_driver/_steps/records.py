"""Records of steps: what stands in them, and what is read back."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from agent_driver._answers import read_text
from agent_driver._errors import AgentDriverError
from agent_driver._tools.calls import Job, ToolTimeoutError, give_up
from agent_driver._tools.guardrails import GuardrailError, Stop
from agent_loop import ModelDelta, SnapshotError, ToolCallFragment, ToolResult
from agent_tooling import ToolOutput


class RecordedError(AgentDriverError):
    """What a tool has raised when its call was made, of which the record has only the text."""


def to_result(output: ToolOutput) -> ToolResult:
    cause = output.cause
    described = None if cause is None else _describe(cause)
    return ToolResult(
        call_id="",
        content=output.content,
        error=output.error,
        is_unfinished=isinstance(cause, ToolTimeoutError),
        artifact=[output.artifact, described],
    )


def to_output(result: ToolResult) -> ToolOutput:
    artifact, described = result.artifact
    kind = ToolTimeoutError if result.is_unfinished else RecordedError
    cause = None if described is None else kind(described)
    return ToolOutput(content=result.content, error=result.error, artifact=artifact, cause=cause)


def to_unfinished(job: Job) -> ToolOutput:
    result = give_up(job)
    cause = ToolTimeoutError(str(result.cause))
    return ToolOutput(content=result.content, error=result.error, cause=cause)


def to_unrecorded(error: SnapshotError) -> ToolOutput:
    text = f"tool invoke error: the result cannot be recorded: {find_problem(error)}"
    return ToolOutput(content=text, error=text, cause=error)


def find_problem(error: SnapshotError) -> str:
    """Return what is wrong with an input, and where in it."""
    return str(error).partition(".")[2]


def _describe(error: BaseException) -> str:
    text = read_text(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def join_pieces(inputs: Iterable[Any]) -> list[Any]:
    """Return the inputs with as few pieces as mean the same: text next to text of its kind is one, and so are the pieces of one tool call."""
    joined: list[Any] = []
    for kind, group in groupby(inputs, find_kind):
        match kind:
            case "text", phase:
                joined.append(ModelDelta(text="".join(piece.text for piece in group), phase=phase))
            case "calls", _:
                fragments = (fragment for piece in group for fragment in piece.tool_calls)
                joined.append(ModelDelta(tool_calls=tuple(_join_fragments(fragments))))
            case _:
                joined += group
    return joined


def find_kind(received: Any) -> tuple[str, str | None] | None:
    """Return what a piece is joined with; None for nothing."""
    if isinstance(received, ModelDelta):
        if received.text and received == ModelDelta(text=received.text, phase=received.phase):
            return "text", received.phase
        if received.tool_calls and received == ModelDelta(tool_calls=received.tool_calls):
            return "calls", None
    return None


def _join_fragments(fragments: Iterable[ToolCallFragment]) -> Iterator[ToolCallFragment]:
    joined: list[tuple[ToolCallFragment, list[str]]] = []
    for fragment in fragments:
        is_next = joined and joined[-1][0].index == fragment.index
        if is_next and not fragment.call_id and not fragment.name:
            joined[-1][1].append(fragment.arguments)
        else:
            joined.append((fragment, [fragment.arguments]))
    for first, arguments in joined:
        yield replace(first, arguments="".join(arguments))


def to_outcome(said: object) -> dict[str, Any]:
    """Return what a guardrail has said, as it is recorded."""
    match said:
        case None:
            return {"outcome": "passed"}
        case Stop(reason=reason):
            return {"outcome": "stopped", "reason": reason}
        case GuardrailError(error=error):
            return {"outcome": "failed", "error": _describe(error)}
        case _:
            return {"outcome": "changed", "value": said}


def from_outcome(recorded: dict[str, Any]) -> object:
    """Reverse `to_outcome`; of an error only its text is left."""
    match recorded["outcome"]:
        case "passed":
            return None
        case "stopped":
            return Stop(recorded["reason"])
        case "failed":
            return GuardrailError(RecordedError(recorded["error"]))
        case _:
            return recorded["value"]
