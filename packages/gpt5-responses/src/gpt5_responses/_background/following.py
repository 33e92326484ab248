"""The state of following a background response, shared by both kinds of stream: progress, time limits, and what ends it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from typing import Any, TypedDict, cast

from gpt5_responses._calls.calls import kept_include, poll_call, resume_path
from gpt5_responses._errors import (
    ConnectionTimeoutError,
    ResponsesError,
    SettingsError,
    StillRunningError,
    StreamInterruptedError,
)
from gpt5_responses._scheme import Request
from gpt5_responses._settings.connection import Connection
from gpt5_responses._streams.time_limits import TimeLimits

from .polling_policy import PollingPolicy
from .reader import BackgroundReader


POLL_SECONDS = 10.0
"""The longest pause between two polls of a background response, unless the caller says otherwise."""

LAST_SECONDS = 10.0
"""How long to wait for the server to confirm a cancellation."""

_GOES_ON = "The response {} was not done within {:g} s. It continues at the server and can be fetched by its id."
_STOPPED = "The response {} was not done within {:g} s, and the server was asked to stop it."
_NOT_KNOWN = "The connection broke off before the server named the response. Whether it makes one in the background, and bills it, is unknown; nothing was sent again."


class FollowOptions(TypedDict, total=False):
    """The ways to follow a background response; see `BackgroundStream` for what each means."""

    seconds: float | None
    detached: bool
    poll_seconds: float


class Following:
    """The state of following one background response: its progress, and what ends it.

    Args:
        connection: Where it is.
        request: The request body, or the part of it that matters later: `model`, `include`, `stream`.
        seconds: How long the caller waits in all; None for no limit.
        detached: Whether the response continues when the caller leaves.
        poll_seconds: The longest pause between two polls.
        response_id: The response's id, if it was started earlier.
        seen_until: The number of the last event that the caller has received, if any.

    Raises:
        InvalidRequestError: If `response_id` is not an id.
        SettingsError: If a number is out of range.
    """

    def __init__(  # noqa: PLR0913  each is a decision of the caller's
        self,
        connection: Connection,
        request: Mapping[str, Any],
        *,
        seconds: float | None = None,
        detached: bool = False,
        poll_seconds: float = POLL_SECONDS,
        response_id: str | None = None,
        seen_until: int | None = None,
    ) -> None:
        _validate_numbers(seconds=seconds, poll_seconds=poll_seconds, starting_after=seen_until)
        if response_id is not None:
            poll_call(response_id)  # raises if it is not an id
        self.reader = BackgroundReader(
            request, connection, response_id=response_id, seen_until=seen_until
        )
        self.limits = TimeLimits(connection, seconds=seconds)
        self.polling = PollingPolicy(
            is_streamed=bool(request.get("stream")), poll_seconds=poll_seconds
        )
        self.include = kept_include(request)
        self.is_detached = detached
        self._has_left = False
        self._before: int | None = None  # the last event's number when the latest answer began

    @property
    def response_id(self) -> str:
        """The response's id; empty until it is known."""
        return self.reader.response_id or ""

    @property
    def pause_seconds(self) -> float:
        """How long to wait before the next step, within the time that is left."""
        left = self.limits.seconds_left
        return self.polling.pause_seconds if left is None else min(self.polling.pause_seconds, left)

    @property
    def rest_path(self) -> str:
        """The path of the rest of the stream."""
        return resume_path(self.response_id, after=self.reader.last_number, include=self.include)

    def begin_answer(self, *, status_code: int, headers: Mapping[str, str]) -> None:
        """Read the head of the next answer.

        Raises:
            UnexpectedResponseError: If it is neither a stream nor a response.
        """
        self._before = self.reader.last_number
        self.limits.begin_answer()
        self.reader.begin(status_code=status_code, headers=headers)

    def note_answer(self, error: ResponsesError | None = None) -> None:
        """Note that an answer has ended, or the error that ended it.

        Raises:
            ResponsesError: If the response cannot be followed any further.
        """
        if self.reader.is_over:
            if error is not None:
                raise error
        elif not self.response_id:
            raise self._without_id(error) from None
        else:
            self.validate_time()
            # A response that came as a whole has no stream to resume.
            is_numbered = self.reader.last_number is not None and self.reader.is_stream
            had_events = self.reader.last_number != self._before
            self.polling.note_cut(had_events=had_events, is_numbered=is_numbered)

    def note_failed_step(self, error: ResponsesError) -> None:
        """Note that resuming the stream or polling the response failed.

        Raises:
            ResponsesError: If the response cannot be followed any further.
        """
        if isinstance(error, StillRunningError):
            raise error
        self.validate_time()
        if self.polling.step == "resume":
            self.polling.note_refused_stream(error)
        else:
            self.polling.note_failed_poll(error)

    def validate_time(self) -> None:
        """Raise if the caller's time is over.

        Raises:
            StillRunningError: If it is, and the response has begun.
            ConnectionTimeoutError: If it is, and the response has not begun.
        """
        if self.limits.is_over and not self.reader.is_over:
            raise self.took_too_long()

    def took_too_long(self) -> ConnectionTimeoutError:
        """Return the error for a caller whose time is over."""
        if not self.response_id:
            return self.limits.took_too_long()
        sentence = _GOES_ON if self.is_detached else _STOPPED
        return StillRunningError(
            sentence.format(self.response_id, self.limits.total_seconds or 0),
            response_id=self.response_id,
            is_cancelled=not self.is_detached,
        )

    def leave(self) -> bool:
        """Note that the caller leaves, and return whether to cancel the response at the server; at most once."""
        # A stream may be closed several times, and only the first one cancels.
        must = not (self.reader.is_over or self.is_detached or self._has_left)
        self._has_left = True
        return must and bool(self.response_id)

    def _without_id(self, error: ResponsesError | None) -> ResponsesError:
        # Without an id the response cannot be followed, and sending again could make another.
        if error is None or isinstance(error, StreamInterruptedError):
            return StreamInterruptedError(_NOT_KNOWN, request_id=self.reader.request_id)
        return error


