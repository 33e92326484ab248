"""The chunks that Dify reads: text while it comes, and one terminal chunk with everything else."""

from collections.abc import Sequence
from typing import Any

from dify_plugin.entities.model.llm import LLMResultChunk, LLMResultChunkDelta
from dify_plugin.entities.model.message import AssistantPromptMessage

from gpt5_messages import Completion, ToolCall
from gpt5_responses import UnexpectedResponseError

from ._limits import fits_a_line


_TOO_LARGE = "The answer is larger than Dify takes in one piece. Ask for less at once."


def chunk(model: str, index: int, message: AssistantPromptMessage, **ending: Any) -> LLMResultChunk:
    """Return one chunk; `ending` holds what only the terminal one has."""
    return LLMResultChunk(
        model=model,
        prompt_messages=[],
        delta=LLMResultChunkDelta(index=index, message=message, **ending),
    )


def final_message(completion: Completion | None, text: str) -> AssistantPromptMessage:
    """Return the terminal chunk's message; calls and items only of a response that is whole.

    Items that are too large for Dify stay behind: the plugin's own memory has them too.

    Args:
        completion: The whole response; None if it is not whole or was cut short.
        text: All of its text, if Dify has not had it yet.

    Raises:
        UnexpectedResponseError: If text and calls together are too large for Dify.
    """
    _validate_size(text, completion.tool_calls if completion else ())
    if completion is None:
        return AssistantPromptMessage(content=text)
    opaque: dict[str, Any] = {"responses_output": [dict(item) for item in completion.items]}
    return AssistantPromptMessage(
        content=text,
        tool_calls=[_tool_call(call) for call in completion.tool_calls],
        opaque_body=opaque if fits_a_line([text, opaque]) else None,
    )


def _validate_size(text: str, calls: Sequence[ToolCall]) -> None:
    if not fits_a_line([text, *(call.arguments for call in calls)]):
        raise UnexpectedResponseError(_TOO_LARGE)


def _tool_call(call: ToolCall) -> AssistantPromptMessage.ToolCall:
    function = AssistantPromptMessage.ToolCall.ToolCallFunction(
        name=call.name, arguments=call.arguments
    )
    return AssistantPromptMessage.ToolCall(id=call.call_id, type="function", function=function)
