"""Answers with an error status, and which of them are worth a retry.

Source: the error envelope and the pauses are those of the official client, `_base_client.py` and `_exceptions.py` of openai 3.51.0.
"""

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from random import Random
from typing import Any

from gpt5_messages import SSEDecoder, read_error
from stream_text import InvalidJsonError, is_object, parse_json


_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 8.0
_LONGEST_ASKED_SECONDS = 120.0  # no server is waited for any longer
_JITTER = 0.25
_PASSING_STATUSES = (408, 409, 429)
_FIRST_SERVER_STATUS = 500
_CHARSET = re.compile(r"charset=[\"' ]*([\w.:-]+)", re.IGNORECASE)
# A generator of its own: pauses neither depend on a seed that the program sets nor disturb it.
_random = Random()  # noqa: S311  so that clients do not all come back at once


class ErrorAnswer(Exception):  # noqa: N818  the server's answer, for which the package's own errors are raised
    """An answer with an error status.

    Args:
        status_code: Its HTTP status.
        headers: Its headers, found by names in lower case.
        body: As much of its body as has been read.

    Attributes:
        code: The error's code as a text; None if the server gives none that says more than the status.
        param: The field that it is about, with dots between its parts; None if the server names none.
        message: The server's explanation; empty if there is none.
        request_id: The server's id of the request.
        own_id: Our id of the request.
        is_by_socket: Whether it came by a WebSocket.
    """

    own_id: str | None = None
    is_by_socket: bool = False

    def __init__(self, status_code: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(status_code)
        self.status_code = status_code
        self.request_id = headers.get("x-request-id")
        self._headers = headers
        text = _text_of(body, headers.get("content-type", "")).lstrip("\ufeff")
        value = _decoded(text)
        error = read_error(value)
        code = error.get("code")
        self.code = None if code == str(status_code) else code
        self.param = error.get("param")
        # What is in no known form is better shown as it is than not at all.
        fields: Mapping[str, Any] = value if is_object(value) else {}
        is_unknown = any(fields.values()) and not (error and "error" in fields)
        self.message = error.get("message", text if is_unknown else "")

    @property
    def facts(self) -> dict[str, Any]:
        """The status, code, parameter and request id, for `build_error`."""
        names = ("status_code", "code", "param", "request_id")
        return {name: getattr(self, name) for name in names}

    @property
    def is_passing(self) -> bool:
        """Whether a retry may succeed, by the server's headers or else its status."""
        asked = _asked_seconds(self._headers)
        if asked is not None and math.isfinite(asked) and asked > _LONGEST_ASKED_SECONDS:
            return False
        should_retry = _header(self._headers, "x-should-retry")
        if should_retry in ("true", "false"):
            return should_retry == "true"
        return self.status_code in _PASSING_STATUSES or self.status_code >= _FIRST_SERVER_STATUS

    def pause_seconds(self, tried: int) -> float:
        """Return how many seconds to wait before the next try: as many as the server asks for, or more with every try."""
        asked = _asked_seconds(self._headers)
        if asked is not None and 0 < asked <= _LONGEST_ASKED_SECONDS:
            return asked
        return usual_pause_seconds(tried)


def usual_pause_seconds(tried: int) -> float:
    """Return the usual back-off after a number of tries, in seconds."""
    longest = min(_FIRST_PAUSE_SECONDS * 2.0 ** min(tried, 10), _LONGEST_PAUSE_SECONDS)
    return longest * (1 - _JITTER * _random.random())


def _asked_seconds(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds the server asks to wait; None if it does not say, or cannot be understood."""
    for name, unit in (("retry-after-ms", 1_000), ("retry-after", 1)):
        try:
            return float(_header(headers, name)) / unit
        except ValueError:
            continue
    try:
        date = parsedate_tz(_header(headers, "retry-after"))
        return None if date is None else mktime_tz(date) - time.time()
    except (ValueError, OverflowError, TypeError):
        return None


def _header(headers: Mapping[str, str], name: str) -> str:
    """Return a header of the server's, or of the upstream that LiteLLM's proxy has asked; empty if there is neither."""
    return headers.get(name) or headers.get(f"llm_provider-{name}", "")


def _decoded(text: str) -> object:
    """Return the value of a body that is JSON, or a stream's event, and the text of any other."""
    try:
        return parse_json(text)
    except InvalidJsonError:
        frames = SSEDecoder()
        events = (*frames.feed(text.encode()), *frames.close())
        return next((event for event in events if event.get("code") != "parse_error"), text)


def _text_of(body: bytes, content_type: str) -> str:
    """Decode a body: as Unicode if it is, whatever the server calls it, and else as the server says."""
    try:
        return body.decode(json.detect_encoding(body))
    except UnicodeError:
        pass
    charset = _CHARSET.search(content_type)
    try:
        return body.decode(charset[1] if charset else "utf-8", errors="replace")
    except (LookupError, ValueError):  # no charset of texts
        return body.decode(errors="replace")
