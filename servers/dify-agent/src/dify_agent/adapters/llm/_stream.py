"""Conversion of the answer of a plugin's model to Pydantic AI's stream."""

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, override

from pydantic_ai.messages import BinaryContent, FilePart, FinishReason, ModelResponseStreamEvent
from pydantic_ai.models import StreamedResponse
from pydantic_ai.usage import RequestUsage

from dify_agent._daemon_errors import build_protocol_error
from stream_text import ThinkPiece, ThinkReader, ToolCallDelta, ToolCallMerger

from ._carried import MODEL_PROVIDER_KEY, OPAQUE_BODY_KEY, build_text_details
from ._chunks import AnswerMessage, Chunk, FileContent, TokenUsage, ToolCallPiece
from ._error_mapping import to_model_error
from ._reader import ChunkReader


_FINISH_REASONS: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "tool_call": "tool_call",
    "tool_calls": "tool_call",
    "tool_use": "tool_call",
    "function_call": "tool_call",
    "function_calls": "tool_call",
}
"""The finish reasons of plugins, in lower case; anything else counts as an error."""


PRICE_KEY: Final = "price"
"""The key in `provider_details` of the answer's price as the plugin reports it: `{"total": "0.0012", "currency": "USD"}`, with what it is
made of (`prompt_unit_price`, …) and the seconds (`latency`, …) where the plugin reports them."""


@dataclass
class DifyStreamedResponse(StreamedResponse):
    """The stream of Pydantic AI's events for the chunks of an answer.

    Thoughts in `<think>` blocks become thinking parts. `provider_details` keeps the text as it came, the data that goes back with
    the answer (`opaque_body`), the name of the provider, the plugin's own finish reason and the price.
    """

    _reader: ChunkReader
    _model_name: str
    _model_provider: str
    _provider_name: str
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    _think_reader: ThinkReader = field(default_factory=partial(ThinkReader, trim=True), init=False)
    _texts: list[str] = field(default_factory=list[str], init=False)
    _calls: ToolCallMerger = field(default_factory=ToolCallMerger, init=False)
    # False and not None: Pydantic AI then marks the usage of an answer that reported none.
    _usage_received: bool | None = field(default=False, init=False)

    @property
    @override
    def model_name(self) -> str:
        """The model's name in the latest chunk, or else in the request."""
        return self._model_name

    @property
    @override
    def provider_name(self) -> str:
        """Name of the provider, `DifyPlugin/` and the plugin's id."""
        return self._provider_name

    @property
    @override
    def provider_url(self) -> None:
        """None: responses travel to clients in snapshots, and the daemon's address stays with the server."""
        return

    @property
    @override
    def timestamp(self) -> datetime:
        """The time when the answer began to arrive."""
        return self._timestamp

    @override
    async def close_stream(self) -> None:
        """Close the HTTP response at once, even while another task waits for the next chunk."""
        await self._reader.aclose()

    @override
    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        self.provider_details = {MODEL_PROVIDER_KEY: self._model_provider}
        async for chunk in self._reader:
            self._note(chunk)
            for event in self._events(chunk.delta.message):
                yield event
        for event in self._end_block():
            yield event
        for delta in self._calls.close():
            for event in self._call_event(delta):
                yield event
        text = "".join(self._texts)
        for key, value in build_text_details(text, self._parts_manager.get_parts()).items():
            self._add_detail(key, value)
        # A cancelled answer may lack the chunk with the name.
        if self._calls.has_unnamed and not self.cancelled:
            error = build_protocol_error("Plugin daemon returned a tool call without a name.")
            raise to_model_error(error, model_name=self._model_name, in_stream=True)

    def _note(self, chunk: Chunk) -> None:
        """Keep a chunk's facts about the answer as a whole; the latest count."""
        self._model_name = chunk.model or self._model_name
        if usage := chunk.delta.usage:
            self._add_usage(_request_usage(usage), reported=True, cumulative=True)
            if usage.total_price > 0:
                price = {"total": str(usage.total_price), "currency": usage.currency}
                self._add_detail(PRICE_KEY, price | usage.parts)
        if reason := chunk.delta.finish_reason:
            self.finish_reason = _FINISH_REASONS.get(reason.lower(), "error")
            self._add_detail("finish_reason", reason)
        if (opaque := chunk.delta.message.opaque) is not None:
            self._add_detail(OPAQUE_BODY_KEY, opaque)

    def _add_detail(self, key: str, value: object) -> None:
        self.provider_details = {**(self.provider_details or {}), key: value}

    def _events(self, message: AnswerMessage) -> Iterator[ModelResponseStreamEvent]:
        """Yield the events of a chunk's message, the text before the calls."""
        content = message.content
        for part in [content] if isinstance(content, str) else content:
            if isinstance(part, FileContent):
                yield from self._file_events(part)
            else:
                yield from self._text_events(part if isinstance(part, str) else part.data)
        for piece in message.tool_calls:
            yield from self._call_events(piece)

    def _text_events(self, text: str) -> Iterator[ModelResponseStreamEvent]:
        self._texts.append(text)
        for piece in self._think_reader.feed(text):
            yield from self._piece_events(piece)

    def _piece_events(self, piece: ThinkPiece) -> Iterator[ModelResponseStreamEvent]:
        # A part of its own for each block, so that thoughts and text alternate as they came.
        block = f"{piece.kind}-{piece.block}"
        parts = self._parts_manager
        add = parts.handle_text_delta if piece.kind == "answer" else parts.handle_thinking_delta
        yield from add(vendor_part_id=block, content=piece.text)

    def _end_block(self) -> Iterator[ModelResponseStreamEvent]:
        for piece in self._think_reader.end_block():
            yield from self._piece_events(piece)

    def _call_events(self, piece: ToolCallPiece) -> Iterator[ModelResponseStreamEvent]:
        # A call ends the text or thought before it.
        yield from self._end_block()
        delta = self._calls.add(
            call_id=piece.id, name=piece.function.name, arguments=piece.function.arguments
        )
        if delta is not None:
            yield from self._call_event(delta)

    def _call_event(self, delta: ToolCallDelta) -> Iterator[ModelResponseStreamEvent]:
        event = self._parts_manager.handle_tool_call_delta(
            vendor_part_id=f"tool-call-{delta.number}",
            tool_name=delta.name,
            args=delta.arguments,
            tool_call_id=delta.call_id,
        )
        if event is not None:
            yield event

    def _file_events(self, file: FileContent) -> Iterator[ModelResponseStreamEvent]:
        """Yield a file that the model made; one that came as a URL only becomes text."""
        if not file.base64_data:
            yield from self._text_events(file.url)
            return
        yield from self._end_block()
        media_type = file.mime_type or "application/octet-stream"
        content = BinaryContent.narrow_type(
            BinaryContent(data=file.base64_data, media_type=media_type)
        )
        # No id, because each file is a part of its own.
        yield self._parts_manager.handle_part(vendor_part_id=None, part=FilePart(content=content))


def _request_usage(usage: TokenUsage) -> RequestUsage:
    known: dict[str, Any] = {}
    # Pydantic AI's cost is in US dollars; other prices stay in `provider_details`.
    if usage.currency == "USD" and usage.total_price > 0:
        known["cost"] = usage.total_price
    return RequestUsage(
        input_tokens=usage.prompt_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        output_tokens=usage.completion_tokens,
        **known,
    )
