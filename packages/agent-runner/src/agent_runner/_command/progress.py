"""The progress line at the bottom of a terminal."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agent_runner._output.outputs import Output
from agent_runner._run.result import RunResult


_TICK_SECONDS = 1.0
_ERASE = "\r\x1b[2K"


class Progress:
    """A progress line with the run's time and its number of outputs.

    Only where stderr is a terminal; in a pipe or a file there is no trace of it.
    """

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._started = time.monotonic()
        self._outputs = 0

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Keep the line up to date within the context, and erase it in the end."""
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.wait({ticking})
            self.erase()

    def count(self, output: Output | RunResult) -> None:
        """Count an output that was printed in place of the line, and draw the line below it."""
        if not isinstance(output, RunResult):
            self._outputs += 1
            self._draw()

    def erase(self) -> None:
        """Erase the line, to make room for an output."""
        self._write(_ERASE)

    async def _tick(self) -> None:
        while True:
            self._draw()
            await asyncio.sleep(_TICK_SECONDS)

    def _draw(self) -> None:
        seconds = time.monotonic() - self._started
        self._write(f"{_ERASE}running for {seconds:.0f} s, {self._outputs} outputs")

    def _write(self, text: str) -> None:
        if self._is_shown:
            sys.stderr.write(text)
            sys.stderr.flush()
