"""The chunks that Dify reads: text as it arrives, and a terminal chunk with everything else."""

import base64
import json
from collections.abc import Iterable
from typing import Any

from dify_plugin.entities.model.llm import LLMResultChunk, LLMResultChunkDelta
from dify_plugin.entities.model.message import (
    AssistantPromptMessage,
    ImagePromptMessageContent,
    TextPromptMessageContent,
)

from gpt5_messages import GeneratedImage


# Of the 5 MiB of a line. The rest is for the frame around an image, and for the other parts of an
# answer that is a single chunk.
_MOST_IMAGE_CHARACTERS = 5_000_000
_MIME_TYPES = {
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "svg": "image/svg+xml",
    "webp": "image/webp",
}


def chunk(model: str, index: int, message: AssistantPromptMessage, **ending: Any) -> LLMResultChunk:
    """Return a chunk; `ending` holds the fields of the terminal chunk."""
    return LLMResultChunk(
        model=model,
        prompt_messages=[],
        delta=LLMResultChunkDelta(index=index, message=message, **ending),
    )


def text_message(text: str, phase: str | None = None) -> AssistantPromptMessage:
    """Return the message of a text chunk.

    Commentary is marked in its part, for agent strategies; other text is plain, so that every reader understands it.
    """
    if phase != "commentary" or not text:
        return AssistantPromptMessage(content=text)
    part = TextPromptMessageContent(data=text, opaque_body={"phase": phase})
    return AssistantPromptMessage(content=[part])


def image_message(image: GeneratedImage) -> AssistantPromptMessage:
    """Return the message of an image chunk."""
    return AssistantPromptMessage(content=[image_part(image)])


def split_images(
    images: Iterable[GeneratedImage], *, beside: str | None = None
) -> tuple[list[GeneratedImage], list[GeneratedImage]]:
    """Split images into those that fit into Dify's lines, and those that are too large or damaged, on which a node that stores them would fail.

    Args:
        images: The images of an answer.
        beside: The text that shares one line with all of them; None if each has its own line.
    """
    fitting: list[GeneratedImage] = []
    others: list[GeneratedImage] = []
    used = len(json.dumps(beside or ""))
    for image in images:
        fits = used + len(image.data) <= _MOST_IMAGE_CHARACTERS and _is_base64(image.data)
        (fitting if fits else others).append(image)
        used += len(image.data) if fits and beside is not None else 0
    return fitting, others


def image_part(image: GeneratedImage) -> ImagePromptMessageContent:
    # Dify turns it into a file extension, so an unknown one is not passed on.
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
