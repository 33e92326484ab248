"""JSON as the standard has it: no NaN, nothing that cannot be written again, no depth that breaks a reader."""

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn


MAX_DEPTH = 200  # our choice: far beyond honest data, far below every recursion limit


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Of a key that stands twice in an object, the later value counts.

    Raises:
        ValueError: If it is not JSON, holds a number that Python cannot write back, or nests deeper than `MAX_DEPTH`.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_float)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    # Only a text with this many brackets can nest so deep; hardly any is walked through.
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
    return value


_TOO_DEEP = f"expected at most {MAX_DEPTH} levels of nesting"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"expected a number within the range of a float, got {text[:20]!r}")
    return number


def _depth(value: Any) -> int:
    depth = 0
    level = _containers([value])
    while level:
        depth += 1
        level = _containers(inner for container in level for inner in _inner_values(container))
    return depth


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if type(value) in {dict, list}]


def _inner_values(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container  # pyright: ignore[reportUnknownVariableType] - any JSON
