"""A short way to write down the daemon's structs."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from ._types import Field, GoType, Problem, Struct


_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def field(go: str, kind: GoType, rules: str = "", *, json: str = "", omits: bool = False) -> Field:
    """Build a field; its name in JSON is that in Go with underscores, unless another is given."""
    name = json or _WORDS.sub("_", go).lower()
    split = tuple(rules.split(",")) if rules else ()
    return Field(go=go, json=name, type=kind, rules=split, omits_empty=omits)


def struct(
    go: str,
    *fields: Field | Struct,
    check: Callable[[Mapping[str, Any]], Problem | None] | None = None,
) -> Struct:
    """Build a struct; one that stands among its fields is embedded.

    Args:
        go: Its name in Go, with its package.
        fields: Its fields and the structs that it embeds.
        check: Finds what is wrong with it as a whole.
    """
    flat = tuple(each for given in fields for each in _flat(given))
    name = go.rpartition(".")[2]
    return (
        Struct(go=go, name=name, fields=flat, check=check)
        if check
        else Struct(go=go, name=name, fields=flat)
    )


def _flat(given: Field | Struct) -> tuple[Field, ...]:
    if isinstance(given, Field):
        return (given,)
    return tuple(
        Field(
            go=each.go,
            json=each.json,
            type=each.type,
            rules=each.rules,
            omits_empty=each.omits_empty,
            within=(given.name, *each.within),
        )
        for each in given.fields
    )
