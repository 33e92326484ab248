"""The HTTP clients under the official one: what they connect to, and how much of an answer they read at once.

They follow no redirects, because a prompt goes to the server that was named and to no other, and keep no cookies. What a server answers
beside the response that was asked for, such as an error, is read up to a bound.

The official client works with two HTTP libraries that are alike. Which one it is, it decides; here it is taken from there.
"""

import asyncio
import importlib
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, override

import openai

from ._addresses import ConnectGuard
from ._bodies import ACCEPTED, BoundedBody


# The official client's method for responses brings hundreds of classes for what it sends and gets, and walks through each request. Ours goes out as it is,
# and what comes is read by us: this is how the client itself asks for an answer that is left unread.
RESPONSES_PATH = "/responses"
UNREAD: Any = {"headers": {"X-Stainless-Raw-Response": "stream"}}

_MOST_ERROR_BYTES = 64 * 1024
_MOST_SECONDS = 10.0  # for such a body, whose status says enough
_MOST_OTHER_BYTES = 4 * 1024 * 1024  # a list of models, for one
_LIBRARY: Any = importlib.import_module(
    openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]
)
# A server may close a connection just when it is used again, before it has read anything: then the next one is tried. Each is used up by it.
_GONE = (_LIBRARY.NetworkError, _LIBRARY.RemoteProtocolError)
_MOST_STALE = 100  # as many as the official client keeps
_DROPPED_HEADERS = ("content-encoding", "content-length", "transfer-encoding")


@cache
def _tls() -> Any:
    """Return what is trusted, read once: it costs far more time and memory than all else of a client."""
    return _LIBRARY.create_ssl_context()


def _settings() -> dict[str, Any]:
    return {
        "verify": _tls(),
        "follow_redirects": False,
        "headers": {"accept-encoding": ACCEPTED},
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=())),
    }


class HttpClient(openai.DefaultHttpxClient):
    """An HTTP client for the official blocking client."""

    def __init__(self) -> None:
        super().__init__(**_settings())

    @override
    def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        with _answered_or_given_up(request):
            return self._answer(self._send_once(request, options), stream=stream)

    def _answer(self, response: Any, *, stream: bool) -> Any:
        if stream and response.is_success:
            return response
        body = _body(response)
        try:
            with suppress(*_unless_success(response)), _limited(response):
                for chunk in response.iter_raw():
                    if not body.take(chunk):
                        break
        finally:
            response.close()
        return _read_response(response, body)

    def _send_once(self, request: Any, options: dict[str, Any]) -> Any:
        stale = 0
        while True:
            guard = _guard(request)
            request.extensions["trace"] = guard
            try:
                return super().send(request, stream=True, **options)
            except _GONE:
                stale += 1
                if guard.has_connected or stale > _MOST_STALE:
                    raise


class AsyncHttpClient(openai.DefaultAsyncHttpxClient):
    """An HTTP client for the official asynchronous client."""

    def __init__(self) -> None:
        super().__init__(**_settings())

    @override
    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        with _answered_or_given_up(request):
            return await self._answer(await self._send_once(request, options), stream=stream)

    async def _answer(self, response: Any, *, stream: bool) -> Any:
        if stream and response.is_success:
            return response
        body = _body(response)
        try:
            with suppress(*_unless_success(response)):
                async with asyncio.timeout(_MOST_SECONDS):
                    async for chunk in response.aiter_raw():
                        if not body.take(chunk):
                            break
        finally:
            await response.aclose()
        return _read_response(response, body)

    async def _send_once(self, request: Any, options: dict[str, Any]) -> Any:
        stale = 0
        while True:
            guard = _guard(request)
            request.extensions["trace"] = guard.atrace
            try:
                return await super().send(request, stream=True, **options)
            except _GONE:
                stale += 1
                if guard.has_connected or stale > _MOST_STALE:
                    raise


@contextmanager
def _answered_or_given_up(request: Any) -> Generator[None]:
    """Keep the official client from asking again where an answer does not come in time: the server may be at work on it, and would be paid twice.

    Its own errors are what it lets through. Where nothing could be sent in time it does ask again.
    """
    try:
        yield
    except _LIBRARY.ReadTimeout as error:
        raise openai.APITimeoutError(request=request) from error


def _guard(request: Any) -> ConnectGuard:
    return ConnectGuard(request.url.raw_host.decode("ascii"))


def end_reading(response: Any) -> None:
    """Wake a thread that waits for more of a body that is about to be closed.

    Closing a socket does not wake whoever reads from it in another thread: that one would wait for the server until its timeout.
    The connection of a body that has been read to its end belongs to other calls already.
    """
    connection = response.extensions.get("network_stream")
    if not response.is_closed and connection is not None:
        with suppress(OSError):  # the server may have closed it first
            connection.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


@contextmanager
def _limited(response: Any) -> Generator[None]:
    timer = threading.Timer(_MOST_SECONDS, end_reading, (response,))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _body(response: Any) -> BoundedBody:
    most = _MOST_OTHER_BYTES if response.is_success else _MOST_ERROR_BYTES
    return BoundedBody(response.headers.get("content-encoding", ""), max_bytes=most)


def _unless_success(response: Any) -> tuple[type[Exception], ...]:
    """Return what may break an error's body off: the status says enough."""
    return () if response.is_success else (Exception,)


def _read_response(response: Any, body: BoundedBody) -> Any:
    """Return the response as one that has been read, with what has been kept of its body."""
    headers = [
        (name, value)
        for name, value in response.headers.multi_items()
        if name.lower() not in _DROPPED_HEADERS
    ]
    return _LIBRARY.Response(
        response.status_code, headers=headers, content=body.content, request=response.request
    )
