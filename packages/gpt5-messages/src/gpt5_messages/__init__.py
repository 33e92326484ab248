"""Conversations to Responses items, stream events to blocks, and completed output back again. No I/O.

A `MessageError` is about the input of a caller. Mistakes of the *server* in a stream are never raised: they end it in a
`ResponseFailure`, so that everything that arrived before is kept.
"""

from stream_text import MessageError

from ._completion.appendix import render_appendix
from ._completion.citations import Citation, MadeFile, Source
from ._completion.error_forms import is_error, read_error
from ._completion.events import (
    BlockDelta,
    BlockKind,
    BlockStart,
    BlockStop,
    HostedProgress,
    ItemDone,
    ResponseEnded,
    ResponseFailure,
    ResponseStarted,
    StreamEvent,
    UnknownEvent,
    UsageReported,
)
from ._completion.failures import find_protocol, protocol_name
from ._completion.hosted import ApprovalRequest, GeneratedImage, HostedCall, ToolUsage
from ._completion.marked_text import render_addendum, render_sources, without_addenda
from ._completion.reading import read_response
from ._completion.values import Completion, FinishReason, Item, Status, ToolCall, Usage
from ._input.building import build_input, carried_items, move_result_media
from ._input.compaction import without_compacted
from ._input.items import (
    ConversationItem,
    MessageItem,
    OtherItem,
    ReasoningItem,
    ToolCallItem,
    ToolOutputItem,
    read_item,
)
from ._input.kept import KeptInput
from ._input.open_reasoning import is_open_reasoning, mark_open_reasoning, without_marks
from ._input.replay import (
    build_items,
    drop_orphan_outputs,
    fit_items,
    replayable_items,
    without_reasoning,
)
from ._input.resume import FoundToken, ResumePoint, ResumeTokens, find_resume_token
from ._input.turns import History, Turn
from ._store import ItemStore
from ._stream.decoder import StreamDecoder
from ._stream.sse import SSEDecoder, parse_object
from ._stream.stop import StopFilter
from ._stream.visible import VisibleText


__all__ = [
    "ApprovalRequest",
    "BlockDelta",
    "BlockKind",
    "BlockStart",
    "BlockStop",
    "Citation",
    "Completion",
    "ConversationItem",
    "FinishReason",
    "FoundToken",
    "GeneratedImage",
    "History",
    "HostedCall",
    "HostedProgress",
    "Item",
    "ItemDone",
    "ItemStore",
    "KeptInput",
    "MadeFile",
    "MessageError",
    "MessageItem",
    "OtherItem",
    "ReasoningItem",
    "ResponseEnded",
    "ResponseFailure",
    "ResponseStarted",
    "ResumePoint",
    "ResumeTokens",
    "SSEDecoder",
    "Source",
    "Status",
    "StopFilter",
    "StreamDecoder",
    "StreamEvent",
    "ToolCall",
    "ToolCallItem",
    "ToolOutputItem",
    "ToolUsage",
    "Turn",
    "UnknownEvent",
    "Usage",
    "UsageReported",
    "VisibleText",
    "build_input",
    "build_items",
    "carried_items",
    "drop_orphan_outputs",
    "find_protocol",
    "find_resume_token",
    "fit_items",
    "is_error",
    "is_open_reasoning",
    "mark_open_reasoning",
    "move_result_media",
    "parse_object",
    "protocol_name",
    "read_error",
    "read_item",
    "read_response",
    "render_addendum",
    "render_appendix",
    "render_sources",
    "replayable_items",
    "without_addenda",
    "without_compacted",
    "without_marks",
    "without_reasoning",
]
