"""Decoding of plugins' calls, which the daemon does from maps of decoded JSON, and more strictly than from JSON itself.

Source: github.com/mitchellh/mapstructure 1.5.0, with which `pkg/utils/parser/map2struct.go` of langgenius/dify-plugin-daemon at bdb5642a
decodes, read 2026-11.
"""

import math
from typing import Any

from .rules import validate
from .text import go_print
from .types import (
    WHOLE,
    Basic,
    GoType,
    ListOf,
    Object,
    Optional,
    ShapeError,
    Struct,
    Verbatim,
    json_kind,
)


_TYPES = {"array": "[]interface {}", "number": "float64", "object": "map[string]interface {}"}
_SMALLEST_INT = -(2**63)  # Go's result for a float that no int holds
_KINDS = {"array": "slice", "number": "float64", "object": "map"}


def read_call(struct: Struct, call: Any) -> dict[str, Any]:
    """Return a plugin's call, given as decoded JSON, as a struct.

    Raises:
        ShapeError: If the daemon refuses it; the text is the daemon's.
    """
    place: list[Any] = [struct.zero()]
    reader = _Reader()
    reader.read(struct, "", call, place, 0)
    if reader.problems:
        # Sorted, as the daemon's library lists them.
        problems = "\n".join(f"* {problem}" for problem in sorted(reader.problems))
        count = len(reader.problems)
        raise ShapeError(f"error decoding map: {count} error(s) decoding:\n\n{problems}")
    try:
        validate(struct, place[0])
    except ShapeError as error:
        raise ShapeError(f"error validating struct: {error}") from None
    return place[0]


class _Reader:
    """A reader of one call, which collects the values that do not fit in `problems`."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def read(self, kind: GoType, name: str, data: Any, place: Any, key: Any) -> None:
        """Decode a value into `place[key]`, which null leaves unchanged."""
        match kind:
            case _ if data is None:
                return
            case Optional():
                place[key] = kind.of.zero()
                self.read(kind.of, name, data, place, key)
            case Struct() if isinstance(data, dict):
                self._read_fields(kind, name, data, place[key])  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
            case Object() | Struct() if not isinstance(data, dict):
                got = _KINDS.get(json_kind(data), json_kind(data))
                self.problems.append(f"'{name}' expected a map, got '{got}'")
            case ListOf() | Verbatim() if not isinstance(data, list):
                got = _KINDS.get(json_kind(data), json_kind(data))
                text = f"'{name}': source data must be an array or slice, got {got}"
                self.problems.append(text)
            case ListOf():
                self._read_list(kind.of, name, data, place, key)
            case Verbatim():
                place[key] = self._read_bytes(name, data)
            case Basic() if json_kind(data) != kind.kind:
                self.problems.append(_unconvertible(name, kind.go, data))
            case _:
                place[key] = _convert(kind, data)

    def _read_list(self, kind: GoType, name: str, data: Any, place: Any, key: Any) -> None:
        place[key] = [kind.zero() for _ in data]
        for index, item in enumerate(data):
            self.read(kind, f"{name}[{index}]", item, place[key], index)

    def _read_fields(
        self, struct: Struct, name: str, data: dict[str, Any], place: dict[str, Any]
    ) -> None:
        for each in struct.fields:
            given = each.json
            # Like the daemon's library: the exact key first, then any that differs in case only.
            if given not in data:
                folded = given.casefold()
                given = next((key for key in data if key.casefold() == folded), None)
            if given is not None:
                inner = f"{name}.{each.json}" if name else each.json
                self.read(each.type, inner, data[given], place, each.json)

    def _read_bytes(self, name: str, data: Any) -> bytes:
        """Return a list of numbers as the bytes that the daemon takes for verbatim JSON."""
        read = bytearray()
        for index, item in enumerate(data):
            where = f"{name}[{index}]"
            if item is not None and json_kind(item) != "number":
                self.problems.append(_unconvertible(where, "uint8", item))
            elif item is not None and item < 0:
                self.problems.append(f"cannot parse '{where}', {item:f} overflows uint")
            else:
                # As Go converts a float to a byte: without the fraction, and of the rest the last
                # eight bits.
                read.append(math.floor(item or 0) % 256)
        return bytes(read)


def _convert(kind: GoType, value: Any) -> Any:
    """Return a value that fits, converted to the type of its field."""
    if isinstance(kind, Basic) and isinstance(kind.empty, float):
        return float(value)
    if kind is WHOLE:
        return int(value) if abs(value) < -_SMALLEST_INT else _SMALLEST_INT
    return value


def _unconvertible(name: str, go: str, data: Any) -> str:
    got = _TYPES.get(json_kind(data), json_kind(data))
    return (
        f"'{name}' expected type '{go}', got unconvertible type '{got}', value: '{go_print(data)}'"
    )
