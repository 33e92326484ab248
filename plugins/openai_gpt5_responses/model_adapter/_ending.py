"""What follows the text of an answer: a note below it, its images, and the terminal chunk."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dify_plugin.entities.model.llm import LLMResultChunk, LLMUsage

from gpt5_messages import Completion, GeneratedImage, render_appendix
from stream_text import KnownSecrets

from ._base_model import base_model
from ._chunks import chunk, final_message, image_message, iter_pieces, split_images, text_message
from ._model_call import ModelCall
from ._pricing import price_usage
from ._tokens import estimate_usage
from ._tool_log import log_hosted_calls


ATE_THE_BUDGET = "The model used up max_output_tokens before it could answer. Raise max_output_tokens or lower reasoning_effort."
"""What is said of an answer that has no text, because the budget went into reasoning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of an answer.

    Attributes:
        completion: What the response has said.
        is_whole: Whether it has said all, so that its calls and items count.
        is_stopped: Whether a stop sequence has ended it.
        answer_only: Whether its text is JSON and nothing else.
        secrets: What must not stand in what is told of it.
        made_for: Who alone may use a compaction item of it.
        latency_seconds: How long it took.
        is_stored: Whether the server keeps it. Then its reasoning did not come along, and a call without its reasoning is refused where it names the item: so the next request has
            its texts and calls, and no items.
        cache: What it has read from the prompt cache, for the strategy's log.
    """

    completion: Completion
    is_whole: bool
    is_stopped: bool
    answer_only: bool
    secrets: KnownSecrets
    made_for: str = ""
    latency_seconds: float
    is_stored: bool = False
    cache: Mapping[str, int | str] = field(default_factory=dict[str, int | str])


def iter_ending(
    call: ModelCall, ending: Ending, request: Mapping[str, Any], *, index: int, text: str
) -> Iterator[LLMResultChunk]:
    """Log what tools did, and yield the chunks after the text; of a call that is not streamed there is one, which has all.

    Args:
        call: The call.
        ending: How its answer has ended.
        request: What was sent.
        index: The number of the last chunk.
        text: All of the text, if Dify has not had it yet.
    """
    completion = ending.completion
    if calls := completion.hosted_calls:
        log_hosted_calls(calls, ending.secrets)
    note, images = _additions(ending, beside=None if call.stream else text)
    if call.stream:
        for message in (*map(text_message, iter_pieces(note)), *map(image_message, images)):
            index += 1
            yield chunk(call.model, index, message)
        images = []
    else:
        text += note
    yield chunk(
        completion.model or call.model,
        index + 1,
        final_message(
            completion if ending.is_whole else None,
            text,
            images,
            secrets=ending.secrets,
            is_carried=not ending.is_stored,
            made_for=ending.made_for,
            cache=ending.cache,
        ),
        usage=_usage(call, request, ending),
        finish_reason="stop" if ending.is_stopped else completion.finish_reason,
    )


def _additions(ending: Ending, *, beside: str | None) -> tuple[str, list[GeneratedImage]]:
    """Return what is said below the answer, and its images; nothing where a stop sequence has ended it."""
    if ending.is_stopped:
        return "", []
    images, omitted = split_images(ending.completion.images, beside=beside)
    note = "" if ending.answer_only else render_appendix(ending.completion, omitted)
    # A tool's error may quote its token.
    return ending.secrets.redact(note) if note else "", images


def _usage(call: ModelCall, request: Mapping[str, Any], ending: Ending) -> LLMUsage:
    completion = ending.completion
    return price_usage(
        base_model(call.model, call.credentials),
        # A stream that a stop sequence has closed never comes to its usage.
        completion.usage or estimate_usage(request, completion),
        latency_seconds=ending.latency_seconds,
        service_tier=completion.service_tier,
        tool_usage=completion.tool_usage,
    )
