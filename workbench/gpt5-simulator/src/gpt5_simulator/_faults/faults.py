"""Faults between a client and a model server, as values.

A fault describes what happens; `refusals.py` and `effects.py` make it happen, `fault_text.py` reads one from a header or a command line.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpError:
    """An answer with an error status and OpenAI's envelope.

    Attributes:
        status: The HTTP status, 400 to 599.
        code: The error code; None takes the usual one of the status.
        message: The message; None takes a sentence that fits the status.
        error_type: The error type; None takes the usual one of the status.
        param: The request field to blame, or None.
        retry_after: Value of the `retry-after` header: seconds, or a date as text; None leaves it out.
        retry_after_ms: Value of the `retry-after-ms` header in milliseconds; None leaves it out.
        times: How many requests are hit; None means all.
    """

    status: int
    code: str | None = None
    message: str | None = None
    error_type: str | None = None
    param: str | None = None
    retry_after: float | str | None = None
    retry_after_ms: int | None = None
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CutStream:
    """A connection that drops before the terminal event.

    Attributes:
        after_bytes: Bytes of the body to send first; it takes precedence over `after_events`.
        after_events: Events to send first.
        times: How many requests are hit; None means all.
    """

    after_bytes: int | None = None
    after_events: int = 3
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LateError:
    """An `error` event in the middle of a stream, then `response.failed`.

    Attributes:
        after_events: Events to send first.
        code: The error code.
        message: The message.
        flat: Whether the details are in the event itself, as OpenAI documents them, and not under `error`, as it sends them.
        times: How many requests are hit; None means all.
    """

    after_events: int = 4
    code: str = "server_error"
    message: str = "The server had an error while processing your request. Sorry about that!"
    flat: bool = False
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LateFailure:
    """A `response.failed` in the middle of a stream, without an `error` event.

    Attributes:
        after_events: Events to send first.
        code: The error code.
        message: The message.
        times: How many requests are hit; None means all.
    """

    after_events: int = 4
    code: str = "server_error"
    message: str = "The model failed to generate a response."
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A stream that sends nothing for a while.

    Attributes:
        after_events: Events to send first; with 0 only the headers come.
        seconds: How long; then the rest follows. None means forever.
        times: How many requests are hit; None means all.
    """

    after_events: int = 0
    seconds: float | None = None
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlPage:
    """A web page instead of an answer, such as a proxy's login page.

    Attributes:
        status: The HTTP status.
        times: How many requests are hit; None means all.
    """

    status: int = 200
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenFrame:
    """An event with broken JSON in the stream.

    Attributes:
        after_events: Events to send first.
        replaces: Whether the broken event replaces the next one.
        times: How many requests are hit; None means all.
    """

    after_events: int = 2
    replaces: bool = False
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent:
    """An event of an unknown type in the stream.

    Attributes:
        after_events: Events to send first.
        event_type: The type.
        times: How many requests are hit; None means all.
    """

    after_events: int = 2
    event_type: str = "response.rate_limits.updated"
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateEvents:
    """Events that are sent twice.

    Attributes:
        every: The interval in events; 1 means that each is sent twice.
        times: How many requests are hit; None means all.
    """

    every: int = 1
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnverifiedOrganization:
    """A refusal of features that OpenAI reserves for verified organisations, if a request asks for one.

    Attributes:
        summary: Whether `reasoning.summary` is refused.
        stream: Whether `stream` is refused.
        times: How many requests are hit; None means all.
    """

    summary: bool = True
    stream: bool = False
    times: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EncryptedContentRefused:
    """A refusal of encrypted reasoning, if a request has it.

    Attributes:
        part: `input`: replayed reasoning cannot be read; `include`: the model does not offer it at all.
        times: How many requests are hit; None means all.
    """

    part: Literal["input", "include"] = "input"
    times: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseSocket:
    """A WebSocket that the server closes with a code; `CutStream` ends one without. Over HTTP nothing happens.

    Attributes:
        code: The code of the close frame.
        reason: The text beside it.
        after_events: Events to send first; None means all, so that the socket closes while it is idle.
        times: How many requests are hit; None means all.
    """

    code: int = 1011
    reason: str = ""
    after_events: int | None = 3
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RefuseUpgrade:
    """A request for a WebSocket that is answered as if this server, or what stands before it, had none.

    Attributes:
        status: The HTTP status, 200 to 599; one below 400 comes with a web page. None means no answer at all.
        times: How many requests for a WebSocket are hit; None means all.
    """

    status: int | None = 426
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPongs:
    """A WebSocket whose server does not answer pings.

    Attributes:
        times: How many requests for a WebSocket are hit; None means all.
    """

    times: int | None = 1


type Fault = (
    HttpError
    | CutStream
    | LateError
    | LateFailure
    | Silence
    | HtmlPage
    | BrokenFrame
    | UnknownEvent
    | DuplicateEvents
    | UnverifiedOrganization
    | EncryptedContentRefused
    | CloseSocket
    | RefuseUpgrade
    | NoPongs
)
"""Any fault that the simulator can produce on request."""
