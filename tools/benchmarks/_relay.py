"""A relay in a process of its own between a client and a server, which counts.

It makes a round trip as long as wanted, with a window that is always open or begins anew with each request.

A line on stdin asks for what passed since the last one.
"""

import asyncio
import json
import math
import sys
from contextlib import AbstractContextManager, suppress

from ._beside import Beside, beside


_PIECE = 256 * 1024
# What Linux sends before the first acknowledgement; after a second of silence it begins so again.
_FIRST_WINDOW = 14_480
# As a server behind a balancer says that it keeps connections; uvicorn says nothing.
_EVENTS = b"\r\ncontent-type: text/event-stream"
_KEEPS = b"\r\nkeep-alive: timeout=61" + _EVENTS


def relay(
    port: int, *, round_trip: float, slow_start: bool = False
) -> AbstractContextManager[Beside]:
    """Relay to a port of 127.0.0.1 while the `with` block runs; its reports have the connections and the bytes of the client.

    Args:
        port: The server's port.
        round_trip: How long it takes there and back, in seconds.
        slow_start: Whether what is sent between two answers leaves in windows, each twice as large as the one before and a round trip later.
    """
    return beside(__name__, port, round_trip / 2, slow_start)


class _Relay:
    def __init__(self, port: int, delay: float, *, slow_start: bool) -> None:
        self._port, self._delay, self._slow_start = port, delay, slow_start
        self._connections = self._sent = 0
        self._unanswered = 0  # bytes; of one connection, since the client has one at a time

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0, limit=_PIECE)
        port = server.sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port}/v1", flush=True)  # noqa: T201 - how the parent learns of it
        while await loop.run_in_executor(None, sys.stdin.readline):
            told = {"connections": self._connections, "sent_bytes": self._sent}
            self._connections = self._sent = 0
            print(json.dumps(told), flush=True)  # noqa: T201 - the report

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        await asyncio.sleep(2 * self._delay)  # to connect takes a round trip
        there, back = await asyncio.open_connection("127.0.0.1", self._port, limit=_PIECE)
        async with asyncio.TaskGroup() as ways:
            ways.create_task(self._copy(reader, back, is_sent=True))
            ways.create_task(self._copy(there, writer, is_sent=False))

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_sent: bool
    ) -> None:
        call_later = asyncio.get_running_loop().call_later
        with suppress(ConnectionError):
            while data := await reader.read(_PIECE):
                self._sent += len(data) * is_sent
                self._unanswered = self._unanswered + len(data) if is_sent else 0
                delay = self._delay * (1 + 2 * self._windows())
                call_later(delay, writer.write, data if is_sent else _kept(data))
        call_later(self._delay * (1 + 2 * self._windows()), writer.close)

    def _windows(self) -> int:
        """Return how many windows are full before the last byte that was sent."""
        return int(math.log2(self._unanswered / _FIRST_WINDOW + 1)) if self._slow_start else 0


def _kept(data: bytes) -> bytes:
    return data.replace(_EVENTS, _KEEPS)


if __name__ == "__main__":
    port, delay, slow_start = sys.argv[1:]
    asyncio.run(_Relay(int(port), float(delay), slow_start=slow_start == "True").serve())
