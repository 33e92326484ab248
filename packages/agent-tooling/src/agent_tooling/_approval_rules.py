"""Rules that say which tool calls a person has to approve."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, Self, cast

from stream_text import InvalidJsonError, parse_json

from ._errors import DeclarationError
from ._patterns import LinearPattern


type Ask = Literal["never", "once", "always"]
"""When a person is asked: never, once in a run for each tool, or for each call."""

_FIELD: Final = "approval_rules"
_ASKS: Final[tuple[Ask, ...]] = ("never", "once", "always")  # The stricter, the later.
_ANY_TOOL: Final = "*"
_KEYS: Final = ("tool", "when", "ask")
_MAX_RULES: Final = 200
_NOWHERE: Final = object()

# What a condition says of a value: whether it holds; None where that cannot be told.
type _Test = Callable[[Any], bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Condition:
    path: str
    tests: tuple[_Test, ...]

    def holds(self, arguments: Mapping[str, Any]) -> bool | None:
        value = _find(arguments, self.path)
        if value is _NOWHERE:
            return False
        return _all(test(value) for test in self.tests)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRule:
    """One rule.

    Attributes:
        place: Where it stands, such as `approval_rules["pay"]` or `approval_rules[2]`.
        tool: The name of the tool; `*` for every tool.
        ask: When a person is asked where it fits.
    """

    place: str
    tool: str
    ask: Ask
    _when: tuple[_Condition, ...] = ()

    def fits(self, tool: str, arguments: Mapping[str, Any] | None) -> bool:
        """Return whether it is for a call; in doubt it is if it asks, and is not if it never does.

        Args:
            tool: The name of the tool.
            arguments: The arguments; None where they cannot be read.
        """
        if self.tool not in {tool, _ANY_TOOL}:
            return False
        if arguments is None:
            found = None if self._when else True
        else:
            found = _all(condition.holds(arguments) for condition in self._when)
        return self.ask != "never" if found is None else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What the rules say of a call.

    Attributes:
        ask: When a person is asked.
        grant: What an approval is good for where it is asked for once in a run.
    """

    ask: Ask
    grant: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """The rules of a run, of which the first that fits a call says when a person is asked; where none fits, nobody is.

    Attributes:
        rules: The rules, in order.
        text: What they were read from, as canonical JSON.
    """

    rules: tuple[ApprovalRule, ...] = ()
    text: str = "[]"

    @classmethod
    def parse(cls, raw: object, *, field: str = _FIELD) -> Self:
        """Read rules, as JSON text or as what it says.

        An object names tools: `{"pay": "always", "search": "never", "*": "once"}`, where `*` is for all that it does not name. A list is read from its beginning:
        `[{"tool": "pay", "when": {"order.total": {"above": 100}}, "ask": "always"}]`. A path names keys and the indexes of lists, with dots between. Conditions are `equals`
        (any JSON), `above` (a number) and `matches` (a regular expression without look-around and backreferences, anywhere in the text; of what is no text, in its
        JSON). All that stand in `when` have to hold. Where a path leads nowhere, none does; where a value cannot be compared, the person is asked.

        Args:
            raw: The rules.
            field: What errors call them.

        Raises:
            DeclarationError: If they are not of this shape; it names the place.
        """
        if isinstance(raw, str):
            try:
                parse_json(raw)  # Its errors say where, and it nests no deeper than can be read.
                raw = json.loads(raw, object_pairs_hook=partial(_read_once, field))
            except InvalidJsonError as error:
                found = f"text that is none: {error}"
                raise DeclarationError(field, "JSON", found=found) from None
        if isinstance(raw, Mapping):
            named = cast("Mapping[object, object]", raw)
            rules = [_read_named(name, ask, field) for name, ask in named.items()]
            rules.sort(key=lambda rule: rule.tool == _ANY_TOOL)
        elif isinstance(raw, list | tuple):
            listed = cast("Sequence[object]", raw)
            rules = [_read_rule(item, f"{field}[{index}]") for index, item in enumerate(listed)]
        else:
            expected = "an object of tools and when to ask, or a list of rules"
            raise DeclarationError(field, expected, raw)
        if len(rules) > _MAX_RULES:
            raise DeclarationError(field, f"at most {_MAX_RULES} rules", found=str(len(rules)))
        return cls(tuple(rules), json.dumps(raw, sort_keys=True, default=str))

    def for_tools(self, names: Mapping[str, Iterable[str]]) -> Self:
        """Return the same rules for tools by the names that a run calls them by.

        Args:
            names: Of each tool of the run, by its name there, the names that a rule may use for it.

        Raises:
            DeclarationError: If a rule names a tool that is not among them.
        """
        called = {name: {name, *others} for name, others in names.items()}
        found: list[ApprovalRule] = []
        for rule in self.rules:
            meant = [name for name, others in called.items() if rule.tool in others]
            if rule.tool == _ANY_TOOL:
                meant = [_ANY_TOOL]
            if not meant:
                known = ", ".join(list(names)[:20]) or "none"
                expected = f"the name of a tool of this run ({known}) or {_ANY_TOOL!r}"
                raise DeclarationError(f"{rule.place}.tool", expected, found=repr(rule.tool))
            found += [replace(rule, tool=name) for name in meant]
        return replace(self, rules=tuple(found))

    def find(self, tool: str, *readings: Mapping[str, Any] | None) -> Approval:
        """Return what the rules say of a call.

        Args:
            tool: The name of the tool.
            readings: The arguments: as written, as the tool gets them, or however else they may be read; the strictest finding counts. None where they cannot be read.
        """
        found = [self._find_one(tool, arguments) for arguments in readings or ({},)]
        return max(found, key=lambda approval: _ASKS.index(approval.ask))

    def _find_one(self, tool: str, arguments: Mapping[str, Any] | None) -> Approval:
        for rule in self.rules:
            if rule.fits(tool, arguments):
                return Approval(ask=rule.ask, grant=json.dumps([rule.place, tool]))
        return Approval(ask="never")


