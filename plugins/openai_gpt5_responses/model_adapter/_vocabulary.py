"""The tokenizer of GPT-5 models, made of a vocabulary that is part of the plugin: nothing is fetched.

The file is OpenAI's own `o200k_base.tiktoken`, compressed; it is what tiktoken would download, to the byte, and as it is named there by its digest.

Source: tiktoken 0.14, `tiktoken_ext/openai_public.py`, for digest and rules.
"""

import lzma
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path


_FILE = Path(__file__).parent / "vocabulary" / "o200k_base.tiktoken.xz"
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORD = "|".join(
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}{first}{_LOWER}{then}{_CONTRACTIONS}"
    for first, then in (("*", "+"), ("+", "*"))
)
_REST = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
# A text without blanks takes more than its share of time, and a million blanks end the tokenizer.
_PIECE_CHARACTERS = 16_384
_REACH_CHARACTERS = 1_024  # how far back a piece may end for a better place


@cache
def text_counter() -> Callable[[str], int]:
    """Return what counts the tokens of a text; the first call takes a second and tens of megabytes."""
    # Only here: a plugin that counts nothing should not spend that.
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
                time.sleep(0)  # under gevent other calls would wait for a long text
        return total

    return count


def _iter_pieces(text: str) -> Iterator[str]:
    """Cut a text, where it can be right before a blank that follows a letter, so that as many tokens come out as of the whole."""
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
