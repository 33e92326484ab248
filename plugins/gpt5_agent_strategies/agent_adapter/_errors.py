"""What the person who runs the agent gets to read when it cannot go on.

AgentAdapterError
├── ParameterError        the agent node was configured with something that cannot be read
├── RequestTooLargeError  a model or tool call holds more than the platform carries
└── AgentRunError         the run failed; what was shown stays, and the message is one sentence

The texts appear in Dify as they are.
"""


class AgentAdapterError(Exception):
    """The root of the adapter's errors."""


class ParameterError(AgentAdapterError, ValueError):
    """A parameter of the strategy that cannot be read.

    Attributes:
        field: The parameter's name.
    """

    def __init__(self, field: str, expected: str, received: object) -> None:
        super().__init__(f"{field} must be {expected}, not {type(received).__name__}")
        self.field = field


class RequestTooLargeError(AgentAdapterError):
    """A call of a model or a tool that is larger than what the platform carries.

    Attributes:
        size_bytes: How large it is.
        limit_bytes: How large it may be.
    """

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"the request has {size_bytes:,} bytes, but Dify's plugin daemon takes {limit_bytes:,} at most"
        )
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class AgentRunError(AgentAdapterError):
    """A run that ended with a failure."""
