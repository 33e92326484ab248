"""Decoding of YAML into Go's types as the daemon's library does it: more lenient than the plugin SDK in places, stricter in others.

It accepts a number or a boolean as a text and null for a missing value, and ignores unknown keys; but it refuses duplicate keys
and values of other types.

Source: https://github.com/go-yaml/yaml/blob/v3.0.1/decode.go and https://pkg.go.dev/encoding/json, read 2026-11.
"""

import base64
import math
from collections.abc import Callable, Mapping
from typing import Any

from dify_plugin_packager.yaml_documents import Node

from . import scalars
from .types import (
    ANY,
    DECIMAL,
    FLAG,
    NODE,
    REAL,
    TEXT,
    TIME,
    UNSIGNED,
    WHOLE,
    Basic,
    DecimalType,
    GoType,
    ListOf,
    Object,
    Optional,
    Struct,
)


type Check = Callable[["YamlDecoder", Node, str, dict[str, Any]], None]
"""A check of a decoded struct, given its node, the path of its field, and the content of its own fields."""

# `any` whose keys, at every depth, are converted to text before it is stored.
_KEYED = GoType(go=ANY.go)
_NO_FIELDS = Struct(go="", name="", fields=())
_MAX_INT, _MAX_UINT = 2**63 - 1, 2**64 - 1
_WORDS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
# The daemon's library takes so many nodes of a document that consists of aliases; see
# `allowedAliasRatio`.
_MAX_ALIASED = 396_000


class ExcessiveAliasesError(ValueError):
    """A document that grows too large when its aliases are followed."""


class YamlDecoder:
    """A decoder of one document.

    Args:
        checks: Checks of structs after decoding, by the struct's name in Go.

    Attributes:
        problems: The problems, each as the line, the path of the field, and what was expected; a list that grows while decoding.
    """

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self.problems: list[tuple[int, str, str]] = []
        self._checks = checks
        self._followed: set[str] = set()
        self._aliased = 0

    def decode(self, node: Node, kind: GoType, where: str = "") -> Any:
        """Return the decoded value; None for null and for a value that does not fit.

        A struct becomes a dictionary of the fields that came, a list a list without nulls; a map and the content of `any` stay nodes.
        """
        if kind is NODE:
            return node
        if node.kind == "alias":
            return self._follow(node, kind, where)
        # Only nodes behind an alias count.
        self._aliased += bool(self._followed)
        if self._aliased > _MAX_ALIASED:
            raise ExcessiveAliasesError("excessive aliasing")
        if node.kind == "mapping" and self._has_twins(node, where):
            return None
        return None if _is_null(node) else self._decode(node, kind, where)

    def refuse(self, where: str, expected: str, node: Node) -> None:
        """Note that a field does not hold what was expected."""
        got = f"{node.value!r:.80}" if node.kind == "scalar" else f"a {node.kind}"
        self.problems.append((node.line, where, f"expected {expected}, got {got}"))

    def _follow(self, alias: Node, kind: GoType, where: str) -> Any:
        if alias.value in self._followed or alias.target is None:
            problem = f"the anchor {alias.value!r} contains itself"
            self.problems.append((alias.line, where, problem))
            return None
        self._followed.add(alias.value)
        found = self.decode(alias.target, kind, where)
        self._followed.discard(alias.value)
        return found

    def _has_twins(self, node: Node, where: str) -> bool:
        seen: set[tuple[str, str]] = set()
        for key, _ in node.pairs:
            if (key.kind, key.value) in seen:
                problem = (key.line, join(where, key.value), "expected this key once")
                self.problems.append(problem)
            seen.add((key.kind, key.value))
        return len(seen) * 2 < len(node.children)

    def _decode(self, node: Node, kind: GoType, where: str) -> Any:
        """Decode a node that is neither null nor an alias."""
        match kind:
            case Optional():
                return self._decode(node, kind.of, where)
            case Struct():
                return self._decode_struct(node, kind, where)
            case ListOf():
                return self._decode_list(node, kind, where)
            case Object():
                return self._decode_object(node, kind, where)
            case Basic() | DecimalType():
                return self._decode_scalar(node, kind, where)
            case _:
                return self._decode_any(node, kind, where)

    def _decode_struct(self, node: Node, kind: Struct, where: str) -> dict[str, Any] | None:
        if node.kind != "mapping":
            return self.refuse(where, "a mapping", node)
        # Of two fields with the same name the later one is the outer, which hides that of an embedded
        # struct.
        fields = {each.json: each.type for each in kind.fields}
        found: dict[str, Any] = {}
        for key, value in self._with_merged(node, where):
            name = key.target.value if key.target else key.value
            if key.kind not in {"scalar", "alias"}:
                self.refuse(where, "a text as key", key)
            # The mapping's own keys come first, and win over those that `<<` brings in.
            elif name in fields and name not in found:
                found[name] = self.decode(value, fields[name], join(where, name))
        if check := self._checks.get(kind.go):
            check(self, node, where, found)
        return found

    def _decode_list(self, node: Node, kind: ListOf, where: str) -> list[Any] | None:
        if kind.is_by_name and node.kind == "mapping":
            for name, value in node.pairs:
                if value.kind == "mapping":
                    self.decode(value, kind.of, join(where, name.value))
                else:
                    self.refuse(join(where, name.value), "a mapping", value)
            return None
        if node.kind != "sequence":
            return self.refuse(where, "a list", node)
        items = enumerate(node.children)
        found = [self.decode(item, kind.of, join(where, index)) for index, item in items]
        return [item for item in found if item is not None]

    def _decode_object(self, node: Node, kind: Object, where: str) -> Node | None:
        if node.kind != "mapping":
            return self.refuse(where, "a mapping", node)
        for key, value in self._with_merged(node, where):
            self.decode(key, TEXT, where)
            self.decode(value, _KEYED if kind.is_keyed else ANY, join(where, key.value))
        return node

    def _decode_scalar(self, node: Node, kind: GoType, where: str) -> Any:
        expected, read = _SCALARS.get(kind.go, ("a text", _read_text))
        if node.kind == "mapping" and kind.go in {TIME.go, DECIMAL.go}:
            # To Go it is a struct without any field that a mapping could name.
            self._decode_struct(node, _NO_FIELDS, where)
            return None
        if node.kind != "scalar":
            return self.refuse(where, expected, node)
        try:
            return read(node)
        except _UnfitError as error:
            return self.refuse(where, str(error) or expected, node)

    def _decode_any(self, node: Node, kind: GoType, where: str) -> Any:
        """Decode a value of any type that can be stored as JSON: keys are texts, numbers finite."""
        if node.kind == "sequence":
            for index, item in enumerate(node.children):
                self.decode(item, kind, join(where, index))
            return node
        if node.kind == "mapping":
            for key, value in self._with_merged(node, where):
                is_scalar = key.kind in {"scalar", "alias"}
                if not is_scalar or not (kind is _KEYED or _is_text_key(key)):
                    self.refuse(join(where, key.value), "a text as key", key)
                self.decode(value, kind, join(where, key.value))
            return node
        tag, value = scalars.resolve(node)
        if tag == scalars.FLOAT and not math.isfinite(value):
            return self.refuse(where, "a number that JSON can hold", node)
        return value

    def _with_merged(
        self, node: Node, where: str, within: tuple[Node, ...] = ()
    ) -> list[tuple[Node, Node]]:
        """Return the pairs of a mapping, and after them those that `<<` brings in."""
        within = (*within, node)
        own = [pair for pair in node.pairs if not _is_merge(pair[0])]
        for key, value in node.pairs:
            if _is_merge(key):
                sources = value.children if value.kind == "sequence" else [value]
                for source in sources:
                    found = source.target or source
                    if found.kind != "mapping":
                        self.refuse(join(where, "<<"), "a mapping to merge", found)
                    elif found in within:
                        expected = "a mapping that does not contain its own anchor"
                        self.refuse(join(where, "<<"), expected, found)
                    else:
                        own += self._with_merged(found, where, within)
        return own


