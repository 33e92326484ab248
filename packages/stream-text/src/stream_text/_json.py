"""JSON as the standard has it: no NaN, nothing that cannot be written again, no depth that breaks a reader."""

import json
import math
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from ._errors import InvalidJsonError


MAX_DEPTH: Final = 200
"""How deep a text may nest: far beyond honest data, far below every recursion limit; our choice."""


def parse_json(text: str, *, max_depth: int = MAX_DEPTH) -> Any:
    """Return the value of a JSON text.

    Of a key that stands twice in an object, the later value counts.

    Args:
        text: The text.
        max_depth: How many levels of objects and lists may stand inside each other.

    Raises:
        InvalidJsonError: If the text is not JSON, holds a number that Python cannot write back, or nests deeper than `max_depth`.
            The message says where, and quotes nothing of the text but a misplaced `NaN` or `Infinity`.

    Example:
        >>> parse_json('{"a": [1, 2.5]}')
        {'a': [1, 2.5]}
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise _too_deep(max_depth) from None
    except InvalidJsonError:
        raise
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        # Some of its messages end with the word themselves.
        raise InvalidJsonError(f"{error.msg.removesuffix(' at')} at {where}") from None
    except ValueError:  # of `int`, whose limit guards against endless conversions
        raise InvalidJsonError("expected a number with fewer digits") from None
    # Only a text with this many brackets can nest so deep; hardly any is walked through.
    if text.count("[") + text.count("{") > max_depth and _is_deeper_than(value, max_depth):
        raise _too_deep(max_depth)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidJsonError(f"{name} is not JSON")


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidJsonError("expected a number within the range of a float")
    return number


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_float)


def _too_deep(max_depth: int) -> InvalidJsonError:
    return InvalidJsonError(f"expected at most {max_depth} levels of nesting")


def _is_deeper_than(value: Any, limit: int) -> bool:
    """Return whether objects and lists nest over `limit` levels, found level by level without recursion."""
    level = _containers([value])
    for _ in range(limit):
        level = _containers(inner for container in level for inner in _inner_values(container))
    return bool(level)


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if type(value) in {dict, list}]


def _inner_values(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container  # pyright: ignore[reportUnknownVariableType] - any JSON
