"""Counting tokens before, or without, a server that counts them.

Where the files of the model's tokenizer are in tiktoken's cache, as they are in Dify's plugin daemon, they are used; they are never
downloaded, because a plugin must not wait for that. Elsewhere the number is estimated: English text has about four characters to a
token, Japanese and Chinese about one. Tools count as the JSON that they are; reasoning that travels encrypted is not counted.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dify_plugin.entities.model.message import PromptMessage, PromptMessageTool

from gpt5_messages import Completion, Usage, build_input
from gpt5_payloads import function_tool


_CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_ITEM = 4  # what the API adds around each message
_NOT_TEXT = ("type", "id", "status", "call_id", "encrypted_content")

# Source: tiktoken 0.14, `tiktoken/load.py` for the file's name and `tiktoken_ext/openai_public.py` for address and digest.
_ENCODING = "o200k_base"
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_DIGEST = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


def estimate_tokens(messages: Iterable[PromptMessage], tools: Iterable[PromptMessageTool]) -> int:
    """Count the input tokens of a call, from 0 up; without the tokenizer usually within a quarter of the truth."""
    return _count_request(build_input(messages), [function_tool(tool) for tool in tools])


def estimate_usage(request: Mapping[str, Any], completion: Completion) -> Usage:
    """Count what a response has used of which the server has not said it; reasoning that was not shown is missing."""
    given = _count_request(request["input"], request.get("tools", ()))
    shown = (completion.text, completion.refusal, *completion.reasoning_summaries)
    made = sum(_counter()(text) for text in shown)
    return Usage(input_tokens=given, output_tokens=made, total_tokens=given + made)


def _count_request(items: Iterable[Mapping[str, Any]], tools: Iterable[Mapping[str, Any]]) -> int:
    count = _counter()
    texts = ["".join(_iter_texts(item)) for item in items]
    texts += [json.dumps(tool, ensure_ascii=False) for tool in tools]
    return sum(_TOKENS_PER_ITEM + count(text) for text in texts)


def _iter_texts(value: object) -> Iterator[str]:
    """Yield the texts in an item that the model reads."""
    match value:
        case str():
            yield value
        case list():
            for part in value:
                yield from _iter_texts(part)
        case dict():
            for key, part in value.items():
                if key not in _NOT_TEXT:
                    yield from _iter_texts(part)
        case _:
            pass


@cache
def _counter() -> Callable[[str], int]:
    return _tiktoken_counter() if _is_cached(os.environ) else _estimate


def _tiktoken_counter() -> Callable[[str], int]:
    # Only here: the tokenizer takes a second and tens of megabytes, which a plugin that counts nothing should not spend.
    import tiktoken  # noqa: PLC0415

    encoding = tiktoken.get_encoding(_ENCODING)
    return lambda text: len(encoding.encode_ordinary(text))


def _is_cached(environ: Mapping[str, str]) -> bool:
    """Say whether tiktoken has its file already, whole, so that it will not ask the network for it."""
    folder = environ.get("TIKTOKEN_CACHE_DIR", environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    name = hashlib.sha1(_ADDRESS.encode(), usedforsecurity=False).hexdigest()
    try:
        data = (Path(folder) / name).read_bytes() if folder else b""
    except OSError:
        return False
    return hashlib.sha256(data).hexdigest() == _DIGEST


def _estimate(text: str) -> int:
    narrow = sum(character.isascii() for character in text)
    return len(text) - narrow + narrow // _CHARACTERS_PER_TOKEN
