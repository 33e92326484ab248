"""Keeping what must stay secret out of texts that others wrote."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote


REDACTED: Final = "[redacted]"
_LEAST_CHARACTERS: Final = 6  # Shorter values are words such as "true" or "eu-1", not secrets.
_SECRET_NAME: Final = re.compile(
    "auth|cookie|credential|key|passw|secret|session|token", re.IGNORECASE
)


def is_secret_name(name: str) -> bool:
    """Whether a credential of that name is a secret, and not an address, an account or a setting."""
    return _SECRET_NAME.search(name) is not None


def secret_values(credentials: Iterable[object]) -> tuple[str, ...]:
    """Return the texts among credentials that must not be shown, the longest first.

    A value that looks different in a URL is listed in both spellings.
    """
    texts = {value for value in credentials if isinstance(value, str)}
    spellings = {
        spelling for text in texts for spelling in (text, quote(text, safe="", errors="replace"))
    }
    long_enough = (text for text in spellings if len(text) >= _LEAST_CHARACTERS)
    return tuple(sorted(long_enough, key=lambda text: (-len(text), text)))


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with every secret in it replaced."""
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return text
