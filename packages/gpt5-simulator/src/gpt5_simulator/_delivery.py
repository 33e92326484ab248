"""Sending a reply, at its pace, until it ends, the client leaves, or the simulator stops."""

import asyncio
from collections.abc import Iterator

from starlette.types import Receive, Scope, Send

from gpt5_simulator._reply import ChunkSizes, Drop, Pause, Reply, Step, rechunk


class Delivery:
    """Be the ASGI response that sends a reply.

    Args:
        reply: What to send.
        headers: Headers of every response, beside the reply's own.
        chunk_bytes: How the body of a stream is cut; see `rechunk`.
        delay_seconds: The pause before every chunk of a stream but the first.
        stopping: Set when the simulator stops; whatever is still being sent then ends.
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
        self._reply = reply
        self._headers = {"content-type": reply.content_type} | headers | reply.headers
        self._chunk_bytes = chunk_bytes
        self._delay_seconds = delay_seconds
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the reply. Returning without a last body message makes the server drop the connection."""
        del scope
        body = asyncio.create_task(self._send(send))
        ends = {
            body,
            asyncio.create_task(_gone(receive)),
            asyncio.create_task(self._stopping.wait()),
        }
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in ends:
                task.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
        if not body.cancelled():
            body.result()

    async def _send(self, send: Send) -> None:
        headers = [(name.encode(), value.encode()) for name, value in self._all_headers().items()]
        await send(
            {"type": "http.response.start", "status": self._reply.status, "headers": headers}
        )
        for number, step in enumerate(self._steps()):
            match step:
                case Drop():
                    return
                case Pause(seconds=None):
                    await asyncio.Event().wait()
                case Pause(seconds=float() | int() as seconds):
                    await asyncio.sleep(seconds)
                case bytes():
                    await asyncio.sleep(
                        self._delay_seconds if number and self._reply.is_stream else 0
                    )
                    await send({"type": "http.response.body", "body": step, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _steps(self) -> Iterator[Step]:
        sizes = self._chunk_bytes if self._reply.is_stream else None
        return rechunk(self._reply.steps, sizes)

    def _all_headers(self) -> dict[str, str]:
        """Return the headers; only a body that is surely sent whole has its length announced."""
        bodies = [step for step in self._reply.steps if isinstance(step, bytes)]
        if self._reply.is_stream or len(bodies) != len(self._reply.steps):
            return self._headers
        return self._headers | {"content-length": str(sum(map(len, bodies)))}


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
