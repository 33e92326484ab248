"""What is held for clients that have not read it yet: large answers, and frames of streams, in pieces and with a limit for each tenant."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Final, override

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent_server.runs import TooMuchUnreadError

from .access import find_tenant_of


PIECE_BYTES: Final = 64 * 1024
"""How much is sent at a time: no more than this is copied for a client that does not read."""

_MOST_BYTES: Final = 32 * 1024 * 1024
_MOST_BUILT: Final = 2
_READS: Final = frozenset({"GET", "HEAD"})
_NOTHING: Final = nullcontext()


class Unread:
    """The bytes that are held for the clients of each tenant.

    Attributes:
        turns: Taken while a large answer may be built: few at a time.
    """

    def __init__(self) -> None:
        self._bytes: Counter[str] = Counter()
        self._queues: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changed = asyncio.Event()
        self.turns = asyncio.Semaphore(_MOST_BUILT)

    def holding(self, tenant: str, size: int, *, waits: bool) -> AbstractAsyncContextManager[None]:
        """Hold bytes for a client of a tenant until the end of the context; little is not counted.

        Args:
            tenant: The tenant.
            size: How many.
            waits: Whether to wait until there is room.

        Raises:
            TooMuchUnreadError: If there is none. There always is for one at a time.
        """
        return _NOTHING if size <= PIECE_BYTES else self._holding(tenant, size, waits=waits)

    @asynccontextmanager
    async def _holding(self, tenant: str, size: int, *, waits: bool) -> AsyncGenerator[None]:
        # One at a time looks whether there is room: a thousand would wake each other.
        async with self._queues[tenant] if waits else nullcontext():
            while self._bytes[tenant] and self._bytes[tenant] + size > _MOST_BYTES:
                if not waits:
                    raise TooMuchUnreadError
                await self._changed.wait()
            self._bytes[tenant] += size
        try:
            yield
        finally:
            self._bytes[tenant] -= size
            self._changed.set()
            self._changed = asyncio.Event()


@asynccontextmanager
async def building(request: Request) -> AsyncGenerator[None]:
    """Build what may be a large answer until the end of the context: few at a time, and none for a client that only reads and has gone.

    Raises:
        ClientDisconnect: If it has.
    """
    # Has uvicorn read on, which it does not behind a request that is followed by another.
    await request.is_disconnected()
    async with request.app.state.unread.turns:
        if request.method in _READS and await request.is_disconnected():
            raise ClientDisconnect
        yield


class Answer(Response):
    """An answer that is sent in pieces, as its client reads it. A GET is refused while too much is held for its tenant."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        body = bytes(self.body)
        unread: Unread = scope["app"].state.unread
        waits = scope["method"] not in _READS
        async with unread.holding(find_tenant_of(scope), len(body), waits=waits):
            head = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **head})
            # An empty body is one piece, too.
            for first in range(0, max(len(body), 1), PIECE_BYTES):
                end = first + PIECE_BYTES
                piece = {"body": body[first:end], "more_body": end < len(body)}
                await send({"type": "http.response.body", **piece})


def group_small[One](
    items: Sequence[One], size_of: Callable[[One], int]
) -> Iterator[tuple[int, Sequence[One]]]:
    """Yield items in groups that fill a piece, a large one by itself, each group with its size."""
    group: list[One] = []
    total = 0
    for one in items:
        size = size_of(one)
        if group and total + size > PIECE_BYTES:
            yield total, group
            group, total = [], 0
        group.append(one)
        total += size
    if group:
        yield total, group
