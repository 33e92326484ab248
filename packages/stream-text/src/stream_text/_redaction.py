"""Secrets taken out of what is shown, logged or written down: by what they look like, and by value where somebody knows them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Final, cast

from ._errors import InvalidJsonError
from ._json import parse_json
from ._secret_names import WORDS, is_secret_key


REDACTED: Final = "[redacted]"
"""What stands in the place of a secret."""

MAX_LOGGED_CHARACTERS: Final = 2_000
"""How much of a text is logged."""

_MAX_DEPTH: Final = 20
_MAX_PARSED_CHARACTERS: Final = 1_000_000  # Longer text is cut before it is looked at.
_VALUE: Final = r"""(?:
    "(?:[^"\\]|\\.)*(?:"|$)                    # a JSON string, closed or cut
    | \\"(?:[^"\\]|\\[^"])*(?:\\"|$)           # the same inside another JSON string
    | '[^']*(?:'|$)
    | (?:(?:bearer|basic|token)\s+)?[^\s,;&"'\\]+
)"""
_PATTERNS: Final = (
    rf"""(?P<head>(?:{WORDS})[\w-]{{0,64}}\\?["']?\s*[:=]\s*){_VALUE}""",
    r"(?P<head>\bcookie\s*:\s*)[^\r\n\"']+",
    r"(?P<head>\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}",
    r"(?P<head>\b(?:sk|sess|pk|rk|org|proj)-)[\w*-]{8,}",  # OpenAI's, Stripe's, and those of many that copied the habit
    r"(?P<head>://)[^/\s@:]*:[^/\s@]*(?=@)",  # user and password of a URL
)


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    # Compiled at the first use: whoever imports this package for something else need not wait.
    flags = re.IGNORECASE | re.VERBOSE | re.DOTALL
    return tuple(re.compile(pattern, flags) for pattern in _PATTERNS)


type _Unit = tuple[int, str]  # a number of backslashes, and the character after them


class KnownSecrets:
    r"""Secrets whose values are known, to be found wherever they stand.

    Each is found as it is, without blank space around it, and with any of its characters escaped as in a URL, in JSON, in a string of
    Python or Go or the like, up to three times over; of one with several lines, each line as well. What has been encoded otherwise
    (base64, HTML) is not found.

    Args:
        values: The secrets; what is no text counts as none.
        shortest: How many characters a secret has at least. Shorter values are words such as "true" or "eu-1", which would
            blot out ordinary text and guard nothing.

    Example:
        >>> secrets = KnownSecrets(['p@ss"word'])
        >>> secrets.redact('p@ss"word, p%40ss%22word, "p@ss\\"word"')
        '[redacted], [redacted], "[redacted]"'
    """

    def __init__(self, values: Iterable[object], *, shortest: int = 6) -> None:
        self._values = tuple(value for value in values if isinstance(value, str))
        self._shortest = shortest

    @cached_property
    def _texts(self) -> list[str]:
        # At the first use: most are made for an error that never comes.
        texts = {
            text.strip()
            for value in self._values
            for text in (value, *value.splitlines())
            if len(text.strip()) >= self._shortest
        }
        # Longest first, so that no rest of a longer secret stays behind.
        return sorted(texts, key=lambda text: (-len(text), text))

    @cached_property
    def _plain_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._texts)))

    @cached_property
    def _escaped_pattern(self) -> re.Pattern[str]:
        return _compile_units(self._units)

    @cached_property
    def _escaped_beginnings(self) -> re.Pattern[str]:
        return _compile_units(units[:_BEGINNING_UNITS] for units in self._units)

    def _pattern(self, text: str) -> re.Pattern[str]:
        """Return the pattern that finds the secrets in a text.

        What finds them escaped takes some ten times as long, and of a long secret a tenth of a second to compile.
        """
        is_plain = _ESCAPE.search(text) is None or self._escaped_beginnings.search(text) is None
        return self._plain_pattern if is_plain else self._escaped_pattern

    @cached_property
    def _units(self) -> list[list[_Unit]]:
        return list(map(_split_units, self._texts))

    def redact(self, text: str) -> str:
        """Return the text with `[redacted]` in place of each secret."""
        return self._pattern(text).sub(REDACTED, text) if self._texts else text

    def split(self, text: str) -> tuple[str, str]:
        """Return the text with `[redacted]` in place of each secret, and the end of it that may go on as one, as it is.

        Example:
            >>> KnownSecrets(["hunter22"]).split("hunter22 and hunt")
            ('[redacted] and ', 'hunt')
        """
        if not self._texts:
            return text, ""
        end = self._find_beginning(text, 0)
        for match in self._pattern(text).finditer(text):
            if match.start() < end < match.end():
                end = self._find_beginning(text, match.end())
        return self.redact(text[:end]), text[end:]

    def _find_beginning(self, text: str, position: int) -> int:
        """Return where, from a position on, the first secret begins that the end of the text cuts off; its length if none does."""
        starts = [_find_plain_beginning(text, secret, position) for secret in self._texts]
        if _ESCAPE.search(text, position):
            starts += [_find_escaped_beginning(text, units, position) for units in self._units]
        return min(starts)


