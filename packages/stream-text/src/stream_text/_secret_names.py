"""The names that mark a value as a secret."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final


# One list, in two parts. The first are found anywhere in a name.
_CLEAR: Final = (
    "token",
    "secret",
    "passw",
    "passphrase",
    "passcode",
    "credential",
    "cookie",
    "webhook",
    "jwt",
    "session[-_ ]?id",
    "(?:api|access|private)[-_ ]?key",
    "auth(?!or(?!iz))",  # auth, oauth, authorization; not author
)
# The second stand in other words too (monkey, bypass) and alone name ordinary things (a sort key, the working directory).
_AMBIGUOUS: Final = ("key", "pass", "pwd", "dsn", "private", "session")

_LAST_WORD: Final = "|".join(
    (
        rf"(?<=[a-z0-9][-_])(?:{'|'.join(_AMBIGUOUS)})(?![a-z])",  # db_pass, signing-key
        rf"(?<=[a-z0-9])(?-i:(?:{'|'.join(map(str.title, _AMBIGUOUS))})(?![a-z]))",  # signingKey
    )
)
WORDS: Final = "|".join((*_CLEAR, _LAST_WORD))
"""A pattern of the names of secrets within the key of an object or a pair, ignoring case."""

# Words that counts alone have before `tokens`; a short one is the end of others too (admin).
_COUNTED: Final = (
    *("total", "input", "output", "prompt", "completion", "reasoning", "thinking", "budget"),
    *("cached", "cache[-_ ]?(?:read|write|creation)", "prediction", "text", "audio", "image"),
    *("context", "remaining", "maximum", "minimum", "number[-_ ]of"),
    r"(?<![a-z])(?:max|min|n|num|max[-_ ]?new)",
)
COUNTS: Final = "|".join(
    (
        rf"(?:{'|'.join(_COUNTED)})[-_ ]?tokens",  # max_output_tokens, promptTokens
        r"tokens?[-_ ]?(?:count|limit|budget|usage|estimate|price|cost)",
        r"tokens[-_ ]?(?:used|left|remaining|before|after|(?:in|out)(?![a-z])|per[-_ ]?(?:sec|min|hour|day|request))",
    )
)
"""A pattern of what is a count of tokens within a name, ignoring case: no secret, whatever the value."""

SECRET_WORDS: Final = (
    *("token", "secret", "passw", "passphrase", "passcode", "credential", "cookie", "webhook"),
    *("jwt", "auth", *_AMBIGUOUS),
)
"""Words of which a text, in lower case, has at least one if `WORDS` matches."""

NAMES_BESIDE: Final = ("name", "key", "field", "variable", "header")
"""Members of an object, in lower case, that say what its `value` is."""

_VALUES: Final = ("value", "Value", "VALUE")
_ALL_NAMES: Final = tuple(
    written for name in NAMES_BESIDE for written in (name, name.title(), name.upper())
)
MAX_NAME: Final = 100  # characters; longer ones are sentences

_SETTING: Final = "|".join(
    (*_CLEAR, *(rf"\B(?<!^old){word}" if word == "pwd" else word for word in _AMBIGUOUS))
)
_URL_WITH_PASSWORD: Final = re.compile(r"://[^/\s]*@")


@cache
def compiled(words: str) -> re.Pattern[str]:
    """Return a pattern of names, ignoring case."""
    # At the first use, so that importing the package for something else costs nothing.
    return re.compile(words, re.IGNORECASE)


def is_secret_key(key: str, value: object) -> bool:
    """Return whether a key of an object names a secret; a count of tokens is not one.

    Args:
        key: The key.
        value: The value under it.

    Example:
        >>> is_secret_key("api_key", "abc"), is_secret_key("total_tokens", 12)
        (True, False)
    """
    if not _names_secret(WORDS, key):
        return False
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return not (is_number and key.lower().endswith("tokens"))


def _names_secret(words: str, name: str) -> bool:
    """Return whether a name has one of the words, beside counts of tokens."""
    if compiled(words).search(name) is None:
        return False
    return compiled(words).search(compiled(COUNTS).sub("n", name)) is not None


def find_named_value(members: Mapping[Any, object]) -> str | None:
    """Return the key under which an object holds a secret that another member names: `value` beside the `name` of a secret.

    Args:
        members: Any object; those with such members are found in lists of headers or of variables.

    Example:
        >>> find_named_value({"name": "password", "value": "abc"})
        'value'
    """
    key = next((key for key in _VALUES if key in members), None)
    if key is None:
        return None
    names = (members[each] for each in _ALL_NAMES if each in members)
    is_secret = any(
        isinstance(name, str) and len(name) <= MAX_NAME and is_secret_key(name, members[key])
        for name in names
    )
    return key if is_secret else None


def is_secret_setting(name: str, value: str = "") -> bool:
    """Return whether a setting is a secret: a variable of an environment, or a credential of a plugin.

    Its name decides, or a value that is a URL with a password. More names count than for keys of data, because hiding
    a setting without need costs nothing; `PWD` and `OLDPWD` are a shell's working directories, as of every `cd`.

    Example:
        >>> is_secret_setting("SSHPASS"), is_secret_setting("PWD"), is_secret_setting("REGION")
        (True, False, False)
    """
    return _names_secret(_SETTING, name) or _URL_WITH_PASSWORD.search(value) is not None