def _read_once(field: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice in an object: of two rules for one tool, one would count and nobody could tell which."""
    read = dict(pairs)
    if len(read) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise DeclarationError(field, "JSON with each key once", found=f"{twice!r} twice")
    return read


def _read_named(name: object, ask: object, field: str) -> ApprovalRule:
    place = f"{field}[{json.dumps(name, ensure_ascii=False, default=repr)}]"
    return ApprovalRule(place=place, tool=_read_name(name, place), ask=_read_ask(ask, place))


def _read_rule(item: object, place: str) -> ApprovalRule:
    if not isinstance(item, Mapping):
        expected = 'an object such as {"tool": "pay", "ask": "always"}'
        raise DeclarationError(place, expected, item)
    fields = cast("Mapping[str, object]", item)
    if unknown := [key for key in fields if key not in _KEYS]:
        expected = f"a rule with {', '.join(_KEYS)} and nothing else"
        raise DeclarationError(place, expected, found=repr(unknown[0]))
    return ApprovalRule(
        place=place,
        tool=_read_name(fields.get("tool"), f"{place}.tool"),
        ask=_read_ask(fields.get("ask"), f"{place}.ask"),
        _when=_read_conditions(fields.get("when"), f"{place}.when"),
    )


def _read_name(name: object, place: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise DeclarationError(place, "the name of a tool", name)
    return name.strip()


def _read_ask(ask: object, place: str) -> Ask:
    if ask not in _ASKS:
        raise DeclarationError(place, '"never", "once" or "always"', found=repr(ask))
    return ask


def _read_conditions(when: object, place: str) -> tuple[_Condition, ...]:
    if when is None:
        return ()
    if not isinstance(when, Mapping):
        expected = 'an object such as {"order.total": {"above": 100}}'
        raise DeclarationError(place, expected, when)
    return tuple(
        _Condition(path=path, tests=_read_tests(tests, f"{place}[{json.dumps(path)}]"))
        for path, tests in cast("Mapping[str, object]", when).items()
    )


def _read_tests(tests: object, place: str) -> tuple[_Test, ...]:
    expected = f"an object of conditions: {', '.join(_TESTS)}"
    if not isinstance(tests, Mapping) or not tests:
        found = "an empty one" if isinstance(tests, Mapping) else None
        raise DeclarationError(place, expected, cast("object", tests), found=found)
    read: list[_Test] = []
    for name, value in cast("Mapping[str, object]", tests).items():
        if name not in _TESTS:
            raise DeclarationError(place, expected, found=repr(name))
        read.append(_TESTS[name](value, f"{place}.{name}"))
    return tuple(read)


def _read_equals(wanted: object, _: str) -> _Test:
    canonical = _canonical(wanted)
    return lambda value: _canonical(value) == canonical


def _read_above(least: object, place: str) -> _Test:
    number = _to_number(least) if isinstance(least, int | float) else None
    if number is None:
        raise DeclarationError(place, "a number", least)

    def is_above(value: object) -> bool | None:
        found = _to_number(value)
        return None if found is None else found > number

    return is_above


def _read_matches(pattern: object, place: str) -> _Test:
    if not isinstance(pattern, str):
        raise DeclarationError(place, "a regular expression", pattern)
    compiled = LinearPattern(pattern, field=place)
    return lambda value: compiled.is_in(value if isinstance(value, str) else _canonical(value))


_TESTS: Final[Mapping[str, Callable[[object, str], _Test]]] = {
    "equals": _read_equals,
    "above": _read_above,
    "matches": _read_matches,
}


def _to_number(value: object) -> float | None:
    """Return a number, also one that is written as a text; None where it is none, or too large to be told."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if number != number else number  # noqa: PLR0124 - what is not a number


def _canonical(value: object) -> str:
    """Return the same text for values that are equal in JSON, where 1 and 1.0 are."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return (
            f"{{{', '.join(sorted(f'{_canonical(str(k))}: {_canonical(v)}' for k, v in items))}}}"
        )
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_canonical, cast('Sequence[object]', value)))}]"
    return json.dumps(value, ensure_ascii=False, default=str)


def _find(value: object, path: str) -> object:
    """Return what a path leads to; a key may have dots itself."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        if path in fields:
            return fields[path]
        key, dot, rest = path.partition(".")
        return _find(fields[key], rest) if dot and key in fields else _NOWHERE
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        key, dot, rest = path.partition(".")
        if key.isdecimal() and key.isascii() and int(key) < len(items):
            return _find(items[int(key)], rest) if dot else items[int(key)]
    return _NOWHERE


def _all(findings: Iterable[bool | None]) -> bool | None:
    """Return whether all hold; None where that cannot be told."""
    found = list(findings)
    if False in found:
        return False
    return None if None in found else True