def _find_plain_beginning(text: str, secret: str, position: int) -> int:
    start = text.find(secret[0], max(position, len(text) - len(secret) + 1))
    while start >= 0 and not secret.startswith(text[start:]):
        start = text.find(secret[0], start + 1)
    return start if start >= 0 else len(text)


def _find_escaped_beginning(text: str, units: Sequence[_Unit], position: int) -> int:
    cut = _CUT_ESCAPE.search(text, position)
    end = cut.start() if cut else len(text)
    beginnings = _compile_unit(units[0]).finditer(text, position, end)
    return next(
        (each.start() for each in beginnings if _is_cut_off(text, each.start(), units)), end
    )


_PERCENT: Final = "%(?:25){0,2}"  # of a URL, inside up to two others
_BRACES: Final = (rf"(?:\{{|{_PERCENT}7[bB])", rf"(?:\}}|{_PERCENT}7[dD])")
_CODES_OF_BACKSLASH: Final = rf"(?:u005[cC]|x5[cC]|U0000005[cC]|u{_BRACES[0]}5[cC]{_BRACES[1]})"
_BACKSLASH: Final = rf"(?:(?:\\|{_PERCENT}5[cC]){_CODES_OF_BACKSLASH}?)"
_ESCAPE: Final = re.compile(r"[\\%+]")
# An escape at the end of a text, of which more may come.
_CUT_ESCAPE: Final = re.compile(r"[\\%][\\%{\dA-Fa-fuUxX]{0,100}\Z", re.ASCII)
_PERCENT_DIGITS: Final = re.compile("(?:25){1,3}")
_BEGINNING_UNITS: Final = 10  # of a secret, which hardly any other text begins with
_SHORT_ESCAPES: Final = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def _split_units(text: str) -> list[_Unit]:
    units = re.findall(r"(\\*)([^\\]|\Z)", text)
    return [(len(slashes), character) for slashes, character in units if slashes or character]


def _compile_units(secrets: Iterable[Sequence[_Unit]]) -> re.Pattern[str]:
    return re.compile("|".join("".join(map(_unit_pattern, units)) for units in secrets))


@cache
def _compile_unit(unit: _Unit) -> re.Pattern[str]:
    return re.compile(_unit_pattern(unit))


def _is_cut_off(text: str, position: int, units: Iterable[_Unit]) -> bool:
    """Return whether the end of a text cuts off a secret that begins at a position."""
    positions = {position}
    for unit in units:
        if any(each == len(text) or _CUT_ESCAPE.match(text, each) for each in positions):
            return True
        positions = {end for each in positions for end in _iter_ends(text, each, unit)}
        if not positions:
            break
    return False


def _iter_ends(text: str, position: int, unit: _Unit) -> Iterator[int]:
    """Yield where a unit ends that begins at a position: `%25` is a percent sign escaped, or one before two digits."""
    match = _compile_unit(unit).match(text, position)
    if match:
        yield match.end()
        if unit[1] == "%" and (rest := _PERCENT_DIGITS.match(text, match.end())):
            yield from range(match.end() + 2, rest.end() + 1, 2)


@cache
def _unit_pattern(unit: _Unit) -> str:
    """Return a pattern for a number of backslashes and what follows; escaping thrice makes eight of one, and seven of none."""
    slashes, character = unit
    most = 8 * slashes + (7 if character else 0)
    # Possessive: how many there are is settled before what follows is looked at.
    before, escape = (f"{_BACKSLASH}{{{least},{most}}}+" for least in (slashes, slashes + 1))
    if not character:
        return before
    plain, codes = map("|".join, (_iter_plain(character), dict.fromkeys(_iter_codes(character))))
    if character.isascii() and character.isalnum() and not slashes:
        # A backslash alone would make another letter of it. Each way begins with one known character, which is searched for fast.
        more = f"{_BACKSLASH}{{0,6}}+(?:{codes})"
        return rf"(?:{plain}|\\{more}|{_PERCENT}5[cC]{more})"
    return f"(?:{before}(?:{plain})|{escape}(?:{codes}))"


def _iter_plain(character: str) -> Iterator[str]:
    """Yield patterns for a character as it is, and as URLs and forms have it."""
    yield re.escape(character)
    yield "".join(f"{_PERCENT}{_hex(octet, 2)}" for octet in _octets(character))
    yield "".join(f"{_PERCENT}u{_hex(pair, 4)}" for pair in _utf_16(character))
    if character == " ":
        yield rf"\+|{_PERCENT}2[bB]"


