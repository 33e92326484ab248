"""The HTTP client of one connection: requests, retries, and the reuse of network connections.

It follows no redirects, because a prompt may go only to the server that was named, and keeps no cookies. Answers that
are not a stream, such as errors, are read up to a bound.

Everything is written once, as generators that yield each step on the network and receive its result. `play` runs them
for a blocking client, whose steps are done when they are yielded, and `aplay` for an asynchronous one, which awaits
each step.
"""

import logging
import math
import os
import re
import socket
import ssl
import threading
import time
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import certifi
import httpcore

from gpt5_responses._errors import ResponsesError
from gpt5_responses._settings.connection import Connection
from stream_text.addresses import plain_host

from .async_network import AsyncNetwork
from .bodies import ACCEPTED, MOST_WHOLE_BYTES, BoundedBody
from .connection_errors import NoAnswerError, TooMuchAheadError
from .error_answer import ErrorAnswer, usual_pause_seconds
from .error_messages import name_request, to_responses_error, took_too_long
from .network import Network
from .proxies import find_proxy
from .request_body import RequestBody
from .steps import Blocking, NetworkKind


_MOST_ERROR_BYTES = 1024 * 1024  # lists of what is wrong quote the pictures that they are about
_MOST_BODY_SECONDS = 10.0  # for the body of an error, a list or a stored response
_MOST_IDLE = 100  # as many as the official client keeps
_IDLE_SECONDS = 5.0  # as in httpx; most servers allow more
# Tools take their time between the rounds of a run, and a new connection costs round trips.
_OPENAI_IDLE_SECONDS = 60.0
_OWN_ID = "X-Client-Request-Id"
_LOGGER = logging.getLogger("gpt5_responses")
_SUCCESS = range(200, 300)
_PORTS = {"http": 80, "https": 443}
# Kept as they are, since the path or query has been escaped already.
_TARGET_CHARACTERS = "%/:=&?~+!$,;'@()*[]"
FAILURES = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    OSError,  # the library lets some through
)
"""What the HTTP library raises where the network or the server fails."""

# Failures of a server that may be at work on the request.
_UNDER_WAY = (httpcore.ReadTimeout, TooMuchAheadError)
UNSENT = (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.ProxyError)
"""Failures before any part of a request has been sent."""

type Steps[T] = Generator[Any, Any, T]
"""A task of a client, as steps on the network, and its result."""


def play[T](steps: Steps[T]) -> T:
    """Run the steps of a blocking client, each of which is done when it is yielded."""
    outcome: Any = None
    while True:
        try:
            outcome = steps.send(outcome)
        except StopIteration as end:
            return end.value


async def aplay[T](steps: Steps[T]) -> T:
    """Run the steps of an asynchronous client."""
    try:
        step = next(steps)
        while True:
            try:
                outcome = await step
            except BaseException as error:  # noqa: BLE001  the steps decide what comes of it
                step = steps.throw(error)
            else:
                step = steps.send(outcome)
    except StopIteration as end:
        return end.value


@dataclass(slots=True, eq=False)
class HttpAnswer:
    """An HTTP answer whose body has not been read yet.

    Attributes:
        status_code: Its HTTP status.
        headers: Its headers, by names in lower case; values of a repeated header are joined by commas.
        response: The HTTP library's response, which has the body.
        connection: The HTTP library's connection that it came by.
        network: The maker of that connection.
        client_request_id: Our id of the request, as it went out.
        is_by_socket: Whether it is not HTTP's, but came by a WebSocket.
        is_read: Whether its body has been read to its end, so that its connection can serve another call.
        reader: What reads the body, where a session has to know how the response ended.
    """

    status_code: int
    headers: dict[str, str]
    response: Any
    connection: Any
    network: Network | AsyncNetwork
    client_request_id: str
    is_by_socket: bool = False
    is_read: bool = False
    reader: Any = None

    @property
    def stream(self) -> Any:
        """The network stream; a `BodyStream` in a blocking client."""
        return self.response.extensions["network_stream"]


