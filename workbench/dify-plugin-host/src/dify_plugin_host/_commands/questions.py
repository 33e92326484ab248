"""Questions from stdin, one a line, read while plugins continue running."""

import asyncio
import os
import sys


_STDIN = 0
_READ_BYTES = 64 * 1024


class Questions:
    """The lines of stdin as questions; an empty line repeats the one before.

    Args:
        first: The question to begin with; None takes the first line.
    """

    def __init__(self, first: str | None) -> None:
        self._next = first
        self._last = ""
        # The last one is unfinished; those before it are whole lines that have not been taken.
        self._lines: list[bytes] = [b""]

    async def read(self) -> str | None:
        """Return the next question; None if there are no more."""
        question, self._next = self._next, None
        while question is None and (line := await self._read_line()) is not None:
            question = line.decode(errors="replace").strip() or self._last or None
        self._last = question or ""
        return question

    async def read_answer(self) -> str | None:
        """Return the next line as a reply; None if there are no more."""
        line = await self._read_line()
        return None if line is None else line.decode(errors="replace").strip()

    async def _read_line(self) -> bytes | None:
        """Return the next line; None at the end of stdin, or if there is none."""
        if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - None if it was closed before the start
            return None
        while len(self._lines) == 1:
            await _wait_readable()
            # Not through sys.stdin: lines in its buffer would not make the descriptor readable.
            if not (data := os.read(_STDIN, _READ_BYTES)):
                rest, self._lines = self._lines[0], [b""]
                return rest or None
            self._lines = (self._lines[0] + data).split(b"\n")
        return self._lines.pop(0)


def is_terminal() -> bool:
    """Tell whether stdin is a terminal."""
    return os.isatty(_STDIN)


async def _wait_readable() -> None:
    """Wait until stdin can be read; a file always can, and the event loop refuses to wait for one."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    try:
        loop.add_reader(_STDIN, readable.set)
    except PermissionError:
        return
    try:
        await readable.wait()
    finally:
        loop.remove_reader(_STDIN)
