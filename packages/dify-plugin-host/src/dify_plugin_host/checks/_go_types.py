"""Go's types, and how the daemon's YAML library fills them: laxer than the plugin SDK in places, stricter in others.

A number or a truth value is taken for a text, null for nothing at all, and keys that no type knows are not looked at; but a key may
not stand twice in a mapping, and what stands in no type's place is refused.

Source: https://github.com/go-yaml/yaml/blob/v3.0.1/decode.go and https://pkg.go.dev/encoding/json, read 2026-11.
"""

import base64
import math
from collections.abc import Callable, Mapping
from typing import Any

from dify_plugin_host._yaml import Node

from . import _go_scalars as scalars


type GoType = Callable[["GoDecoder", Node, str], Any]

_MAX_INT, _MAX_UINT = 2**63 - 1, 2**64 - 1
_WORDS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
# Of a document of aliases the daemon's library takes so many nodes; see `allowedAliasRatio`.
_MAX_ALIASED = 396_000


class ExcessiveAliasesError(ValueError):
    """A document that grows beyond every bound when its aliases are followed."""


class GoDecoder:
    """A decoder of one document.

    Attributes:
        problems: What is wrong: the line, the path of the field, and what was expected; a list that grows while decoding.
    """

    def __init__(self) -> None:
        self.problems: list[tuple[int, str, str]] = []
        self._followed: set[str] = set()
        self._aliased = 0

    def decode(self, node: Node, wanted: GoType, where: str = "") -> Any:
        """Return what Go holds afterwards; None for null and for what is wrong."""
        if wanted is raw:
            return raw(self, node, where)
        if node.kind == "alias":
            return self._follow(node, wanted, where)
        self._aliased += bool(self._followed)
        if self._aliased > _MAX_ALIASED:
            raise ExcessiveAliasesError("excessive aliasing")
        if node.kind == "mapping" and self._has_twins(node, where):
            return None
        return None if is_null(node) else wanted(self, node, where)

    def refuse(self, where: str, expected: str, node: Node) -> None:
        """Note that a field holds something else."""
        got = f"{node.value!r:.80}" if node.kind == "scalar" else f"a {node.kind}"
        self.problems.append((node.line, where, f"expected {expected}, got {got}"))

    def _follow(self, alias: Node, wanted: GoType, where: str) -> Any:
        if alias.value in self._followed or alias.target is None:
            problem = f"the anchor {alias.value!r} contains itself"
            self.problems.append((alias.line, where, problem))
            return None
        self._followed.add(alias.value)
        found = self.decode(alias.target, wanted, where)
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


def is_null(node: Node) -> bool:
    """Tell whether a node is null."""
    return node.kind == "scalar" and scalars.resolve(node)[0] == scalars.NULL


def join(where: str, name: str | int) -> str:
    """Return the path of a field below another one."""
    return f"{where}.{name}" if where else str(name)


def raw(decoder: GoDecoder, node: Node, where: str) -> Node:
    """Keep a node as it is, for whoever looks at it later."""
    del decoder, where
    return node


def text(decoder: GoDecoder, node: Node, where: str) -> str | None:
    """Decode a text; every scalar is one."""
    if node.kind != "scalar":
        return decoder.refuse(where, "a text", node)
    if node.tag != scalars.BINARY:
        return node.value
    try:
        return base64.b64decode(node.value, validate=True).decode(errors="replace")
    except ValueError:
        return decoder.refuse(where, "base64", node)


def boolean(decoder: GoDecoder, node: Node, where: str) -> bool | None:
    """Decode a truth value, or one of the words that were one in YAML 1.1."""
    if node.kind == "scalar":
        tag, value = scalars.resolve(node)
        if tag == scalars.BOOL:
            return value
        if tag == scalars.TEXT and value in _WORDS:
            return _WORDS[value]
    return decoder.refuse(where, "true or false", node)


def number(decoder: GoDecoder, node: Node, where: str) -> float | None:
    """Decode a number that JSON can hold."""
    if node.kind == "scalar":
        tag, value = scalars.resolve(node)
        if tag in {scalars.INT, scalars.FLOAT} and math.isfinite(value):
            return value
    return decoder.refuse(where, "a number", node)


def integer(decoder: GoDecoder, node: Node, where: str) -> int | None:
    """Decode an integer; of a fraction the whole part is taken."""
    return _whole(decoder, node, where, _MAX_INT)


def unsigned(decoder: GoDecoder, node: Node, where: str) -> int | None:
    """Decode an integer that is not negative."""
    found = _whole(decoder, node, where, _MAX_UINT)
    if found is not None and found < 0:
        return decoder.refuse(where, "an integer of 0 or more", node)
    return found


def _whole(decoder: GoDecoder, node: Node, where: str, limit: int) -> int | None:
    if node.kind == "scalar":
        tag, value = scalars.resolve(node)
        if tag in {scalars.INT, scalars.FLOAT} and math.isfinite(value) and value <= limit:
            return int(value)
    return decoder.refuse(where, "an integer", node)


