"""The log of the requests that the simulator got."""

import hashlib
from collections import deque
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Any

from starlette.requests import HTTPConnection

from gpt5_simulator._json import decoded


_MAX_REQUESTS = 10_000  # so that a simulator that runs for days does not fill the memory
_SECRET_HEADERS = frozenset({"authorization", "api-key", "x-api-key", "cookie"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """A request as it came in.

    Attributes:
        number: Its index in the order of arrival, from 0.
        method: The HTTP method; `WEBSOCKET` for a message on a socket, whose upgrade is a `GET` of its own.
        path: The path, such as `/v1/responses`.
        headers: The headers, names in lower case; keys are replaced by a fingerprint, `Bearer sha256:` and 12 digits. A
            message has those of its upgrade.
        body: The decoded JSON body; None when there is none or it is not JSON.
        socket: For a message on a socket the number of its upgrade; None for a request over HTTP.
    """

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: Any
    socket: int | None = None


class RequestLog:
    """The requests so far, numbered; it may be read while the server runs."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._numbers = count()
        self._requests: deque[RecordedRequest] = deque(maxlen=_MAX_REQUESTS)

    def add(
        self, request: HTTPConnection, body: bytes = b"", *, method: str, socket: int | None = None
    ) -> RecordedRequest:
        """Keep a request without its secrets and return it."""
        headers = {name: _shown(name, value) for name, value in request.headers.items()}
        with self._lock:
            recorded = RecordedRequest(
                number=next(self._numbers),
                method=method,
                path=request.url.path,
                headers=headers,
                body=decoded(body),
                socket=socket,
            )
            self._requests.append(recorded)
        return recorded

    def snapshot(self) -> list[RecordedRequest]:
        """Return the requests so far, in the order of arrival; if there are very many, only the newest."""
        with self._lock:
            return list(self._requests)


def fingerprint(secret: str) -> str:
    """Return a short digest that distinguishes secrets without revealing them."""
    return f"sha256:{hashlib.sha256(secret.encode()).hexdigest()[:12]}"


def _shown(name: str, value: str) -> str:
    if name not in _SECRET_HEADERS:
        return value
    scheme, space, secret = value.rpartition(" ")
    return f"{scheme}{space}{fingerprint(secret)}"
