"""What is kept of the input of a conversation's last request, so that the next one builds only what is new."""

import marshal
import pickle
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Protocol, Self, cast


_PLAIN = (str, int, float, type(None))


class Builder(Protocol):
    """A builder of input that can continue with further values."""

    def add(self, values: Sequence[Any], /) -> bool:
        """Take the next values; return False, having built nothing, if they change what earlier ones have become."""
        ...

    def built(self) -> list[dict[str, Any]]:
        """Return the input so far, a new list of the same items."""
        ...


# A value, what can be changed in it, and the mark of that.
type _Known = tuple[object, object, int | None]
# What its input depended on, its builder, and the values.
type _Last = tuple[object, Builder | None, Sequence[_Known]]
_NOTHING: _Last = None, None, ()


class KeptInput:
    """The input of a conversation's last request, for `build_input` and `build_items`.

    There is one for each conversation, which may be given to each of its requests.

    Items that were built before come back as the same objects. Frozen dataclasses count by identity and by what can be
    changed in them, everything else by a digest of all that is in it. Where a conversation does not begin with the one
    before, or nobody can tell, everything is built anew. Safe to use from several threads. A copy, and one that was
    pickled, keeps nothing yet.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[str, _Last] = {}

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        """Let what holds it, such as a conversation, be copied and pickled."""
        return type(self), ()

    def build(
        self, kind: str, values: Sequence[object], settings: object, begin: Callable[[], Builder]
    ) -> list[dict[str, Any]]:
        """Return the input that values become.

        Args:
            kind: What the values are.
            values: All of them, oldest first.
            settings: What else the input depends on.
            begin: Makes a builder that has taken nothing.
        """
        with self._lock:
            # Taken out, so that nothing half built stays if it fails.
            before, builder, known = self._last.pop(kind, _NOTHING)
            count = len(known)
            if builder is None or before != settings or not _begins_with(values, known):
                builder, count = None, 0
            now_known = [*known[:count], *map(_know, values[count:])]
            if builder is None or not builder.add(values[count:]):
                builder = begin()
                builder.add(values)
            self._last[kind] = settings, builder, now_known
            return builder.built()


def build_kept(
    kept: KeptInput | None,
    kind: str,
    values: Sequence[object],
    settings: object,
    begin: Callable[[], Builder],
) -> list[dict[str, Any]]:
    """Return the input that values become, by what is kept, if anything is; see `KeptInput.build`."""
    if kept is not None:
        return kept.build(kind, values, settings, begin)
    builder = begin()
    builder.add(values)
    return builder.built()


def _begins_with(values: Sequence[object], known: Sequence[_Known]) -> bool:
    """Return whether values begin with those that are known, unchanged."""
    return len(values) >= len(known) and all(map(_is_same, values, known))


def _is_same(value: object, known: _Known) -> bool:
    before, held, mark = known
    if value is before:
        return held is None or (mark is not None and _mark(held) == mark)
    # All that is in a frozen dataclass is not in its mark.
    counts_alone = _field_names(type(value)) is None and _field_names(type(before)) is None
    return counts_alone and mark is not None and _mark(value) == mark


def _know(value: object) -> _Known:
    # Looked for once: what a frozen dataclass holds stays the same objects.
    held = value if _field_names(type(value)) is None else _changeable(value)
    return value, held, _mark(held)


def _mark(held: Any) -> int | None:
    """Return a number that is another once what can be changed in a value has been changed in place; None if nobody can tell."""
    # Version 2 of marshal writes equal values alike, and is fast; what it cannot write, such as objects of other libraries, pickle mostly can.
    # Python's own hash stays in this process, and nobody outside can choose a text that has a given one.
    with suppress(ValueError):
        return hash(marshal.dumps(held, 2))
    with suppress(Exception):  # whatever an object raises that cannot be written
        return hash(pickle.dumps(held))
    return None


def _changeable(value: object) -> object:
    """Return what can be changed in a value; None if nothing can."""
    if isinstance(value, _PLAIN):
        return None
    names = _field_names(type(value))
    if names is not None:
        parts = [getattr(value, name) for name in names]
    elif isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
    else:
        return value
    return [held for part in parts if (held := _changeable(part)) is not None] or None


@cache
def _field_names(kind: Any) -> tuple[str, ...] | None:
    """Return the names of the fields of a frozen dataclass; None for any other class."""
    is_frozen = is_dataclass(kind) and getattr(kind, "__dataclass_params__").frozen  # noqa: B009 - no type knows it
    return tuple(field.name for field in fields(kind)) if is_frozen else None
