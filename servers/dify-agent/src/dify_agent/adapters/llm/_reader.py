"""Reading of an answer chunk by chunk, which another task can stop."""

from collections.abc import AsyncGenerator
from typing import Self

import anyio
import httpx

from dify_agent.plugin_daemon_transport import PluginDaemonError

from ._chunks import Chunk
from ._error_mapping import to_connection_error, to_model_error


class ChunkReader:
    """An iterator over the chunks of one answer, which raises the daemon's errors as Pydantic AI's.

    `aclose` closes the HTTP response, even while another task waits for the next chunk: the iteration then simply ends.

    Args:
        chunks: The chunks; the reader owns them.
        model_name: The model that was called, for errors.
    """

    def __init__(self, chunks: AsyncGenerator[Chunk], *, model_name: str) -> None:
        self._chunks = chunks
        self._model_name = model_name
        self._first: Chunk | None = None
        self._begun = False
        self._closed = False
        # A generator that is closed twice at once raises.
        self._closing = anyio.Lock()
        self._waiting: tuple[anyio.CancelScope, anyio.Event] | None = None

    async def open(self) -> None:
        """Read the first chunk, so that a call that fails at once fails here.

        Raises:
            ModelAPIError: If the call failed, or the answer is empty.
            UserError: If the plugin is not set up.
        """
        self._first = await self._receive()

    async def aclose(self) -> None:
        """Close the response, and end the iteration."""
        self._closed = True
        with anyio.CancelScope(shield=True):  # a cancelled caller has to close as well
            await self._close()

    async def _close(self) -> None:
        async with self._closing:
            # A generator cannot be closed while it runs, so the task that waits in it has to leave
            # first.
            if self._waiting is not None:
                scope, left = self._waiting
                scope.cancel()
                await left.wait()
            await self._chunks.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        if self._closed:
            raise StopAsyncIteration
        if self._first is not None:
            chunk, self._first = self._first, None
            return chunk
        scope, left = anyio.CancelScope(), anyio.Event()
        self._waiting = scope, left
        try:
            with scope:
                return await self._receive()
        finally:
            self._waiting = None
            left.set()
        raise StopAsyncIteration  # closed while waiting

    async def _receive(self) -> Chunk:
        try:
            chunk = await anext(self._chunks)
        except PluginDaemonError as error:
            raise to_model_error(
                error, model_name=self._model_name, in_stream=self._begun
            ) from error
        except httpx.TransportError as error:
            raise to_connection_error(error, model_name=self._model_name) from error
        self._begun = True
        return chunk
