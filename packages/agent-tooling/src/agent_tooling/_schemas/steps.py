"""Counting the steps of a check, which a schema and a value multiply.

What takes long is counted and not timed, so that a check finds the same wherever it is made again.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from stream_text import is_list, is_object

from .references import REFERENCES


MOST_STEPS: Final = 500_000
"""How many steps a check may take: at most about a second, and twice what the longest answer of a model takes. Our choice."""

_ERROR_STEPS: Final = 10
_ERROR_CHARACTERS: Final = 50  # to a step, since an error quotes the value
_REFERENCE_STEPS: Final = 8
_SCHEMA_STEPS: Final = 2
_LISTS_OF_SCHEMAS: Final = frozenset({"allOf", "anyOf", "oneOf"})
_WHOLE: Final = frozenset({"const", "enum", "uniqueItems"})


@dataclass(slots=True)
class _Steps:
    most: int
    left: int
    made: dict[str, Any] = field(default_factory=dict[str, Any])


_steps: ContextVar[_Steps | None] = ContextVar("steps", default=None)


@contextmanager
def limit_steps(most: int = MOST_STEPS) -> Generator[None]:
    """Let a check take so many steps; then it raises a `RecursionError`."""
    before = _steps.set(_Steps(most, most))
    try:
        yield
    finally:
        _steps.reset(before)


def spend(steps: int) -> None:
    """Count steps of a check, of about a microsecond each, unless it has no limit."""
    if (counted := _steps.get()) is not None:
        counted.left -= steps
        if counted.left < 0:
            raise RecursionError(f"more than {counted.most:,} steps")


def make_once[Made](key: str, make: Callable[[str], Made], steps: int) -> Made:
    """Return what is made of a text once in a check, and count the steps that it takes.

    They count even if the result is cached elsewhere, so that each check finds the same.
    """
    counted = _steps.get()
    if counted is None:
        return make(key)
    if key not in counted.made:
        spend(steps)
        counted.made[key] = make(key)
    return counted.made[key]


def counting(name: str, check: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    """Return jsonschema's function for a keyword so that it counts what it looks at."""
    own = 1 + _REFERENCE_STEPS * (name in REFERENCES)
    each = 1 + _SCHEMA_STEPS * (name in _LISTS_OF_SCHEMAS)
    is_beside, is_whole = name.startswith("unevaluated"), name in _WHOLE

    def count(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        # Written out, since each check of a call comes by here a few dozen times.
        inner = len(wanted) if isinstance(wanted, (list, dict)) else 0  # pyright: ignore[reportUnknownArgumentType] - any JSON
        steps = own + each * inner
        if isinstance(value, (list, dict)):
            steps += len(value)  # pyright: ignore[reportUnknownArgumentType] - any JSON
            if is_whole:
                steps += _count_values(value) * max(inner, 1)
            elif is_beside:  # Looks at all that stands beside it for each member.
                steps += _count_values(schema) * (1 + len(value))  # pyright: ignore[reportUnknownArgumentType] - any JSON
        spend(steps)
        return map(_count_error, check(validator, wanted, value, schema) or ())

    return count


def _count_error(error: Any) -> Any:
    spend(_ERROR_STEPS + len(error.message) // _ERROR_CHARACTERS)
    return error


def _count_values(value: Any) -> int:
    if is_object(value):
        value = list(value.values())
    return sum(map(_count_values, value), 1) if is_list(value) else 1
