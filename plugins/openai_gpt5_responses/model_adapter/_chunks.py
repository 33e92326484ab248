"""The chunks that Dify reads: text while it comes, and one terminal chunk with everything else."""

from collections.abc import Iterator
from typing import Any

from dify_plugin.entities.model.llm import LLMResultChunk, LLMResultChunkDelta
from dify_plugin.entities.model.message import AssistantPromptMessage, TextPromptMessageContent

from gpt5_messages import Completion, ToolCall


_PIECE_CHARACTERS = 256 * 1024  # in JSON a character takes at most six bytes


def chunk(model: str, index: int, message: AssistantPromptMessage, **ending: Any) -> LLMResultChunk:
    """Return one chunk; `ending` holds what only the terminal one has."""
    return LLMResultChunk(
        model=model,
        prompt_messages=[],
        delta=LLMResultChunkDelta(index=index, message=message, **ending),
    )


def text_message(text: str, phase: str | None) -> AssistantPromptMessage:
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


def final_message(completion: Completion | None, text: str) -> AssistantPromptMessage:
    """Return the terminal chunk's message; calls and items only of a response that is whole.

    Args:
        completion: The whole response; None if it is not whole or was cut short.
        text: All of its text, if Dify has not had it yet.
    """
    if completion is None:
        return AssistantPromptMessage(content=text)
    return AssistantPromptMessage(
        content=text,
        tool_calls=[_tool_call(call) for call in completion.tool_calls],
        opaque_body={
            "responses_output": [dict(item) for item in completion.items],
            "carry": "content_part",  # asks strategies to put this where the daemon lets it pass
        },
    )


def _tool_call(call: ToolCall) -> AssistantPromptMessage.ToolCall:
    function = AssistantPromptMessage.ToolCall.ToolCallFunction(
        name=call.name, arguments=call.arguments
    )
    return AssistantPromptMessage.ToolCall(id=call.call_id, type="function", function=function)
