"""Where a pattern that a stranger has written stands in a text, in a time that is bounded whatever he has written."""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final


_MAX_MEMORY_BYTES: Final = 1024 * 1024  # of a compiled expression and its automaton
# Bytes times instructions of the expression, of which RE2 makes at worst 100 million in a second or two; nearly all expressions are far faster.
_MAX_STEPS: Final = 30_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedText:
    """What was found in a text.

    Attributes:
        places: Where it was found: the first character and the one behind the last, of each place.
        start: Where the search began.
        end: Where it ended, before the end of the text where it would have taken too long, or enough was found.
        is_pattern: Whether it was a regular expression, and no plain text.
    """

    places: tuple[tuple[int, int], ...]
    start: int
    end: int
    is_pattern: bool


def can_search_patterns() -> bool:
    """Return whether a pattern may be a regular expression: with the extra `patterns` (RE2)."""
    return _find_library() is not None


def search_text(text: str, pattern: str, *, offset: int, most: int) -> SearchedText:
    """Look for a regular expression of RE2's; what is none, or without the extra `patterns`, is a plain text.

    Args:
        text: The text.
        pattern: The expression, or the text.
        offset: From which character on.
        most: How many places to find at most, at least 1.
    """
    expression = _compile(pattern)
    if expression is None:
        return _search_plain(text, pattern, offset, most)
    data = text[offset:].encode(errors="replace")
    reach = min(len(data), _MAX_STEPS // max(expression.programsize, 1))
    found = islice(expression.finditer(data, 0, reach), most)
    # RE2 counts bytes and the model characters, so both go along.
    places: list[tuple[int, int]] = []
    read, characters = 0, offset
    for match in found:
        start, end = match.span()
        characters += len(data[read:start].decode(errors="replace"))
        length = len(data[start:end].decode(errors="replace"))
        places.append((characters, characters + length))
        read, characters = end, characters + length
    if len(places) == most:
        # One further at least: an empty match would be found again for ever.
        end = max(places[-1][1], places[-1][0] + 1)
    else:
        end = characters + len(data[read:reach].decode(errors="ignore"))
    return SearchedText(places=tuple(places), start=offset, end=end, is_pattern=True)


def _search_plain(text: str, pattern: str, offset: int, most: int) -> SearchedText:
    found = islice(re.compile(re.escape(pattern)).finditer(text, offset), most)
    places = tuple(match.span() for match in found)
    end = places[-1][1] if len(places) == most else len(text)
    return SearchedText(places=places, start=offset, end=end, is_pattern=False)


def _compile(pattern: str) -> Any:
    """Return RE2's expression, None where that is not installed or the pattern is none."""
    library = _find_library()
    if library is None:
        return None
    options = library.Options()
    options.max_mem = _MAX_MEMORY_BYTES
    options.log_errors = False
    try:
        return library.compile(pattern, options)
    except library.error:
        return None
    finally:
        library.purge()  # Its cache would keep what strangers write.


def _find_library() -> Any:
    try:
        import re2  # noqa: PLC0415 - an extra  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return None
    return re2
