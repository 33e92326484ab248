"""A model's arguments for a tool call: parsed, and accepted or refused."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from stream_text import is_object, parse_json

from ._json_text import JsonSchema


_MAX_DEPTH: Final = 100  # Far above any honest call, far below what exhausts a stack further on.
# What fits into 64 bits, which is all that most readers of JSON have for a whole number.
MAX_DIGITS: Final = 19
# A string is one piece even if its end is missing, so that no text is scanned twice.
_PIECE: Final = re.compile(
    r'"(?:[^"\\]|\\.)*\\?(?:"|\Z)|[\[\]{}]|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?', re.DOTALL
)
_LONG_NUMBER: Final = re.compile(rf"[0-9]{{{MAX_DIGITS + 1}}}")  # `\d` takes twice the time
_MAX_NAME_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedArguments:
    """Arguments that may be used.

    Attributes:
        args: The arguments.
        dropped: The names of arguments that the model gave but may not set, because the tool's form sets them.
        shown: The arguments that a model and a person may see; None for all.
        schema: The JSON schema that they fit, if the code that has bound them says so.
        is_external: Whether the call is one of an external tool; see `Tool`.
        ok: True.
        error: None.
    """

    args: dict[str, Any]
    dropped: tuple[str, ...] = ()
    shown: Mapping[str, Any] | None = None
    schema: JsonSchema | None = field(default=None, repr=False, compare=False)
    is_external: bool = False
    ok: Literal[True] = field(default=True, init=False)
    error: None = field(default=None, init=False)

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedArguments:
    """Arguments that may not be used.

    Attributes:
        error: The reason, in a sentence.
        ok: False.
        args: Nothing.
    """

    error: str
    ok: Literal[False] = field(default=False, init=False)
    args: dict[str, Any] = field(default_factory=dict[str, Any], init=False)

    def __bool__(self) -> Literal[False]:
        return False


ToolArguments = AcceptedArguments | RefusedArguments
"""Accepted or refused arguments: `ok` says which, and so does their truth value.

`if not bound: return bound.error` narrows for every type checker, `if not bound.ok` for mypy alone.
"""


def parse_tool_arguments(arguments: object) -> ToolArguments:
    """Parse the arguments of a tool call, and never raise.

    Only text that holds a JSON object passes; empty text stands for no arguments. NaN, infinite numbers and unpaired
    surrogates are not valid JSON here. Nesting over 100 levels and whole numbers of over 19 digits are refused by
    the name of their parameter, because later readers may break on them.
    """
    if not isinstance(arguments, str):
        return RefusedArguments(error="tool arguments must be a JSON object string")
    if not arguments:
        return AcceptedArguments(args={})
    try:
        value = _parse_carriable_json(arguments)
    except ValueError:
        return RefusedArguments(
            error=_find_excess(arguments) or "tool arguments must be valid JSON object"
        )
    # A cheap search first; its finding may be inside a string, which only the second search can tell.
    if _LONG_NUMBER.search(arguments) and (excess := _find_excess(arguments)):
        return RefusedArguments(error=excess)
    if not is_object(value):
        return RefusedArguments(error="tool arguments must be a JSON object")
    return AcceptedArguments(args=dict(value))


def _find_excess(text: str) -> str | None:
    """Return a sentence that names the first parameter that is too deep or has too many digits; None if there is none."""
    depth = 0
    name: str | None = None
    for match in _PIECE.finditer(text):
        piece = match[0]
        if piece[0] == '"':
            name = piece[1:-1][:_MAX_NAME_CHARACTERS] if depth == 1 else name
        elif piece in "[{":
            depth += 1
        elif piece in "]}":
            depth -= 1
        elif name is not None and (excess := _find_number_excess(piece)):
            return f"parameter '{name}' has {excess}"
        if name is not None and depth > _MAX_DEPTH:
            return f"parameter '{name}' nests over {_MAX_DEPTH} levels deep"
    return None


def _find_number_excess(piece: str) -> str | None:
    digits = piece.lstrip("-")
    if digits.isdigit():
        is_long = len(digits) > MAX_DIGITS
        return f"a whole number of over {MAX_DIGITS} digits" if is_long else None
    return None if math.isfinite(float(piece)) else "a number that is too large"


def _parse_carriable_json(text: str) -> object:
    """Parse JSON, and refuse unpaired surrogates: JSON can spell them, but no message or log can carry them."""
    value: object = parse_json(text, max_depth=_MAX_DEPTH)
    # What no escape has spelt stands in the text itself.
    (json.dumps(value, ensure_ascii=False) if "\\u" in text else text).encode()
    return value
