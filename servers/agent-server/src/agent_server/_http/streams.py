"""Streams of server-sent events, one for each client that watches a run.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, contextmanager, suppress
from functools import partial
from operator import attrgetter
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent_server.runs import DatabaseAwayError, Runs, StoredEvent, TooManyWatchersError
from agent_server.settings import ServerSettings

from .connections import CHUNKS, WriteChunk
from .documents import dump_event
from .unread import PIECE_BYTES, Unread, group_small


type Project = Callable[[StoredEvent], bytes]
"""A function that returns the frames of an event, each with its empty line; nothing for an event that is not shown."""

type Batches = AsyncGenerator[Sequence[StoredEvent]]

type Frames = AsyncGenerator[tuple[int, Callable[[], bytes]]]
"""Frames of one event at a time, or of several small ones, each with its approximate size in bytes.

They are built once there is room.
"""

_AWAY_SECONDS: Final = 1.0
_BEATS: Final = 10  # How often all streams are checked within `keep_alive_seconds`.
_COMMENT: Final = b": keep-alive\n\n"
# How many forms of events are kept for other streams, besides the JSON of the last and of its data.
_MOST_SHARED: Final = 5
# Line readers that follow Unicode instead of the event stream standard take these for line ends.
_LINE_ENDS: Final = {
    end.encode(): f"\\u{ord(end):04x}".encode() for end in ("\u0085", "\u2028", "\u2029")
}

_logger = logging.getLogger("agent_server")


def build_frame(data: bytes, *, number: int | None = None, type_: str | None = None) -> bytes:
    """Return a frame of a stream.

    Args:
        data: Its data: JSON on one line.
        number: The event's number, from which a disconnected client resumes; None for none.
        type_: Its type, without line ends; None for `message`.
    """
    for end, escape in _LINE_ENDS.items():
        if end in data:
            data = data.replace(end, escape)
    head = b"" if number is None else b"id: %d\n" % number
    if type_ is not None:
        head += b"event: " + type_.encode(errors="replace") + b"\n"
    return b"".join((head, b"data: ", data, b"\n\n"))  # what is large is copied once


def project_event(event: StoredEvent) -> bytes:
    """Return the frame of an event in the form of `/v1`."""
    type_ = "".join(event.type.splitlines())
    return build_frame(dump_event(event), number=event.number, type_=type_)


class Watchers:
    """The open streams, counted per tenant; all of them end when the server stops.

    Args:
        settings: The settings, with the limits.

    Attributes:
        closed: Set once the server stops.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._max = settings.max_watchers
        self._max_per_tenant = settings.max_watchers_per_tenant
        self._counts: Counter[str] = Counter()
        self._streams: set[EventStream] = set()
        self._keep_alive_seconds = settings.keep_alive_seconds
        self._beat: asyncio.TimerHandle | None = None
        self.closed = asyncio.Event()

    def check(self, tenant: str) -> None:
        """Check that there is room for another stream.

        Raises:
            TooManyWatchersError: If the limit is reached, in all or for the tenant.
        """
        if self._counts.total() >= self._max or self._counts[tenant] >= self._max_per_tenant:
            raise TooManyWatchersError

    def admit(self, tenant: str) -> None:
        """Count a stream in.

        Raises:
            TooManyWatchersError: If the limit is reached, in all or for the tenant.
        """
        self.check(tenant)
        self._counts[tenant] += 1

    def dismiss(self, tenant: str) -> None:
        """Count a stream out."""
        self._counts[tenant] -= 1

    @contextmanager
    def following(self, stream: "EventStream") -> Generator[None]:
        """Keep a stream alive while it is silent, and end it when the server stops."""
        self._streams.add(stream)
        if self.closed.is_set():  # It was asked for just before.
            stream.stop()
        if self._beat is None:
            self._wait()
        try:
            yield
        finally:
            self._streams.discard(stream)

    def _wait(self) -> None:
        # One timer for all streams: a thousand timers and their tasks would cost as much as the events.
        seconds = self._keep_alive_seconds / _BEATS
        self._beat = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self._beat = None
        for stream in self._streams:
            stream.break_silence(self._keep_alive_seconds)
        if self._streams:
            self._wait()

    def close(self) -> None:
        """End all streams."""
        self.closed.set()
        for stream in self._streams:
            stream.stop()


def find_watchers(request: Request) -> Watchers:
    """Return the open streams of a request's server."""
    return request.app.state.watchers