def time(decoder: GoDecoder, node: Node, where: str) -> str | None:
    """Decode a time: plain in one of four forms, in quotes only as RFC 3339."""
    if node.kind == "scalar":
        if scalars.resolve(node)[0] == scalars.TIME or scalars.is_rfc3339(node.value):
            return node.value
    elif node.kind == "mapping":
        # To Go a time is a struct, none of whose fields a mapping can name.
        return struct({})(decoder, node, where) and None
    return decoder.refuse(where, "a time such as 2026-11-21T00:00:00Z", node)


def decimal(decoder: GoDecoder, node: Node, where: str) -> str | None:
    """Decode a decimal number."""
    if node.kind == "scalar" and scalars.is_decimal(node.value):
        return node.value
    if node.kind == "mapping":
        return struct({})(decoder, node, where) and None  # as with a time
    return decoder.refuse(where, "a decimal number", node)


def anything(decoder: GoDecoder, node: Node, where: str) -> Any:
    """Decode a value of any type that JSON can hold, for so it is stored: keys are texts, numbers finite."""
    return _any(decoder, node, where, may_have_other_keys=False)


def anything_keyed(decoder: GoDecoder, node: Node, where: str) -> Any:
    """Decode a value of any type whose keys are made texts before it is stored."""
    return _any(decoder, node, where, may_have_other_keys=True)


def _any(decoder: GoDecoder, node: Node, where: str, *, may_have_other_keys: bool) -> Any:
    below = anything_keyed if may_have_other_keys else anything
    if node.kind == "sequence":
        for place, item in enumerate(node.children):
            decoder.decode(item, below, join(where, place))
        return node
    if node.kind == "mapping":
        for key, value in _with_merged(decoder, node, where):
            is_scalar = key.kind in {"scalar", "alias"}
            if not is_scalar or not (may_have_other_keys or _is_text_key(key)):
                decoder.refuse(join(where, key.value), "a text as key", key)
            decoder.decode(value, below, join(where, key.value))
        return node
    tag, value = scalars.resolve(node)
    if tag == scalars.FLOAT and not math.isfinite(value):
        return decoder.refuse(where, "a number that JSON can hold", node)
    return value


def _is_text_key(key: Node) -> bool:
    if key.kind == "alias" and key.target is not None:
        return _is_text_key(key.target)
    return key.kind == "scalar" and (key.value == "<<" or scalars.resolve(key)[0] == scalars.TEXT)


def list_of(item_type: GoType) -> GoType:
    """Return the type of a list of items of a type."""

    def decode(decoder: GoDecoder, node: Node, where: str) -> list[Any] | None:
        if node.kind != "sequence":
            return decoder.refuse(where, "a list", node)
        items = enumerate(node.children)
        found = [decoder.decode(item, item_type, join(where, place)) for place, item in items]
        return [item for item in found if item is not None]

    return decode


def mapping_of(item_type: GoType) -> GoType:
    """Return the type of a mapping whose keys become texts, to items of a type."""

    def decode(decoder: GoDecoder, node: Node, where: str) -> Node | None:
        if node.kind != "mapping":
            return decoder.refuse(where, "a mapping", node)
        for key, value in _with_merged(decoder, node, where):
            decoder.decode(key, text, where)
            decoder.decode(value, item_type, join(where, key.value))
        return node

    return decode


def struct(
    fields: Mapping[str, GoType],
    *,
    check: Callable[["GoDecoder", Node, str, dict[str, Any]], None] | None = None,
) -> GoType:
    """Return the type of a mapping with these fields.

    Args:
        fields: The type of each by its name.
        check: What is checked of it after decoding.
    """

    def decode(decoder: GoDecoder, node: Node, where: str) -> dict[str, Any] | None:
        if node.kind != "mapping":
            return decoder.refuse(where, "a mapping", node)
        found: dict[str, Any] = {}
        for key, value in _with_merged(decoder, node, where):
            name = key.target.value if key.target else key.value
            if key.kind not in {"scalar", "alias"}:
                decoder.refuse(where, "a text as key", key)
            elif name in fields and name not in found:
                found[name] = decoder.decode(value, fields[name], join(where, name))
        if check:
            check(decoder, node, where, found)
        return found

    return decode


def _with_merged(
    decoder: GoDecoder, node: Node, where: str, within: tuple[Node, ...] = ()
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
                    decoder.refuse(join(where, "<<"), "a mapping to merge", found)
                elif found in within:
                    decoder.refuse(
                        join(where, "<<"), "a mapping that does not contain its own anchor", found
                    )
                else:
                    own += _with_merged(decoder, found, where, within)
    return own


def _is_merge(key: Node) -> bool:
    return key.kind == "scalar" and key.value == "<<" and key.is_plain
