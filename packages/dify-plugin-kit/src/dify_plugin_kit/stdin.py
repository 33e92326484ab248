"""The lines that a plugin's process reads from Dify's plugin daemon.

The plugin SDK's parser takes 200 levels of nesting. It cannot say which session a deeper line belongs to, so the
caller, or the run that waits for a tool's answer, waits until the platform's time is up. One deep value in a tool's
JSON is enough.

Source: dify-plugin 0.10.2, `core/server/stdio/request_reader.py`; pydantic-core 2.46, whose JSON parser bounds recursion.
"""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any


__all__ = ["DEEPEST", "bound_depth", "cut_depth", "parse_line"]

DEEPEST = 150
"""How many levels of a line are kept: with the levels that the SDK wraps around them, they can still be parsed and written."""

_LEFT_OUT = b'"[left out: nested deeper than %d levels]"' % DEEPEST
# Matches strings whole, so that brackets inside them do not count, and possessively, so that one
# without an end fails without backtracking.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)


def bound_depth(reader: Any) -> None:
    """Make a reader of the SDK parse lines of any depth, as `parse_line` does.

    Args:
        reader: The SDK's module, which parses with its `TypeAdapter`.
    """
    # The SDK makes one for each line, which takes thirty times as long as to parse it.
    reader.TypeAdapter = cache(partial(_AnyDepth, reader.TypeAdapter))


class _AnyDepth:
    """Stand-in for pydantic's `TypeAdapter`, by which the SDK parses a line."""

    def __init__(self, make_adapter: Callable[[object], Any], kind: object) -> None:
        self._parse = make_adapter(kind).validate_json

    def validate_json(self, line: bytes) -> Any:
        return parse_line(line, self._parse)


def parse_line[Value](line: bytes, parse: Callable[[bytes], Value]) -> Value:
    """Parse a line, and if `parse` refuses it, parse what is left of it without the levels that are too deep.

    Raises:
        ValueError: If `parse` raises it for another reason than the depth.
    """
    try:
        return parse(line)
    except ValueError:
        flat = cut_depth(line)
        # The very same object: nothing was too deep, so the line is refused for something else.
        if flat is line:
            raise
    return parse(flat)


def cut_depth(line: bytes) -> bytes:
    """Return a JSON text with a sentence in place of each object and list below the 150th level; a flatter text as it is.

    Takes time in proportion to the text, and no recursion. A text that is not JSON does not become JSON.

    Example:
        >>> cut_depth(b"[" * 151 + b"]" * 151).count(b"left out")
        1
    """
    kept: list[bytes] = []
    depth = start = 0
    for token in _TOKEN.finditer(line):
        match token.group()[:1]:
            case b"[" | b"{":
                depth += 1
                if depth == DEEPEST + 1:
                    kept += [line[start : token.start()], _LEFT_OUT]
            case b"]" | b"}":
                if depth == DEEPEST + 1:
                    start = token.end()
                depth -= 1
            case _:
                pass
    return b"".join((*kept, line[start:])) if kept else line
