"""The end of an answer after its text: a note, the images, and the terminal chunk."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dify_plugin.entities.model.llm import LLMResultChunk, LLMUsage
from dify_plugin.entities.model.message import (
    AssistantPromptMessage,
    PromptMessageContentUnionTypes,
    TextPromptMessageContent,
)

from dify_plugin_kit.stdout import split_text
from gpt5_messages import Completion, GeneratedImage, ToolCall, fit_items, render_appendix
from stream_text import KnownSecrets

from ._chunks import chunk, image_message, image_part, split_images, text_message
from ._model_call import ModelCall
from ._plugin_log import log_hosted_calls
from ._pricing import price_usage
from ._tokens import complete_usage
from ._tool_names import own_name


BUDGET_USED_UP = "The model used up max_output_tokens before it could answer. Raise max_output_tokens or lower reasoning_effort."
"""The sentence about an answer without text, because reasoning used up the budget."""

# The size of an answer's items from which on images are left out: an agent strategy has one line for
# the whole history of a call.
_MOST_CARRIED_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAnswer:
    """An answer that has ended.

    Attributes:
        call: The call.
        completion: The finished response.
        is_stopped: Whether a stop sequence ended it.
        answer_only: Whether its text is only JSON.
        latency_seconds: How long it took.
        is_stored: Whether the server stores it. Its reasoning is missing then, and the API refuses items of calls
            without the reasoning they belong to, so the next request has the texts and calls instead of the items.
        cache: The figures of the prompt cache, for the log of an agent strategy.
    """

    call: ModelCall
    completion: Completion
    is_stopped: bool
    answer_only: bool
    latency_seconds: float
    is_stored: bool
    cache: Mapping[str, int | str] = field(default_factory=dict[str, int | str])

    @property
    def is_whole(self) -> bool:
        """Whether it is complete, so that its calls and items count."""
        return self.completion.status == "completed" and not self.is_stopped

    @property
    def secrets(self) -> KnownSecrets:
        """The secrets that must not reach Dify."""
        return self.call.connection.secrets


def iter_ending(
    ending: FinishedAnswer, request: Mapping[str, Any], *, index: int, text: str
) -> Iterator[LLMResultChunk]:
    """Log the calls of OpenAI's tools, and yield the chunks after the text; an unstreamed call gets a single chunk with everything.

    Args:
        ending: The finished answer.
        request: The body of the request.
        index: The index of the last chunk.
        text: The whole text, if Dify does not have it yet.
    """
    call, completion = ending.call, ending.completion
    if calls := completion.hosted_calls:
        log_hosted_calls(calls, ending.secrets)
    note, images = _additions(ending, beside=None if call.stream else text)
    if call.stream:
        for message in (*map(text_message, split_text(note)), *map(image_message, images)):
            index += 1
            yield chunk(call.model, index, message)
        # They have been sent in chunks of their own.
        images = []
    else:
        text += note
    yield chunk(
        completion.model or call.model,
        index + 1,
        _final_message(ending, text, images),
        usage=_usage(request, ending),
        finish_reason="stop" if ending.is_stopped else completion.finish_reason,
    )


def _additions(ending: FinishedAnswer, *, beside: str | None) -> tuple[str, list[GeneratedImage]]:
    """Return the note below the answer and its images; nothing if a stop sequence ended it."""
    if ending.is_stopped:
        return "", []
    images, omitted = split_images(ending.completion.images, beside=beside)
    note = "" if ending.answer_only else render_appendix(ending.completion, omitted)
    # A tool's error may quote its token.
    return ending.secrets.redact(note) if note else "", images


def _usage(request: Mapping[str, Any], ending: FinishedAnswer) -> LLMUsage:
    completion = ending.completion
    return price_usage(
        ending.call.base_model,
        complete_usage(request, completion),
        latency_seconds=ending.latency_seconds,
        service_tier=completion.service_tier,
        tool_usage=completion.tool_usage,
    )


def _final_message(
    ending: FinishedAnswer, text: str, images: Sequence[GeneratedImage]
) -> AssistantPromptMessage:
    """Return the terminal chunk's message, with calls and items only if the response is complete.

    Args:
        ending: The answer.
        text: All of its text, if Dify has not had it yet.
        images: Its images, if Dify does not have them yet.
    """
    parts: list[PromptMessageContentUnionTypes] = [TextPromptMessageContent(data=text)]
    content = [*parts, *map(image_part, images)] if images else text
    if not ending.is_whole:
        return AssistantPromptMessage(content=content)
    return AssistantPromptMessage(
        content=content,
        tool_calls=[_tool_call(ending.call, one) for one in ending.completion.tool_calls],
        opaque_body=None if ending.is_stored else _carried(ending),
    )


def _carried(ending: FinishedAnswer) -> dict[str, Any]:
    """Return the items that an agent strategy sends back, with a sentence in place of each image that would fill its line."""
    items = [_without(ending.secrets, item) for item in ending.completion.items]
    is_compacted = any(item.get("type") == "compaction" for item in items)
    return {
        "responses_output": fit_items(items, max_bytes=_MOST_CARRIED_BYTES),
        "carry": "content_part",  # Asks agent strategies to send it back where the daemon passes it on.
        # Nobody else may use a compaction, which stands for a whole conversation.
        **({"made_for": ending.call.made_for} if is_compacted else {}),
        **({"prompt_cache": dict(ending.cache)} if ending.cache else {}),
    }


def _without(secrets: KnownSecrets, item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an item without the MCP server's token, which the server may have quoted; other items stay unchanged."""
    if not str(item.get("type")).startswith("mcp_"):
        return item
    return json.loads(secrets.redact(json.dumps(item)))


def _tool_call(call: ModelCall, made: ToolCall) -> AssistantPromptMessage.ToolCall:
    function = AssistantPromptMessage.ToolCall.ToolCallFunction(
        name=own_name(call, made.name), arguments=made.arguments
    )
    return AssistantPromptMessage.ToolCall(id=made.call_id, type="function", function=function)
