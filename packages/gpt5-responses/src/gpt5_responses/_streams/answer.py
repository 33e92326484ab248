"""A response as an agent run reads it: pieces of one type, the last of which holds everything but text.

Calls and answers are recognised by the names of their fields alone, so that any agent loop can be on the other side.
"""

import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpt5_messages import (
    BlockDelta,
    BlockStart,
    StreamEvent,
    ToolCall,
    Usage,
    VisibleText,
)
from gpt5_responses._scheme import Request
from stream_text import read_member

from .async_stream import AsyncResponseStream
from .reader import StreamFacts
from .stream import ResponseStream


_LOGGER = logging.getLogger("gpt5_responses")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDelta:
    """A piece of an answer. Text comes in many of them, everything else in the last.

    Attributes:
        text: The next piece of text; reasoning summaries are in `<think>` blocks.
        tool_calls: The calls of the answer, whole.
        usage: Token counts, if the server reported them.
        finish_reason: Why the model stopped.
        phase: The server's name for the kind of text, such as `commentary`.
        opaque_body: Data to hand back with this answer, for `build_input`: `{"responses_output": [items]}`.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish_reason: str | None = None
    phase: str | None = None
    opaque_body: dict[str, Any] | None = None


class Answer:
    """The pieces of an answer; the request is sent when the first one is read.

    Close it to release the response, from any thread; reading it to the end closes it, too.

    Attributes:
        stream: The response that it is read from.
    """

    def __init__(self, stream: ResponseStream) -> None:
        self.stream = stream

    def __iter__(self) -> Iterator[AnswerDelta]:
        pieces = _Pieces()
        with self.stream as events:
            for event in events:
                if delta := pieces.feed(event):
                    yield delta
            yield pieces.end(events)

    def close(self) -> None:
        """Release the response."""
        self.stream.close()


class AsyncAnswer:
    """The pieces of an answer, read asynchronously.

    Attributes:
        stream: The response that it is read from.
    """

    def __init__(self, stream: AsyncResponseStream) -> None:
        self.stream = stream

    async def __aiter__(self) -> AsyncIterator[AnswerDelta]:
        pieces = _Pieces()
        async with self.stream as events:
            async for event in events:
                if delta := pieces.feed(event):
                    yield delta
            yield pieces.end(events)


class _Pieces:
    """The pieces of an answer, made from stream events."""

    def __init__(self) -> None:
        self._visible = VisibleText()
        self._phases: dict[int, str | None] = {}

    def feed(self, event: StreamEvent) -> AnswerDelta | None:
        if isinstance(event, BlockStart):
            self._phases[event.index] = event.phase
        text = self._visible.feed(event)
        phase = self._phases.get(event.index) if isinstance(event, BlockDelta) else None
        return AnswerDelta(text=text, phase=phase) if text else None

    def end(self, stream: StreamFacts) -> AnswerDelta:
        completion = stream.completion
        for name in stream.ignored:  # an agent's caller does not see the stream
            _LOGGER.warning("The server does not do what the request asked for: %s", name)
        return AnswerDelta(
            text=self._visible.close(),
            tool_calls=completion.tool_calls,
            usage=completion.usage,
            finish_reason=completion.finish_reason,
            opaque_body=completion.opaque_body,
        )


def read_wanted(call: object, defaults: Request) -> Request:
    """Return the request for an agent run's model call: `messages`, `tools`, `tool_choice`, `allowed_tools` and `answer_schema`, as attributes or keys."""
    choice = read_member(call, "tool_choice") or defaults.tool_choice
    allowed: Any = read_member(call, "allowed_tools")
    if allowed and choice in (None, "auto", "required"):
        named = [{"type": "function", "name": name} for name in allowed]
        choice = {"type": "allowed_tools", "mode": choice or "auto", "tools": named}
    schema: Any = read_member(call, "answer_schema")
    if schema:
        defaults = replace(defaults, response_format="json_schema", json_schema=schema)
    return replace(
        defaults,
        messages=tuple(read_member(call, "messages") or ()),
        tools=tuple(read_member(call, "tools") or ()),
        tool_choice=choice,
    )
