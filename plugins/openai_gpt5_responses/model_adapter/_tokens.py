"""Counting tokens before, or without, a server that counts them."""

from collections.abc import Iterable, Mapping
from typing import Any

from dify_plugin.entities.model.message import PromptMessage, PromptMessageTool

from gpt5_messages import Completion, Usage, build_input
from gpt5_payloads import count_tokens, function_tool

from ._vocabulary import text_counter


def estimate_tokens(
    messages: Iterable[PromptMessage], tools: Iterable[PromptMessageTool], *, model: str
) -> int:
    """Count the input tokens of a call, from 0 up: plain text within three tokens or three percent, the rest as docs/token-counts.md says.

    Args:
        messages: The conversation.
        tools: What the model may call.
        model: The model behind the name, by which images count, and what stands around texts.
    """
    functions = [function_tool(tool) for tool in tools]
    items = build_input(messages, lenient=True)
    return count_tokens(items, functions, model=model, count=text_counter())


def estimate_usage(request: Mapping[str, Any], completion: Completion) -> Usage:
    """Count what a response has used of which the server has not said it; reasoning that was not shown is missing."""
    count = text_counter()
    input_tokens = count_tokens(
        request["input"],
        request.get("tools", ()),
        model=request["model"],
        count=count,
        text_format=request["text"]["format"],
    )
    shown = (completion.text, completion.refusal, *completion.reasoning_summaries)
    output_tokens = sum(count(text) for text in shown)
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens,
    )
