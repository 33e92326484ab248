"""Estimating tokens where no tokenizer's files are at hand.

The tokenizers of GPT models are downloaded on first use, which a plugin must not wait for. English text has about four characters to
a token, Japanese and Chinese about one; tool schemas count as the JSON that they are.
"""

import json
from collections.abc import Iterable

from dify_plugin.entities.model.message import PromptMessage, PromptMessageTool

from gpt5_messages import build_input
from gpt5_payloads import function_tool


_CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_ITEM = 4  # what the API adds around each message


def estimate_tokens(messages: Iterable[PromptMessage], tools: Iterable[PromptMessageTool]) -> int:
    """Estimate the input tokens of a call: a number from 0 up, usually within a quarter of the truth."""
    parts = [*build_input(messages), *(function_tool(tool) for tool in tools)]
    texts = (json.dumps(part, ensure_ascii=False) for part in parts)
    return sum(_TOKENS_PER_ITEM + _estimate(text) for text in texts)


def _estimate(text: str) -> int:
    narrow = sum(character.isascii() for character in text)
    return len(text) - narrow + narrow // _CHARACTERS_PER_TOKEN
