"""The errors that a person reads when an agent cannot continue.

AgentAdapterError
├── ParameterError        the agent node was configured with something that cannot be read
├── RequestTooLargeError  a call of a model or tool is larger than the platform carries
├── AnswerTooLargeError   a model's answer is larger than can be held
├── OutputTooLargeError   a tool's answer is larger than can be held
├── FetchError            a file cannot be fetched by its link
└── AgentRunError         the run failed; what was shown stays, and the message is one sentence

Dify shows the texts unchanged, to the people who use an app as well (`request_errors`).
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
    """Return a number as it is, and only the kind of anything else, since its content is unknown and may be private."""
    if isinstance(received, int | float) and not isinstance(received, bool):
        return f"{received:.15g}"
    return _KINDS.get(type(received), "something else")


class RequestTooLargeError(AgentAdapterError):
    """A call of a model or a tool that is larger than what the platform carries.

    Attributes:
        size_bytes: Its size.
        limit_bytes: The largest size that is allowed.
    """

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"the request has {size_bytes:,} bytes, but Dify's plugin daemon takes {limit_bytes:,} at most"
        )
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class AnswerTooLargeError(AgentAdapterError):
    """An answer of a model that is larger than can be held."""

    def __init__(self, limit_characters: int) -> None:
        super().__init__(f"the answer is over {limit_characters:,} characters")


class OutputTooLargeError(AgentAdapterError):
    """An output of a tool that is larger than can be held."""

    def __init__(self, limit_bytes: int, *, of: str = "the tool") -> None:
        super().__init__(f"the output of {of} is over {limit_bytes:,} bytes")


class FetchError(AgentAdapterError):
    """A file that cannot be fetched by its link. The text is the end of a sentence."""


class AgentRunError(AgentAdapterError):
    """A run that ended with a failure."""
