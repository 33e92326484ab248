"""What the person who runs the agent gets to read when it cannot go on.

AgentAdapterError
├── ParameterError        the agent node was configured with something that cannot be read
├── RequestTooLargeError  a model or tool call holds more than the platform carries
├── AnswerTooLargeError   a model's answer is more than can be held
├── OutputTooLargeError   a tool's answer is more than can be held
├── FetchError            a file can't be fetched by its link
└── AgentRunError         the run failed; what was shown stays, and the message is one sentence

The texts appear in Dify as they are.
"""

from collections.abc import Mapping


class AgentAdapterError(Exception):
    """The root of the adapter's errors."""


_KINDS: Mapping[type, str] = {
    type(None): "nothing",
    bool: "true or false",
    str: "text",
    list: "a list",
    dict: "an object",
}


class ParameterError(AgentAdapterError, ValueError):
    """A parameter of the strategy that cannot be read.

    Attributes:
        field: The parameter's name.
    """

    def __init__(
        self, field: str, expected: str, received: object, *, sentence: str | None = None
    ) -> None:
        super().__init__(sentence or f"{field} must be {expected}, not {_show(received)}")
        self.field = field


def _show(received: object) -> str:
    """Return what was received: a number as it is, of anything else its kind, for nobody knows what stands in it."""
    if isinstance(received, int | float) and not isinstance(received, bool):
        return f"{received:.15g}"
    return _KINDS.get(type(received), "something else")


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


class AnswerTooLargeError(AgentAdapterError):
    """A model that says more than can be held."""

    def __init__(self, limit_characters: int) -> None:
        super().__init__(f"the answer is over {limit_characters:,} characters")


class OutputTooLargeError(AgentAdapterError):
    """A tool that says more than can be held."""

    def __init__(self, limit_bytes: int, *, of: str = "the tool") -> None:
        super().__init__(f"the output of {of} is over {limit_bytes:,} bytes")


class FetchError(AgentAdapterError):
    """A file that can't be fetched by its link; its text is the end of a sentence."""


class AgentRunError(AgentAdapterError):
    """A run that ended with a failure."""
