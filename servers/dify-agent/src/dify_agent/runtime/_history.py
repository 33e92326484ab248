"""What a conversation is mended by before it is kept or continues: calls without a result, and instructions that are repeated."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final, cast

from pydantic_ai import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)


INTERRUPTED: Final = "The call was interrupted; it has no result."
"""What a model reads in place of a result that never came."""

_RESULTS: Final = frozenset({"tool-return", "retry-prompt"})


def find_open_calls(messages: Sequence[ModelMessage]) -> Sequence[str]:
    """Return the ids of the calls that the last answer of a conversation made and that have no result."""
    turns = [(answer, requests) for answer, requests in _iter_turns(messages) if answer is not None]
    return [call.tool_call_id for call in _open_calls(*turns[-1])] if turns else []


def interrupt_open_calls(
    messages: Sequence[ModelMessage], *, but: Container[str] = ()
) -> list[ModelMessage]:
    """Return a conversation in which each call without a result is marked as interrupted, since models refuse one that has none.

    Requests that follow each other become one, with results first, and so do answers that no model gave. Pydantic AI
    would do that, too, but one by one: 20,000 requests take it most of a minute.

    Args:
        messages: The conversation.
        but: The ids of calls that get their results still.
    """
    closed: list[ModelMessage] = []
    for answer, requests in _iter_turns(messages):
        calls = _open_calls(answer, requests)
        marks = [_mark(call) for call in calls if call.tool_call_id not in but]
        parts = sorted([*marks, *_parts(requests)], key=lambda part: part.part_kind not in _RESULTS)
        closed += [] if answer is None else [answer]
        if parts or requests:
            closed.append(replace(requests[-1] if requests else ModelRequest([]), parts=parts))
    joined: list[ModelMessage] = []
    for is_nameless, row in groupby(closed, _is_nameless):
        answers = cast("list[ModelResponse]", list(row))
        if is_nameless:
            told = [part for answer in answers for part in answer.parts]
            answers = [replace(answers[0], parts=told)]
        joined += answers
    return joined


def _is_nameless(message: ModelMessage) -> bool:
    """Return whether it is an answer that says of no model that it gave it."""
    names = ("provider_response_id", "provider_name", "model_name")
    return isinstance(message, ModelResponse) and not any(
        getattr(message, name) is not None for name in names
    )


def keep_last_instructions(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return a conversation without the agent's instructions, except for the last request that has some.

    Pydantic AI writes them into each request, and models read only those of the run, which come from its composition.
    """
    asked = [at for at, each in enumerate(messages) if getattr(each, "instructions", None)]
    kept = list(messages)
    for at in asked[:-1]:
        kept[at] = replace(cast("ModelRequest", messages[at]), instructions=None)
    return kept


def _iter_turns(
    messages: Sequence[ModelMessage],
) -> Iterator[tuple[ModelResponse | None, Sequence[ModelRequest]]]:
    """Yield each answer of a conversation with the requests up to the next one; those before the first come with None."""
    answer: ModelResponse | None = None
    requests: list[ModelRequest] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            requests.append(message)
            continue
        yield answer, requests
        answer, requests = message, []
    yield answer, requests


def _open_calls(
    answer: ModelResponse | None, requests: Sequence[ModelRequest]
) -> Iterator[ToolCallPart]:
    """Yield the calls of an answer that the requests after it do not answer."""
    results = (part for part in _parts(requests) if part.part_kind in _RESULTS)
    answered = {getattr(part, "tool_call_id", "") for part in results}
    for part in () if answer is None else answer.parts:
        if isinstance(part, ToolCallPart) and part.tool_call_id not in answered:
            yield part


def _parts(requests: Sequence[ModelRequest]) -> Iterator[ModelRequestPart]:
    return (part for request in requests for part in request.parts)


def _mark(call: ToolCallPart) -> ToolReturnPart:
    return ToolReturnPart(
        tool_name=call.tool_name,
        content=INTERRUPTED,
        tool_call_id=call.tool_call_id,
        outcome="failed",
    )
