"""Images and other files that are texts in a log."""

import base64
import binascii
import re
from typing import Final

import stream_text


_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_SAMPLE: Final = 64  # characters, of which the first bytes of every known type can be decoded


def find_media_type(text: str) -> str:
    """Return the media type of an image or a PDF in base64 or a data URL; empty if a browser should not show it."""
    sample = _payload(text[:512])[:_SAMPLE]
    if len(sample) < _SAMPLE // 4 or not _BASE64.fullmatch(sample):
        return ""
    try:
        head = base64.b64decode(sample[: len(sample) // 4 * 4])
    except binascii.Error:
        return ""
    kind = stream_text.find_media_type(head)
    return "" if kind.startswith("audio/") else kind


def read_media(text: str) -> bytes | None:
    """Return the bytes of a text that is base64 or a data URL; None if it is neither."""
    try:
        return base64.b64decode(_payload(text))
    except (binascii.Error, ValueError):
        return None


def _payload(text: str) -> str:
    found = _DATA_URL.match(text)
    return text[found.end() :] if found else text
