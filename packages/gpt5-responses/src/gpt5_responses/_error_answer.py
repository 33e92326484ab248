"""Answers whose status says that a request is not served, and which of them are worth another try.

Source: the error envelope and the pauses are those of the official client, `_base_client.py` and `_exceptions.py` of openai 3.51.0.
"""

import math
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from random import Random
from typing import Any, cast

from stream_text import InvalidJsonError, parse_json


_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 8.0
_LONGEST_ASKED_SECONDS = 120.0  # for which a server can be waited for
_JITTER = 0.25
_PASSING_STATUSES = (408, 409, 429)
_FIRST_SERVER_STATUS = 500
# Of its own: pauses neither follow from a seed that a program sets, nor change what it draws.
_random = Random()  # noqa: S311  so that clients do not come back all at once


class ErrorAnswer(Exception):  # noqa: N818  it is what the server answered; the package's errors are what is raised for it
    """An answer whose status says that the request is not served.

    Args:
        status_code: Its HTTP status.
        headers: Its headers, found by names in lower case.
        body: As much of its body as has been read.

    Attributes:
        code: The error's code, or whatever the server sent for it; `param` likewise.
        message: The server's explanation; empty if there is none.
        request_id: The server's id of the request.
    """

    def __init__(self, status_code: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(status_code)
        self.status_code = status_code
        self.request_id = headers.get("x-request-id")
        self._headers = headers
        error = _error_of(body)
        self.code: object = error.get("code")
        self.param: object = error.get("param")
        message = error.get("message")
        self.message = message if isinstance(message, str) else ""

    @property
    def is_passing(self) -> bool:
        """Whether the same request may be served a little later: the server says so, or its status does."""
        asked = _asked_seconds(self._headers)
        if asked is not None and math.isfinite(asked) and asked > _LONGEST_ASKED_SECONDS:
            return False
        told = self._headers.get("x-should-retry")
        if told in ("true", "false"):
            return told == "true"
        return self.status_code in _PASSING_STATUSES or self.status_code >= _FIRST_SERVER_STATUS

    def pause_seconds(self, tried: int) -> float:
        """Return how long to wait before the next try: as long as the server asks for, or longer from one try to the next."""
        asked = _asked_seconds(self._headers)
        if asked is not None and 0 < asked <= _LONGEST_ASKED_SECONDS:
            return asked
        return usual_pause_seconds(tried)


def usual_pause_seconds(tried: int) -> float:
    """Return how long to wait after so many tries where nobody asks for anything."""
    longest = min(_FIRST_PAUSE_SECONDS * 2.0 ** min(tried, 10), _LONGEST_PAUSE_SECONDS)
    return longest * (1 - _JITTER * _random.random())


def _asked_seconds(headers: Mapping[str, str]) -> float | None:
    """Return how long a server asks to wait, in seconds; None where it does not, or cannot be understood."""
    for name, unit in (("retry-after-ms", 1_000), ("retry-after", 1)):
        try:
            return float(headers.get(name, "")) / unit
        except ValueError:
            continue
    try:
        date = parsedate_tz(headers.get("retry-after", ""))
        return None if date is None else mktime_tz(date) - time.time()
    except (ValueError, OverflowError, TypeError):
        return None


def _error_of(body: bytes) -> Mapping[str, Any]:
    """Read the API's error envelope; a body that is none of it says nothing."""
    try:
        told = parse_json(body.decode(errors="replace"))
    except InvalidJsonError:
        return {}
    if not isinstance(told, dict):
        return {}
    whole = cast("dict[str, Any]", told)
    error = whole.get("error", whole)
    return cast("dict[str, Any]", error) if isinstance(error, dict) else {}
