"""The polling policy for a background response: when to resume its stream, when to poll it, when to give up. No I/O.

A stream can be resumed for 5 minutes after its response was begun; then the server refuses it (400), as do gateways
without this feature. From then on the response is polled until it is done.

Source: the 400 that says "This response can no longer be streamed because it is more than 5 minutes old",
https://github.com/openai/openai-python/issues/2828; https://platform.openai.com/docs/guides/background, read
2026-11-22; the numbers are our choice.
"""

import time
from typing import Literal

from gpt5_responses._errors import (
    AuthenticationError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    RequestRefusedError,
    ResponsesError,
)
from gpt5_responses._http.error_answer import usual_pause_seconds


_FIRST_POLL_SECONDS = 0.25  # a short answer is done at once; growing, ten polls take 30 s
_POLL_GROWTH = 1.5
_MOST_FRUITLESS = 3  # streams in a row that brought no event
# Polls in a row that found no such response: a new one may not be on all machines at once.
_MOST_MISSING = 4
MOST_FAILING_SECONDS = 600.0
"""How long polls may keep failing."""

_LASTING = (AuthenticationError, PermissionDeniedError)

type Step = Literal["resume", "poll"]
"""The next step: resuming the stream, or polling the response."""


class PollingPolicy:
    """The policy for following one background response.

    Args:
        is_streamed: Whether the response was asked for as a stream.
        poll_seconds: The longest pause between two polls.

    Attributes:
        pause_seconds: How long to wait before the next step.
    """

    def __init__(
        self,
        *,
        is_streamed: bool,
        poll_seconds: float,
    ) -> None:
        self.pause_seconds = 0.0
        self._is_streamed = is_streamed
        self._poll_seconds = poll_seconds
        self._polls = 0  # since the stream was given up
        self._fruitless = 0
        self._missing = 0
        self._failures = 0
        self._failing_since: float | None = None

    @property
    def step(self) -> Step:
        """The next step, after `pause_seconds`."""
        return "resume" if self._is_streamed else "poll"

    def note_cut(self, *, had_events: bool, is_numbered: bool) -> None:
        """Note that a stream has ended before its response.

        Args:
            had_events: Whether it brought any new event.
            is_numbered: Whether the server numbers events, so that the rest can be asked for.
        """
        # A stream that brought something is resumed at once.
        self._fruitless = 0 if had_events else self._fruitless + 1
        self.pause_seconds = usual_pause_seconds(self._fruitless - 1) if self._fruitless else 0.0
        if self._fruitless >= _MOST_FRUITLESS or not is_numbered:
            self._give_up_stream()

    def note_refused_stream(self, error: ResponsesError) -> None:
        """Note that the stream could not be resumed.

        Raises:
            ResponsesError: If the server would refuse everything else, too.
        """
        if isinstance(error, _LASTING):
            raise error
        if isinstance(error, RequestRefusedError):
            self._give_up_stream()
        else:
            self.note_cut(had_events=False, is_numbered=True)

    def note_running(self) -> None:
        """Note that a poll found the response still running."""
        self._missing = self._failures = 0
        self._failing_since = None
        # The exponent has a limit, or the power would overflow after some hours of polls.
        grown = _FIRST_POLL_SECONDS * _POLL_GROWTH ** min(self._polls, 50)
        self.pause_seconds = min(grown, self._poll_seconds)
        self._polls += 1

    def note_failed_poll(self, error: ResponsesError) -> None:
        """Note that a poll failed.

        Raises:
            ResponsesError: If there is no such response, or polls have failed for too long.
        """
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        self._failures += 1
        self._missing = self._missing + 1 if isinstance(error, NotFoundError) else 0
        is_lasting = isinstance(error, (*_LASTING, InvalidRequestError))
        is_missing = self._missing >= _MOST_MISSING
        if is_lasting or is_missing or now - self._failing_since >= MOST_FAILING_SECONDS:
            raise error
        self.pause_seconds = min(usual_pause_seconds(self._failures - 1), self._poll_seconds)

    def _give_up_stream(self) -> None:
        self._is_streamed = False
        self.pause_seconds = 0.0