class HttpClient:
    """The client of one connection. Its methods yield steps, for `play` or `aplay` to run.

    Args:
        connection: Where the server is and how to reach it.
        kind: Whether it is a blocking or an asynchronous client.

    Raises:
        ResponsesError: If the machine's settings of proxies or certificates are not usable.

    Attributes:
        connection: Where the server is.
        secrets: The secrets that an error must not contain.
    """

    def __init__(self, connection: Connection, kind: NetworkKind = Blocking) -> None:
        self.connection, self.secrets = connection, connection.secrets
        parts = urlsplit(connection.base_url)
        host = plain_host(parts.hostname or "")
        self._kind = kind
        self._origin = httpcore.Origin(
            parts.scheme.encode(), host.encode(), parts.port or _PORTS[parts.scheme]
        )
        self._path, self._query = parts.path, parts.query
        self._headers = _headers(connection, host, parts.port)
        given = {name.lower(): value for name, value in connection.extra_headers.items()}
        self._own_id = given.get(_OWN_ID.lower())
        self._timeouts = dict.fromkeys(("connect", "read", "write"), connection.try_seconds)
        self._max_retries = connection.max_retries
        self._total_seconds = connection.total_seconds or math.inf
        # Each with the time when it is too old; the most recently used is last, and taken first.
        self._idle: deque[tuple[float, Any, Network | AsyncNetwork]] = deque()
        self._lock = (
            threading.Lock()
        )  # guards the idle connections: looking at one and taking it are one step
        self._is_closed = False
        try:
            self._proxy = find_proxy(parts.scheme, host, trusted())
            self._connect()  # connects to nothing yet, but fails here if settings are not usable
        except Exception as error:  # noqa: BLE001  unusable proxy addresses and certificate files raise errors of many kinds
            raise to_responses_error(error, model="", connection=connection) from None

    def ask(
        self,
        method: bytes,
        path: str,
        content: RequestBody | None = None,
        *,
        only_once: bool = False,
        until: float | None = None,
    ) -> Steps[HttpAnswer]:
        """Make a request, with retries, and return the answer, whose body is read as it arrives.

        Args:
            method: The HTTP method.
            path: The path below the base URL.
            content: The request's body.
            only_once: Whether not to send it again if the server may have received it, because closing the connection does not end its work.
            until: When the call is over, by `time.monotonic`; by default the connection's total limit from now.

        Raises:
            ErrorAnswer: If the server answers with an error status.
            NoAnswerError: If no answer comes.
            ResponsesError: If the server's address leads to a metadata service, or the call takes too long in all.
        """
        until = self.until() if until is None else until
        request = self._request(method, path, content)

        def attempt(*, may_fail: bool) -> Steps[HttpAnswer | None]:
            answer = yield from self._answer(request, until, may_fail=may_fail, only_once=only_once)
            if answer is None or answer.status_code in _SUCCESS:
                return answer
            raise (yield from self.refusal(answer, until))

        return (yield from self.try_often(attempt, until))

    def try_often(
        self, attempt: Callable[..., Steps[HttpAnswer | None]], until: float
    ) -> Steps[HttpAnswer]:
        """Return the answer of the first attempt that has one, with pauses between them, as often as the connection may retry.

        Args:
            attempt: Called with `may_fail`, whether another may follow; returns None where it failed and may.
            until: When the call is over, by `time.monotonic`.

        Raises:
            ErrorAnswer: If the server answers with an error status.
            ResponsesError: If the call takes too long in all.
        """
        tried = 0
        while True:
            is_last = tried == self._max_retries
            try:
                answer = yield from attempt(may_fail=not is_last)
            except ErrorAnswer as refusal:
                if is_last or not refusal.is_passing:
                    raise
                pause = refusal.pause_seconds(tried)
            else:
                if answer is not None:
                    return answer
                pause = usual_pause_seconds(tried)
            tried += 1
            yield self._kind.sleep(max(min(pause, until - time.monotonic()), 0))
            self.validate_time(until)

    def refusal(self, answer: HttpAnswer, until: float) -> Steps[ErrorAnswer]:
        """Read an answer with an error status, and return it as the error to raise."""
        body = b""
        with suppress(Exception):  # its status says enough
            body = yield from self._read(answer, _MOST_ERROR_BYTES, until)
        refusal = ErrorAnswer(answer.status_code, answer.headers, body)
        refusal.own_id = answer.client_request_id
        return refusal

    def upgrade(
        self, path: str, headers: Mapping[str, str], *, seconds: float, until: float
    ) -> Steps[HttpAnswer]:
        """Ask, once and on a new connection, for another protocol, and return the answer: with the status 101 its `stream` is free for that protocol.

        Args:
            path: The path below the base URL.
            headers: The headers that ask for it, in place of the usual ones.
            seconds: How long to wait for the answer.
            until: When the call is over, by `time.monotonic`.

        Raises:
            NoAnswerError: If no answer comes.
            ResponsesError: If the server's address leads to a metadata service, or the call takes too long in all.
        """
        request = self._request(b"GET", path, None)
        asked = {name.lower().encode(): value.encode() for name, value in headers.items()}
        kept = [pair for pair in request.headers if pair[0].lower() not in asked]
        request.headers = [*kept, *asked.items()]
        own_id = _own_id_of(request)
        request.extensions = {"timeout": dict.fromkeys(self._timeouts, seconds)}
        connection, network = self._connect()
        network.until = min(until, time.monotonic() + seconds)
        try:
            response = yield from self._or_close(connection, self._kind.send, connection, request)
        except FAILURES as error:
            self.validate_time(until)
            raise NoAnswerError(is_proxied=network.is_proxied, own_id=own_id) from error
        headers_read = _read_headers(response.headers)
        return HttpAnswer(response.status, headers_read, response, connection, network, own_id)

    def drop(self, answer: HttpAnswer) -> Steps[None]:
        """Close an answer and its connection."""
        with suppress(RuntimeError):  # as below
            yield from self._or_close(answer.connection, self._kind.close, answer.response)
        yield from self._close(answer.connection)

    def is_own(self, network: Network | AsyncNetwork) -> bool:
        """Return whether this process, and event loop, made a connection. A fork shares its parent's, where each would read the other's answers."""
        return network.place == self._kind.place()

    def call(
        self,
        method: bytes,
        path: str,
        content: RequestBody | None = None,
        *,
        only_once: bool = False,
    ) -> Steps[bytes]:
        """Make a request and return the body of the answer, up to a bound.

        Raises:
            ErrorAnswer: If the server answers with an error status.
            NoAnswerError: If no answer comes.
            ResponsesError: If the server's address leads to a metadata service, or the call takes too long in all.
        """
        until = self.until()
        answer = yield from self.ask(method, path, content, only_once=only_once, until=until)
        try:
            return (yield from self._read(answer, MOST_WHOLE_BYTES, until))
        except FAILURES as error:
            self.validate_time(until)
            raise NoAnswerError(
                is_proxied=answer.network.is_proxied,
                may_be_at_work=only_once,
                own_id=answer.client_request_id,
            ) from error

    def explain(self, error: Exception, *, model: str, tried: str = "") -> ResponsesError:
        """Return the package's error for one of this client's; see `to_responses_error`."""
        told = to_responses_error(error, model=model, connection=self.connection, tried=tried)
        is_by_socket = getattr(error, "is_by_socket", False)
        return name_request(told, getattr(error, "own_id", None), is_by_socket=is_by_socket)

    def end(self, answer: HttpAnswer) -> Steps[None]:
        """Close an answer, and keep its network connection for the next call if it can be reused."""
        yield from self._or_close(answer.connection, self._kind.close, answer.response)
        # The library has closed it unless the body was read to its end and the server keeps it open.
        if not answer.connection.is_idle():
            return
        if self._is_closed or len(self._idle) >= _MOST_IDLE:
            yield self._kind.close(answer.connection)
        else:
            idle_until = time.monotonic() + self._idle_seconds(answer)
            with self._lock:
                self._idle.append((idle_until, answer.connection, answer.network))

    def end_reading(self, answer: HttpAnswer) -> None:
        """Wake a thread that waits for more of a body. Closing the socket would not wake it: it would wait for the server until its timeout."""
        # One that is read may serve another call by now, and one of another process is not ours to end.
        if not answer.is_read and answer.network.place[0] == os.getpid():
            with suppress(OSError):  # the server may have closed it first
                answer.stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    def close_old(self, *, looks: bool = True) -> Steps[bool]:
        """Close the idle connections that are too old, and return whether others are left.

        Servers close a connection that nobody uses; who does not close the other half keeps a socket for nothing.

        Args:
            looks: Whether to look at each, and close those that the server has closed, too.
        """
        now = time.monotonic()
        with self._lock:
            old = [
                kept for kept in self._idle if kept[0] < now or (looks and kept[1].has_expired())
            ]
            for kept in old:
                self._idle.remove(kept)
            has_others = bool(self._idle)
        for _, connection, _ in old:
            yield from self._close(connection)
        return has_others

    def close(self) -> Steps[None]:
        """Close all network connections except those in use, which are closed with their answers."""
        self._is_closed = True
        with self._lock:
            idle = [connection for _, connection, _ in self._idle]
            self._idle.clear()
        for connection in idle:
            yield from self._close(connection)

    def _close(self, it: Any) -> Steps[None]:
        with suppress(RuntimeError):  # Nobody can close what is an event loop's that is over.
            yield self._kind.close(it)

    def _idle_seconds(self, answer: HttpAnswer) -> float:
        """Return for how long a connection is kept that nobody uses."""
        if self.connection.is_openai:
            return _OPENAI_IDLE_SECONDS
        named = re.search(r"\btimeout=(\d{1,6})\b", answer.headers.get("keep-alive", ""))
        # A second less, so that a request does not meet the server as it closes.
        return int(named[1]) - 1 if named else _IDLE_SECONDS

    def _answer(
        self, request: httpcore.Request, until: float, *, may_fail: bool, only_once: bool
    ) -> Steps[HttpAnswer | None]:
        """Send a request, a second time if a kept connection turns out to be closed or out of step; return None if it failed and may fail.

        After a timeout nothing is sent again: the server may be at work on the request, which would be paid for twice.
        A request that must be sent only once uses a new connection, because a kept one may end before or after the
        server has received it.
        """
        if only_once:
            (connection, network), is_kept = self._connect(), False
        else:
            connection, network, is_kept = yield from self._take()
        own_id = _own_id_of(request)
        while True:
            network.until = until
            try:
                sending = self._kind.send, connection, request
                response = yield from self._or_close(connection, *sending)
            except FAILURES as error:
                self.validate_time(until)
                may_be_at_work = only_once and not isinstance(error, UNSENT)
                is_under_way = isinstance(error, _UNDER_WAY) or may_be_at_work
                # Closed by the server while it was kept. The new connection does not count as a retry.
                if is_kept and not is_under_way and not network.has_answered:
                    _LOGGER.warning(
                        "The server has closed an idle connection: the request is sent once more, on a new one (%s: %s)",
                        *(_OWN_ID, own_id),
                    )
                    (connection, network), is_kept = self._connect(), False
                elif may_fail and not is_under_way:
                    return None
                else:
                    raise NoAnswerError(
                        is_proxied=network.is_proxied,
                        may_be_at_work=may_be_at_work,
                        own_id=own_id,
                    ) from error
            else:
                if network.has_answered:
                    headers = _read_headers(response.headers)
                    return HttpAnswer(
                        response.status, headers, response, connection, network, own_id
                    )
                # It arrived with an earlier answer, so it would be somebody else's.
                yield self._kind.close(connection)
                (connection, network), is_kept = self._connect(), False

    def _or_close(self, connection: Any, step: Callable[..., Any], *given: Any) -> Steps[Any]:
        """Take a step, and close the connection if it fails. The library does not where it is cancelled before it begins to."""
        try:
            return (yield step(*given))
        except (Exception, CancelledError):
            yield from self._close(connection)
            raise

    def _take(self) -> Steps[tuple[Any, Network | AsyncNetwork, bool]]:
        """Return the most recently used idle connection, or a new one, and whether it was kept."""
        # The newest serve, so the oldest would stay: only a transport looks at them in between.
        yield from self.close_old(looks=False)
        while True:
            with self._lock:
                kept = next((one for one in reversed(self._idle) if self.is_own(one[2])), None)
                if kept is None:
                    return (*self._connect(), False)
                self._idle.remove(kept)
            _, connection, network = kept
            if not connection.has_expired():
                return connection, network, True
            yield self._kind.close(connection)

    def _connect(self) -> tuple[Any, Network | AsyncNetwork]:
        """Return a network connection that connects when it is first used."""
        is_proxied, place = self._proxy is not None, self._kind.place()
        network = self._kind.network(is_proxied=is_proxied, place=place)
        # A pool for one connection, only to make it: this class decides what is kept and reused.
        make_pool: Any = self._kind.pool
        pool = make_pool(ssl_context=trusted(), proxy=self._proxy, network_backend=network)
        return pool.create_connection(self._origin), network

    def until(self) -> float:
        """Return when a call that begins now is over, by `time.monotonic`."""
        return time.monotonic() + self._total_seconds

    def validate_time(self, until: float) -> None:
        """Raise if a call takes too long in all."""
        if time.monotonic() >= until:
            raise took_too_long(self.connection.total_limit) from None

    def _read(self, answer: HttpAnswer, max_bytes: int, until: float) -> Steps[bytes]:
        body = BoundedBody(answer.headers.get("content-encoding", ""), max_bytes=max_bytes)
        try:
            seconds = min(_MOST_BODY_SECONDS, until - time.monotonic())
            yield self._kind.read(answer.response, body, seconds)
        except Exception:
            if answer.status_code in _SUCCESS:
                raise
        finally:
            yield from self.end(answer)
        return body.content

    def _request(self, method: bytes, path: str, content: RequestBody | None) -> httpcore.Request:
        path, _, asked = path.partition("?")
        # The base URL may have a query of its own, such as `api-version`, for every request.
        query = "&".join(filter(None, (self._query, asked)))
        whole = f"{self._path}{path}{query and '?'}{query}"
        target = quote(whole, safe=_TARGET_CHARACTERS)
        sent: list[tuple[bytes, bytes]] = []
        if content is not None:
            size = str(len(content)).encode()
            sent = [(b"Content-Type", b"application/json"), (b"Content-Length", size)]
        elif method == b"POST":
            sent = [(b"Content-Length", b"0")]  # some servers refuse a request of unknown length
        origin = self._origin
        url = httpcore.URL(
            scheme=origin.scheme, host=origin.host, port=origin.port, target=target.encode()
        )
        own_id = self._own_id
        if own_id is None:
            own_id = str(uuid4())
            sent.append((_OWN_ID.encode(), own_id.encode()))
        return httpcore.Request(
            method,
            url,
            headers=[*self._headers, *sent],
            content=content,
            extensions={"timeout": self._timeouts, _OWN_ID: own_id},
        )


