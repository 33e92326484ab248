"""Any value of a program as plain JSON."""

import base64
import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from itertools import islice
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any, Final, cast
from uuid import UUID

from stream_text import is_list, is_object


BYTES: Final = "$bytes"
"""The only key of a mapping that represents bytes; its value is their base64."""

LONG_TEXT: Final = "$long_text"
"""The only key of a mapping that refers to a long text; its value is the digest of the record that has it."""

LITERAL: Final = "$literal"
"""The only key of a mapping that wraps another mapping, which has one of these keys itself."""

_MARKS: Final = frozenset({BYTES, LONG_TEXT, LITERAL})
_MAX_DEPTH: Final = 100
_MAX_BITS: Final = 8_192
_MAX_VALUES: Final = 200_000
_SIMPLE: Final = (str, int, float, bool, tuple, Decimal, type(None))
_COLLECTIONS: Final = (list, tuple, set, frozenset, deque)


def to_plain(value: object) -> Any:
    """Return a value as plain JSON, as a log writes it.

    Records (dataclasses, pydantic models, mappings, namespaces, messages of any class) become objects; fields of a
    dataclass that have their default, are private or are not shown in its `repr` are left out. Bytes become
    `{"$bytes": BASE64}`; decimals, times and paths become their text, and any other value the name of its type.

    Args:
        value: Anything. Nothing is called that could change it, and no iterator is read. Values beyond the first 200,000 are left out.

    Example:
        >>> to_plain({"at": PurePath("/tmp"), "picture": b"abc"})
        {'at': '/tmp', 'picture': {'$bytes': 'YWJj'}}
    """
    return _Plain().read(value, 0)


def from_plain(value: Any, find_text: Callable[[str], Any]) -> Any:
    """Return plain JSON as it was before it was written, with long texts in their places; bytes stay `{"$bytes": BASE64}`.

    Args:
        value: A value that `to_plain` has made and a writer has written.
        find_text: Returns a long text by its digest.
    """
    if is_list(value):
        return [from_plain(item, find_text) for item in value]
    if not is_object(value):
        return value
    if len(value) == 1 and LONG_TEXT in value:
        return find_text(str(value[LONG_TEXT]))
    literal = value[LITERAL] if len(value) == 1 and LITERAL in value else None
    members = literal if is_object(literal) else value
    return {name: from_plain(member, find_text) for name, member in members.items()}


class _Plain:
    """One conversion."""

    def __init__(self) -> None:
        self._open = set[int]()  # ids of the values being read, since one may contain itself
        self._left = _MAX_VALUES

    def read(self, value: object, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            return "<too many values>"
        if isinstance(value, Enum):  # first, since a member may be a text or a number, too
            value = value.value
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return _read_number(value)
        if isinstance(value, str | Decimal | date | time | PurePath | UUID):
            return str(value)
        return self._read_collection(value, depth)

    def _read_collection(self, value: object, depth: int) -> Any:
        address = id(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return {BYTES: base64.b64encode(cast("bytes", value)).decode("ascii")}
        if depth >= _MAX_DEPTH or address in self._open:
            return "<nested too deeply>"
        self._open.add(address)
        try:
            if isinstance(value, _COLLECTIONS):
                # One more than is left, so that the cut is seen.
                items = islice(cast("list[object]", value), max(self._left, 0) + 1)
                return [self.read(item, depth + 1) for item in items]
            members = _find_members(value)
            if members is None:
                return f"<{type(value).__name__}>"
            first = islice(members.items(), max(self._left, 0) + 1)
            plain = {str(name): self.read(member, depth + 1) for name, member in first}
            return plain if _MARKS.isdisjoint(plain) else {LITERAL: plain}
        finally:
            self._open.discard(address)


def _read_number(value: float) -> float | str:
    if isinstance(value, int):
        # Python refuses to write an integer of more than 4,300 digits in decimals.
        return value if value.bit_length() <= _MAX_BITS else hex(value)
    return value if math.isfinite(value) else str(value)


def _find_members(value: object) -> Mapping[object, object] | None:
    """Return the members of a record by name; None if the value is not a record, or cannot be read."""
    if is_object(value):
        return value
    if isinstance(value, SimpleNamespace):
        return {**vars(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: getattr(value, field.name, None)
            for field in fields(value)
            if field.repr and not field.name.startswith("_") and not _is_default(value, field)
        }
    if callable(getattr(type(value), "model_dump", None)):
        return _dump_model(value)
    own: Mapping[object, object] = getattr(value, "__dict__", {})
    # Of plain objects only messages are read, which all have a role.
    if "role" not in own:
        return None
    return {name: member for name, member in own.items() if not str(name).startswith("_")}


def _dump_model(model: Any) -> Mapping[object, object] | None:
    try:
        dumped: Mapping[object, object] = model.model_dump(warnings=False)
    except Exception:  # noqa: BLE001 - somebody else's model; its name is logged
        return None
    return dumped


def _is_default(value: object, field: Any) -> bool:
    found = getattr(value, field.name, None)
    if callable(found):
        return True
    default = field.default
    return default is not MISSING and isinstance(found, _SIMPLE) and found == default
