"""The Go types that the daemon decodes JSON into, in the way of `encoding/json`.

A value that does not fit is skipped; only the first such error is kept, and the rest is decoded all the same. A type that decodes
itself stops everything when it fails. Either way, the values that were decoded before stay. The daemon reports these errors in plugins'
messages, and ignores them in requests.

Source: `encoding/json` of Go 1.26 (`decode.go`), read 2026-11.
"""

import contextlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, override

from .decimals import parse_decimal
from .text import dump_json, go_text, parse_json


_EXACT = 2**53  # below it a float holds every whole number

ABSENT: Final = object()
"""The value of verbatim JSON that is missing; null is a value."""


class ShapeError(ValueError):
    """A value that the daemon refuses, with the daemon's message."""


class MisfitError(ShapeError):
    """A value whose type does not match its field.

    Attributes:
        value: The value's kind or number, in Go's words.
        go: Go's name of the expected type.
        struct: The struct that holds the field; empty outside of any.
        path: The names that lead to the field.
    """

    def __init__(self, value: str, go: str, struct: str, path: Sequence[str]) -> None:
        where = f"struct field {struct}.{'.'.join(path)}" if struct or path else "value"
        super().__init__(f"json: cannot unmarshal {value} into Go {where} of type {go}")
        self.value, self.go, self.struct, self.path = value, go, struct, tuple(path)

    def within(self, struct: str, path: Sequence[str]) -> "MisfitError":
        """Return the same error as seen from an enclosing struct."""
        return MisfitError(self.value, self.go, struct, (*path, *self.path))


@dataclass(slots=True)
class Decoding:
    """A decoder's position, and the first mismatch that it found."""

    struct: str = ""
    path: list[str] = field(default_factory=list[str])
    misfit: MisfitError | None = None

    def note(self, value: str, go: str) -> None:
        """Keep a mismatch if it is the first."""
        if self.misfit is None:
            self.misfit = MisfitError(value, go, self.struct, self.path)

    def is_of(self, kind: str, node: Any, go: str) -> bool:
        """Tell whether a value is of a JSON kind, and note it if it is not."""
        if (found := json_kind(node)) != kind:
            self.note(found, go)
        return found == kind


def json_kind(node: Any) -> str:
    """Return Go's name for the kind of a decoded JSON value."""
    match node:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "array"
        case _:
            return "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoType:
    """A type that holds any JSON value: `interface{}`.

    Attributes:
        go: Go's name of it.
    """

    go: str

    def zero(self) -> Any:
        """Return the type's zero value."""
        return None

    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        """Decode a JSON value into `place[key]`; a value that does not fit leaves it unchanged.

        Raises:
            ShapeError: If a type that decodes itself refuses the value.
        """
        place[key] = _free(node, at)

    def encode(self, value: Any) -> Any:
        """Return the JSON form of a value."""
        return value

    def is_empty(self, value: Any) -> bool:
        """Tell whether `omitempty` omits a value."""
        return not value


def _free(node: Any, at: Decoding) -> Any:
    match node:
        case str():
            return go_text(node)
        case bool() | None:
            return node
        case int() | float():
            if math.isfinite(number := _float(node)):
                return _plain_int(number)
            at.note(f"number {number_text(node)}", "float64")
            return None
        case list():
            return [_free(item, at) for item in node]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        case _:
            # Go writes the keys of a map sorted.
            return {go_text(key): _free(node[key], at) for key in sorted(node)}


def _plain_int(number: float) -> float:
    """Return a whole number as an int, if Go writes both the same way."""
    is_negative_zero = number == 0 and math.copysign(1, number) < 0
    is_exact = number.is_integer() and abs(number) < _EXACT
    return int(number) if is_exact and not is_negative_zero else number


def _float(number: float) -> float:
    try:
        return float(getattr(number, "text", number))
    # A whole number of very many digits.
    except OverflowError:
        return math.inf


