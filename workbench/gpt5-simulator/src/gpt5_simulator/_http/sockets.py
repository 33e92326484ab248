"""A WebSocket of the Responses API: requests come as messages, and events go as messages, one response at a time.

Source: https://developers.openai.com/api/docs/guides/websocket-mode, read in November 2026; the types of openai 3.57.0; a recorded stream.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from gpt5_simulator._http.delivery import run_while_wanted
from gpt5_simulator._http.replay import split_events
from gpt5_simulator._json import encode, object_at, object_in
from gpt5_simulator._reply import JSON, Drop, Pause, Reply
from gpt5_simulator._stored.store import Lane


NO_PONGS = "gpt5_simulator.no_pongs"
"""The member of a scope that keeps its socket from answering pings."""

_LEAST_ERROR = 400


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket, which may leave pings unanswered, and ends whatever its state."""

    def handle_ping(self) -> None:
        """Answer a ping, which the connection has done already but for sending it."""
        if NO_PONGS in self.scope:
            self.conn.data_to_send()
        else:
            super().handle_ping()

    def shutdown(self) -> None:
        """End the connection; uvicorn would fail to say goodbye to a client that has closed it and does not read."""
        end = self.transport.abort if self.transport.is_closing() else super().shutdown
        end()


class Socket:
    """A WebSocket.

    Args:
        answer: Returns the reply to a message.
        delay_seconds: The pause before each event of a response, except the first.
        stopping: Set when the simulator stops.
    """

    def __init__(
        self,
        answer: Callable[[bytes, Lane], Awaitable[Reply]],
        *,
        delay_seconds: float,
        stopping: asyncio.Event,
    ) -> None:
        self._answer = answer
        self._delay_seconds = delay_seconds
        self._stopping = stopping
        self._lane = Lane()
        self._heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def serve(self, receive: Receive, send: Send) -> None:
        """Answer messages until the client leaves, a fault ends the socket, or the simulator stops."""

        async def hear() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                text: str | None = message.get("text")
                self._heard.put_nowait(message["bytes"] if text is None else text.encode())
            return message

        await send({"type": "websocket.accept"})
        await run_while_wanted(self._talk(send), hear, self._stopping)

    async def _talk(self, send: Send) -> None:
        while True:
            reply = await self._answer(await self._heard.get(), self._lane)
            last = ""
            for number, frame in enumerate(_iter_frames(reply)):
                if isinstance(frame, Pause):
                    await asyncio.sleep(math.inf if frame.seconds is None else frame.seconds)
                elif isinstance(frame, str):
                    await asyncio.sleep(self._delay_seconds if number and reply.is_stream else 0)
                    await send({"type": "websocket.send", "text": (last := frame)})
                else:
                    # Without a message about it the connection ends without a close frame.
                    if frame.code is not None:
                        closing = {"code": frame.code, "reason": frame.reason}
                        await send({"type": "websocket.close"} | closing)
                    return
            # By what was sent, so that a stream that a fault has damaged leaves nothing to go on from.
            if reply.status < _LEAST_ERROR:
                self._lane.keep(object_at(object_in(last.encode()), "response"))


async def answer_as_get(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Have a request for a WebSocket answered like the same request without one."""

    async def read() -> Message:
        message = await receive()
        kind = "http.request" if message["type"] == "websocket.connect" else "http.disconnect"
        return {"type": kind}

    async def write(message: Message) -> None:
        await send({**message, "type": f"websocket.{message['type']}"})

    await app({**scope, "type": "http", "method": "GET"}, read, write)


def _iter_frames(reply: Reply) -> Iterator[str | Pause | Drop]:
    for step in reply.steps:
        if not isinstance(step, bytes):
            yield step
        elif reply.is_stream:
            yield from _iter_data(step)
        else:
            yield _whole(reply, step)


def _iter_data(events: bytes) -> Iterator[str]:
    """Yield the data of server-sent events; the mark of their end has no place on a socket."""
    for event in split_events(events):
        lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
        if lines and lines != [b"[DONE]"] and event.endswith((b"\n", b"\r")):
            yield b"\n".join(lines).decode(errors="replace")


def _whole(reply: Reply, body: bytes) -> str:
    """Return the message with what would be a whole body over HTTP: an error, or a response that was recorded so."""
    if reply.content_type != JSON:
        return body.decode()
    found = object_in(body)
    if reply.status < _LEAST_ERROR:
        return encode({"type": "response.completed", "response": found}).decode()
    headers = {"headers": reply.headers} if reply.headers else {}
    error = object_at(found, "error") | headers
    return encode({"type": "error", "status": reply.status, "error": error}).decode()
