"""The error for what a caller hands in.

```text
MessageError(ValueError)    a message, a response or a setting is not of the shape that its name promises
```

What the *server* gets wrong is never raised here: a stream that breaks its own protocol ends in a `ResponseFailure` event,
so that everything that arrived before it is kept.
"""


class MessageError(ValueError):
    """A message, a response or a setting that is not of the shape that its name promises.

    Attributes:
        field: Where the problem is, e.g. `messages[2].tool_call_id`.
    """

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field
