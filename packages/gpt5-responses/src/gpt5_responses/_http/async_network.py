"""Network connections for the HTTP library: where each may lead, and how answers are read from it.

The connections are the library's own, checked before anything is sent.
"""

import asyncio
import math
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast, override

import httpcore

from .addresses import resolve, validate_addresses
from .chunks import ChunkJoiner
from .connection_errors import TooMuchAheadError


_BACKEND: httpcore.AsyncNetworkBackend = cast("Any", httpcore.AnyIOBackend)()

# Some dozens of events: little enough that others wait for milliseconds at most.
_TURN_BYTES = 8 * 1024
_SHORTEST_WAIT = 0.001  # 0 would not wait, and fail in another way than a timeout
_READ_BYTES = 64  # what a read costs beside its bytes
# Servers keep a connection open, and name what a page needs, in some kilobytes of informational answers.
_MOST_BYTES_AHEAD = 100 * 1024

type Place = tuple[int, object]
type Read = Callable[[int, float | None], Awaitable[bytes]]


class AsyncNetwork(httpcore.AsyncNetworkBackend):
    """The maker of one asynchronous connection, which never leads to the metadata service of a cloud.

    Args:
        is_proxied: Whether it connects to a proxy, which is not checked: the operator chose it, and only the proxy knows where it connects.
        place: The process and event loop that it is for.

    Attributes:
        has_answered: Whether anything has been read since the last write.
        until: When the head of an answer has to be there at the latest, by `time.monotonic`.
    """

    def __init__(self, *, is_proxied: bool, place: Place = (0, None)) -> None:
        self.is_proxied = is_proxied
        self.place = place
        self.has_answered = False
        self.until = math.inf

    @override
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.AsyncNetworkStream:
        # Checked twice: the name may resolve to another address when it is connected to.
        if not self.is_proxied:
            validate_addresses(await asyncio.to_thread(resolve, host))
        stream = await _BACKEND.connect_tcp(host, port, timeout, local_address, socket_options)
        try:
            _validate_peer(stream, self)
        except BaseException:  # nobody else has the connection yet, to close it
            await stream.aclose()
            raise
        return AsyncBodyStream(stream, self)


class AsyncBodyStream(httpcore.AsyncNetworkStream):
    """An asynchronous connection, read in large chunks.

    Attributes:
        read_network: Reads from the network; replaced for a while by a caller that has its own way of waiting for a body.
        read_plainly: Reads from the network, whatever `read_network` is.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream, network: AsyncNetwork) -> None:
        self._stream = stream
        self._network = network
        self._joiner = ChunkJoiner()
        self._head_until: float | None = None
        self._turn = 0  # what has been read since others had their turn
        self.read_network: Read = stream.read
        self.read_plainly: Read = stream.read

    @override
    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._turn > _TURN_BYTES:  # what never has to be waited for would let nobody else begin
            self._turn = 0
            await asyncio.sleep(0)
        if self._joiner.is_in_head:
            timeout = self._head_seconds(timeout)
        data = await self.read_network(max_bytes, timeout)
        self._turn += len(data) + _READ_BYTES
        self._network.has_answered |= bool(data)
        joined = self._joiner.feed(data)
        if self._joiner.bytes_ahead > _MOST_BYTES_AHEAD:
            raise TooMuchAheadError
        return joined

    @override
    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # Whatever has been read before belongs to an earlier answer.
        self._network.has_answered = False
        self._joiner.begin()
        self._head_until = None
        # A view, because whatever one send leaves of megabytes would be copied for the next.
        await self._stream.write(cast("bytes", memoryview(buffer)), timeout)

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
        # From the plain stream, not from this one: chunks can be joined only above TLS.
        stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return AsyncBodyStream(stream, self._network)

    @override
    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def _head_seconds(self, timeout: float | None) -> float:
        """Return how long to wait for more of a head; neither a piece of it nor an informational answer starts the time anew."""
        now = time.monotonic()
        if self._head_until is None:
            self._head_until = min(now + (timeout or math.inf), self._network.until)
        return max(self._head_until - now, _SHORTEST_WAIT)


def _validate_peer(stream: httpcore.AsyncNetworkStream, network: AsyncNetwork) -> None:
    if not network.is_proxied:
        validate_addresses([str(stream.get_extra_info("server_addr")[0])])
