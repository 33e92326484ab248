"""Errors of this package.

StreamTextError
├── InvalidJsonError (ValueError)
├── InvalidLineError (ValueError)
│   └── LineTooLongError
└── MessageError (ValueError)
"""


class StreamTextError(Exception):
    """The root of all errors of this package."""


class InvalidJsonError(StreamTextError, ValueError):
    """A text that is no JSON as the standard has it, or that nests too deep."""


class InvalidLineError(StreamTextError, ValueError):
    """A line that cannot leave as one line."""


class LineTooLongError(InvalidLineError):
    """A line over the limit.

    Attributes:
        size_bytes: How long the line is, without its line feed.
        max_line_bytes: How long it may be.
    """

    def __init__(self, *, size_bytes: int, max_line_bytes: int) -> None:
        super().__init__(f"a line of {size_bytes} bytes is over the limit of {max_line_bytes}")
        self.size_bytes = size_bytes
        self.max_line_bytes = max_line_bytes


class MessageError(StreamTextError, ValueError):
    """A message, a tool call or a response that is not of the shape that its name promises.

    Attributes:
        field: Where the problem is, such as `messages[2].tool_call_id`.
    """

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field
