"""What Dify's runtime makes of what passes between a strategy and a model: its classes read it, and write what they know."""

from typing import Any

from graphon.model_runtime.entities.llm_entities import LLMResultChunk
from graphon.model_runtime.entities.message_entities import (
    AssistantPromptMessage,
    SystemPromptMessage,
    ToolPromptMessage,
    UserPromptMessage,
)


type Json = dict[str, Any]

_MESSAGES = {
    "system": SystemPromptMessage,
    "user": UserPromptMessage,
    "assistant": AssistantPromptMessage,
    "tool": ToolPromptMessage,
}


def message_through_graphon(message: Json) -> Json:
    """Return a prompt message of a strategy as Dify hands it to the model."""
    return _MESSAGES[message["role"]].model_validate(message).model_dump(mode="json")


def chunk_through_graphon(chunk: Json) -> Json:
    """Return a chunk of a model's answer as Dify hands it to the strategy."""
    return LLMResultChunk.model_validate(chunk).model_dump(mode="json")
