"""Bytes of an event stream in, JSON events out, however the bytes are cut.

Servers differ in the framing: LF, CRLF or CR, `data:` before `event:`, no `event:` at all, comments, `[DONE]`, no last
blank line. The `type` inside the JSON decides; the `event:` name only stands in where the JSON has none.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html section 9.2.6, read 2026-11-21, and recorded traffic.
"""

import json
from typing import Any, cast


type Event = dict[str, Any]

PARSE_ERROR = "parse_error"
_BOM = b"\xef\xbb\xbf"


class SSEDecoder:
    r"""Turn the bytes of one stream into its events.

    A frame that is no JSON object becomes an `error` event with the code `parse_error`: nothing is raised, so that
    the events around it are not lost.

    Args:
        max_frame_bytes: A frame that grows beyond this many bytes is given up as a parse error, so that a server
            cannot fill the memory.

    Example:
        >>> SSEDecoder().feed(b'data: {"type": "keepalive"}\n\n')
        [{'type': 'keepalive'}]
    """

    def __init__(self, *, max_frame_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._line: list[bytes] = []  # the line that is still open, in the pieces that it came in
        self._line_bytes = 0
        self._data: list[bytes] = []
        self._event_name = b""
        self._frame_bytes = 0
        self._after_cr = False
        self._at_start = True

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes, in any cut, and return the events that they complete."""
        first, *rest = self._normalise(data).split(b"\n")
        self._hold(first)
        events: list[Event] = []
        for start_of_next in rest:
            events += self._end_line()
            self._hold(start_of_next)
        return events

    def close(self) -> list[Event]:
        """Return the event that the end of the stream left without its blank line, if there is one."""
        return (self._end_line() if self._line_bytes else []) + self._end_frame()

    def _normalise(self, data: bytes) -> bytes:
        """Make every line end a LF, also where CR and LF of one pair come in different pieces."""
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _hold(self, piece: bytes) -> None:
        """Keep a piece of the open line, unless its frame has outgrown the limit."""
        self._line_bytes += len(piece)
        self._frame_bytes += len(piece)
        if self._frame_bytes > self._max_frame_bytes:
            self._line, self._data = [], []
        elif piece:
            self._line.append(piece)

    def _end_line(self) -> list[Event]:
        line, is_blank = b"".join(self._line), self._line_bytes == 0
        self._line, self._line_bytes = [], 0
        if self._at_start:
            line, self._at_start = line.removeprefix(_BOM), False
        if is_blank:
            return self._end_frame()
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name == b"event":
            self._event_name = value.removeprefix(b" ")
        return []

    def _end_frame(self) -> list[Event]:
        data, name, size = b"\n".join(self._data), self._event_name, self._frame_bytes
        self._data, self._event_name, self._frame_bytes = [], b"", 0
        if size > self._max_frame_bytes:
            return [_parse_error(f"a frame is larger than {self._max_frame_bytes} bytes")]
        if not data or data == b"[DONE]":
            return []
        return [_parse_event(data, name)]


def _parse_event(data: bytes, name: bytes) -> Event:
    try:
        # Given bytes, `json.loads` looks for five encodings first; an event stream is always UTF-8.
        event = json.loads(data.decode(errors="surrogatepass"))
    except (
        ValueError,
        RecursionError,
    ):  # bad JSON, bad UTF-8, a number too long, or nested too deep
        return _parse_error("a frame is not valid JSON")
    if not isinstance(event, dict):
        return _parse_error("a frame is not a JSON object")
    event = cast("Event", event)
    if not isinstance(event.get("type"), str):
        event["type"] = name.decode(errors="replace")
    return event


def _parse_error(message: str) -> Event:
    return {
        "type": "error",
        "code": PARSE_ERROR,
        "message": f"Failed to parse the stream: {message}",
    }