def join(where: str, name: str | int) -> str:
    """Return the path of a field below another one."""
    return f"{where}.{name}" if where else str(name)


def _is_null(node: Node) -> bool:
    return node.kind == "scalar" and scalars.resolve(node)[0] == scalars.NULL


def _is_merge(key: Node) -> bool:
    return key.kind == "scalar" and key.value == "<<" and key.is_plain


def _is_text_key(key: Node) -> bool:
    if key.kind == "alias" and key.target is not None:
        return _is_text_key(key.target)
    return key.kind == "scalar" and (key.value == "<<" or scalars.resolve(key)[0] == scalars.TEXT)


class _UnfitError(ValueError):
    """A scalar that does not fit; its text is the expectation, if that differs from the type's own."""


def _read_text(node: Node) -> str:
    """Return the text of any scalar."""
    if node.tag != scalars.BINARY:
        return node.value
    try:
        return base64.b64decode(node.value, validate=True).decode(errors="replace")
    except ValueError:
        raise _UnfitError("base64") from None


def _read_flag(node: Node) -> bool:
    """Return a boolean, also from one of the words for it in YAML 1.1."""
    tag, value = scalars.resolve(node)
    if tag == scalars.BOOL:
        return value
    if tag == scalars.TEXT and value in _WORDS:
        return _WORDS[value]
    raise _UnfitError


def _read_number(node: Node) -> float:
    """Return a number that JSON can hold."""
    tag, value = scalars.resolve(node)
    if tag not in {scalars.INT, scalars.FLOAT} or not math.isfinite(value):
        raise _UnfitError
    return value


def _read_whole(node: Node, limit: int = _MAX_INT) -> int:
    """Return an integer; a fraction is truncated."""
    value = _read_number(node)
    if value > limit:
        raise _UnfitError
    return int(value)


def _read_unsigned(node: Node) -> int:
    """Return an integer that is not negative."""
    value = _read_whole(node, _MAX_UINT)
    if value < 0:
        raise _UnfitError("an integer of 0 or more")
    return value


def _read_time(node: Node) -> str:
    if not scalars.holds_time(node):
        raise _UnfitError
    return node.value


def _read_decimal(node: Node) -> str:
    if not scalars.is_decimal(node.value):
        raise _UnfitError
    return node.value


_SCALARS: Mapping[str, tuple[str, Callable[[Node], Any]]] = {
    FLAG.go: ("true or false", _read_flag),
    REAL.go: ("a number", _read_number),
    WHOLE.go: ("an integer", _read_whole),
    UNSIGNED.go: ("an integer", _read_unsigned),
    TIME.go: ("a time such as 2026-11-21T00:00:00Z", _read_time),
    DECIMAL.go: ("a decimal number", _read_decimal),
}
