"""Searching a text for an untrusted pattern, in a bounded time whatever the pattern is."""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final


_MAX_MEMORY_BYTES: Final = 1024 * 1024  # for a compiled expression and its automaton
# Bytes times instructions of the expression. At worst RE2 takes a second or two for 100 million of
# them; nearly all expressions are far faster.
_MAX_STEPS: Final = 30_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedText:
    """The result of a search in a text.

    Attributes:
        places: The start and end of each match, in characters; the end is exclusive.
        start: Where the search began.
        end: Where it ended: before the end of the text if it would have taken too long, or if enough was found.
        is_pattern: Whether the text was searched for a regular expression, not for plain text.
    """

    places: tuple[tuple[int, int], ...]
    start: int
    end: int
    is_pattern: bool


def can_search_patterns() -> bool:
    """Return whether a pattern may be a regular expression, which takes the extra `patterns` (RE2)."""
    return _find_library() is not None


def search_text(text: str, pattern: str, *, offset: int, most: int) -> SearchedText:
    """Search a text for a regular expression of RE2, or for a plain text if the pattern is not one or the extra `patterns` is missing.

    Args:
        text: The text.
        pattern: The expression, or the plain text.
        offset: The character to start from.
        most: The maximum number of matches, at least 1.
    """
    expression = _compile(pattern)
    if expression is None:
        return _search_plain(text, pattern, offset, most)
    data = text[offset:].encode(errors="replace")
    reach = min(len(data), _MAX_STEPS // max(expression.programsize, 1))
    found = islice(expression.finditer(data, 0, reach), most)
    # RE2 counts bytes and the model counts characters, so both are tracked.
    places: list[tuple[int, int]] = []
    read, characters = 0, offset
    for match in found:
        start, end = match.span()
        characters += len(data[read:start].decode(errors="replace"))
        length = len(data[start:end].decode(errors="replace"))
        places.append((characters, characters + length))
        read, characters = end, characters + length
    if len(places) == most:
        # At least one further: an empty match would be found again for ever.
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
    """Return the compiled expression; None if RE2 is not installed or the pattern is not valid."""
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
        library.purge()  # Its cache would keep untrusted patterns.


def _find_library() -> Any:
    try:
        import re2  # noqa: PLC0415 - an extra  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return None
    return re2
