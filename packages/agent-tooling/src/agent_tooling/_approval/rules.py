"""Rules that say which tool calls a person has to approve."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Final, Literal, Self

from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema
from agent_tooling._schemas.linear_pattern import LinearPattern
from stream_text import InvalidJsonError, canonical_text, is_list, is_object, parse_json

from .paths import MAX_VALUES, NOWHERE, UNSURE, can_lead, find_values, read_json


type Ask = Literal["never", "once", "always"]
"""When a person is asked: never, once in a run for each tool, or for each call."""

type ApprovalOption = Ask | Mapping[str, Mapping[str, Any]]
"""When a person is asked: an `Ask`, or a mapping of conditions under which always, as in `when` of `ApprovalRules.parse`."""

_FIELD: Final = "approval_rules"
_ASKS: Final[tuple[Ask, ...]] = ("never", "once", "always")  # Stricter ones come later.
_ANY_TOOL: Final = "*"
_KEYS: Final = ("tool", "when", "ask")
_MAX_RULES: Final = 200  # Each call is checked against all of them.
_MAX_NAMES: Final = 20  # of tools or parameters, that an error lists

# A condition's finding about a value: whether it holds, or None if that is unknown.
type _Test = Callable[[Any], bool | None]
# The arguments of a call in every way they may be read; None if they cannot be read.
type _Readings = Sequence[Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Condition:
    path: str
    tests: tuple[_Test, ...]

    def is_for(self, schema: JsonSchema, readings: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether a tool's arguments can have the path, or the arguments of this call have it anyway.

        Such as in a value that the app's builder has set.
        """
        values = (value for it in readings for value in find_values(it, self.path))
        return can_lead(schema, self.path) or any(value is not NOWHERE for value in values)

    def holds(self, readings: Sequence[Mapping[str, Any]]) -> bool | None:
        """Return whether the condition holds for every value that its path leads to.

        None if it holds for some, if there are none, or if it is unknown.
        """
        found = [find_values(arguments, self.path) for arguments in readings]
        # A value that the model leaves out, or sets to null, may get a default before the tool is called.
        given = [values for values in found if any(it not in (NOWHERE, None) for it in values)]
        return _agree(_hold(self.tests, value) for values in given or found for value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRule:
    """One rule for the calls of a tool.

    Attributes:
        place: Its path for errors, such as `approval_rules["pay"]` or `approval_rules[2]`.
        tool: The name of the tool; `*` for every tool.
        ask: When a person is asked about a call that the rule fits.
    """

    place: str
    tool: str
    ask: Ask
    _when: tuple[_Condition, ...] = ()

    def fits(self, tool: str, readings: _Readings, schema: JsonSchema | None = None) -> bool | None:
        """Return whether the rule applies to a call; None if it may.

        Args:
            tool: The name of the tool.
            readings: The arguments in every way they may be read; None if they cannot be read.
            schema: The schema of the tool's arguments. A rule for every tool does not apply to a tool whose arguments
                cannot have its paths, unless this call's do.
        """
        if self.tool not in {tool, _ANY_TOOL}:
            return False
        read = [arguments for arguments in readings if arguments is not None]
        if (
            self.tool == _ANY_TOOL
            and schema is not None
            and not all(condition.is_for(schema, read) for condition in self._when)
        ):
            return False
        if len(read) < len(readings):
            # Unreadable arguments: only a rule without conditions surely fits.
            return None if self._when else True
        return _all(condition.holds(read) for condition in self._when)

    def validate_paths(self, tool: str, schema: JsonSchema) -> None:
        """Raise an error if the rule has a path that the arguments of a tool cannot have.

        Raises:
            DeclarationError: If it has one; the error names it.
        """
        for condition in self._when:
            if not can_lead(schema, condition.path):
                known = ", ".join(list(schema.get("properties", ()))[:_MAX_NAMES]) or "none"
                place = f"{self.place}.when[{json.dumps(condition.path, ensure_ascii=False)}]"
                raise DeclarationError(
                    place,
                    f"a path into the arguments of {tool} ({known})",
                    found=repr(condition.path),
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The finding of the rules about a call.

    Attributes:
        ask: When a person is asked.
        grant: What an approval covers if it is asked for once in a run.
    """

    ask: Ask
    grant: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """The approval rules of a run. The first one that fits a call says when a person is asked; if none fits, nobody is.

    If it is unknown whether a rule fits, the stricter finding counts: that of the rule, or that of the rules after it.

    Attributes:
        rules: The rules, in order.
        text: The JSON that they were read from, in canonical form.
    """

    rules: tuple[ApprovalRule, ...] = ()
    text: str = "[]"
    _beside: tuple[Self, ...] = ()

    @classmethod
    def parse(cls, raw: object, *, field: str = _FIELD) -> Self:
        """Read rules from JSON text or from its value.

        An object names tools: `{"pay": "always", "search": "never", "*": "once"}`, where `*` stands for all tools that
        it does not name. A list is read from its beginning:
        `[{"tool": "pay", "when": {"order.total": {"above": 100}}, "ask": "always"}]`. Conditions are `equals` (any
        JSON), `above` (a number) and `matches` (a regular expression without look-around and backreferences; a value
        that is not text is matched as JSON). All conditions in `when` have to hold.

        A path joins keys and list indexes by dots, and leads everywhere it can: a key may contain dots itself, a name
        is looked for in each item of a list and in a text that is JSON, and a condition checks each item of a list that
        the path ends at. A rule that asks does so if the condition holds for one of these values, and its `matches` may
        match anywhere in the text, over line ends and at them too. A rule that never asks fits only if the condition
        holds for each of them, and its `matches` has to match the whole text. If a path leads nowhere or to null, or a
        value cannot be compared, the person is asked.

        Args:
            raw: The rules.
            field: Their name in errors.

        Raises:
            DeclarationError: If they do not have this shape; the error names the path at fault.
        """
        if isinstance(raw, str):
            try:
                parse_json(raw)  # Its errors name the position, and it bounds the depth.
                raw = json.loads(raw, object_pairs_hook=partial(_read_once, field))
            except InvalidJsonError as error:
                found = f"text that is none: {error}"
                raise DeclarationError(field, "JSON", found=found) from None
        if is_object(raw):
            rules = [_read_named(name, ask, field) for name, ask in raw.items()]
            # Members of an object have no order: a rule that names a tool comes before the one for all.
            rules.sort(key=lambda rule: rule.tool == _ANY_TOOL)
        elif is_list(raw):
            rules = [_read_rule(item, f"{field}[{index}]") for index, item in enumerate(raw)]
        else:
            expected = "an object of tools and when to ask, or a list of rules"
            raise DeclarationError(field, expected, raw)
        if len(rules) > _MAX_RULES:
            raise DeclarationError(field, f"at most {_MAX_RULES} rules", found=str(len(rules)))
        # Snapshots compare rules by this text, so equal rules have to give equal texts.
        return cls(tuple(rules), json.dumps(raw, sort_keys=True, default=str))

    @classmethod
    def from_option(cls, option: object, *, tool: str, field: str) -> Self:
        """Return the rule that an `ApprovalOption` stands for.

        Args:
            option: The option.
            tool: The name of its tool; `*` for every tool.
            field: The name of the option in errors.

        Raises:
            DeclarationError: If the option is invalid; the error names the place.
        """
        how = {"when": option, "ask": "always"} if is_object(option) else {"ask": option}
        return cls.parse([{"tool": tool, **how}], field=field)

    def for_tools(
        self,
        names: Mapping[str, Iterable[str]],
        schemas: Mapping[str, JsonSchema] | None = None,
    ) -> Self:
        """Return the rules with the names that a run has for its tools.

        Args:
            names: For each tool of the run, by its name there, the other names that a rule may use for it.
            schemas: The schemas of their arguments, by the same names.

        Raises:
            DeclarationError: If a rule names a tool that is not among them, or a path that the arguments of that tool cannot have.
        """
        called = {name: {name, *others} for name, others in names.items()}
        found: list[ApprovalRule] = []
        for rule in self.rules:
            meant = [name for name, others in called.items() if rule.tool in others]
            for name in meant:
                if schemas is not None:
                    rule.validate_paths(name, schemas[name])
            if rule.tool == _ANY_TOOL:
                meant = [_ANY_TOOL]
            if not meant:
                known = ", ".join(list(names)[:_MAX_NAMES]) or "none"
                expected = f"the name of a tool of this run ({known}) or {_ANY_TOOL!r}"
                raise DeclarationError(f"{rule.place}.tool", expected, found=repr(rule.tool))
            found += [replace(rule, tool=name) for name in meant]
        beside = tuple(rules.for_tools(names, schemas) for rules in self._beside)
        return replace(self, rules=tuple(found), _beside=beside)

    def beside(self, others: Iterable[Self]) -> Self:
        """Return these rules together with others, such as those of the tools themselves; the strictest finding about a call counts."""
        given = (*self._beside, *others)
        texts = [self.text, *(rules.text for rules in given)]
        return replace(self, _beside=given, text=json.dumps(texts))

    def find(
        self, tool: str, *readings: Mapping[str, Any] | None, schema: JsonSchema | None = None
    ) -> Approval:
        """Return whether a person must approve a call, and what the approval covers.

        Args:
            tool: The name of the tool.
            readings: The arguments as written, as the tool gets them, or however else they may be read; the strictest
                finding counts. None for arguments that cannot be read.
            schema: The schema of the tool's arguments, if known; rules for every tool that need a path which they cannot have are left out.
        """
        found = [
            rules._find(tool, readings or ({},), schema)  # noqa: SLF001 - of this class
            for rules in (self, *self._beside)
        ]
        ask: Ask = _ASKS[max(_ASKS.index(said) for said, _ in found)]
        places = [place for said, ruled in found if said == ask for place in ruled]
        # An approval covers this tool and the rules that asked, so a person is asked again when
        # another rule wants it.
        return Approval(ask=ask, grant=json.dumps([*places, tool]))

    def _find(
        self, tool: str, readings: _Readings, schema: JsonSchema | None
    ) -> tuple[Ask, list[str]]:
        """Return the finding of these rules alone about a call, without those beside them, and the paths of the rules that made it."""
        found: Ask = "never"
        places: list[str] = []
        # A rule that may fit does not end the search: if it does not fit after all, a later one decides,
        # so the stricter of both counts.
        for rule in self.rules:
            if (fits := rule.fits(tool, readings, schema)) is False:
                continue
            if _ASKS.index(rule.ask) > _ASKS.index(found):
                found, places = rule.ask, []
            if rule.ask == found:
                places.append(rule.place)
            if fits:
                break
        return found, places


def _read_once(field: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that appears twice in an object: with two rules for one tool, nobody could tell which one counts."""
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
    if not is_object(item):
        expected = 'an object such as {"tool": "pay", "ask": "always"}'
        raise DeclarationError(place, expected, item)
    if unknown := [key for key in item if key not in _KEYS]:
        expected = f"a rule with {', '.join(_KEYS)} and nothing else"
        raise DeclarationError(place, expected, found=repr(unknown[0]))
    ask = _read_ask(item.get("ask"), f"{place}.ask")
    return ApprovalRule(
        place=place,
        tool=_read_name(item.get("tool"), f"{place}.tool"),
        ask=ask,
        _when=_read_conditions(item.get("when"), f"{place}.when", ask),
    )


def _read_name(name: object, place: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise DeclarationError(place, "the name of a tool", name)
    return name.strip()


def _read_ask(ask: object, place: str) -> Ask:
    if ask not in _ASKS:
        raise DeclarationError(place, '"never", "once" or "always"', found=repr(ask))
    return ask


def _read_conditions(when: object, place: str, ask: Ask) -> tuple[_Condition, ...]:
    if when is None:
        return ()
    if not is_object(when):
        expected = 'an object such as {"order.total": {"above": 100}}'
        raise DeclarationError(place, expected, when)
    return tuple(
        _Condition(path=path, tests=_read_tests(tests, f"{place}[{json.dumps(path)}]", ask))
        for path, tests in when.items()
    )


def _read_tests(tests: object, place: str, ask: Ask) -> tuple[_Test, ...]:
    expected = f"an object of conditions: {', '.join(_TESTS)}"
    if not is_object(tests) or not tests:
        found = "an empty one" if is_object(tests) else None
        raise DeclarationError(place, expected, tests, found=found)
    read: list[_Test] = []
    for name, value in tests.items():
        if name not in _TESTS:
            raise DeclarationError(place, expected, found=repr(name))
        read.append(_TESTS[name](value, f"{place}.{name}", ask))
    return tuple(read)


def _read_equals(wanted: object, _: str, __: Ask) -> _Test:
    canonical = canonical_text(wanted)
    return lambda value: canonical_text(value) == canonical


def _read_above(least: object, place: str, _: Ask) -> _Test:
    # A rule says a number as a number; a call may write it as text, which is compared all the same.
    number = _to_number(least) if isinstance(least, int | float) else None
    if number is None:
        raise DeclarationError(place, "a number", least)

    def is_above(value: object) -> bool | None:
        found = _to_number(value)
        return None if found is None else found > number

    return is_above


def _read_matches(pattern: object, place: str, ask: Ask) -> _Test:
    if not isinstance(pattern, str):
        raise DeclarationError(place, "a regular expression", pattern)
    compiled = LinearPattern(pattern, field=place, is_whole=ask == "never")
    if ask == "never":
        return lambda value: compiled.is_in(_to_text(value))
    over_lines = LinearPattern(pattern, field=place, sees_lines=True)

    def is_in(value: object) -> bool | None:
        text = _to_text(value)
        if (found := compiled.is_in(text)) is not False:
            return found
        # It may fit, and no more than that: so a stricter rule behind it counts as well.
        lines = (text, "\n".join(text.splitlines()))
        return None if any(over_lines.is_in(one) is not False for one in lines) else False

    return is_in


_TESTS: Final[Mapping[str, Callable[[object, str, Ask], _Test]]] = {
    "equals": _read_equals,
    "above": _read_above,
    "matches": _read_matches,
}


def _to_number(value: object) -> float | None:
    """Return a value as a number, which may be written as text; None if it is not a number or is too large."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if number != number else number  # noqa: PLR0124 - NaN alone differs from itself


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else canonical_text(value)


def _hold(tests: Sequence[_Test], value: object) -> bool | None:
    """Return whether tests hold for a value or, if it is a list, for each item; None if they hold only for parts of it, or do not hold for null."""
    if value is NOWHERE or value is UNSURE:
        return None
    # The whole value first, since a condition such as `equals` may be about a list or an object.
    whole = _all(test(value) for test in tests)
    if whole or value is None:
        return whole or None
    return _hold_inside(tests, value, whole)


def _hold_inside(tests: Sequence[_Test], value: object, whole: bool | None) -> bool | None:  # noqa: FBT001 - a finding
    if isinstance(value, str):
        read = read_json(value) if value.lstrip()[:1] in {"[", "{"} else None
        return whole if read is None or _hold(tests, read) is False else None
    enters_objects = is_object(value)
    if not (enters_objects or is_list(value)):
        return whole
    inside = list(islice(_iter_inside(value, enters_objects=enters_objects), MAX_VALUES + 1))
    if len(inside) > MAX_VALUES:
        return None
    if enters_objects:
        # Tests that may hold for a value inside an object leave it open what the rule means.
        return whole if {_all(test(it) for test in tests) for it in inside} <= {False} else None
    return _agree(_hold(tests, item) for item in inside) if inside else whole


def _iter_inside(value: object, *, enters_objects: bool) -> Iterator[object]:
    """Yield the items of a list or the values of an object, at any depth."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if enters_objects and is_object(item):
            waiting += item.values()
        elif is_list(item):
            waiting += item
        else:
            yield item


def _all(findings: Iterable[bool | None]) -> bool | None:
    """Return whether all findings are true; None if one is unknown and none is false."""
    found = list(findings)
    if False in found:
        return False
    return None if None in found else True


def _agree(findings: Iterable[bool | None]) -> bool | None:
    """Return the finding that all share; None if they differ or there are none."""
    found = set(findings)
    return found.pop() if len(found) == 1 else None
