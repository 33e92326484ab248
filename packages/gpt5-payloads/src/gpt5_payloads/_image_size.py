"""The size of an image, read from its first bytes.

Source: the file formats' own headers: PNG (W3C), GIF89a, JPEG (ITU T.81, B.2.2), WebP (RFC 9649, 2.5 to 2.7).
"""

import binascii
from contextlib import suppress

from stream_text import find_media_type


# Of base64: cameras write previews and the like before the size of a JPEG, but far less than this.
_HEAD_CHARACTERS = 1024 * 1024
_MAX_PREFIX = 256  # characters before the data: media type and parameters
_WEBP_HEAD = 30
_14_BITS = 0x3FFF
_MARKER = 0xFF
# The markers of frames, of any process; the three between them begin tables, or are reserved.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def find_image_size(data_url: str) -> tuple[int, int] | None:
    """Return width and height of the image in a data URL, in pixels; None if they cannot be read."""
    if not data_url.startswith("data:"):
        return None
    start = data_url.find(",", 0, _MAX_PREFIX) + 1
    head = b""
    with suppress(ValueError):
        head = binascii.a2b_base64(data_url[start : start + _HEAD_CHARACTERS])
    match find_media_type(head):
        case "image/png":
            return _size(_big(head[16:20]), _big(head[20:24]))
        case "image/gif":
            return _size(_little(head[6:8]), _little(head[8:10]))
        case "image/webp":
            return _webp_size(head)
        case "image/jpeg":
            return _jpeg_size(head)
        case _:
            return None


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _size(width: int, height: int) -> tuple[int, int] | None:
    return (width, height) if width and height else None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    if len(data) < _WEBP_HEAD:
        return None
    match data[12:16]:
        case b"VP8X":
            return _little(data[24:27]) + 1, _little(data[27:30]) + 1
        case b"VP8L":
            bits = _little(data[21:25])
            return (bits & _14_BITS) + 1, (bits >> 14 & _14_BITS) + 1
        case _:
            return _size(_little(data[26:28]) & _14_BITS, _little(data[28:30]) & _14_BITS)


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Return the size in the first frame of a JPEG, found by going from segment to segment."""
    at = 2  # behind the marker that begins every JPEG
    while at + 9 <= len(data) and data[at] == _MARKER:
        if data[at + 1] in _FRAMES:
            return _size(_big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7]))
        # Any number of 0xFF may stand before a marker. The length counts its own two bytes; where it says
        # less, the file is broken, and the walk has to move on all the same.
        is_filler = data[at + 1] == _MARKER
        at += 1 if is_filler else 2 + max(2, _big(data[at + 2 : at + 4]))
    return None
