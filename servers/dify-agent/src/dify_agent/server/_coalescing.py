"""Joining the pieces of a text into fewer events: a model may stream hundreds a second, and each event is stored and sent."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final


_SECONDS: Final = 0.1
_CHARACTERS: Final = 4096


class TextCoalescer:
    """A buffer for the pieces of one text. The first is told at once, those after it within 100 ms, or as soon as they are 4,096 characters.

    Args:
        tell: Tells a piece.
    """

    def __init__(self, tell: Callable[[str], Awaitable[None]]) -> None:
        self._tell = tell
        self._pieces: list[str] = []
        self._is_begun = False
        self._telling = asyncio.Lock()
        self._later: asyncio.Task[None] | None = None
        self._failure: Exception | None = None

    async def add(self, text: str) -> None:
        """Take the next piece."""
        self._pieces.append(text)
        is_first, self._is_begun = not self._is_begun, True
        if is_first or sum(map(len, self._pieces)) >= _CHARACTERS:
            await self._flush()
        elif self._later is None:
            self._later = asyncio.create_task(self._flush_later())

    async def end(self) -> None:
        """Tell what is left; the piece after it is the first of another text."""
        self._is_begun = False
        if self._later is not None:
            self._later.cancel()
            self._later = None
        await self._flush()

    async def _flush(self) -> None:
        async with self._telling:  # One at a time, so that the pieces stay in their order.
            if self._failure is not None:
                raise self._failure
            text, self._pieces = "".join(self._pieces), []
            if text:
                await self._tell(text)

    async def _flush_later(self) -> None:
        await asyncio.sleep(_SECONDS)
        self._later = None  # From here on it is not cancelled any more.
        try:
            await self._flush()
        except Exception as error:  # noqa: BLE001 - raised where the next piece comes
            self._failure = error