class EventStream(Response):
    """A response that streams a run's events up to the last.

    Args:
        frames: The frames of the events, beginning with the first that the client wants.
        tenant: The tenant of the stream.
        watchers: Counts the stream.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        frames: Frames,
        *,
        tenant: str,
        watchers: Watchers,
    ) -> None:
        super().__init__(
            # nginx would hold frames back without the second.
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
            media_type=self.media_type,
        )
        # Starlette sets it for an empty body.
        del self.headers["content-length"]
        self._frames = frames
        self._tenant = tenant
        self._watchers = watchers
        self._sent_at = 0.0
        self._sending = asyncio.Lock()
        self._comment: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the run has ended, the client has gone, or the server stops.

        A client that does not read is dropped by its connection, as for every answer (`_http.connections`).
        """
        self._watchers.admit(self._tenant)
        try:
            head = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **head})
            self._unread: Unread = scope["app"].state.unread
            self._write = scope.get("extensions", {}).get(CHUNKS) or _as_message(send)
            self._sent_at = asyncio.get_running_loop().time()
            leaving = asyncio.create_task(wait_for_leave(receive))
            self._pump = asyncio.create_task(self._send_frames(leaving))
            try:
                with self._watchers.following(self):
                    both = (self._pump, leaving)
                    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await _end(self._pump, leaving, *filter(None, [self._comment]))
                # It knows what it was sending, and this stream: a circle, which might lie around for long.
                del self._pump
            if not leaving.done() or leaving.cancelled():
                await send({"type": "http.response.body"})
        finally:
            self._watchers.dismiss(self._tenant)

    def break_silence(self, seconds: float) -> None:
        """Send a comment if nothing has been sent for this long."""
        silence = asyncio.get_running_loop().time() - self._sent_at
        if silence >= seconds and not self._sending.locked():
            self._comment = asyncio.create_task(self._send(_COMMENT))

    def stop(self) -> None:
        """End the stream."""
        self._pump.cancel()

    async def _send_frames(self, leaving: asyncio.Task[None]) -> None:
        async with aclosing(self._frames) as frames:
            async for size, build in frames:
                if size <= PIECE_BYTES:
                    # Nearly always, for each of a thousand watchers: little is not counted.
                    await self._send(build())
                    continue
                async with self._unread.holding(self._tenant, size, waits=True):
                    # Its client may have gone while it waited, and many others with it.
                    if not leaving.done():  # pragma: no branch - chance decides
                        await self._send(build())

    async def _send(self, data: bytes) -> None:
        if 0 < len(data) <= PIECE_BYTES and not self._sending.locked():
            # What is written meanwhile, a comment, stands before all of it or behind.
            await self._write(data)
        else:
            async with self._sending:
                for first in range(0, len(data), PIECE_BYTES):
                    await self._write(data[first : first + PIECE_BYTES])
        # Events that are not shown leave the stream silent.
        self._sent_at = asyncio.get_running_loop().time() if data else self._sent_at


def _as_message(send: Send) -> WriteChunk:
    async def write(data: bytes) -> None:
        await send({"type": "http.response.body", "body": data, "more_body": True})

    return write


async def wait_for_leave(receive: Receive) -> None:
    """Return once the client has gone; its request has to have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            # The head was sent, so the stream can only end; the client reconnects for the rest.
            _logger.error("a stream of events ended early", exc_info=error)


async def share_frames(batches: Batches, project: Project, *, view: str) -> Frames:
    """Yield the frames of events, which are built only once for all streams that show the same.

    Args:
        batches: The events.
        project: Returns the frames of each event.
        view: The name of that form: all streams of a run with the same name show the same.
    """
    async with aclosing(batches):
        async for batch in batches:
            known = batch[-1].shared.get(f"{view} {batch[0].number}")
            if known is not None:
                yield len(known), known.__bytes__  # Nearly always, for each of a thousand watchers.
                continue
            for size, group in group_small(batch, attrgetter("size")):
                yield size, partial(_project_once, group, project, view)


def _project_once(events: Sequence[StoredEvent], project: Project, view: str) -> bytes:
    shared = events[-1].shared
    key = f"{view} {events[0].number}"
    frames = shared.get(key)
    if frames is None:
        frames = b"".join(map(project, events))
        if len(shared) <= _MOST_SHARED:
            shared[key] = frames
    return frames


async def watch_run(runs: Runs, run_id: str, *, tenant: str, after: int) -> Batches:
    """Yield the events of a run after a number as they come, even if the database goes away meanwhile.

    Args:
        runs: All runs.
        run_id: The run.
        tenant: Its tenant.
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
