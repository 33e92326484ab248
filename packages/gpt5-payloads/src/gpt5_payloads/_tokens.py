"""How many tokens a request is, before a server has counted them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from ._image_tokens import count_media_tokens
from ._parts import iter_parts
from ._profiles import profile_for


_CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_PART = 4  # what the API adds around each message and tool
_NOT_READ = frozenset(
    {
        *("type", "id", "status", "call_id", "encrypted_content"),
        *("image_url", "file_data", "file_url", "file_id", "detail"),  # counted by other rules
        "fingerprint",
    }
)


def estimate_text_tokens(text: str) -> int:
    """Estimate the tokens of a text: four Latin characters to a token, or one of any other script. A number from 0 up."""
    narrow = sum(character.isascii() for character in text)
    return len(text) - narrow + narrow // _CHARACTERS_PER_TOKEN


def count_tokens(
    items: Iterable[Mapping[str, Any]],
    tools: Iterable[Mapping[str, Any]] = (),
    *,
    model: str = "",
    count: Callable[[str], int] = estimate_text_tokens,
) -> int:
    """Count the tokens of a request's input and tools, from 0 up.

    Tools count as the JSON that they are. Reasoning that travels encrypted is not counted, because nobody but the server knows its size.
    Images count by OpenAI's rules for the model, files by a guess from their size.

    Args:
        items: The items of `input`.
        tools: The function tools, as `function_tool` makes them.
        model: The model's name, by which images count.
        count: Counts the tokens of one text, such as a tokenizer; by default an estimate.
    """
    profile, texts, media = profile_for(model), list[str](), 0
    for item in items:
        texts.append("".join(iter_texts(item)))
        media += sum(count_media_tokens(part, profile) for part in iter_parts(item))
    texts += [json.dumps(tool, ensure_ascii=False) for tool in tools]
    return media + sum(_TOKENS_PER_PART + count(text) for text in texts)


def iter_texts(value: object) -> Iterator[str]:
    """Yield the texts in an item, or in a list of them, that the model reads."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        if members.get("type") == "image_generation_call":
            return  # an image and nothing else
        for key, part in members.items():
            if key not in _NOT_READ:
                yield from iter_texts(part)
    elif isinstance(value, list):
        for part in cast("list[object]", value):
            yield from iter_texts(part)
