"""A parser for the table of the daemon's types, which is written in Go's notation."""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import cast

from .types import BUILT_IN, Field, GoType, ListOf, Optional, Struct, text


_DEFINITION = re.compile(r"^type (\S+) (?:string$|struct \{\n(.*?)^\})", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(
    r'^ +(\S+)(?: ([^\s`]+)(?: `(?:json:"([^"]*)" ?)?(?:validate:"([^"]*)")?`)?)?$'
)  # an embedded struct stands alone
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_COMPOSED: Mapping[str, Callable[[GoType], GoType]] = {
    "*": lambda of: Optional(of=of),
    "[]": lambda of: ListOf(go=f"[]{of.go}", of=of),
    "map[string]": lambda of: ListOf(of=of, is_by_name=True),
}


class GoTypes:
    """The types that a table defines, each built on first use.

    Args:
        table: The definitions.
        special: Functions that return a struct with methods of its own, by the struct's name.
    """

    def __init__(self, table: str, special: Mapping[str, Callable[[Struct], Struct]]) -> None:
        self._definitions = {match[1]: match[2] for match in _DEFINITION.finditer(table)}
        self._special = special
        self._find = functools.cache(self._build)

    def names(self, prefix: str) -> list[str]:
        """Return the names that begin with `prefix`, in the order of the table."""
        return [name for name in self._definitions if name.startswith(prefix)]

    def __getitem__(self, name: str) -> Struct:
        """Return the struct with a qualified name."""
        return cast("Struct", self._find(name))

    def _build(self, name: str) -> GoType:
        fields = self._definitions[name]
        if fields is None:
            return text(name)
        package, _, short = name.rpartition(".")
        flat = tuple(field for line in fields.splitlines() for field in self._fields(line, package))
        is_named = package != "_"
        struct = Struct(
            go=name if is_named else "struct", name=short if is_named else "", fields=flat
        )
        return self._special[name](struct) if name in self._special else struct

    def _fields(self, line: str, package: str) -> Iterator[Field]:
        """Iterate over the field that a line defines, or over the fields of a struct that it embeds."""
        [(go, kind, tag, rules)] = _FIELD.findall(line)
        if kind:
            name, _, option = tag.partition(",")
            yield Field(
                go=go,
                json=name or _WORDS.sub("_", go).lower(),
                type=self._type(kind, package),
                rules=tuple(rules.split(",")) if rules else (),
                omits_empty=option == "omitempty",
            )
            return
        embedded = cast("Struct", self._type(go, package))
        for each in embedded.fields:
            yield replace(each, within=(embedded.name, *each.within))

    def _type(self, kind: str, package: str) -> GoType:
        """Return the type of a field's notation in a package."""
        if kind in BUILT_IN:
            return BUILT_IN[kind]
        for prefix, build in _COMPOSED.items():
            if kind.startswith(prefix):
                return build(self._type(kind.removeprefix(prefix), package))
        return self._find(kind if "." in kind else f"{package}.{kind}")
