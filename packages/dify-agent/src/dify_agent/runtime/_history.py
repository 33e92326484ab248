"""What a conversation is mended by before it is kept or goes on: calls without a result, and instructions that are repeated."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from pydantic_ai import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)


INTERRUPTED: Final = "The call was interrupted; it has no result."
"""What a model reads in the place of a result that never came."""


def find_open_calls(messages: Sequence[ModelMessage]) -> Sequence[str]:
    """Return the ids of the calls that the last answer of a conversation made and that have no result."""
    answers = [at for at, each in enumerate(messages) if isinstance(each, ModelResponse)]
    return [call.tool_call_id for call in _open_calls(messages, answers[-1])] if answers else []


def interrupt_open_calls(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return a conversation in which each call without a result is marked as interrupted, since models refuse one that has none."""
    closed: list[ModelMessage] = []
    marks: list[ToolReturnPart] = []
    for at, message in enumerate(messages):
        if isinstance(message, ModelRequest) and marks:
            closed.append(replace(message, parts=[*marks, *message.parts]))
        else:
            closed += [*([ModelRequest(marks)] if marks else ()), message]
        marks = []
        if isinstance(message, ModelResponse):
            marks = [_mark(call) for call in _open_calls(messages, at)]
    return [*closed, *([ModelRequest(marks)] if marks else ())]


def keep_last_instructions(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return a conversation without the agent's instructions, except for the last request that has some.

    Pydantic AI writes them into each request, and models read only those of the run, which come from its composition.
    """
    asked = [at for at, each in enumerate(messages) if getattr(each, "instructions", None)]
    return [
        replace(each, instructions=None)
        if isinstance(each, ModelRequest) and at in asked[:-1]
        else each
        for at, each in enumerate(messages)
    ]


def _open_calls(messages: Sequence[ModelMessage], at: int) -> Iterator[ToolCallPart]:
    """Yield the calls of an answer that the requests up to the next one do not answer."""
    answered: set[str] = set()
    for message in messages[at + 1 :]:
        if isinstance(message, ModelResponse):
            break
        answered |= {
            getattr(part, "tool_call_id", "")
            for part in message.parts
            if part.part_kind in {"tool-return", "retry-prompt"}
        }
    for part in messages[at].parts:
        if isinstance(part, ToolCallPart) and part.tool_call_id not in answered:
            yield part


def _mark(call: ToolCallPart) -> ToolReturnPart:
    return ToolReturnPart(
        tool_name=call.tool_name,
        content=INTERRUPTED,
        tool_call_id=call.tool_call_id,
        outcome="failed",
    )
