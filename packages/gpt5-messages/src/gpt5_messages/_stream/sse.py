"""A decoder of the bytes of an event stream into JSON events, however the bytes are cut.

Servers differ in the framing: LF, CRLF or CR, `data:` before `event:`, no `event:` at all, comments, `[DONE]`, no last
blank line. The `type` inside the JSON decides; the `event:` name is used only if the JSON has none.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html section 9.2.6, read 2026-11-21, and recorded traffic.
"""

import json
import re
from typing import Any

from stream_text import MAX_DEPTH, is_object


type Event = dict[str, Any]

PARSE_ERROR = "parse_error"
_BOM = b"\xef\xbb\xbf"
_SIGNS = frozenset('{}[]"')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]')
_DECODER = json.JSONDecoder()
_NAMED_LEVELS = 4  # such as `response.output[0].content`


class SSEDecoder:
    r"""A decoder of the bytes of one stream into its events.

    Nothing is raised, so that no event is lost because of the frames around it. A frame that is not an event, such as
    `data: ping`, is skipped. A broken frame that has the name of a response's event, or may have been JSON, becomes an
    `error` event with the code `parse_error`, after which the stream continues.

    Args:
        max_frame_bytes: A frame that grows beyond this many bytes is given up as a parse error, so that a server
            cannot fill the memory.

    Example:
        >>> SSEDecoder().feed(b'data: {"type": "keepalive"}\n\n')
        [{'type': 'keepalive'}]
    """

    def __init__(self, *, max_frame_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._open: list[bytes] = []  # the frame that is still open, in the pieces that it came in
        self._open_bytes = 0
        self._held = b""  # a line break at the end, which may be half of a blank line
        self._after_cr = False
        self._at_start = True

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes, cut anywhere, and return the events that they complete."""
        *ends, rest = (self._held + self._normalise(data)).split(b"\n\n")
        events: list[Event] = []
        for end in ends:
            self._hold(end)
            events += self._end_frame()
        self._held = b"\n" if rest.endswith(b"\n") else b""
        self._hold(rest.removesuffix(b"\n"))
        return events

    def close(self) -> list[Event]:
        """Return the last event, if it is whole and only its blank line is missing."""
        # Half of an event is no event that was broken: the stream ended, which the decoder reports.
        is_too_large = self._open_bytes > self._max_frame_bytes
        return [
            event for event in self._end_frame() if is_too_large or event.get("code") != PARSE_ERROR
        ]

    def _normalise(self, data: bytes) -> bytes:
        """Turn every line end into LF, even if CR and LF of one pair come in different pieces."""
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _hold(self, piece: bytes) -> None:
        """Keep a piece of the open frame, unless the frame has exceeded the limit."""
        self._open_bytes += len(piece)
        if self._open_bytes > self._max_frame_bytes:
            self._open = []
        elif piece:
            self._open.append(piece)

    def _end_frame(self) -> list[Event]:
        frame, size = b"".join(self._open), self._open_bytes
        self._open, self._open_bytes = [], 0
        if self._at_start:
            frame, self._at_start = frame.removeprefix(_BOM), False
        if size > self._max_frame_bytes:
            return [_parse_error(f"a frame is larger than {self._max_frame_bytes} bytes")]
        return _parse_frame(frame)


def _parse_frame(frame: bytes) -> list[Event]:
    """Read the data and the name of a frame; its other fields do not matter."""
    pieces: list[str] = []
    strange: list[str] = []
    event_name = ""
    try:
        # Half of a character is not valid UTF-8 and need not cost the frame: it is replaced later.
        lines = frame.decode(errors="surrogatepass").split("\n")
    except UnicodeDecodeError:
        return [_parse_error("a frame is not UTF-8")]
    for line in lines:
        name, _, value = line.partition(":")
        if name == "data":
            pieces.append(value.removeprefix(" "))
        elif name == "event":
            event_name = value.removeprefix(" ")
        elif name == "error":  # in the place of `data`, as llama.cpp once wrote it
            pieces, event_name = [value.removeprefix(" ")], name
        elif name not in ("", "id", "retry"):
            strange.append(line)
    # Some servers answer with an error that is bare JSON, whatever they call it.
    data = "\n".join(pieces or strange)
    return [] if data.strip() == "[DONE]" else _parse_event(data, event_name)


def parse_object(text: str) -> Event | None:
    """Parse the JSON of an event, or of a response that was not streamed.

    Returns:
        The object, or an `error` event that says where it nests deeper than can be read; None if it is not a JSON object.
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        path = _deep_path(text)
        return {**_parse_error(f"{path}: nests deeper than can be read"), "param": path}
    except ValueError:  # bad JSON, or a number that is too long
        return None
    return dict(value) if is_object(value) else None


def _parse_event(data: str, name: str) -> list[Event]:
    event = parse_object(data)
    if event is not None:
        if not isinstance(event.get("type"), str):
            event["type"] = name
        return [event]
    if name == "error" and data:
        return [{"type": "error", "message": data}]
    # A text with none of JSON's signs, and without a name of the API, never was an event.
    is_broken = name.startswith("response.") or not _SIGNS.isdisjoint(data)
    return [_parse_error("a frame is not a JSON object")] if is_broken else []


def _parse_error(message: str) -> Event:
    return {
        "type": "error",
        "code": PARSE_ERROR,
        "message": f"Failed to parse the stream: {message}",
    }


def _deep_path(text: str) -> str:
    """Return the path, such as `output[1].data`, of the value in a JSON text that nests too deep; found without recursion."""
    path: list[str | int] = []
    string = ""
    tokens = (match[0] for match in _TOKEN.finditer(text))
    while len(path) <= MAX_DEPTH:
        match token := next(tokens):
            case "{":
                path.append("")
            case "[":
                path.append(0)
            case "}" | "]":
                del path[-1:]
            case ":":
                path[-1:] = [string]
            case ",":
                path[-1:] = [step + 1 if isinstance(step, int) else step for step in path[-1:]]
            case _:
                string = json.loads(token, strict=False)
    del path[_NAMED_LEVELS:]
    while path and isinstance(path[-1], int):
        path.pop()
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".") or "the event"
