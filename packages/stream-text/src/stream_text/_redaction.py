"""Redaction of texts and log data: secrets whose values are known, and anything that looks like a secret."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, cast

from ._errors import InvalidJsonError
from ._json import parse_json
from ._known_secrets import REDACTED, KnownSecrets
from ._secret_names import (
    COUNTS,
    MAX_NAME,
    NAMES_BESIDE,
    SECRET_WORDS,
    WORDS,
    compiled,
    find_named_value,
    is_secret_key,
)
from ._shapes import is_object


MAX_LOGGED_CHARACTERS: Final = 2_000
"""How much of a text is logged."""

_MAX_DEPTH: Final = 20  # levels of objects and lists, our choice
_MAX_PARSED_CHARACTERS: Final = 1_000_000  # Longer text is cut before it is looked at.
_VALUE: Final = r"""(?:
    "(?:[^"\\]|\\.)*(?:"|$)                    # a JSON string, closed or cut
    | \\"(?:[^"\\]|\\[^"])*(?:\\"|$)           # the same inside another JSON string
    | '[^']*(?:'|$)
    | (?:(?:bearer|basic|token)\s+)?[^\s,;&"'\\]+
)"""
_BEFORE: Final = rf"(?:(?!{WORDS})[\w-])"
_COUNT: Final = rf"(?:{COUNTS}){_BEFORE}{{0,64}}"  # to the end of its name
# Each pattern with words of which a text has at least one if the pattern matches: looking for the words
# is much faster.
_PATTERNS: Final = (
    (SECRET_WORDS, rf"""(?P<head>(?:{WORDS})[\w-]{{0,64}}\\?["']?\s*[:=]\s*){_VALUE}"""),
    (
        ("value",),
        rf"""(?P<head>\b(?:{"|".join(NAMES_BESIDE)})\\?["']?\s*:\s*\\?["'](?!{_BEFORE}{{0,64}}?{_COUNT}["'\\])(?=[^"'\\]{{0,{MAX_NAME}}}(?:{WORDS}))[^"'\\]{{1,{MAX_NAME}}}\\?["']\s*,\s*\\?["']value\\?["']?\s*:\s*){_VALUE}""",
    ),
    (("cookie",), r"(?P<head>\bcookie\s*:\s*)[^\r\n\"']+"),
    (("bearer", "basic"), r"(?P<head>\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}"),
    (
        ("k-", "sess-", "org-", "proj-"),
        r"(?P<head>\b(?:sk|sess|pk|rk|org|proj)-)[\w*-]{8,}",
    ),  # OpenAI's, Stripe's, and those of many that copied the habit
    (("://",), r"(?P<head>://)[^/\s@:]*:[^/\s@]*(?=@)"),  # user and password of a URL
)

_COUNT_HEAD: Final = rf"""(?:{_COUNT}|(?P<bare>tokens))\\?["']?\s*[:=]\s*\Z"""
# With nothing behind it that would make it the beginning of a longer value, such as `123:abc`.
_NUMBER: Final = re.compile(r"""\d[\d,._]{0,14}+(?![^\s;)}\]"'`\\!?%<|])""")
_LONGEST_COUNTED: Final = 24  # characters before `tokens`, such as cache_creation_


@cache
def _patterns() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    # Compiled at the first use, so that importing the package for something else costs nothing.
    flags = re.IGNORECASE | re.VERBOSE | re.DOTALL
    return tuple((words, re.compile(pattern, flags)) for words, pattern in _PATTERNS)


@cache
def _any_word() -> re.Pattern[str]:
    words = {re.escape(word) for words, _ in _patterns() for word in words}
    return re.compile("|".join(sorted(words)))


_NONE_KNOWN: Final = KnownSecrets(())


def redact_log_data(data: object, *, known: KnownSecrets = _NONE_KNOWN) -> Any:
    """Return a copy of `data` as plain JSON in which secrets are replaced and strings are cut.

    The value of a key that names a secret becomes `[redacted]`: a key that holds token, secret, password, credential,
    cookie, auth, api key and the like (in any case, with `_`, `-`, a space or nothing between), or ends in key, pass,
    pwd, dsn, private or session after another word; so does a `value` beside such a `name`. Counts of tokens such as
    `total_tokens` stay, and a number under any other name that ends in `tokens`. JSON inside strings is treated the
    same way. In other text the values of `key=value` and `key: value` pairs are replaced where they can be recognised,
    passwords in URLs, and texts that begin like a key (`sk-` and the like). Strings keep their first 2,000 characters,
    and halves of surrogate pairs become `?`. Bytes are replaced by their size, and objects that JSON does not know by
    the name of their type.

    Args:
        data: The data to log.
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
        if is_object(value) or isinstance(value, list | tuple | set | frozenset):
            return self._collection(cast("Iterable[object]", value), depth=depth)
        if isinstance(value, bytes | bytearray):
            return f"<{len(value)} bytes>"
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return REDACTED if self._known.redact(_digits(value)) == REDACTED else value
        return f"<{type(value).__name__}>"

    def _collection(self, collection: Iterable[object], *, depth: int) -> object:
        if depth >= _MAX_DEPTH:
            return "<nested too deeply>"
        if is_object(collection):
            return self._mapping(collection, depth=depth)
        return [self.copy(item, depth=depth + 1) for item in collection]

    def _mapping(self, mapping: Mapping[object, object], *, depth: int) -> dict[str, object]:
        named = find_named_value(mapping)
        return {
            _cut(self._known.redact(str(key))): REDACTED
            if is_secret_key(str(key), value) or (named is not None and key == named)
            else self.copy(value, depth=depth + 1)
            for key, value in mapping.items()
        }

    def _text(self, text: str, *, depth: int) -> str:
        """Redact text by structure if it is JSON, by pattern if it is not."""
        text = self._known.redact(text[:_MAX_PARSED_CHARACTERS])
        if text.lstrip()[:1] in {"{", "["}:
            try:
                return json.dumps(self.copy(parse_json(text), depth=depth + 1), ensure_ascii=False)
            except InvalidJsonError:
                pass
        # The margin keeps a pair that begins before the cut whole.
        return redact_text(text[: MAX_LOGGED_CHARACTERS * 2])


def _digits(number: float) -> str:
    try:
        return str(number)
    except ValueError:  # a number of thousands of digits
        return ""


def _cut(text: str) -> str:
    """Cut text to its limit, and replace characters that UTF-8 cannot encode, which would end the run that logs it."""
    return text[:MAX_LOGGED_CHARACTERS].encode(errors="replace").decode()


def redact_text(text: str) -> str:
    """Return a text with `[redacted]` in place of anything that looks like a secret.

    Values under secret names, bearer tokens, keys, passwords in URLs.

    Example:
        >>> redact_text("Incorrect API key provided: sk-proj-1234567890.")
        'Incorrect API key provided: sk-[redacted].'
    """
    folded = _fold(text)
    # Most texts are short and hold none, and a run log has thousands of them.
    if _any_word().search(folded) is None:
        return text
    for words, pattern in _patterns():
        if any(word in folded for word in words):
            text = _hide(text, pattern)
    return text


def _hide(text: str, pattern: re.Pattern[str]) -> str:
    """Return a text without the values behind the heads that a pattern finds, except behind counts of tokens: there it goes on with the value."""
    parts: list[str] = []
    start = at = 0
    while (found := pattern.search(text, at)) is not None:
        at = found.end("head")
        if not _is_count(text, found.start(), at):
            parts += (text[start:at], REDACTED)
            start = at = found.end()
    return "".join((*parts, text[start:]))


def _is_count(text: str, start: int, end: int) -> bool:
    """Return whether a name is a count of tokens, or ends in `tokens` in front of a number.

    Its secret part begins at `start`, and its value at `end`.
    """
    if text[start : start + 5].lower() != "token":
        return False
    before = max(start - _LONGEST_COUNTED, 0)
    named = compiled(_COUNT_HEAD).search(text[before:end])
    if named is None or before + named.start() > start:
        return False
    return named["bare"] is None or _NUMBER.match(text, end) is not None


def _fold(text: str) -> str:
    """Return a text in lower case, with an ASCII letter for each letter that a pattern that ignores case treats like it."""
    if text.isascii():
        return text.lower()
    return text.replace("\u0130", "i").casefold().replace("\u0131", "i")
