"""Which names are those of secrets."""

import re
from functools import cache
from typing import Final


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
"""Matches what names a secret within the key of an object or a pair, ignoring case."""

SECRET_WORDS: Final = (
    *("token", "secret", "passw", "passphrase", "passcode", "credential", "cookie", "webhook"),
    *("jwt", "auth", *_AMBIGUOUS),
)
"""Words of which a text has at least one, in small letters, where `WORDS` finds something."""

_COUNT: Final = re.compile(r"tokens$", re.IGNORECASE)
_SETTING: Final = "|".join(
    (*_CLEAR, *(rf"\B{word}" if word == "pwd" else word for word in _AMBIGUOUS))
)
_URL_WITH_PASSWORD: Final = re.compile(r"://[^/\s]*@")


@cache
def _compiled(words: str) -> re.Pattern[str]:
    # At the first use: whoever imports this package for something else need not wait.
    return re.compile(words, re.IGNORECASE)


def is_secret_key(key: str, value: object) -> bool:
    """Return whether a key of an object names a secret; a number of tokens is none.

    Args:
        key: The key.
        value: What stands under it.

    Example:
        >>> is_secret_key("api_key", "abc"), is_secret_key("total_tokens", 12)
        (True, False)
    """
    if _compiled(WORDS).search(key) is None:
        return False
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return not (is_number and _COUNT.search(key))


def is_secret_setting(name: str, value: str = "") -> bool:
    """Return whether a setting is a secret: a variable of an environment, or a credential of a plugin.

    It is by its name, or because its value is a URL with a password. Names are taken more widely than the keys of data, for a
    setting that is hidden without need costs nothing; `PWD` alone is the working directory.

    Example:
        >>> is_secret_setting("SSHPASS"), is_secret_setting("PWD"), is_secret_setting("REGION")
        (True, False, False)
    """
    return bool(_compiled(_SETTING).search(name) or _URL_WITH_PASSWORD.search(value))
