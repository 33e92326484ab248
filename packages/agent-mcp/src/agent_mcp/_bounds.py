"""How large a message may be, in bytes and in what they become.

Once the SDK has read it, an empty list of 3 bytes takes over 300 in memory, and one emoji makes each letter of its text take 4 (mcp 2.3, Python 3.12).
"""

import re
from itertools import islice
from typing import Final


MAX_MESSAGE_BYTES: Final = 16_000_000
"""The largest message, and the largest HTTP answer. Our choice: images of some megabytes fit in."""

MAX_EVENT_BYTES: Final = 10_000_000
"""The largest message in a stream over HTTP, which is held several times while it is read (httpx2 2.16), and the most that its texts may take."""

TOO_MUCH: Final = "the answer holds more than 200,000 values, or its texts take too much memory"

_MAX_VALUES: Final = 200_000  # lists, objects, texts and commas, which take less than 100 MB
_MAX_TEXT_BYTES: Final = 32_000_000
_SHORT: Final = 1_000

_TOKENS: Final = re.compile(rb'"(?:[^"\\]+|\\.)*+"|[,\[{]', re.DOTALL)
_WIDE: Final = re.compile(rb"[\xf0-\xf4]|\\u[dD][89abAB]")
_HALF_WIDE: Final = re.compile(rb"[\xc4-\xef]|\\u(?!00)")
_CONTINUATION: Final = bytes(range(0x80, 0xC0))


def is_too_much(message: bytes, *, in_stream: bool = False) -> bool:
    """Return whether a message, which need not be JSON, would take too much memory.

    Args:
        message: The message.
        in_stream: Whether it comes in a stream over HTTP.
    """
    # Commas in texts count here, so that most messages take no closer look.
    at_most = message.count(b'"') + sum(message.count(one) for one in (b",", b"[", b"{"))
    if at_most > _MAX_VALUES and next(islice(_TOKENS.finditer(message), _MAX_VALUES, None), None):
        return True
    most = MAX_EVENT_BYTES if in_stream else _MAX_TEXT_BYTES
    if 4 * len(message) <= most or (message.isascii() and b"\\u" not in message):
        return False
    return sum(_count_bytes(message, *one.span()) for one in _TOKENS.finditer(message)) > most


def _count_bytes(message: bytes, begin: int, end: int) -> int:
    """Return how many bytes a text takes as Python holds it, where it is not short."""
    if end - begin < _SHORT:
        return end - begin
    width = (
        4
        if _WIDE.search(message, begin, end)
        else 2
        if _HALF_WIDE.search(message, begin, end)
        else 1
    )
    return width * len(message[begin:end].translate(None, _CONTINUATION))
