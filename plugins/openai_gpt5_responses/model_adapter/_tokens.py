"""Counting tokens before, or without, a server that counts them.

Where the files of the model's tokenizer are in tiktoken's cache, as they are in Dify's plugin daemon, they are used; they are never
downloaded, because a plugin must not wait for that. Elsewhere the number is estimated.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dify_plugin.entities.model.message import PromptMessage, PromptMessageTool

from gpt5_messages import Completion, Usage, build_input
from gpt5_payloads import count_tokens, estimate_text_tokens, function_tool


# Source: tiktoken 0.14, `tiktoken/load.py` for the file's name and `tiktoken_ext/openai_public.py` for address and digest.
_ENCODING = "o200k_base"
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_DIGEST = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


def estimate_tokens(
    messages: Iterable[PromptMessage], tools: Iterable[PromptMessageTool], *, model: str
) -> int:
    """Count the input tokens of a call, from 0 up; without the tokenizer usually within a quarter of the truth.

    Args:
        messages: The conversation.
        tools: What the model may call.
        model: The model behind the name, by which images count.
    """
    functions = [function_tool(tool) for tool in tools]
    return count_tokens(
        build_input(messages, lenient=True), functions, model=model, count=_counter()
    )


def estimate_usage(request: Mapping[str, Any], completion: Completion) -> Usage:
    """Count what a response has used of which the server has not said it; reasoning that was not shown is missing."""
    count = _counter()
    input_tokens = count_tokens(
        request["input"], request.get("tools", ()), model=request["model"], count=count
    )
    shown = (completion.text, completion.refusal, *completion.reasoning_summaries)
    output_tokens = sum(count(text) for text in shown)
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens,
    )


@cache
def _counter() -> Callable[[str], int]:
    return _tiktoken_counter() if _is_cached(os.environ) else estimate_text_tokens


def _tiktoken_counter() -> Callable[[str], int]:
    # Only here: the tokenizer takes a second and tens of megabytes, which a plugin that counts nothing should not spend.
    import tiktoken  # noqa: PLC0415

    encoding = tiktoken.get_encoding(_ENCODING)
    return lambda text: len(encoding.encode_ordinary(text))


def _is_cached(environ: Mapping[str, str]) -> bool:
    """Return whether tiktoken has its file already, whole, so that it will not ask the network for it."""
    folder = environ.get("TIKTOKEN_CACHE_DIR", environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    name = hashlib.sha1(_ADDRESS.encode(), usedforsecurity=False).hexdigest()
    try:
        data = (Path(folder) / name).read_bytes() if folder else b""
    except OSError:
        return False
    return hashlib.sha256(data).hexdigest() == _DIGEST