def _iter_codes(character: str) -> Iterator[str]:
    """Yield patterns for what stands for a character after backslashes, some of them twice, which would double the cost with every character."""
    between = f"{_BACKSLASH}{{1,7}}+"
    yield between.join(f"u{_hex(pair, 4)}" for pair in _utf_16(character))
    yield between.join(f"x{_hex(octet, 2)}" for octet in _octets(character))
    yield f"x{_hex(ord(character), 2)}"
    yield f"U{_hex(ord(character), 8)}"
    yield f"u{_BRACES[0]}0{{0,7}}{_hex(ord(character), 1)}{_BRACES[1]}"
    if character in _SHORT_ESCAPES:
        yield _SHORT_ESCAPES[character]


def _octets(character: str) -> bytes:
    return character.encode(errors="replace")


def _utf_16(character: str) -> Sequence[int]:
    return memoryview(character.encode("utf-16", "surrogatepass")[2:]).cast("H").tolist()


def _hex(number: int, digits: int) -> str:
    """Return a pattern for a number in hexadecimal digits, small or large."""
    return re.sub("[a-f]", lambda digit: f"[{digit[0]}{digit[0].upper()}]", f"{number:0{digits}x}")


_NONE_KNOWN: Final = KnownSecrets(())


def redact_log_data(data: object, *, known: KnownSecrets = _NONE_KNOWN) -> Any:
    """Return a copy of `data` as plain JSON in which secrets are replaced and strings are cut.

    The value of a key that names a secret becomes `[redacted]`: one that holds token, secret, password, credential, cookie,
    auth, api key and the like (in any case, with `_`, `-`, a space or nothing between), or ends in key, pass, pwd, dsn, private
    or session after another word. Counts such as `total_tokens: 12` stay. JSON inside strings is treated the same way, and
    `key=value` or `key: value` pairs in other text as far as they can be told, passwords in URLs, and what begins like a key
    (`sk-` and the like). Strings keep their first 2,000 characters, halves of surrogate pairs become `?`. Bytes become their
    size, objects that JSON does not know the name of their type.

    Args:
        data: What is to be logged.
        known: Secrets that are taken out wherever they stand.

    Example:
        >>> redact_log_data({"api_key": "abc", "note": "password=abc", "total_tokens": 12})
        {'api_key': '[redacted]', 'note': 'password=[redacted]', 'total_tokens': 12}
    """
    return _LogCopy(known).copy(data, depth=0)


class _LogCopy:
    def __init__(self, known: KnownSecrets) -> None:
        self._known = known

    def copy(self, value: object, *, depth: int) -> object:
        if isinstance(value, str):
            return _cut(self._text(value, depth=depth))
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            collection = cast("Mapping[object, object] | Iterable[object]", value)
            return self._collection(collection, depth=depth)
        if isinstance(value, bytes | bytearray):
            return f"<{len(value)} bytes>"
        is_scalar = value is None or isinstance(value, bool | int | float)
        return value if is_scalar else f"<{type(value).__name__}>"

    def _collection(
        self, collection: Mapping[object, object] | Iterable[object], *, depth: int
    ) -> object:
        if depth >= _MAX_DEPTH:
            return "<nested too deeply>"
        if isinstance(collection, Mapping):
            return self._mapping(cast("Mapping[object, object]", collection), depth=depth)
        return [self.copy(item, depth=depth + 1) for item in collection]

    def _mapping(self, mapping: Mapping[object, object], *, depth: int) -> dict[str, object]:
        return {
            _cut(self._known.redact(str(key))): REDACTED
            if is_secret_key(str(key), value)
            else self.copy(value, depth=depth + 1)
            for key, value in mapping.items()
        }

    def _text(self, text: str, *, depth: int) -> str:
        """Redact text by structure where it is JSON, by pattern where it is not."""
        text = self._known.redact(text[:_MAX_PARSED_CHARACTERS])
        if text.lstrip()[:1] in {"{", "["}:
            try:
                return json.dumps(self.copy(parse_json(text), depth=depth + 1), ensure_ascii=False)
            except InvalidJsonError:
                pass
        # The margin keeps a pair that begins before the cut whole.
        return redact_text(text[: MAX_LOGGED_CHARACTERS * 2])


def _cut(text: str) -> str:
    """Cut text to its limit; what UTF-8 cannot carry, which would end the run that logs it, is replaced."""
    return text[:MAX_LOGGED_CHARACTERS].encode(errors="replace").decode()


def redact_text(text: str) -> str:
    """Return a text in which what looks like a secret is replaced: values of telling names, bearer tokens, keys, passwords in URLs.

    Example:
        >>> redact_text("Incorrect API key provided: sk-proj-1234567890.")
        'Incorrect API key provided: sk-[redacted].'
    """
    for pattern in _patterns():
        text = pattern.sub(rf"\g<head>{REDACTED}", text)
    return text