def number_text(number: float) -> str:
    """Return a number's original text."""
    return getattr(number, "text", None) or dump_json(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Basic(GoType):
    """A text, a number or a boolean; null leaves it empty.

    Attributes:
        kind: The JSON kind that fits.
        empty: The zero value.
        read: Converts a JSON value; raises ValueError for a number that does not fit.
    """

    go: str
    kind: str
    empty: Any
    read: Callable[[Any], Any]

    @override
    def zero(self) -> Any:
        return self.empty

    @override
    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        if node is None or not at.is_of(self.kind, node, self.go):
            return
        try:
            place[key] = self.read(node)
        except ValueError:
            at.note(f"number {number_text(node)}", self.go)


def _whole(number: float) -> int:
    text = number_text(number)
    # Go reads neither a fraction nor an exponent into an integer.
    if not text.lstrip("-").isdigit() or not -(2**63) <= (whole := int(text)) < 2**63:
        raise ValueError(text)
    return whole


def _finite(number: float) -> float:
    if not math.isfinite(found := _float(number)):
        raise ValueError(number_text(number))
    return found


def text(go: str = "string") -> Basic:
    """Build a string type with a name of its own in Go."""
    return Basic(go=go, kind="string", empty="", read=go_text)


ANY = GoType(go="interface {}")
"""Any JSON value."""

TEXT = text()
FLAG = Basic(go="bool", kind="bool", empty=False, read=bool)
WHOLE = Basic(go="int", kind="number", empty=0, read=_whole)
UNSIGNED = Basic(go="uint64", kind="number", empty=0, read=_whole)
REAL = Basic(go="float64", kind="number", empty=0.0, read=_finite)
TIME = text("time.Time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbatim(GoType):
    """JSON that is passed on verbatim: `json.RawMessage`."""

    go: str = "json.RawMessage"

    @override
    def zero(self) -> Any:
        return ABSENT

    @override
    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        place[key] = node

    @override
    def encode(self, value: Any) -> Any:
        return _json_of_bytes(value) if isinstance(value, bytes) else value

    @override
    def is_empty(self, value: Any) -> bool:
        return value in (ABSENT, b"")


VERBATIM = Verbatim()
NODE = Verbatim(go="yaml.Node")


def _json_of_bytes(value: bytes) -> Any:
    """Return the JSON value that bytes encode.

    Raises:
        ShapeError: If they are not JSON.
    """
    try:
        return parse_json(value)
    except json.JSONDecodeError as error:
        found = error.doc[error.pos : error.pos + 1]
        expected = f"invalid character {found!r} looking for beginning of value"
        problem = f"json: error calling MarshalJSON for type json.RawMessage: {expected}"
        raise ShapeError(problem) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecimalType(GoType):
    """A decimal, held and written as text."""

    go: str = "decimal.Decimal"

    @override
    def zero(self) -> Any:
        return "0"

    @override
    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        if node is None:
            return
        text = (node or '""') if isinstance(node, str) else dump_json(node)
        try:
            place[key] = parse_decimal(text)
        except ValueError as error:
            raise ShapeError(f"error decoding string '{text}': {error}") from None


DECIMAL = DecimalType()


@dataclass(frozen=True, slots=True, kw_only=True)
class Object(GoType):
    """An object with any keys: `map[string]any`.

    Attributes:
        is_keyed: Whether keys of any type inside it, which YAML may have, become texts.
    """

    go: str = "map[string]interface {}"
    is_keyed: bool = False

    @override
    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        if node is None or at.is_of("object", node, self.go):
            place[key] = _free(node, at)


OBJECT = Object()
"""Any JSON object."""
KEYED_OBJECT = Object(is_keyed=True)


BUILT_IN: Mapping[str, GoType] = {
    "any": ANY,
    "bool": FLAG,
    "decimal.Decimal": DECIMAL,
    "float64": REAL,
    "int": WHOLE,
    "json.RawMessage": VERBATIM,
    "map[any]any": KEYED_OBJECT,
    "map[string]any": OBJECT,
    "string": TEXT,
    "time.Time": TIME,
    "uint64": UNSIGNED,
    "yaml.Node": NODE,
}
"""The types that the table of types does not define, by their names in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Optional(GoType):
    """A pointer: null or a value of another type.

    Attributes:
        of: The other type.
    """

    go: str = ""
    of: GoType

    @override
    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        if node is None:
            place[key] = None
            return
        if place[key] is None:
            place[key] = self.of.zero()
        self.of.decode(node, at, place, key)

    @override
    def encode(self, value: Any) -> Any:
        return None if value is None else self.of.encode(value)

    @override
    def is_empty(self, value: Any) -> bool:
        return value is None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf(GoType):
    """A slice: null or a list.

    Attributes:
        of: The type of its items.
        is_by_name: Whether YAML may give the items in a mapping, by name.
    """

    go: str = ""
    of: GoType
    is_by_name: bool = False

    @override
    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        if node is not None and not at.is_of("array", node, f"[]{self.of.go}"):
            return
        # Stored before its items are decoded, because those before one that ends everything stay.
        place[key] = None if node is None else []
        for index, item in enumerate(node or ()):
            place[key].append(self.of.zero())
            self.of.decode(item, at, place[key], index)

    @override
    def encode(self, value: Any) -> Any:
        return None if value is None else [self.of.encode(item) for item in value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a struct.

    Attributes:
        go: Its name in Go.
        json: Its name in JSON.
        type: Its type.
        rules: Its validation rules, as its tag says them.
        omits_empty: Whether JSON leaves it out if it is empty.
        within: The names of the embedded structs that it is in.
    """

    go: str
    json: str
    type: GoType
    rules: tuple[str, ...] = ()
    omits_empty: bool = False
    within: tuple[str, ...] = ()


type Problem = tuple[str, str]
"""The name of a field, and the rule that it breaks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct(GoType):
    """An object with fields, whose names are matched case-insensitively.

    Attributes:
        name: Its name in Go, without the package.
        fields: Its fields, with those of embedded structs where these stand.
        check: Finds a problem of the struct as a whole.
    """

    name: str
    fields: tuple[Field, ...]
    check: Callable[[Mapping[str, Any]], Problem | None] = lambda _: None

    @override
    def zero(self) -> Any:
        return {each.json: each.type.zero() for each in self.fields}

    def find(self, key: str) -> Field | None:
        """Return the field for a JSON key, preferably one with exactly this name."""
        folded = key.casefold()
        named = [each for each in self.fields if each.json.casefold() == folded]
        return next((each for each in named if each.json == key), named[0] if named else None)

    @override
    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        if node is None or not at.is_of("object", node, self.go):
            return
        struct, depth = at.struct, len(at.path)
        for name, value in node.items():
            if found := self.find(name):
                at.struct = self.name
                at.path += (*found.within, found.json)
                found.type.decode(value, at, place[key], found.json)
                # Not in a `finally`: an error that ends everything is reported with the path where
                # it arose.
                at.struct = struct
                del at.path[depth:]

    @override
    def encode(self, value: Any) -> Any:
        return {
            each.json: each.type.encode(value[each.json])
            for each in self.fields
            if not (each.omits_empty and each.type.is_empty(value[each.json]))
        }


def decode_into(kind: GoType, node: Any) -> Any:
    """Return a JSON value decoded into a type.

    Raises:
        ShapeError: If it does not fit.
    """
    at, place = Decoding(), [kind.zero()]
    try:
        kind.decode(node, at, place, 0)
    except MisfitError as error:
        # In Go's message the path is that of the field where decoding ended.
        raise (error.within(at.struct, at.path) if at.struct or at.path else error) from None
    if at.misfit:
        raise at.misfit
    return place[0]


def decode_what_fits(kind: GoType, node: Any) -> Any:
    """Return a JSON value decoded into a type; values that do not fit are left empty."""
    place = [kind.zero()]
    with contextlib.suppress(ShapeError):
        kind.decode(node, Decoding(), place, 0)
    return place[0]


def read_declaration(kind: GoType, content: Any) -> Any:
    """Return the JSON that the daemon writes for a declaration; values that do not fit are left empty."""
    return kind.encode(decode_what_fits(kind, content))
