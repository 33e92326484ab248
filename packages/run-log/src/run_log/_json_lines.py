"""Records as lines: one JSON object each, and digests of them."""

import hashlib
import json
from typing import Any, Final


VERSION: Final = 1
"""The version of the format, in the `v` of each record."""

type Record = dict[str, Any]
"""A line of a log: `v`, `type`, `t` (seconds since the run began), and what its type has."""


def to_text(value: Any) -> str:
    """Return plain JSON as a line has it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def to_line(record: Record) -> bytes:
    """Return a record as a line, its line break included; halves of surrogate pairs stay, as escapes."""
    text = to_text(record)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def digest(text: str, before: str = "") -> str:
    """Return the SHA-256 of a text, or of a digest and the text after it, in 64 hexadecimal digits."""
    return hashlib.sha256((before + text).encode(errors="surrogatepass")).hexdigest()
