"""The first difference between a recorded request and the one that came, as a sentence."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from gpt5_simulator._json import dump, is_array, is_object


_ABSENT: Any = object()
_MAX_CHARACTERS = 80
_MAX_PATH_CHARACTERS = 200
_CONTEXT_CHARACTERS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A place where two values differ.

    Attributes:
        path: The path to it, such as `input[2].content`.
        expected: What was recorded, as text.
        got: What came, as text.
    """

    path: str
    expected: str
    got: str

    def __str__(self) -> str:
        """Return it as a sentence."""
        return f"{self.path}: expected {self.expected}, got {self.got}"


def find_difference(expected: object, got: object, path: str) -> Difference | None:
    """Return the first difference between two decoded JSON values; None if there is none."""
    return next(_iter_differences(expected, got, path), None)


def _iter_differences(expected: Any, got: Any, path: str) -> Iterator[Difference]:
    if is_object(expected) and is_object(got):
        for name in expected | got:
            inner = f"{path}.{name}" if path else name
            yield from _iter_differences(expected.get(name, _ABSENT), got.get(name, _ABSENT), inner)
    elif is_array(expected) and is_array(got):
        pairs = zip_longest(expected, got, fillvalue=_ABSENT)
        for index, (recorded, come) in enumerate(pairs):
            yield from _iter_differences(recorded, come, f"{path}[{index}]")
    elif expected != got or isinstance(expected, bool) != isinstance(got, bool):
        yield _difference(expected, got, path)


def _difference(expected: Any, got: Any, path: str) -> Difference:
    start = 0
    if isinstance(expected, str) and isinstance(got, str):
        pairs = enumerate(zip(expected, got, strict=False))
        differing = (index for index, (recorded, come) in pairs if recorded != come)
        start = max(next(differing, min(len(expected), len(got))) - _CONTEXT_CHARACTERS, 0)
    return Difference(
        path=(path or "body")[:_MAX_PATH_CHARACTERS],
        expected=_shown(expected, start),
        got=_shown(got, start),
    )


def _shown(value: Any, start: int) -> str:
    """Return a value as text: cut if it is long, and starting shortly before the first difference."""
    if value is _ABSENT:
        return "nothing"
    text = dump(f"…{value[start:]}" if start else value)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
