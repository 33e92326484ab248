"""The chunks that Dify reads: text while it comes, and one terminal chunk with everything else."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dify_plugin.entities.model.llm import LLMResultChunk, LLMResultChunkDelta
from dify_plugin.entities.model.message import (
    AssistantPromptMessage,
    ImagePromptMessageContent,
    PromptMessageContentUnionTypes,
    TextPromptMessageContent,
)

from gpt5_messages import Completion, GeneratedImage, ToolCall, fit_items
from stream_text import KnownSecrets


# Of a line's 5 MiB; the rest is for what stands around an image, and for the answer's other parts where all of it is one chunk.
_MOST_IMAGE_CHARACTERS = 5_000_000
# Of the items that go along with an answer, as far as images are what makes them large: a strategy's call has one line for all of its history.
_MOST_CARRIED_BYTES = 1_000_000
_MIME_TYPES = {
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "svg": "image/svg+xml",
    "webp": "image/webp",
}
_PIECE_CHARACTERS = 256 * 1024  # in JSON a character takes at most six bytes


def chunk(model: str, index: int, message: AssistantPromptMessage, **ending: Any) -> LLMResultChunk:
    """Return one chunk; `ending` holds what only the terminal one has."""
    return LLMResultChunk(
        model=model,
        prompt_messages=[],
        delta=LLMResultChunkDelta(index=index, message=message, **ending),
    )


def text_message(text: str, phase: str | None = None) -> AssistantPromptMessage:
    """Return the message of a chunk of text.

    What is said on the way to something else says so in its part, for agent strategies; everything else is plain text, as every reader knows it.
    """
    if phase != "commentary" or not text:
        return AssistantPromptMessage(content=text)
    part = TextPromptMessageContent(data=text, opaque_body={"phase": phase})
    return AssistantPromptMessage(content=[part])


def iter_pieces(text: str) -> Iterator[str]:
    """Cut a text into pieces that each fit into a line."""
    for start in range(0, len(text), _PIECE_CHARACTERS):
        yield text[start : start + _PIECE_CHARACTERS]


def image_message(image: GeneratedImage) -> AssistantPromptMessage:
    """Return the message of a chunk that is an image."""
    return AssistantPromptMessage(content=[_image_part(image)])


def split_images(
    images: Iterable[GeneratedImage], *, beside: str | None = None
) -> tuple[list[GeneratedImage], list[GeneratedImage]]:
    """Return the images that fit into lines of Dify's, and those that do not or are damaged, which would fail a node that stores them.

    Args:
        images: The images of an answer.
        beside: The text that all of them share one line with; None where each has a line of its own.
    """
    fitting: list[GeneratedImage] = []
    others: list[GeneratedImage] = []
    used = len(json.dumps(beside or ""))
    for image in images:
        fits = used + len(image.data) <= _MOST_IMAGE_CHARACTERS and _is_base64(image.data)
        (fitting if fits else others).append(image)
        used += len(image.data) if fits and beside is not None else 0
    return fitting, others


def final_message(  # noqa: PLR0913  one keyword for each part of it
    completion: Completion | None,
    text: str,
    images: Sequence[GeneratedImage] = (),
    *,
    secrets: KnownSecrets,
    is_carried: bool = True,
    made_for: str = "",
    cache: Mapping[str, int | str] | None = None,
) -> AssistantPromptMessage:
    """Return the terminal chunk's message; calls and items only of a response that is whole.

    Args:
        completion: The whole response; None if it is not whole or was cut short.
        text: All of its text, if Dify has not had it yet.
        images: Its images likewise.
        secrets: What the items of MCP servers must not carry into what Dify stores.
        is_carried: Whether the items go along.
        made_for: Who alone may use a compaction item among them.
        cache: What the call has read from the prompt cache, which travels with the items.
    """
    parts: list[PromptMessageContentUnionTypes] = [TextPromptMessageContent(data=text)]
    content = [*parts, *map(_image_part, images)] if images else text
    if completion is None:
        return AssistantPromptMessage(content=content)
    return AssistantPromptMessage(
        content=content,
        tool_calls=[_tool_call(call) for call in completion.tool_calls],
        opaque_body=_carried(completion, secrets, made_for, cache) if is_carried else None,
    )


def _carried(
    completion: Completion,
    secrets: KnownSecrets,
    made_for: str,
    cache: Mapping[str, int | str] | None,
) -> dict[str, Any]:
    """Return the items for a strategy to hand back, with a sentence for each image that would fill its line."""
    items = [_without(secrets, item) for item in completion.items]
    is_compacted = any(item.get("type") == "compaction" for item in items)
    return {
        "responses_output": fit_items(items, max_bytes=_MOST_CARRIED_BYTES),
        "carry": "content_part",  # asks strategies to put this where the daemon lets it pass
        **({"made_for": made_for} if is_compacted else {}),
        **({"prompt_cache": dict(cache)} if cache else {}),
    }


def _without(secrets: KnownSecrets, item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an item without the token of its MCP server, which that may have quoted; every other item as it is."""
    if not str(item.get("type")).startswith("mcp_"):
        return item
    return json.loads(secrets.redact(json.dumps(item)))


def _image_part(image: GeneratedImage) -> ImagePromptMessageContent:
    # Dify makes a file's ending of it, so it is one that we know.
    known = image.format if image.format in _MIME_TYPES else "png"
    return ImagePromptMessageContent(
        format=known,
        mime_type=_MIME_TYPES[known],
        base64_data=image.data,
        filename=f"image.{known}",
    )


def _is_base64(data: str) -> bool:
    try:
        base64.b64decode(data, validate=True)
    except ValueError:
        return False
    return True


def _tool_call(call: ToolCall) -> AssistantPromptMessage.ToolCall:
    function = AssistantPromptMessage.ToolCall.ToolCallFunction(
        name=call.name, arguments=call.arguments
    )
    return AssistantPromptMessage.ToolCall(id=call.call_id, type="function", function=function)
