"""The envelopes of a plugin daemon's reply, each a frame of the stream, without any I/O.

The daemon answers with server-sent events whose data is one JSON envelope a line:
`data: {"code": 0, "message": "success", "data": ...}`.

Source: langgenius/dify-plugin-daemon at bdb5642a, `internal/service/base_sse.go`.
"""

from dataclasses import dataclass
from typing import Any, Final, Self, cast

from stream_text import parse_json


_NO_FRAMES: Final = (b":", b"event:", b"id:", b"retry:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One envelope of a reply.

    Attributes:
        code: 0 for data, anything else for an error.
        message: What the daemon says about it; for an error often JSON again.
        data: The content, None when there is none.
    """

    code: int
    message: str
    data: object

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read an envelope.

        Raises:
            ValueError: If the text is no JSON, or not an envelope.
        """
        match parse_json(text):
            case {"code": int(code), **rest} if not isinstance(code, bool):
                message = rest.get("message")
                return cls(
                    code=code,
                    message=message if isinstance(message, str) else "",
                    data=cast("dict[str, Any]", rest).get("data"),
                )
            case _:
                raise ValueError("an envelope must be an object with an integer code")


def parse_envelope(line: bytes) -> Envelope | None:
    """Read the frame on a line; None for a blank line, a comment and the other fields of an event.

    A line may also be the bare envelope, without `data:`.

    Raises:
        ValueError: If the line is no UTF-8, no JSON, or not an envelope.
    """
    text = line.strip()
    if text.startswith(_NO_FRAMES):
        return None
    text = text.removeprefix(b"data:").strip()
    return Envelope.from_json(text.decode()) if text else None
