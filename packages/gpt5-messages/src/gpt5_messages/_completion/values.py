"""The values of one model response: tool calls, usage, and the completion that holds them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from gpt5_messages._text import whole_characters
from stream_text import is_object

from .citations import (
    Citation,
    MadeFile,
    Source,
    iter_citations,
    iter_made_files,
    unlinked_sources,
)
from .hosted import (
    ApprovalRequest,
    GeneratedImage,
    HostedCall,
    ToolUsage,
    iter_approval_requests,
    iter_hosted_calls,
    iter_images,
)


type Item = Mapping[str, Any]
"""One input or output item of the Responses API, exactly as it was on the wire."""

OPAQUE_KEY = "responses_output"
"""The key inside `opaque_body` under which a response's output items travel."""

MADE_FOR_KEY = "made_for"
"""The key beside it that names the caller whose requests may use a compaction item among them."""

type Status = Literal["completed", "incomplete", "failed", "cancelled", "queued", "in_progress"]
"""The API's own response states; `in_progress` also stands for a stream that ended without saying how."""

type FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "error"]
"""Why the model stopped, in the words that agent platforms use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One complete tool call.

    Attributes:
        call_id: Pairs the call with its output; never the item's own id.
        name: The tool's name.
        arguments: JSON text for a function, raw text for a custom tool.
        type: The kind of tool that was called.
    """

    call_id: str
    name: str
    arguments: str
    type: Literal["function", "custom"] = "function"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens of one response, each a number from 0 up.

    Attributes:
        input_tokens: All input, cached or not.
        cached_tokens: The part of `input_tokens` that came from the prompt cache.
        output_tokens: All output, visible or not.
        reasoning_tokens: The part of `output_tokens` spent on reasoning.
        total_tokens: As reported, or input plus output if the server does not say.
        cache_write_tokens: The part of `input_tokens` newly written to the cache, if it is billed separately.
        cache_write_12h_tokens: The part of `cache_write_tokens` that is kept for 12 hours, at a rate of its own.
        total_price: The cost of the response, including the server's tools. No server reports it, so it is None unless a client that knows prices, such as those of
            `gpt5_responses`, has filled it in. Usages with equal tokens are equal, whatever they cost.
        currency: ISO 4217 code of `total_price`.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_12h_tokens: int = 0
    total_price: Decimal | None = field(default=None, compare=False)
    currency: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The content of one response.

    Attributes:
        text: The answer text of all messages, in order, without refusals.
        refusal: The model's words instead of an answer; empty if it did not refuse.
        reasoning_summaries: One text for each summary part, in order; raw reasoning is never among them.
        tool_calls: Calls that may be run: complete ones of a completed response. A cut call is never here.
        usage: Token counts, or None if the server sent none.
        status: The response's state.
        finish_reason: Why the model stopped.
        items: Every output item in order, for the next request; verbatim except for halves of characters, which become U+FFFD, and for ids of calls that are not their own.
        incomplete_reason: `max_output_tokens`, `content_filter`, or another word of the server.
        error: The server's error object of a failed response.
        response_id: The server's id of this response.
        model: The model that really answered.
        service_tier: The tier that the server billed.
        tool_usage: The usage of the server's tools.
        input_transformations: The server's changes to the input, such as reasoning that it left out.
        moderation: The result of the server's moderation, if the request asked for it.
        cache_diagnostics: The server's information about the prompt cache, if it gives any.
        created_at: When the server took the request, in seconds since 1970.
        metadata: The request's metadata, which the server keeps with the response.
    """

    text: str
    refusal: str
    reasoning_summaries: tuple[str, ...]
    tool_calls: tuple[ToolCall, ...]
    usage: Usage | None
    status: Status
    finish_reason: FinishReason
    items: tuple[Item, ...]
    incomplete_reason: str | None = None
    error: Mapping[str, Any] | None = None
    response_id: str | None = None
    model: str | None = None
    service_tier: str | None = None
    tool_usage: ToolUsage = field(default_factory=ToolUsage)
    input_transformations: tuple[Mapping[str, Any], ...] = ()
    moderation: Mapping[str, Any] | None = None
    cache_diagnostics: Mapping[str, Any] | None = None
    created_at: float | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources that the answer cites and the files that it mentions, in order."""
        return tuple(iter_citations(self.items))

    @property
    def unlinked_sources(self) -> tuple[Source, ...]:
        """The web pages that the answer cites but does not link, each once, in order."""
        return unlinked_sources(self.citations, self.text)

    @property
    def made_files(self) -> tuple[MadeFile, ...]:
        """The files that code has made at the server and that the answer mentions."""
        return tuple(iter_made_files(self.citations))

    @property
    def images(self) -> tuple[GeneratedImage, ...]:
        """The images that the server has drawn."""
        return tuple(iter_images(self.items))

    @property
    def hosted_calls(self) -> tuple[HostedCall, ...]:
        """The calls of the server's tools, with code and logs: for a log."""
        return tuple(iter_hosted_calls(self.items))

    @property
    def approval_requests(self) -> tuple[ApprovalRequest, ...]:
        """The calls of MCP servers' tools that wait for approval."""
        return tuple(iter_approval_requests(self.items))

    @property
    def opaque_body(self) -> dict[str, Any] | None:
        """The data to return with this answer, so that the items travel with its message; None if there are none."""
        return {OPAQUE_KEY: list(self.items)} if self.items else None


def argument_text(value: object) -> str:
    """Return a call's arguments as text, even if a server sends an object; empty if there are none."""
    if is_object(value) and value:
        return json.dumps(whole_characters(dict(value)), ensure_ascii=False)
    return value if isinstance(value, str) else ""
