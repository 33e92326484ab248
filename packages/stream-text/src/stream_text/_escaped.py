"""Patterns for the ways to write the characters of a secret.

As in a URL, in JSON, in a string of Python, Go or the like, up to three times over, and as in HTML.

A secret is a row of units, each a number of backslashes and the character after them, because escaping changes how many
backslashes there are. Between the units are gaps, where a text may have invisible characters. Each unit has two
patterns: one for the ways to write it, and one for every beginning of one that the end of a text cuts off.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple


_MAX_KEPT = 1_000  # patterns of each kind: of characters that secrets have, and of how they begin

type Unit = tuple[int, str]  # a number of backslashes, and the character after them

_GAP: Unit = (0, "")
_MAX_UNSEEN = 16  # characters in one gap, our choice
# Characters without a width, by ranges. Source: DerivedCoreProperties.txt of Unicode 15, Default_Ignorable_Code_Point.
UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSEEN_CODES = (0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)  # those that programs write


class _Form(NamedTuple):
    """The patterns of one way to write something.

    Attributes:
        whole: The pattern of all of it.
        cut: The pattern of a beginning, which may be empty, up to the end of the text.
    """

    whole: str
    cut: str


def _characters(*classes: str) -> _Form:
    """Return the form of characters in a row, each given by its pattern."""
    cut = r"\Z"
    for each in reversed(classes[:-1]):
        cut = rf"\Z|{each}(?:{cut})"
    return _Form("".join(classes), cut)


def _sequence(*forms: _Form) -> _Form:
    *before, last = forms
    cut = last.cut
    for form in reversed(before):
        cut = f"{form.cut}|{form.whole}(?:{cut})"
    return _Form("".join(form.whole for form in forms), cut)


def _either(*forms: _Form) -> _Form:
    # Each once: two ways to read a text would double the cost with every character.
    whole, cut = ("|".join(dict.fromkeys(patterns)) for patterns in zip(*forms, strict=True))
    return _Form(f"(?:{whole})", cut)


def _repeated(form: _Form, least: int, most: int) -> _Form:
    again = f"(?:{form.whole}){{0,{most - 1}}}" if most > 1 else ""
    return _Form(f"(?:{form.whole}){{{least},{most}}}", f"{again}(?:{form.cut})")


def _hex(number: int, digits: int) -> list[str]:
    """Return the patterns of a number's hexadecimal digits, in either case."""
    written = f"{number:0{digits}x}"
    return [f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in written]


# A percent sign, escaped by up to two further rounds: `%`, `%25`, `%2525`.
_PERCENT = _sequence(_characters("%"), _repeated(_characters("2", "5"), 0, 2))


def _percent(*classes: str) -> _Form:
    return _sequence(_PERCENT, _characters(*classes))


_BRACES = (
    _either(_characters(r"\{"), _percent("7", "[bB]")),
    _either(_characters(r"\}"), _percent("7", "[dD]")),
)


def _braced(number: int) -> _Form:
    """Return the form of a code in braces, with zeros before it or without."""
    digits = (_repeated(_characters("0"), 0, 7), _characters(*_hex(number, 1)))
    return _sequence(_characters("u"), _BRACES[0], *digits, _BRACES[1])


def _code(letter: str, number: int, digits: int) -> _Form:
    return _characters(letter, *_hex(number, digits))


def _entity(character: str) -> _Form:
    """Return the form of a character in HTML, whose ampersand may be escaped in turn."""
    number, zeros = ord(character), _repeated(_characters("0"), 0, 7)
    hexadecimal = _sequence(_characters("[xX]"), zeros, _characters(*_hex(number, 1)))
    names = [_characters(*name) for name in entity_names(character)]
    numbers = _either(hexadecimal, _sequence(zeros, _characters(*str(number))))
    code = _either(_sequence(_characters("#"), numbers), *names)
    end = _repeated(_characters(";"), 0, 1)
    return _sequence(_AMPERSAND, _AMP, code, end)


def entity_names(characters: str) -> list[str]:
    """Return the names that HTML has for any of these characters."""
    if characters.isascii() and characters.isalnum():
        return []
    from html.entities import html5  # noqa: PLC0415 - it takes a millisecond, for what few texts have

    return [
        name[:-1]
        for name, character in html5.items()
        if character in characters and name[-1] == ";"
    ]


