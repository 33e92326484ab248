"""The network steps of both kinds of client, under the same names; a blocking client's step is done when it returns."""

import asyncio
import os
import time
from contextlib import suppress
from typing import Any

import httpcore

from .async_network import AsyncNetwork, Place
from .bodies import BoundedBody
from .network import BodyStream, Network


class Blocking:
    """The steps of a blocking client."""

    pool = httpcore.ConnectionPool
    network = Network

    @staticmethod
    def place() -> Place:
        """Return where this is: the only process that may use the connections which are made in it."""
        return os.getpid(), None

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
    def read(response: Any, body: BoundedBody, seconds: float) -> None:
        """Read an answer until its bounded body is full or the time is over."""
        stream: BodyStream = response.extensions["network_stream"]
        until = time.monotonic() + seconds

        # The library's timeout is for each read, and a server could send byte by byte, or more than is ever read.
        def read(max_bytes: int, timeout: float | None) -> bytes:
            left = until - time.monotonic()
            if left <= 0:
                raise httpcore.ReadTimeout
            return plainly(max_bytes, left if timeout is None else min(timeout, left))

        plainly, stream.read_network = stream.read_network, read
        try:
            for chunk in response.iter_stream():
                if not body.take(chunk):
                    break
        finally:
            stream.read_network = plainly


class Asynchronous:
    """The steps of an asynchronous client; each is awaited."""

    pool = httpcore.AsyncConnectionPool
    network = AsyncNetwork
    sleep = staticmethod(asyncio.sleep)

    @staticmethod
    def place() -> Place:
        """Return where this is: the only process and event loop that may use the connections which are made there."""
        with suppress(RuntimeError):  # in no loop, where nothing is connected to
            return os.getpid(), asyncio.get_running_loop()
        return os.getpid(), None

    @staticmethod
    async def send(connection: Any, request: httpcore.Request) -> httpcore.Response:
        """Send a request and return its answer, unread."""
        return await connection.handle_async_request(request)

    @staticmethod
    async def close(it: Any) -> None:
        """Close a connection or an answer."""
        await it.aclose()

    @staticmethod
    async def read(response: Any, body: BoundedBody, seconds: float) -> None:
        """Read an answer until its bounded body is full or the time is over."""
        async with asyncio.timeout(seconds):
            async for chunk in response.aiter_stream():
                if not body.take(chunk):
                    break


type NetworkKind = type[Blocking | Asynchronous]
