"""Streams of server-sent events, one to each client that watches a run.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent_server.runs import DatabaseAwayError, Runs, StoredEvent, TooManyWatchersError
from agent_server.settings import ServerSettings

from .documents import dump_event


type Project = Callable[[StoredEvent], bytes]
"""Returns the frames of an event, each with its empty line; nothing for an event that is not shown."""

type Batches = AsyncGenerator[Sequence[StoredEvent]]

_AWAY_SECONDS: Final = 1.0
_COMMENT: Final = b": keep-alive\n\n"
# Readers of lines that follow Unicode, and not the standard of events, take these for ends of lines.
_LINE_ENDS: Final = {
    end.encode(): f"\\u{ord(end):04x}".encode() for end in ("\u0085", "\u2028", "\u2029")
}

_logger = logging.getLogger("agent_server")


def build_frame(data: bytes, *, number: int | None = None, type_: str | None = None) -> bytes:
    """Return a frame of a stream.

    Args:
        data: What it carries: JSON on one line.
        number: The event's number, by which a client that was cut off goes on; None for none.
        type_: Its type, without ends of lines; None for `message`.
    """
    for end, escape in _LINE_ENDS.items():
        if end in data:
            data = data.replace(end, escape)
    head = b"" if number is None else b"id: %d\n" % number
    if type_ is not None:
        head += b"event: " + type_.encode(errors="replace") + b"\n"
    return head + b"data: " + data + b"\n\n"


def project_event(event: StoredEvent) -> bytes:
    """Return the frame of an event as `/v1` shows it."""
    known = event.shared.get("frame")
    if known is None:
        type_ = "".join(event.type.splitlines())
        known = build_frame(dump_event(event), number=event.number, type_=type_)
        event.shared["frame"] = known
    return known


class Watchers:
    """The streams that are open, counted for each tenant; a stop of the server ends them all.

    Args:
        settings: How many there may be.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._most = settings.max_watchers
        self._most_per_tenant = settings.max_watchers_per_tenant
        self._counts: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    def admit(self, tenant: str) -> None:
        """Count a stream in.

        Raises:
            TooManyWatchersError: If there are as many as there may be, in all or of the tenant.
        """
        if self._counts.total() >= self._most or self._counts[tenant] >= self._most_per_tenant:
            raise TooManyWatchersError
        self._counts[tenant] += 1

    def dismiss(self, tenant: str) -> None:
        """Count a stream out."""
        self._counts[tenant] -= 1
        if not self._counts[tenant]:
            del self._counts[tenant]

    def follow(self, task: asyncio.Task[None]) -> None:
        """End a stream's task when the server stops."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """End all streams."""
        for task in list(self._tasks):
            task.cancel()


class EventStream(Response):
    """An answer that carries a run's events as they come, up to its last one.

    Args:
        batches: The events, from the one that the client wants first.
        project: What becomes of each.
        tenant: Whose stream it is.
        watchers: Where it is counted.
        keep_alive_seconds: After how long a silence it carries a comment.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        batches: Batches,
        project: Project,
        *,
        tenant: str,
        watchers: Watchers,
        keep_alive_seconds: float,
    ) -> None:
        super().__init__(
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
            media_type=self.media_type,
        )
        del self.headers["content-length"]
        self._batches = batches
        self._project = project
        self._tenant = tenant
        self._watchers = watchers
        self._keep_alive_seconds = keep_alive_seconds
        self._sent_at = 0.0
        self._is_sending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's
        """Send the events until the run has ended, the client has gone, or the server stops.

        A client that does not read is dropped by the connection, which looks to that for every answer (`_http.connections`).
        """
        self._watchers.admit(self._tenant)
        try:
            head = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **head})
            pump = asyncio.create_task(self._pump(send))
            self._watchers.follow(pump)
            leaving = asyncio.create_task(_wait_for_leave(receive))
            try:
                await self._keep_alive(send, pump, leaving)
            finally:
                await _end(pump, leaving)
            if not leaving.done() or leaving.cancelled():
                await send({"type": "http.response.body"})
        finally:
            self._watchers.dismiss(self._tenant)

    async def _pump(self, send: Send) -> None:
        async with aclosing(self._batches) as batches:
            async for batch in batches:
                if frames := b"".join(map(self._project, batch)):
                    await self._send(send, frames)

    async def _keep_alive(
        self, send: Send, pump: asyncio.Task[None], leaving: asyncio.Task[None]
    ) -> None:
        loop = asyncio.get_running_loop()
        self._sent_at = loop.time()
        while True:
            silence = loop.time() - self._sent_at
            if silence >= self._keep_alive_seconds and not self._is_sending:
                await self._send(send, _COMMENT)
                continue
            rest = max(self._keep_alive_seconds - silence, 0.05)
            done, _ = await asyncio.wait(
                {pump, leaving}, timeout=rest, return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return

    async def _send(self, send: Send, data: bytes) -> None:
        self._is_sending = True
        await send({"type": "http.response.body", "body": data, "more_body": True})
        self._is_sending = False
        self._sent_at = asyncio.get_running_loop().time()


async def _wait_for_leave(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            # The head has gone: all that is left is to end the stream, and the client comes back for the rest.
            _logger.error("a stream of events ended early", exc_info=error)


async def watch_run(runs: Runs, run_id: str, *, tenant: str, after: int) -> Batches:
    """Yield the events of a run behind a number as they come, also where the database goes away meanwhile.

    Args:
        runs: All runs.
        run_id: The run.
        tenant: Whose it is.
        after: The number of the last event that the client has.
    """
    while True:
        with suppress(DatabaseAwayError):
            async with aclosing(runs.watch_events(run_id, tenant=tenant, after=after)) as batches:
                async for batch in batches:
                    yield batch
                    after = batch[-1].number
            return
        await asyncio.sleep(_AWAY_SECONDS)