_AMPERSAND = _either(_characters("&"), _characters(r"\\", *"u0026"))
_AMP = _repeated(_characters(*"amp;"), 0, 2)
_SHORT_ESCAPES = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_CODES_OF_BACKSLASH = _either(
    _code("u", 0x5C, 4), _code("x", 0x5C, 2), _code("U", 0x5C, 8), _braced(0x5C)
)
# What several ways begin with stands but once in a pattern, which takes half the time to compile.
_PLAIN_BACKSLASH = _sequence(
    _either(_characters(r"\\"), _percent("5", "[cC]")), _repeated(_CODES_OF_BACKSLASH, 0, 3)
)
_BACKSLASH = _either(_PLAIN_BACKSLASH, _entity("\\"))
_UNSEEN = _repeated(
    _either(
        _characters(f"[{UNSEEN}]"),
        _sequence(
            _characters(r"\\", "u"),
            _either(*(_characters(*_hex(code, 4)) for code in _UNSEEN_CODES)),
        ),
    ),
    0,
    _MAX_UNSEEN,
)
_BEGINNING_UNITS = 5  # of a secret with its gaps, which little other text begins with


def split_units(text: str) -> list[Unit]:
    """Return the units of a secret, and the gaps between them."""
    pairs: list[tuple[str, str]] = re.findall(r"(\\*)([^\\]|\Z)", text)
    units = [(len(slashes), character) for slashes, character in pairs if slashes or character]
    return [each for unit in units for each in (unit, _GAP)][:-1]


def compile_units(secrets: Iterable[Sequence[Unit]]) -> re.Pattern[str]:
    """Return the pattern that finds any of these secrets, the first that fits."""
    rows = list(secrets)
    # Most places in a text are none where a secret begins: to see so at once is several times as fast.
    firsts = "".join(re.escape(units[0][1]) for units in rows)
    forms = "|".join("".join(_form(unit).whole for unit in units) for units in rows)
    return re.compile(rf"(?=[\\%&+{firsts}])(?:{forms})")


def compile_traces(secrets: Iterable[Sequence[Unit]]) -> re.Pattern[str]:
    """Return a pattern that matches in every text with one of these secrets in an escaped form, and in few others.

    Searching for it takes a fraction of the time that searching for the secrets does, however many there are.
    """
    units = set(chain.from_iterable(secrets)) - {_GAP}
    characters = sorted({character for _, character in units} - {""})
    if any(slashes for slashes, _ in units):
        return re.compile(r"[\\%&+]")
    codes = {code for each in characters for code in (ord(each), *_octets(each), *_utf_16(each))}
    if " " in characters:
        codes.add(ord("+"))
    hexadecimal = _written(codes)
    names = "".join(f"|{name}" for name in entity_names("".join(characters)))
    decimal = "|".join(str(ord(each)) for each in characters)
    entity = rf"(?:amp;){{0,2}}(?:#(?:[xX]0{{0,7}}(?:{hexadecimal})|0{{0,7}}(?:{decimal})){names})"
    firsts = "".join(
        re.escape(_SHORT_ESCAPES.get(each, each))
        for each in characters
        if each in _SHORT_ESCAPES or not (each.isascii() and each.isalnum())
    )
    braced = rf"[uUx](?:\{{|%(?:25){{0,2}}7[bB])?0{{0,7}}(?:{_written(codes.union(_UNSEEN_CODES))})"
    braced += f"|[{firsts}]" if firsts else ""
    backslashes = r"(?:\\|%(?:25){0,2}5[cC]|[uUx](?:\{|%(?:25){0,2}7[bB])?0{0,7}5[cC](?:\}|%(?:25){0,2}7[dD])?){0,7}"
    # The engine is fast where a match begins with one of few characters, and most texts that cannot go
    # on as an escape differ in the very next one: so a look at that comes first.
    after_backslash = rf"{backslashes}(?:{braced})|u0026{entity}"
    after_percent = rf"(?:25){{0,2}}u?0{{0,7}}(?:{hexadecimal}|5[cC]{backslashes}(?:{braced}))"
    plus = r"|\+" if " " in characters else ""
    return re.compile(
        rf"\\(?=[\\%uUx{firsts}])(?:{after_backslash})|%(?:{after_percent})|&{entity}{plus}"
    )


def _written(codes: Iterable[int]) -> str:
    """Return a pattern of hexadecimal numbers in either case, without leading zeros."""
    return "|".join(sorted("".join(_hex(code, 1)) for code in codes))


def find_cut_off(text: str, units: Sequence[Unit], position: int) -> int:
    """Return the position, from `position` on, where a secret begins that the end of the text cuts off; the text's length if there is none."""
    beginning = _compile_beginning(tuple(units[:_BEGINNING_UNITS]))
    while not _is_cut_off(text, position, units):
        match = beginning.search(text, position + 1)
        position = match.start() if match else len(text)
    return position