class FollowedFacts:
    """The facts that both kinds of stream report about the background response that they follow."""

    _following: Following

    @property
    def response_id(self) -> str | None:
        """The response's id, once it is known, for `attach_stream` and `AsyncResponsesClient.attach`."""
        return self._following.reader.response_id

    @property
    def last_number(self) -> int | None:
        """The number of the last event received, for the `starting_after` of a later stream; None if there is none."""
        return self._following.reader.last_number

    @property
    def status(self) -> str | None:
        """The last state of the response that the server reported, such as `queued`."""
        return self._following.reader.status

    @property
    def is_detached(self) -> bool:
        """Whether the response continues at the server when the caller leaves."""
        return self._following.is_detached

    def _took_too_long(self) -> ConnectionTimeoutError:
        return self._following.took_too_long()


def shows_options[**P, Result](function: Callable[P, Result]) -> Callable[P, Result]:
    """Have `help()`, editors and the reference show each of a function's `FollowOptions` by its name and default, in place of `**options`."""
    shown, options = signature(function), signature(Following).parameters
    own = [one for one in shown.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    named = [options[name] for name in FollowOptions.__annotations__]
    cast("Any", function).__signature__ = shown.replace(parameters=[*own, *named])
    return function


def in_background(
    request: Request,
    background: bool | None,  # noqa: FBT001  None is a third value
    options: FollowOptions,
) -> Request:
    """Return the request with `background` set, unless that is None.

    Raises:
        SettingsError: If an option would have no effect, because the response is not made in the background.
    """
    request = request if background is None else replace(request, background=background)
    for name in ("seconds", "detached"):
        if options.get(name) and not request.background:
            message = f"{name} is for a response that is made in the background (background=True)"
            raise SettingsError(message, field=name)
    return request


def attached_request(include: Sequence[str]) -> dict[str, Any]:
    """Return a placeholder for the request of a response that was begun earlier."""
    return {"model": "", "stream": True, "include": list(include)}


def _validate_numbers(
    *, seconds: float | None, poll_seconds: float, starting_after: int | None
) -> None:
    for name, value in (("seconds", seconds), ("poll_seconds", poll_seconds)):
        if value is not None and not 0 < value < float("inf"):
            raise SettingsError(f"{name} must be a number above 0, got {value!r:.50}", field=name)
    if starting_after is not None and starting_after < 0:
        message = f"starting_after must be a whole number from 0, got {starting_after!r:.50}"
        raise SettingsError(message, field="starting_after")
