"""Errors of this package.

StreamTextError
├── InvalidJsonError (ValueError)
└── MessageError (ValueError)
"""


class StreamTextError(Exception):
    """The root of all errors of this package."""


class InvalidJsonError(StreamTextError, ValueError):
    """A text that is not JSON as the standard defines it, or that nests too deep."""


class MessageError(StreamTextError, ValueError):
    """A message, a tool call or a response that does not have the shape that its name promises.

    Attributes:
        field: Where the problem is, such as `messages[2].tool_call_id`.
    """

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field
