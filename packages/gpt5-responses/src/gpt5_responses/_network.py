"""Network connections as the HTTP library makes them: where each may lead, and how an answer is read from it.

A connection is the library's own, looked at before anything is sent. Each thing is here twice, for a blocking client and for an asynchronous one.
"""

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import Any, cast, override

import httpcore

from ._addresses import resolve, validate_addresses
from ._bodies import BoundedBody
from ._chunks import ChunkJoiner


_MOST_SECONDS = 10.0  # for a body that only says what failed, or for a list
_SHORTEST_WAIT = 0.001
_BACKEND = httpcore.SyncBackend()
_ASYNC_BACKEND: httpcore.AsyncNetworkBackend = cast("Any", httpcore.AnyIOBackend)()

type Read = Callable[[int, float | None], bytes]


class Network(httpcore.NetworkBackend):
    """What makes one blocking connection, which leads to no metadata service of a cloud.

    Args:
        is_proxied: Whether it is one to a proxy: that is the operator's business, and where it leads only the proxy knows.

    Attributes:
        has_answered: Whether anything has been read since something was written last.
    """

    def __init__(self, *, is_proxied: bool) -> None:
        self.is_proxied = is_proxied
        self.has_answered = False

    @override
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        if not self.is_proxied:
            validate_addresses(resolve(host))
        stream = _BACKEND.connect_tcp(host, port, timeout, local_address, socket_options)
        try:
            _validate_peer(stream, self)
        except BaseException:
            stream.close()
            raise
        return BodyStream(stream, self)


class BodyStream(httpcore.NetworkStream):
    """A blocking connection, read in large chunks.

    Attributes:
        read_network: What reads from the network; whoever waits for a body in a way of its own puts that here meanwhile.
    """

    def __init__(self, stream: httpcore.NetworkStream, network: Network) -> None:
        self._stream = stream
        self._network = network
        self._joiner = ChunkJoiner()
        self.read_network: Read = stream.read

    @override
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self.read_network(max_bytes, timeout)
        self._network.has_answered |= bool(data)
        return self._joiner.feed(data)

    def read_plainly(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read from the network, whatever `read_network` is."""
        return self._stream.read(max_bytes, timeout)

    @override
    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._network.has_answered = False
        self._joiner.begin()
        # As a view: what a send leaves over of megabytes would be copied for the next one.
        self._stream.write(cast("bytes", memoryview(buffer)), timeout)

    @override
    def close(self) -> None:
        self._stream.close()

    @override
    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        return BodyStream(
            self._stream.start_tls(ssl_context, server_hostname, timeout), self._network
        )

    @override
    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class AsyncNetwork(httpcore.AsyncNetworkBackend):
    """What makes one asynchronous connection: as `Network`."""

    def __init__(self, *, is_proxied: bool) -> None:
        self.is_proxied = is_proxied
        self.has_answered = False

    @override
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.AsyncNetworkStream:
        if not self.is_proxied:
            validate_addresses(await asyncio.to_thread(resolve, host))
        stream = await _ASYNC_BACKEND.connect_tcp(
            host, port, timeout, local_address, socket_options
        )
        try:
            _validate_peer(stream, self)
        except BaseException:
            await stream.aclose()
            raise
        return AsyncBodyStream(stream, self)


class AsyncBodyStream(httpcore.AsyncNetworkStream):
    """An asynchronous connection, read in large chunks."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, network: AsyncNetwork) -> None:
        self._stream = stream
        self._network = network
        self._joiner = ChunkJoiner()

    @override
    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = await self._stream.read(max_bytes, timeout)
        self._network.has_answered |= bool(data)
        return self._joiner.feed(data)

    @override
    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._network.has_answered = False
        self._joiner.begin()
        await self._stream.write(buffer, timeout)

    @override
    async def aclose(self) -> None:
        await self._stream.aclose()

    @override
    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return AsyncBodyStream(stream, self._network)

    @override
    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _validate_peer(stream: Any, network: Network | AsyncNetwork) -> None:
    if not network.is_proxied:
        validate_addresses([str(stream.get_extra_info("server_addr")[0])])


class Blocking:
    """The steps of a blocking client."""

    pool = httpcore.ConnectionPool
    network = Network

    @staticmethod
    def send(connection: Any, request: httpcore.Request) -> httpcore.Response:
        """Send a request and return its answer, unread."""
        return connection.handle_request(request)

    @staticmethod
    def close(it: Any) -> None:
        """Close a connection or an answer."""
        it.close()

    @staticmethod
    def sleep(seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    @staticmethod
    def read(response: Any, body: BoundedBody) -> None:
        """Read as much of an answer as a bounded body takes."""
        stream: BodyStream = response.extensions["network_stream"]
        until = time.monotonic() + _MOST_SECONDS

        def read(max_bytes: int, timeout: float | None) -> bytes:
            left = max(until - time.monotonic(), _SHORTEST_WAIT)
            return plainly(max_bytes, left if timeout is None else min(timeout, left))

        plainly, stream.read_network = stream.read_network, read
        try:
            for chunk in response.iter_stream():
                if not body.take(chunk):
                    break
        finally:
            stream.read_network = plainly


class Asynchronous:
    """The steps of an asynchronous client: as `Blocking`, but to be waited for."""

    pool = httpcore.AsyncConnectionPool
    network = AsyncNetwork
    sleep = staticmethod(asyncio.sleep)

    @staticmethod
    async def send(connection: Any, request: httpcore.Request) -> httpcore.Response:
        """Send a request and return its answer, unread."""
        return await connection.handle_async_request(request)

    @staticmethod
    async def close(it: Any) -> None:
        """Close a connection or an answer."""
        await it.aclose()

    @staticmethod
    async def read(response: Any, body: BoundedBody) -> None:
        """Read as much of an answer as a bounded body takes."""
        async with asyncio.timeout(_MOST_SECONDS):
            async for chunk in response.aiter_stream():
                if not body.take(chunk):
                    break


type NetworkKind = type[Blocking | Asynchronous]
