"""The number of tokens of a request, before a server has counted them.

The text that the API adds around messages, calls and tools differs between models that reason and the older ones. The
numbers here make recorded requests and the usage that servers reported for them agree best.

Source: docs/token-counts.md, with the error of each kind of input.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stream_text import is_list, is_object

from ._image_tokens import count_media_tokens
from ._model_profile import ModelProfile
from ._parts import iter_parts
from ._profiles import profile_for
from ._tool_text import iter_tool_texts


_CHARACTERS_PER_TOKEN = 4
_OF_SCHEMA = 0.92  # of its JSON: the server does not show the model every keyword
_ENCRYPTED_HEAD, _ENCRYPTED_PER_TOKEN = 620, 8  # characters
_NOT_READ = frozenset(
    {
        *("type", "id", "status", "call_id", "encrypted_content", "role", "phase"),
        *("image_url", "file_data", "file_url", "file_id", "detail"),  # counted by other rules
        *("fingerprint", "annotations", "logprobs"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """The tokens that the API adds around the texts of a request.

    Attributes:
        request: Around all of it.
        message: Around a message.
        answer: Around a message of the model.
        call: Around a tool call.
        output: Around the output of a tool.
        tools: Around all tools.
    """

    request: int
    message: int = 4
    answer: int
    call: int
    output: int
    tools: int


_REASONING = _Frame(request=2, answer=6, call=11, output=9, tools=15)
_PLAIN = _Frame(request=3, answer=4, call=8, output=5, tools=9)


def estimate_text_tokens(text: str) -> int:
    """Estimate the tokens of a text, from 0 up: one for four characters of ASCII, and one for each other character."""
    narrow = sum(character.isascii() for character in text)
    return len(text) - narrow + narrow // _CHARACTERS_PER_TOKEN


def count_tokens(  # noqa: PLR0913  one keyword for each independent part of a request
    items: Iterable[Mapping[str, Any]],
    tools: Iterable[Mapping[str, Any]] = (),
    *,
    model: str = "",
    count: Callable[[str], int] = estimate_text_tokens,
    instructions: str | None = None,
    text_format: Mapping[str, Any] | None = None,
) -> int:
    """Count the tokens of a request's input, from 0 up; an empty request has none.

    Plain text is counted to within three tokens or three percent if `count` is the model's tokenizer. The counts of
    tools and schemas are estimates, as are those of files, images that only the server can fetch, and encrypted
    reasoning: docs/token-counts.md says how close they are. Other images count by OpenAI's rules for the model.

    Args:
        items: The items of `input`.
        tools: The tools, as `function_tool` and the other builders return them.
        model: The model's name, which decides how images count and what is added around texts.
        count: Counts the tokens of one text, such as a tokenizer; by default an estimate.
        instructions: The instructions besides the items.
        text_format: `text.format`; the model reads a schema in it.
    """
    profile = profile_for(model)
    frame = _REASONING if profile.reasoning else _PLAIN
    total = sum(_count_item(item, profile, frame, count) for item in _iter_read(items, profile))
    if instructions:
        total += frame.message + count(instructions)
    declared = [text for tool in tools for text in iter_tool_texts(tool)]
    if declared:
        total += frame.tools + sum(map(count, declared))
    if schema := (text_format or {}).get("schema"):
        written = json.dumps(schema, ensure_ascii=False, default=str, separators=(",", ":"))
        total += round(_OF_SCHEMA * count(written))
    return total + frame.request if total else 0


def _iter_read(
    items: Iterable[Mapping[str, Any]], profile: ModelProfile
) -> Iterator[Mapping[str, Any]]:
    """Yield the items that the model reads, without the reasoning of earlier turns if it ignores that."""
    held = list(items)
    # The turn begins with the user's last message; the server leaves out the reasoning before it by itself.
    asked = [index for index, item in enumerate(held) if item.get("role") == "user"]
    turn = asked[-1] if asked and "all_turns" not in profile.reasoning_contexts else 0
    for index, item in enumerate(held):
        if index >= turn or item.get("type") != "reasoning":
            yield item


def _count_item(
    item: Mapping[str, Any], profile: ModelProfile, frame: _Frame, count: Callable[[str], int]
) -> int:
    kind = item.get("type")
    # Other servers send what their models have thought as plain text, and read it again.
    if kind == "reasoning" and (thought := "".join(iter_texts(item.get("content")))):
        return count(thought)
    encrypted = item.get("encrypted_content")
    # A reasoning item or a compaction. Its size is all that can be seen of it.
    if isinstance(encrypted, str):
        return max(0, len(encrypted) - _ENCRYPTED_HEAD) // _ENCRYPTED_PER_TOKEN
    if kind == "reasoning":
        return 0  # its summary is for people
    around = {
        "function_call": frame.call,
        "custom_tool_call": frame.call,
        "function_call_output": frame.output,
        "custom_tool_call_output": frame.output,
    }
    plain = frame.answer if item.get("role") == "assistant" else frame.message
    media = sum(count_media_tokens(part, profile) for part in iter_parts(item))
    return around.get(str(kind), plain) + count("".join(iter_texts(item))) + media


def iter_texts(value: object) -> Iterator[str]:
    """Yield the texts in an item, or in a list of them, that the model reads."""
    if isinstance(value, str):
        yield value
    elif is_object(value):
        if value.get("type") == "image_generation_call":
            return  # an image and nothing else
        for key, part in value.items():
            if key not in _NOT_READ:
                yield from iter_texts(part)
    elif is_list(value):
        for part in value:
            yield from iter_texts(part)
