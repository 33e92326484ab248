"""A response as an agent run reads it: pieces of one type, the last of which holds everything but text.

Calls and answers are recognised by the names of their fields alone, so that any agent loop can be on the other side.
"""

import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gpt5_messages import (
    BlockDelta,
    BlockStart,
    StreamEvent,
    ToolCall,
    Usage,
    VisibleText,
)
from gpt5_payloads import HostedTool
from gpt5_responses._scheme import Request
from stream_text import read_member

from .async_stream import AsyncResponseStream
from .reader import StreamFacts
from .stream import ResponseStream


_MOST_CALLS = 10_000  # As many as `build_request` takes.
_LOGGER = logging.getLogger("gpt5_responses")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDelta:
    """A piece of an answer. Text comes in many of them, everything else in the last.

    Attributes:
        text: The next piece of text; reasoning summaries are in `<think>` blocks.
        tool_calls: The calls of the answer, whole.
        usage: Token counts, if the server reported them.
        finish_reason: Why the model stopped.
        files: The images that the server has drawn, each with its `media_type` and base64 `data`.
        hosted_calls: How many calls of its own tools the server has made.
        phase: The server's name for the kind of text, such as `commentary`.
        opaque_body: Data to hand back with this answer, for `build_input`: `{"responses_output": [items]}`.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish_reason: str | None = None
    phase: str | None = None
    opaque_body: dict[str, Any] | None = None
    files: tuple[dict[str, str], ...] = field(default=(), repr=False)
    hosted_calls: int = 0


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
            files=tuple(
                {"media_type": f"image/{image.format}", "data": image.data}
                for image in completion.images
            ),
            hosted_calls=sum(call.type != "mcp_list_tools" for call in completion.hosted_calls),
        )


def read_wanted(call: object, defaults: Request, hosted: Iterable[HostedTool]) -> Request:
    """Return the request for an agent run's model call, of which `answer` says what is read.

    Args:
        call: The call, with attributes or keys.
        defaults: What else to ask for.
        hosted: The tools of the defaults.
    """
    choice = read_member(call, "tool_choice") or defaults.tool_choice
    allowed: Any = read_member(call, "allowed_tools")
    offered: Any = read_member(call, "hosted_tools")
    beside = [tool.tool for tool in hosted if offered is None or tool.name in offered]
    is_last = read_member(call, "is_closing") or read_member(call, "is_compaction")
    # The run itself refuses its own tools, and sees the server's calls when they are made.
    if beside and (is_last or (allowed is not None and not allowed)):
        choice = "none"
    if allowed and choice in (None, "auto", "required"):
        defaults = replace(defaults, allowed_tools=tuple(allowed))
    # The server takes no 0, and a run without any call left lets it call none.
    left: Any = read_member(call, "max_hosted_calls") if beside else None
    limits = defaults.max_tool_calls, left and min(left, _MOST_CALLS)
    schema: Any = read_member(call, "answer_schema")
    if schema:
        defaults = replace(defaults, response_format="json_schema", json_schema=schema)
    return replace(
        defaults,
        messages=tuple(read_member(call, "messages") or ()),
        tools=(*(read_member(call, "tools") or ()), *beside),
        tool_choice=choice,
        max_tool_calls=min(filter(None, limits), default=None),
        kept=read_member(call, "kept"),
    )
