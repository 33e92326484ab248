"""How large a message may be: in bytes, in what they become, and in levels.

Once the SDK has read it, an empty list of 3 bytes takes over 300 in memory, and one emoji makes each letter of its text
take 4 (mcp 2.3, Python 3.12). Nested deeper than 200 levels it is not read at all (pydantic 2.12).
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final


MAX_MESSAGE_BYTES: Final = 16_000_000
"""The largest message, and the largest HTTP answer. Our choice: images of some megabytes fit in."""

MAX_EVENT_BYTES: Final = 10_000_000
"""The largest message in a stream over HTTP, which is held several times while it is read (httpx2 2.16), and the most that its texts may take."""

TOO_LARGE: Final = f"the answer has more than {MAX_MESSAGE_BYTES:,} bytes"

LEFT_OUT: Final = "agent_mcp/left-out"
"""The key of a listed tool for why no model can use it."""

MAX_TOOLS: Final = 1_000
"""The most tools of a server. Our choice, far above what a model can choose from."""

_TOO_MUCH: Final = "holds more than 200,000 values, or its texts take too much memory"
_TOO_DEEP: Final = "nests deeper than 200 levels"

_MAX_LEVELS: Final = 200
_LIST: Final = 3  # the level of a list of tools: in the message and its result
_MAX_VALUES: Final = 200_000  # lists, objects, texts and commas, which take less than 100 MB
_MAX_TEXT_BYTES: Final = 32_000_000
_MAX_TOOL_BYTES: Final = 2_000_000  # of a list whose texts are too much; a schema has less
_MAX_PIECES: Final = 2_000_000  # that are looked at for the tools of a list, in a second
_SHORT: Final = 1_000

_TEXT: Final = rb'"(?:[^"\\]+|\\.)*+"'
_TOKENS: Final = re.compile(_TEXT + rb"|[,\[{]", re.DOTALL)
_PIECES: Final = re.compile(_TEXT + rb"|[\[\]{}]", re.DOTALL)
_NAME: Final = re.compile(rb'"name"\s*:\s*(' + _TEXT + rb")", re.DOTALL)
_WIDE: Final = re.compile(rb"[\xf0-\xf4]|\\u[dD][89abAB]")
_HALF_WIDE: Final = re.compile(rb"[\xc4-\xef]|\\u(?!00)")
_CONTINUATION: Final = bytes(range(0x80, 0xC0))


def fit_message(message: bytes, *, in_stream: bool = False) -> tuple[bytes, str | None]:
    """Return a message, which need not be JSON, and why it cannot be read in bounded memory; None if it can.

    A list of tools that cannot is returned with those tools that can; of the others only the names are left, with the reason.

    Args:
        message: The message, or several as they come in a stream.
        in_stream: Whether it comes in a stream over HTTP.
    """
    excess = _find_excess(message, in_stream=in_stream)
    if excess and b'"tools"' in message:
        message = _cut_tools(message, excess)
        excess = _find_excess(message, in_stream=in_stream)
    return message, excess and f"the answer of {len(message):,} bytes {excess}"


def _find_excess(message: bytes, *, in_stream: bool) -> str | None:
    at_most = _count_values(message)
    if at_most > _MAX_VALUES and next(islice(_TOKENS.finditer(message), _MAX_VALUES, None), None):
        return _TOO_MUCH
    most = MAX_EVENT_BYTES if in_stream else _MAX_TEXT_BYTES
    if 4 * len(message) > most and not (message.isascii() and b"\\u" not in message):
        texts = (_count_bytes(message, *one.span()) for one in _TOKENS.finditer(message))
        if sum(texts) > most:
            return _TOO_MUCH
    may_be_deep = message.count(b"[") + message.count(b"{") > _MAX_LEVELS
    is_deep = may_be_deep and any(level > _MAX_LEVELS for level, _ in iter_pieces(message))
    return _TOO_DEEP if is_deep else None


def _count_values(message: bytes) -> int:
    # Commas in texts count here, so that most messages take no closer look.
    return sum(message.count(one) for one in (b'"', b",", b"[", b"{"))


def iter_pieces(message: bytes) -> Iterator[tuple[int, re.Match[bytes]]]:
    """Yield the texts and brackets of a message, each with how many levels are open with it."""
    level = 0
    for piece in _PIECES.finditer(message):
        is_begin, is_end = piece[0] in b"[{", piece[0] in b"]}"
        level += is_begin
        yield level, piece
        level -= is_end


def _cut_tools(message: bytes, excess: str) -> bytes:
    """Return a message with no more than the names of those tools in a list that do not fit."""
    is_much = excess == _TOO_MUCH
    left, done = _MAX_VALUES - 10 * MAX_TOOLS, 0  # less what the names need
    parts: list[bytes] = []
    for begin, end, levels, name in islice(_iter_tools(message), MAX_TOOLS):
        values = _count_values(message[begin:end]) if is_much else 0
        if levels > _MAX_LEVELS or values > left or (is_much and end - begin > _MAX_TOOL_BYTES):
            why = _TOO_DEEP if levels > _MAX_LEVELS else f"does not fit: the list {_TOO_MUCH}"
            stub = f', "{LEFT_OUT}": "it {why}"}}'.encode()
            parts += message[done:begin], b'{"name": ', name, stub
            done = end
        else:
            left -= values
    return b"".join((*parts, message[done:]))


def _iter_tools(message: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield where each tool of a list begins and ends, how many levels are open in it at most, and its name as it stands there."""
    is_list, before, begin, most, name = False, b"", 0, 0, b"null"
    for level, piece in islice(iter_pieces(message), _MAX_PIECES):
        text, most = piece[0], max(most, level)
        if level == _LIST and text in b"[{":
            is_list = text == b"[" and before == b'"tools"'
        elif is_list and level == _LIST + 1:
            if text == b"{":
                begin, most, name = piece.start(), level, b"null"
            elif text == b"}":
                yield begin, piece.end(), most, name
            elif found := _NAME.match(message, piece.start()):
                name = found[1]
        before = text


def _count_bytes(message: bytes, begin: int, end: int) -> int:
    """Return how many bytes a text takes as Python holds it, where it is not short."""
    if end - begin < _SHORT:
        return end - begin
    text = message[begin:end]
    width = 4 if _WIDE.search(text) else 2 if _HALF_WIDE.search(text) else 1
    return width * len(text.translate(None, _CONTINUATION))