def _is_cut_off(text: str, position: int, units: Iterable[Unit]) -> bool:
    # All positions at once: a unit may end in several places, and each has to be followed.
    positions = {position}
    for unit in units:
        if any(_compile_cut(unit).match(text, each) for each in positions):
            return True
        positions = set(chain.from_iterable(_iter_ends(text, each, unit) for each in positions))
        if not positions:
            break
    return False


def _iter_ends(text: str, position: int, unit: Unit) -> Iterator[int]:
    """Yield each position where the unit at `position` may end.

    There can be several: `%25` is an escaped percent sign, or a plain one before two digits, and `&amp;` an ampersand, or one before four characters.
    """
    whole = _compile_whole(unit)
    match = whole.match(text, position)
    if match:
        yield match.end()
        shorter = range(position + 1, match.end()) if unit[1] in ("%", "&") else ()
        yield from (end for end in shorter if whole.fullmatch(text, position, end))


@lru_cache(_MAX_KEPT)
def _compile_whole(unit: Unit) -> re.Pattern[str]:
    return re.compile(_form(unit).whole)


@lru_cache(_MAX_KEPT)
def _compile_cut(unit: Unit) -> re.Pattern[str]:
    return re.compile(_form(unit).cut)


@lru_cache(_MAX_KEPT)
def _compile_beginning(units: Iterable[Unit]) -> re.Pattern[str]:
    """Return a pattern for the places where a secret with these first units may begin, cut off or not; cheaper than their forms' `cut`."""
    pattern = ""
    for unit in reversed(list(units)):
        pattern = rf"[\\%&{UNSEEN}]|\Z|{_form(unit).whole}(?:{pattern})"
    return re.compile(pattern)


@lru_cache(_MAX_KEPT)
def _form(unit: Unit) -> _Form:
    """Return the form of a unit. Escaping three times makes eight backslashes of one, and seven of none."""
    if unit == _GAP:
        return _UNSEEN
    slashes, character = unit
    most = 8 * slashes + (7 if character else 0)
    if not character:
        return _repeated(_BACKSLASH, slashes, most)
    plain, codes = list(_iter_plain(character)), list(_iter_codes(character))
    # An entity is longer than an ampersand, and than one that is escaped.
    entity = _entity(character)
    shown = [entity, *plain]
    if slashes:
        same, more = (_repeated(_BACKSLASH, least, most) for least in (slashes, slashes + 1))
        return _either(_sequence(same, _UNSEEN, _either(*shown)), _sequence(more, _either(*codes)))
    # A backslash alone would make another character of a letter or digit.
    escaped = _either(*codes, *(() if character.isascii() and character.isalnum() else plain))
    whole = _sequence(_PLAIN_BACKSLASH, _repeated(_BACKSLASH, 0, most - 1), escaped)
    cut = _sequence(_repeated(_BACKSLASH, 1, most), escaped).cut
    return _Form(_either(entity, whole, *plain).whole, _either(_Form("", cut), *shown).cut)


def _iter_plain(character: str) -> Iterator[_Form]:
    """Yield the forms of a character as it is and as URLs and web forms write it, the longest first, since `%` begins `%25`."""
    yield _sequence(*(_percent("u", *_hex(pair, 4)) for pair in _utf_16(character)))
    yield _sequence(*(_percent(*_hex(octet, 2)) for octet in _octets(character)))
    if character == " ":
        yield _either(_characters(r"\+"), _percent("2", "[bB]"))
    yield _characters(re.escape(character))


def _iter_codes(character: str) -> Iterator[_Form]:
    """Yield the forms of the codes that stand for a character after backslashes."""
    yield _joined([_code("u", pair, 4) for pair in _utf_16(character)])
    yield _joined([_code("x", octet, 2) for octet in _octets(character)])
    yield _code("x", ord(character), 2)
    yield _code("U", ord(character), 8)
    yield _braced(ord(character))
    if character in _SHORT_ESCAPES:
        yield _characters(_SHORT_ESCAPES[character])


def _joined(codes: Sequence[_Form]) -> _Form:
    """Return the form of codes with backslashes between them."""
    first, *others = codes
    return _sequence(
        first, *chain.from_iterable((_repeated(_BACKSLASH, 1, 7), code) for code in others)
    )


def _octets(character: str) -> bytes:
    return character.encode(errors="replace")


def _utf_16(character: str) -> Sequence[int]:
    return memoryview(character.encode("utf-16", "surrogatepass")[2:]).cast("H").tolist()