def trusted() -> ssl.SSLContext:
    """Return the certificates that the environment has trusted.

    Raises:
        OSError: If the file or folder that it names cannot be read.
    """
    return load_trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def load_trusted(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Load certificates, once for all clients: they cost far more time and memory than the rest of a client."""
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"]:  # a machine without certificates of its own
        context.load_verify_locations(certifi.where())
    return context


def _headers(connection: Connection, host: str, port: int | None) -> list[tuple[bytes, bytes]]:
    """Return the headers of every request; extra headers replace the client's own."""
    name = f"[{host}]" if ":" in host else host
    own = {
        "Host": name if port is None else f"{name}:{port}",
        "Accept": "application/json",
        "Accept-Encoding": ACCEPTED,
        "Connection": "keep-alive",
        "User-Agent": "gpt5-responses",
        "Authorization": f"Bearer {connection.api_key}",
    }
    if connection.organization is not None:
        own["OpenAI-Organization"] = connection.organization
    replaced = {key.lower() for key in connection.extra_headers}
    kept = {key: value for key, value in own.items() if key.lower() not in replaced}
    headers = {**kept, **connection.extra_headers}
    return [(key.encode("ascii"), value.encode("ascii")) for key, value in headers.items()]


def _own_id_of(request: Any) -> str:
    return request.extensions[_OWN_ID]


def _read_headers(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
