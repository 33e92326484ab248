"""The delivery of a reply at its pace, until it ends, the client leaves, or the simulator stops."""

import asyncio
import math
from collections.abc import Coroutine
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gpt5_simulator._reply import ChunkSizes, Drop, Pause, Reply, rechunk


class Delivery(Response):
    """The ASGI response that sends a reply.

    Args:
        reply: The reply to send.
        headers: The headers of every response, besides those of the reply.
        chunk_bytes: How the body of a stream is cut; see `rechunk`.
        delay_seconds: The pause before each chunk of a stream, except the first.
        stopping: Set when the simulator stops; replies that are still being sent then end.
    """

    def __init__(
        self,
        reply: Reply,
        *,
        headers: dict[str, str],
        chunk_bytes: ChunkSizes | None,
        delay_seconds: float,
        stopping: asyncio.Event,
    ) -> None:
        self.status_code = reply.status
        self.background = None
        self.init_headers(_headers(reply) | headers)
        self._reply = reply
        self._chunk_bytes = chunk_bytes if reply.is_stream else None
        self._delay_seconds = delay_seconds if reply.is_stream else 0.0
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the reply. Returning without a last body message makes the server drop the connection."""
        del scope
        await run_while_wanted(self._send(send), receive, self._stopping)

    async def _send(self, send: Send) -> None:
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start"} | start)
        for number, step in enumerate(rechunk(self._reply.steps, self._chunk_bytes)):
            if isinstance(step, Drop):
                if step.code is None:
                    return
                continue
            if isinstance(step, Pause):
                await asyncio.sleep(math.inf if step.seconds is None else step.seconds)
                continue
            await asyncio.sleep(self._delay_seconds if number else 0)
            await send({"type": "http.response.body", "body": step, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def run_while_wanted(
    sending: Coroutine[Any, Any, None], receive: Receive, stopping: asyncio.Event
) -> None:
    """Send until it ends, the client leaves, or the server stops."""
    # Whichever is first ends all: the body may be silent for as long as a test wants.
    body = asyncio.create_task(sending)
    ends: set[asyncio.Task[Any]] = {
        body,
        asyncio.create_task(_gone(receive)),
        asyncio.create_task(stopping.wait()),
    }
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in ends:
            task.cancel()
        await asyncio.wait(ends)
    if not body.cancelled():
        body.result()  # raises what the sending has raised


def _headers(reply: Reply) -> dict[str, str]:
    """Return a reply's headers. The length is announced only if the body is certain to be sent whole."""
    headers = {"content-type": reply.content_type} | reply.headers
    steps = () if reply.is_stream else tuple(reply.steps)
    bodies = [step for step in steps if isinstance(step, bytes)]
    if not bodies or len(bodies) != len(steps):
        return headers
    return headers | {"content-length": str(sum(map(len, bodies)))}


async def _gone(receive: Receive) -> None:
    while not (await receive())["type"].endswith(".disconnect"):
        pass
