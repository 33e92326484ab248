"""Token counts, before a call or if the server reports none.

The tokenizer of GPT-5 models is built from a vocabulary in the plugin, so nothing is fetched. The file is OpenAI's own
`o200k_base.tiktoken`, compressed; it equals tiktoken's download byte for byte and has the digest that tiktoken expects.

Source: tiktoken 0.14, `tiktoken_ext/openai_public.py`, for digest and rules.
"""

import lzma
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from gpt5_messages import Completion, Usage, build_input
from gpt5_payloads import count_tokens, function_tool, sendable_tools

from ._model_call import ModelCall
from ._tool_names import with_sent_names


_FILE = Path(__file__).parent / "vocabulary" / "o200k_base.tiktoken.xz"
_COUNTED_ITEMS = ("reasoning", "function_call", "custom_tool_call")  # beside texts
# The pattern by which `o200k_base` splits a text into words.
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORD = "|".join(
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}{first}{_LOWER}{then}{_CONTRACTIONS}"
    for first, then in (("*", "+"), ("+", "*"))
)
_REST = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
# Text without blanks takes disproportionately long, and a million blanks crash the tokenizer.
_PIECE_CHARACTERS = 16_384
_REACH_CHARACTERS = 1_024  # How far back to look for a better place to cut.


def estimate_tokens(call: ModelCall) -> int:
    """Count the input tokens of a call: plain text within three tokens or three percent, the rest as docs/token-counts.md says.

    The model behind the name determines how images and the framing of texts count.
    """
    call = with_sent_names(call)
    functions = [function_tool(tool) for tool in sendable_tools(call.tools)[0]]
    items = build_input(call.messages, lenient=True)
    return count_tokens(items, functions, model=call.base_model, count=text_counter())


def complete_usage(request: Mapping[str, Any], completion: Completion) -> Usage:
    """Return the usage of a response, with an estimate of what the server has not counted.

    A stream that a stop sequence closes never gets to its usage; some servers report none, or nothing of the input,
    without which there is no response.
    """
    usage = completion.usage
    if usage is not None and usage.input_tokens:
        return usage
    estimate = _estimate_usage(request, completion)
    if usage is None:
        return estimate
    output_tokens = usage.output_tokens or estimate.output_tokens
    return replace(
        usage,
        input_tokens=estimate.input_tokens,
        output_tokens=output_tokens,
        total_tokens=max(usage.total_tokens, estimate.input_tokens + output_tokens),
    )


def _estimate_usage(request: Mapping[str, Any], completion: Completion) -> Usage:
    """Estimate the usage of a response that the server did not report; reasoning that it neither shows nor returns is missing."""
    count = text_counter()
    input_tokens = count_tokens(
        request["input"],
        request.get("tools", ()),
        model=request["model"],
        count=count,
        text_format=request["text"]["format"],
    )
    shown = (completion.text, completion.refusal, *completion.reasoning_summaries)
    others = [item for item in completion.items if item.get("type") in _COUNTED_ITEMS]
    output_tokens = sum(count(text) for text in shown)
    output_tokens += count_tokens(others, model=request["model"], count=count)
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens,
    )


@cache
def text_counter() -> Callable[[str], int]:
    """Return a function that counts the tokens of a text; the first call takes a second and tens of megabytes."""
    # Imported only here, so that a plugin that counts nothing does not pay for it.
    import tiktoken  # noqa: PLC0415

    lines = (line.split() for line in lzma.decompress(_FILE.read_bytes()).splitlines())
    encoding = tiktoken.Encoding(
        "o200k_base",
        pat_str=f"{_WORD}|{_REST}",
        mergeable_ranks={b64decode(token): int(rank) for token, rank in lines},
        special_tokens={},
    )

    def count(text: str) -> int:
        total = 0
        for piece in _iter_pieces(text):
            total += len(encoding.encode_ordinary(piece))
            if len(piece) < len(text):
                time.sleep(0)  # Under gevent, other calls would wait for a long text.
        return total

    return count


def _iter_pieces(text: str) -> Iterator[str]:
    """Cut a text into pieces, preferably before a blank that follows a letter or digit, so that together they have as many tokens as the whole."""
    start = 0
    while len(text) - start > _PIECE_CHARACTERS:
        end = start + _PIECE_CHARACTERS
        for place in range(end, end - _REACH_CHARACTERS, -1):
            if text[place] == " " and text[place - 1].isalnum():
                end = place
                break
        yield text[start:end]
        start = end
    yield text[start:]
