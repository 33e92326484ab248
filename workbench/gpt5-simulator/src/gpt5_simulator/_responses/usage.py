"""Token counts, and the prompt cache that earlier requests have filled.

Four characters count as one token, which is a little wrong everywhere and the same on every machine.
"""

import hashlib
import math
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from gpt5_simulator._json import Json, dump, object_at, objects_in
from gpt5_simulator._media import without_data
from gpt5_simulator._request import ModelRequest


CHARS_PER_TOKEN = 4

_BLOCK_TOKENS = 128
_MIN_CACHED_TOKENS = 1024
_MAX_BLOCKS = 16384  # in memory, of 16 bytes each; our choice
_PICTURE_PIXELS = 1024 * 1024
_SIZE = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})")
_PICTURE_TOKENS = {"low": 272, "medium": 1056, "high": 4160}
_REASONING_TOKENS = {"low": 64, "medium": 128, "high": 320, "xhigh": 640, "max": 1280}


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def reasoning_tokens(effort: str) -> int:
    """Return the tokens of a reasoning item at an effort; 0 if none is sent."""
    return _REASONING_TOKENS.get(effort, 0)


def prompt_text(request: ModelRequest) -> str:
    """Return the whole text that the model reads, in the order in which a real server caches it."""
    head = [dump(request.body.get("tools") or []), str(request.body.get("instructions") or "")]
    return "\n".join([*head, *map(_written, request.items)])


def _written(item: Json) -> str:
    """Return an item as the model reads it."""
    return dump(without_data(item))


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheUse:
    """The tokens of a prompt that came from the cache, and those that were written to it.

    Attributes:
        cached: Tokens read from the cache.
        written: Tokens written to it and billed; None if the model bills none.
        ttl: How long they are kept.
    """

    cached: int
    written: int | None
    ttl: str


def build_usage(*, prompt: str, cache: CacheUse, output: int, reasoning: int) -> Json:
    """Build the `usage` object.

    Args:
        prompt: The text that the model read.
        cache: The part of it that came from the cache, and the part that was written to it.
        output: All output tokens, including those for reasoning.
        reasoning: The output tokens that were spent on reasoning.
    """
    read = count_tokens(prompt)
    details: Json = {"cache_write_tokens": cache.written or 0, "cached_tokens": cache.cached}
    if cache.written is not None:
        spent = {f"ttl_{ttl}_tokens": 0 for ttl in ("30m", "12h")}
        details["cache_write_tokens_details"] = spent | {f"ttl_{cache.ttl}_tokens": cache.written}
    return {
        "input_tokens": read,
        "input_tokens_details": details,
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": read + output,
    }


def build_tool_usage(output: Sequence[Json] = ()) -> Json:
    """Build the `tool_usage` object: billable searches, and the tokens of generated images."""
    searches = [
        item
        for item in output
        if item["type"] == "web_search_call" and object_at(item, "action").get("type") == "search"
    ]
    pictures = [item for item in output if item["type"] == "image_generation_call"]
    read = sum(count_tokens(str(item.get("revised_prompt") or "")) for item in pictures)
    made = sum(map(_picture_tokens, pictures))
    return {
        "image_gen": {
            "input_tokens": read,
            "input_tokens_details": {"image_tokens": 0, "text_tokens": read},
            "output_tokens": made,
            "output_tokens_details": {"image_tokens": made, "text_tokens": 0},
            "total_tokens": read + made,
        },
        "web_search": {"num_requests": len(searches)},
    }


def _picture_tokens(item: Json) -> int:
    """Return the tokens of a picture, by its quality and in proportion to its area.

    Source: https://platform.openai.com/docs/guides/image-generation, the tokens of a square.
    """
    if not item.get("result"):
        return 0
    found = _SIZE.fullmatch(str(item.get("size")))
    pixels = int(found[1]) * int(found[2]) if found else _PICTURE_PIXELS
    tokens = _PICTURE_TOKENS.get(str(item.get("quality")), _PICTURE_TOKENS["high"])
    return round(tokens * pixels / _PICTURE_PIXELS)


class PromptCache:
    """The prompts so far, as blocks of 128 tokens, each identified together with everything before it.

    So the cached part of a prompt is the longest run of whole blocks from its beginning that it shares with one earlier prompt.
    Nothing under 1,024 tokens is cached. The oldest blocks are dropped first.

    Source: https://platform.openai.com/docs/guides/prompt-caching, and the steps of `cached_tokens` in recorded traffic.
    """

    def __init__(self) -> None:
        self._blocks: OrderedDict[bytes, None] = OrderedDict()

    def use(self, prompt: str, *, scope: str, request: ModelRequest) -> CacheUse:
        """Return how much of `prompt` is cached within `scope`, and cache it according to the request's `prompt_cache_options`."""
        hits = 0
        options = object_at(request.body, "prompt_cache_options")
        chain = _chain(prompt[: _cached_length(request, options, prompt)], scope=scope)
        for position, block in enumerate(chain):
            if position == hits and block in self._blocks:
                hits += 1
        self._remember(chain)
        cached, kept = (
            tokens if tokens >= _MIN_CACHED_TOKENS else 0
            for tokens in (hits * _BLOCK_TOKENS, len(chain) * _BLOCK_TOKENS)
        )
        written = kept - cached if request.profile.has_cache_options else None
        return CacheUse(cached=cached, written=written, ttl=str(options.get("ttl") or "30m"))

    def _remember(self, chain: list[bytes]) -> None:
        for block in chain:
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > _MAX_BLOCKS:
            self._blocks.popitem(last=False)


def _cached_length(request: ModelRequest, options: Json, prompt: str) -> int:
    """Return how many characters of a prompt may be cached: all, or in explicit mode those before the last breakpoint."""
    if options.get("mode") != "explicit":
        return len(prompt)
    rest = 0
    for item in reversed(request.items):
        if any("prompt_cache_breakpoint" in part for part in objects_in(item.get("content"))):
            return len(prompt) - rest
        rest += len(_written(item)) + 1
    return 0


def _chain(prompt: str, *, scope: str) -> list[bytes]:
    size = _BLOCK_TOKENS * CHARS_PER_TOKEN
    # One running digest: each block's is that of the scope and of all blocks up to it.
    digest = hashlib.sha256(scope.encode())
    chain: list[bytes] = []
    for start in range(0, len(prompt) - size + 1, size):
        digest.update(prompt[start : start + size].encode(errors="surrogatepass"))
        chain.append(digest.digest()[:16])
    return chain
