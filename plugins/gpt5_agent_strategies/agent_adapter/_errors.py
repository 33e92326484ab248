"""What the person who runs the agent gets to read when it cannot go on.

AgentAdapterError
├── ParameterError    the agent node was configured with something that cannot be read
└── AgentRunError     the run failed; what was shown stays, and the message is one sentence

Both texts appear in Dify as they are.
"""


class AgentAdapterError(Exception):
    """The root of the adapter's errors."""


class ParameterError(AgentAdapterError, ValueError):
    """A parameter of the strategy cannot be read.

    Attributes:
        field: The parameter's name.
    """

    def __init__(self, field: str, expected: str, received: object) -> None:
        super().__init__(f"{field} must be {expected}, not {type(received).__name__}")
        self.field = field


class AgentRunError(AgentAdapterError):
    """The run ended with a failure."""
