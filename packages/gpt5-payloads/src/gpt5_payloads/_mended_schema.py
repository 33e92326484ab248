"""A function's schema as the API takes it: it may allow more than the original, never less.

The API checks it by the metaschema of the draft 2020-12 and by rules of its own, and refuses the whole request for one fault.

Source: docs/evidence/responses-api.md, R15 and R40.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from stream_text import is_list, is_object

from ._strict import MAX_LEVELS, MAX_PATH
from ._strict_keywords import DEFINITIONS, TEXTS, TYPES, is_number, named_types


type _Schema = dict[str, Any]
type _Path = tuple[str, ...]

_WORDS: Final = json.loads(Path(__file__).with_name("schema_words.json").read_text("utf-8"))
_HOLDS = {word: kind for kind, words in _WORDS["holds"].items() for word in words}
_NOTHING: Final = object()
_NEEDED = (("array", "items"), ("object", "properties"))
_DRAFT = re.compile(r"draft-0?([3-7])")
_NEWEST = 9
_WITH_SIBLINGS = 8  # the draft since which what stands beside `$ref` counts
_KEPT = {"$ref", "default", "nullable", *DEFINITIONS, *TEXTS}
_SENT_REFERENCE = re.compile(r"#(?:/(?:\$defs|definitions)/[^/~%]+)?")
# References in a schema with an address of its own are relative to that.
_ADDRESS = re.compile(r'"\$?id": "(?!#)')
# Look-around is refused. A backreference is no more regular, and engines that lack the one lack the other.
_NOT_REGULAR = re.compile(r"\(\?<?[=!]|\(\?P=|\\[1-9]")
_MOST_BRANCHES = 50  # of combinations at the root, which multiply
_MOST_CHARACTERS = 200  # of a value that a note quotes


def mend_schema(schema: _Schema) -> tuple[_Schema, list[str]]:
    """Return a schema of an object as the API takes it, and what it does not say any more, each as a place, a word and its value."""
    mender = _Mender(schema)
    mended = mender.mend()
    if mender.loosened and _refers(schema):
        # What is referred to may be looser now, and a `not` with a reference stricter.
        mender = _Mender(schema, is_wary=True)
        mended = mender.mend()
    return mended, list(mender.notes)


@dataclass(slots=True)
class _Flat:
    """What a schema says of the names of an object: their schemas, unmended; those that must be there; and whether there may be no others."""

    properties: _Schema
    required: dict[str, None]
    is_closed: bool


class _Mender:
    def __init__(self, root: _Schema, *, is_wary: bool = False) -> None:
        self.notes: dict[str, None] = {}
        self.loosened = 0
        self._root = root
        self._is_wary = is_wary
        found = _DRAFT.search(str(root.get("$schema")))
        self._draft = int(found[1]) if found else _NEWEST
        self._has_address = _ADDRESS.search(json.dumps({**root, "id": 0, "$id": 0})) is not None
        self._named: dict[int, str] = {}
        self._waiting: list[tuple[str, object]] = []
        self._branches = 0

    def mend(self) -> _Schema:
        root = self._read(self._root)
        flat = self._flatten(root)
        for word in _WORDS["not at the root"]:
            if word in root:
                self._loosen((), word, root.pop(word))
        said = {"type": "object", "properties": flat.properties}
        root = {**said, **root, **said}
        if flat.required or isinstance(root.get("required"), list):
            root["required"] = list(flat.required)
        mended = self._write(root, (), 1)
        while self._waiting:
            name, target = self._waiting.pop()
            mended.setdefault("$defs", {})[name] = self._write(target, ("$defs", name), 1)
        return mended

    def _loosen(self, path: _Path, word: str, value: object) -> None:
        self.loosened += 1
        text = json.dumps(value, ensure_ascii=False)
        if len(text) > _MOST_CHARACTERS:
            text = f"{text[:_MOST_CHARACTERS]}..."
        place = ".".join(part for part in path if part != "properties")
        self.notes[f"{place or 'the arguments'}: {word} {text}"] = None

    def _flatten(self, schema: object) -> _Flat:
        """Return what a schema and its combinations say of names.

        All that each of `allOf` says, and of alternatives what holds for any.
        """
        self._branches += 1
        node = self._read(schema) if is_object(schema) else {}
        flat = _Flat(
            dict(_members(node.get("properties"))),
            dict.fromkeys(_texts(node.get("required"))),
            node.get("additionalProperties") is False and "patternProperties" not in node,
        )
        if self._branches > _MOST_BRANCHES:
            return flat
        for one in (*_listed(node.get("allOf")), self._find(node.get("$ref"))):
            inner = self._flatten(one)
            for name, shape in inner.properties.items():
                own = flat.properties.setdefault(name, shape)
                flat.properties[name] = own if own == shape else {"allOf": [own, shape]}
            flat.required |= inner.required
        for word in ("anyOf", "oneOf"):
            members = [one for one in _listed(node.get(word)) if _takes_objects(one)]
            _add_alternatives(flat, [self._flatten(one) for one in members])
        return flat

    def _read(self, schema: Mapping[str, Any]) -> _Schema:
        """Return a schema without what says nothing, and with the words of earlier drafts as those of today."""
        is_older = "$ref" in schema and self._draft < _WITH_SIBLINGS
        node = {
            word: value
            for word, value in schema.items()
            if (value is not None or word in ("const", "default"))
            and _WORDS["since draft"].get(word, 0) <= self._draft
            and (word in _KEPT or not is_older)
        }
        for bound in ("minimum", "maximum"):
            word = f"exclusive{bound.capitalize()}"
            if isinstance(node.get(word), bool) and node.pop(word) and bound in node:
                node[word] = node.pop(bound)
        if isinstance(node.get("items"), list):
            node |= {"prefixItems": node["items"], "items": node.pop("additionalItems", True)}
        if not all(map(_is_pattern, _members(node.get("patternProperties")))):
            node.pop("additionalProperties", None)
        return node

    def _read_types(self, node: _Schema, path: _Path) -> frozenset[str]:
        """Return the types that a schema names, written in it as the API spells them."""
        given: object = node.get("type", ())
        listed = _listed(given) if is_list(given) else [given]
        names = [*dict.fromkeys(str(name).lower() for name in listed)] if given != () else []
        if names and TYPES.issuperset(names):
            node["type"] = names if is_list(given) else names[0]
            return frozenset(names)
        if "type" in node:
            self._loosen(path, "type", node.pop("type"))
        return frozenset()

    def _write(self, schema: object, path: _Path, level: int) -> _Schema:
        if not is_object(schema):
            if schema not in (True, None):
                self._loosen(path, "the schema", schema)
            return {}
        node = self._read(schema)
        types = self._read_types(node, path)
        if (level > MAX_LEVELS and types & {"array", "object"}) or len(path) > MAX_PATH:
            self._loosen(path, f"what is deeper than {MAX_LEVELS} levels:", schema)
            return {}
        node |= {word: node.get(word, {}) for kind, word in _NEEDED if kind in types}
        written = self._write_words(node, path, level)
        if path and schema.get("nullable") is True:
            self.loosened += 1
            return _with_null(written)
        return written

    def _write_words(self, node: _Schema, path: _Path, level: int) -> _Schema:
        written: _Schema = {}
        for word, value in node.items():
            before = self.loosened
            said, made = word, self._write_word(word, value, (*path, word), level)
            is_looser = self.loosened > before or (self._is_wary and _refers(value))
            if is_looser and word in _WORDS["stricter where its schema is looser"]:
                said, made = self._turn(word, made, node, path)
            if made is not _NOTHING:
                written[said] = made
        if "if" not in written:
            written = {word: one for word, one in written.items() if word not in ("then", "else")}
        return written

    def _write_word(self, word: str, value: object, path: _Path, level: int) -> object:
        """Return the value that a word gets; `_NOTHING` if the word goes."""
        place, kind = path[:-1], _HOLDS.get(word)
        # No reference leads to a definition that is not at the root any more.
        if kind == "nothing about a value, once it is mended" or (place and word in DEFINITIONS):
            return _NOTHING
        inside = 1 if word in DEFINITIONS else level + (word not in _WORDS["on the same level"])
        made: Any = _NOTHING
        if kind == "a schema":
            is_plain = word == "additionalProperties" and isinstance(value, bool)
            made = value if is_plain else self._write(value, path, inside)
        elif kind == "schemas" and (members := _listed(value)):
            made = [self._write(one, (*path, str(n)), inside) for n, one in enumerate(members)]
        elif kind == "schemas by name" and is_object(value):
            made = {
                name: self._write(one, (*path, name), inside)
                for name, one in _members(value).items()
                if word != "patternProperties" or _is_pattern(name)
            }
            if len(made) < len(value):
                self._loosen(place, word, value)
        elif kind == "a reference":
            made = self._write_reference(value)
        elif kind in _CHECKS and _CHECKS[kind](value):
            made = list(dict.fromkeys(_texts(value))) if kind == "names" else value
        if made is _NOTHING:
            self._loosen(place, word, value)
        return made

    def _turn(self, word: str, made: object, node: _Schema, path: _Path) -> tuple[str, object]:
        """Return the word and the value for a word that would be stricter than the original."""
        if word == "contains" and "maxContains" not in node:
            return word, made
        self._loosen(path, word, node[word])
        return ("anyOf", made) if word == "oneOf" and "anyOf" not in node else (word, _NOTHING)

    def _write_reference(self, reference: object) -> object:
        """Return a reference in one of the two forms that the API follows, to `#` or a definition; `_NOTHING` if it leads nowhere."""
        target = self._find(reference)
        if not (is_object(target) or isinstance(target, bool)):
            return _NOTHING
        # The root that is sent takes objects only and has no combinations.
        is_plain = self._root.keys().isdisjoint(_WORDS["not at the root"])
        is_same = target is not self._root or (is_plain and self._root.get("type") == "object")
        if is_same and _SENT_REFERENCE.fullmatch(str(reference)):
            return reference
        key, taken = id(target), _members(self._root.get("$defs"))
        if key not in self._named:
            self._named[key] = f"referred_{len(taken)}_{len(self._named)}"
            self._waiting.append((self._named[key], target))
        return f"#/$defs/{self._named[key]}"

    def _find(self, reference: object) -> object:
        """Return what a pointer into the root leads to; None for any other reference, and if there is nothing."""
        if not isinstance(reference, str) or self._has_address:
            return None
        if reference == "#":
            return self._root
        place: object = self._root if reference.startswith("#/") else None
        for part in unquote(reference[2:]).split("/"):
            # In this order (RFC 6901, 4): the other would turn `~01`, which means `~1`, into `/`.
            name = part.replace("~1", "/").replace("~0", "~")
            members = {str(n): one for n, one in enumerate(_listed(place))} or _members(place)
            place = members.get(name)
        return place


def _members(value: object) -> Mapping[str, Any]:
    return value if is_object(value) else {}


def _listed(value: object) -> Sequence[object]:
    return value if is_list(value) else ()


def _texts(value: object) -> list[str]:
    return [one for one in _listed(value) if isinstance(one, str)]


def _refers(value: object) -> bool:
    return '"$ref"' in json.dumps(value)


def _takes_objects(schema: object) -> bool:
    types = named_types(_members(schema))
    return schema is not False and (not types or "object" in types or not types <= TYPES)


def _add_alternatives(flat: _Flat, alternatives: list[_Flat]) -> None:
    """Add what alternatives say: the shape of a name where each has it or forbids it, and that it is required where it is in each."""
    for name in dict.fromkeys(name for one in alternatives for name in one.properties):
        shapes = [one.properties[name] for one in alternatives if name in one.properties]
        shape = shapes[0] if all(one == shapes[0] for one in shapes) else {"anyOf": shapes}
        if not all(name in one.properties or one.is_closed for one in alternatives):
            shape = {"description": f"In some cases: {json.dumps(shape)[:_MOST_CHARACTERS]}"}
        flat.properties.setdefault(name, shape)
    for name in alternatives[0].required if alternatives else ():
        if all(name in one.required for one in alternatives):
            flat.required[name] = None


def _with_null(schema: _Schema) -> _Schema:
    """Return a schema that takes null too, as `nullable` of OpenAPI 3.0 has it."""
    if not schema.keys().isdisjoint(_WORDS["may refuse null beside a type that takes it"]):
        return {"anyOf": [schema, {"type": "null"}]}
    nullable = dict(schema)
    if types := schema.get("type"):
        nullable["type"] = [*dict.fromkeys([*(types if is_list(types) else [types]), "null"])]
    if None not in schema.get("enum", [None]):
        nullable["enum"] = [*schema["enum"], None]
    return nullable


def _is_pattern(value: object) -> bool:
    """Return whether the API takes a text as a regular expression: `re` compiles it, and it has no look-around and no backreference."""
    if not isinstance(value, str) or _NOT_REGULAR.search(value):
        return False
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError, Warning):
        return False
    return True


def _is_names(value: object) -> bool:
    texts = _texts(value)
    return texts == value and len(set(texts)) == len(texts)


_CHECKS: Mapping[str | None, Callable[[Any], bool]] = {
    None: lambda _: True,
    "a regular expression": _is_pattern,
    "a count": lambda value: is_number(value) and value >= 0 and int(value) == value,
    "a number": is_number,
    "a number over 0": lambda value: is_number(value) and value > 0,
    "a boolean": lambda value: isinstance(value, bool),
    "a list": is_list,
    "names": is_list,
    "names by name": lambda value: is_object(value) and all(map(_is_names, value.values())),
    "a text": lambda value: isinstance(value, str),
}
