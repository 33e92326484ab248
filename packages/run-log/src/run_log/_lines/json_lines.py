"""Records as lines: one JSON object each, their schema, and digests of them."""

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from stream_text import InvalidJsonError, is_object, parse_json


VERSION: Final = 1
"""The version of the format, in the `v` of each record."""

type Record = dict[str, Any]
"""A line of a log: `v`, `type`, `t` (seconds since the run began), and the fields of its type."""


def read_schema() -> dict[str, Any]:
    """Return the JSON schema (2020-12) of a record, as this version writes it."""
    return json.loads(
        Path(__file__).parents[1].joinpath("run-log-1.schema.json").read_text("utf-8")
    )


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a text; an empty one if there is none."""
    try:
        value = parse_json(text)
    except InvalidJsonError:
        return {}
    return dict(value) if is_object(value) else {}


def to_text(value: Any) -> str:
    """Return plain JSON in the form that lines have."""
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
