"""The events of a run in its durable stream, from where every server can read them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from dbos import DBOS

from dify_agent.protocol import RUN_EVENT_ADAPTER, RunEvent


EVENT_STREAM = "events"
"""The key of the stream. A value is a list of events as JSON texts, in order."""


class StreamEventSink:
    """The events of a run on their way into the database; the last one is kept aside.

    An event of the run itself is stored exactly once: DBOS remembers that it was. An event from inside a
    step is stored again if the step is cut and repeated. The terminal event is not stored here: it is the
    workflow's result, so that a run cannot both end and be cancelled.

    """

    def __init__(self) -> None:
        self._terminal: RunEvent | None = None
        self._batch: _BatchWriter | None = None

    async def emit(self, event: RunEvent) -> None:
        """Store an event, at once or with those that come while another is being stored."""
        if event.is_terminal:
            self._terminal = event
            return
        text = RUN_EVENT_ADAPTER.dump_json(event).decode()
        if self._batch is not None:
            self._batch.add(text)
        else:
            await DBOS.write_stream_async(EVENT_STREAM, [text])

    def take_terminal(self) -> str:
        """Return the terminal event as JSON text.

        Raises:
            RuntimeError: If the run has not ended.
        """
        if self._terminal is None:
            raise RuntimeError("The runner returned without a terminal event.")
        return RUN_EVENT_ADAPTER.dump_json(self._terminal).decode()

    @asynccontextmanager
    async def batched(self) -> AsyncGenerator[None]:
        """Store what comes meanwhile in batches; all of it is stored at the end, and also where that is an error."""
        self._batch = batch = _BatchWriter()
        try:
            try:
                yield
            except Exception:
                await batch.finish()
                raise
            await batch.finish()
        finally:
            self._batch = None
            batch.abandon()


class _BatchWriter:
    """A writer of what has gathered while the write before was under way: a slow database makes larger batches."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._writing: asyncio.Task[None] | None = None

    def add(self, text: str) -> None:
        self._waiting.append(text)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        elif self._writing.done():
            self._writing.result()
            self._writing = asyncio.create_task(self._write())

    async def finish(self) -> None:
        if self._writing is not None:
            await self._writing

    def abandon(self) -> None:
        if self._writing is not None:
            self._writing.cancel()

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            await DBOS.write_stream_async(EVENT_STREAM, batch)
