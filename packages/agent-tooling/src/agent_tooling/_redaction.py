"""Making tool input and output fit to be logged: secrets out, long strings cut."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast


REDACTED: Final = "***REDACTED***"
MAX_LOGGED_CHARACTERS: Final = 2_000

_MAX_DEPTH: Final = 20
_MAX_PARSED_CHARACTERS: Final = 1_000_000  # Longer text is cut before it is looked at.
_WORDS: Final = (
    "token",
    "secret",
    "authorization",
    "password",
    "api[-_ ]?key",
    "access[-_ ]?key",
    "private[-_ ]?key",
    "credential",
)
_SENSITIVE: Final = re.compile("|".join(_WORDS), re.IGNORECASE)
_COUNT: Final = re.compile(r"tokens$", re.IGNORECASE)
_VALUE: Final = r"""(?:
    "(?:[^"\\]|\\.)*(?:"|$)                    # a JSON string, closed or cut
    | \\"(?:[^"\\]|\\[^"])*(?:\\"|$)           # the same inside another JSON string
    | '[^']*(?:'|$)
    | (?:(?:bearer|basic|token)\s+)?[^\s,;&"'\\]+
)"""
_PAIR: Final = re.compile(
    rf"""(?P<head>(?:{"|".join(_WORDS)})[\w-]*\\?["']?\s*[:=]\s*){_VALUE}""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_KEY: Final = re.compile(
    r"\b(?P<head>sk-)[\w-]{8,}"
)  # OpenAI's keys, and those of many that copied the habit
_SCHEME: Final = re.compile(r"\b(?P<head>bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE)


def redact_log_data(data: object) -> Any:
    """Return a copy of `data` as plain JSON in which secrets are replaced and strings are cut.

    The value of a key that contains token, secret, authorization, password, api key, access key, private key or
    credential (in any case, with `_`, `-`, a space or nothing between) becomes `***REDACTED***`; counts such as
    `total_tokens: 12` stay. JSON inside strings is treated the same way, and `key=value` or `key: value` pairs in
    other text as far as they can be told, and keys that begin with `sk-`. Strings keep their first 2,000 characters, halves of surrogate pairs become
    `?`. Bytes become their size, objects that JSON does not know the name of their type.
    """
    return _redact(data, depth=0)


def _redact(value: object, *, depth: int) -> object:
    if isinstance(value, str):
        return _cut(_redact_text(value, depth=depth))
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        collection = cast("Mapping[object, object] | Iterable[object]", value)
        return _redact_collection(collection, depth=depth)
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    is_scalar = value is None or isinstance(value, bool | int | float)
    return value if is_scalar else f"<{type(value).__name__}>"


def _redact_collection(
    collection: Mapping[object, object] | Iterable[object], *, depth: int
) -> object:
    if depth >= _MAX_DEPTH:
        return "<nested too deeply>"
    if isinstance(collection, Mapping):
        return _redact_mapping(cast("Mapping[object, object]", collection), depth=depth)
    return [_redact(item, depth=depth + 1) for item in collection]


def _redact_mapping(mapping: Mapping[object, object], *, depth: int) -> dict[str, object]:
    return {
        _cut(str(key)): REDACTED
        if _is_sensitive(str(key), value)
        else _redact(value, depth=depth + 1)
        for key, value in mapping.items()
    }


def _cut(text: str) -> str:
    """Cut text to its limit; what UTF-8 cannot carry, which would end the run that logs it, is replaced."""
    return text[:MAX_LOGGED_CHARACTERS].encode(errors="replace").decode()


def _is_sensitive(key: str, value: object) -> bool:
    """Whether a key names a secret; a number of tokens is none."""
    if _SENSITIVE.search(key) is None:
        return False
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return not (is_number and _COUNT.search(key))


def _redact_text(text: str, *, depth: int) -> str:
    """Redact text by structure where it is JSON, by pattern where it is not."""
    text = text[:_MAX_PARSED_CHARACTERS]
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return json.dumps(_redact(json.loads(text), depth=depth + 1), ensure_ascii=False)
        except (ValueError, RecursionError):
            pass
    # The margin keeps a pair that begins before the cut whole.
    text = text[: MAX_LOGGED_CHARACTERS * 2]
    text = _PAIR.sub(rf"\g<head>{REDACTED}", text)
    text = _SCHEME.sub(rf"\g<head> {REDACTED}", text)
    return _KEY.sub(rf"\g<head>{REDACTED}", text)
