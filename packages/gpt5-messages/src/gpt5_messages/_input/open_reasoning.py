"""Open reasoning: what servers other than OpenAI's send as plain text, for the connection and model that made it alone.

It comes as `content` (vLLM, SGLang, llama.cpp, ogx, DeepSeek, LiteLLM), as a summary alone (oMLX), or as a text under
`encrypted_content` (Ollama, and Anthropic's thoughts behind LiteLLM), and goes back as it came: each server reads the
form that it writes. A mark, which never goes out, says who made it.

Source: docs/contracts/openai-gpt5-responses.md, A28; the shapes are those of vllm 0.33.0, sglang 0.5.23, llama.cpp
b11434, Ollama 0.17.4, ogx 1.5.0 and litellm 1.108.7.
"""

import re
from collections.abc import Iterable
from typing import Any

from gpt5_messages._completion.values import Item
from gpt5_messages._json import iter_mappings, text_at, type_of
from stream_text import MADE_BY_KEY, is_marked_reasoning


# What is encrypted has no blanks, is ASCII, and is no JSON. SGLang only packs it (`responses_adapters.py` of 0.5.23).
_SEALED = re.compile(r"(?!sglang-reasoning-|[\[{])[!-~]+")


def mark_open_reasoning(items: Iterable[Item], made_by: str | None) -> tuple[Item, ...]:
    """Return the items of a response, its open reasoning marked with who made it.

    Only marked, and only for the same `made_by`, does open reasoning go back: see `build_input`.

    Args:
        items: The output items of one response, in order.
        made_by: The mark of its connection and model, such as `gpt5_responses.Connection.reasoning_mark` returns; None leaves all items as they are.
    """
    if made_by is None:
        return tuple(items)
    return tuple(
        {**item, MADE_BY_KEY: made_by} if is_open_reasoning(item) else item for item in items
    )


def without_marks(items: Iterable[Any], made_by: str | None) -> list[Any]:
    """Return a request's input without marks, and without the open reasoning that another connection or model made.

    Args:
        items: The input; what is no item stays as it is.
        made_by: The mark of the connection and model that the request is for; None for OpenAI.
    """
    kept: list[Any] = []
    for item in items:
        if not is_marked_reasoning(item):
            kept.append(item)
        elif item[MADE_BY_KEY] == made_by:
            kept.append(_unmarked(item))
    return kept


def is_open_reasoning(item: Item) -> bool:
    """Return whether an item is reasoning that anybody can read."""
    if type_of(item) != "reasoning":  # Asked of each item of every response.
        return False
    text = _text(item, "content")
    if not _is_sealed(item):
        text += _text(item, "summary") + text_at(item, "encrypted_content")
    return bool(text.strip())


def returned_reasoning(item: Item, made_by: str | None) -> dict[str, Any] | None:
    """Return a reasoning item as it may go back; None if it may not."""
    if is_marked_reasoning(item):
        kept = _unmarked(item) if item[MADE_BY_KEY] == made_by else None
    else:
        # Of unknown origin: whoever kept it may have sealed it in a way of their own.
        blob = item.get("encrypted_content")
        kept = dict(item) if blob and blob != _text(item, "summary") else None
    # The API demands a summary. Source: docs/evidence/responses-api.md, R10.
    return kept and {**kept, "summary": kept.get("summary") or []}


def _is_sealed(item: Item) -> bool:
    """Return whether an item has reasoning that nobody but its server can read."""
    blob = text_at(item, "encrypted_content")
    return _SEALED.fullmatch(blob) is not None and blob != _text(item, "summary")


def _unmarked(item: Item) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != MADE_BY_KEY}


def _text(item: Item, key: str) -> str:
    """Return the text under `content` or `summary`, whatever the types of its parts."""
    parts = (text_at(part, "text") for part in iter_mappings(item.get(key)))
    return text_at(item, key) or "".join(parts)
