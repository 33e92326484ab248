"""The decoded events of a response stream: blocks that start, grow and stop; items; the end.

A *block* is one run of text, thinking or tool arguments. Its `index` is assigned in order of first appearance and never
reused; blocks of several items may be open at once. An *item* is one entry of the response's `output`, whole and verbatim.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .values import Item, Status, Usage


type BlockContent = Literal["text", "thinking", "input_json"]
"""The kind of a block's content, regardless of where it comes from."""

type BlockKind = Literal["text", "refusal", "reasoning_text", "summary_text", "tool_use"]
"""The kind of a block: answer text, a refusal, raw reasoning, a reasoning summary part, or the arguments of a tool call."""

_CONTENTS: dict[BlockKind, BlockContent] = {
    "text": "text",
    "refusal": "text",
    "reasoning_text": "thinking",
    "summary_text": "thinking",
    "tool_use": "input_json",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseStarted:
    """The start of a response: the server has accepted the request."""

    response_id: str | None
    model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStart:
    """The start of a block. `call_id` and `name` are set only on `tool_use` blocks.

    `phase` is the phase of the message that the block is part of, such as `commentary`, if it is known by then.
    """

    index: int
    kind: BlockKind
    call_id: str | None = None
    name: str | None = None
    phase: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDelta:
    """A piece that is added to a block. `text` is never empty; for `tool_use` it is a piece of JSON or raw tool input."""

    index: int
    kind: BlockKind
    text: str

    @property
    def content(self) -> BlockContent:
        """Text (answer or refusal), thinking (raw or summarised), or the input of a tool."""
        return _CONTENTS[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStop:
    """The end of a block, because it is whole or because the stream has ended."""

    index: int
    kind: BlockKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDone:
    """A whole output item, to be kept verbatim for the next request."""

    output_index: int
    item: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedProgress:
    """A step of a tool that the server runs, for a program that shows progress.

    Attributes:
        output_index: The index of the tool's item; -1 if the server does not say.
        type: The type of the item, such as `web_search_call`.
        stage: The server's own word, such as `searching`, `interpreting`, `generating`, `completed`, `failed`.
    """

    output_index: int
    type: str
    stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReported:
    """The tokens as the server counted them."""

    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseEnded:
    """The end of a response, after the ends of all blocks. `reason` says why it is incomplete."""

    status: Status
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFailure:
    """An error that the server reported, or its breach of the protocol.

    Attributes:
        code: The server's, or `parse_error`, `inconsistent_stream`, `stream_ended_early`, `empty_response`, `cancelled`, `queued`,
            `in_progress`, or one that `protocol_name` knows.
        message: The text of the error.
        param: The field at fault.
        status: The HTTP status that an error event names, as those of a WebSocket do; None if it names none.
        headers: The HTTP headers that it names, such as `retry-after`, by names in lower case.
    """

    code: str | None
    message: str
    param: str | None = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent:
    """An event that this decoder does not use; never an error.

    Attributes:
        type: The event's type.
        preview: The start of its JSON text, at most 512 characters.
        event: The event itself.
    """

    type: str
    preview: str
    event: Mapping[str, Any]


type StreamEvent = (
    ResponseStarted
    | BlockStart
    | BlockDelta
    | BlockStop
    | ItemDone
    | HostedProgress
    | UsageReported
    | ResponseEnded
    | ResponseFailure
    | UnknownEvent
)
"""One of the values that `StreamDecoder.feed` returns."""
