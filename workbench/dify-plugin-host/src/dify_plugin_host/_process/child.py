"""An operating-system process with its pipes, which ends with the host."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from . import guard


_READ_BYTES = 64 * 1024
_STDERR_TAIL_BYTES = 1024  # like the daemon
_STDERR_KEPT_BYTES = 64 * 1024
# What Python reports of an exception that it passes over, such as one in a finaliser: never the reason why a process ended. The SDK up to 0.8.0 leaves twice as
# much of these at each end as the tail holds.
_PASSED_OVER = re.compile(
    rb"^Exception ignored .*\n(?:Traceback .*\n)?(?:[ \t].*\n)*(?:(?!Exception ignored )\S.*(?:\n|\Z))?",
    re.MULTILINE,
)
_STDERR_LINE_BYTES = 64 * 1024  # a longer line comes in pieces
_AFTER_EXIT_SECONDS = 1.0


class Child:
    """One process, in a session of its own, so that it can be ended together with all its children."""

    def __init__(
        self, process: asyncio.subprocess.Process, on_stderr: Callable[[str], None]
    ) -> None:
        self._process = process
        self._on_stderr = on_stderr
        self._stderr = bytearray()
        self._stderr_task = asyncio.create_task(self._read_stderr())

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        on_stderr: Callable[[str], None] = lambda _: None,
    ) -> Self:
        """Start `command` with three pipes; `on_stderr` gets each line of its stderr."""
        # With -I and -S the guard, which needs none of the things they skip, starts three times as
        # fast.
        tied = [sys.executable, "-I", "-S", str(guard.__file__), str(os.getpid())]
        process = await asyncio.create_subprocess_exec(
            *tied,
            *command,
            cwd=cwd,
            env=dict(environment),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        return cls(process, on_stderr)

    @property
    def pid(self) -> int:
        """The process id, which is also its group's."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        return self._process.returncode

    @property
    def stderr_tail(self) -> str:
        """The end of the process's stderr, without exceptions that were passed over if there is anything else."""
        kept = _PASSED_OVER.sub(b"", self._stderr).strip() or self._stderr
        return kept[-_STDERR_TAIL_BYTES:].decode("utf-8", errors="replace").strip()

    async def read(self) -> AsyncIterator[bytes]:
        """Yield the process's stdout, in pieces as they come."""
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - a pipe was asked for
        while data := await stdout.read(_READ_BYTES):
            yield data

    async def write(self, data: bytes) -> None:
        """Write to stdin; kill the process if it no longer listens, since then it can never answer."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - a pipe was asked for
        try:
            stdin.write(data)
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            self.kill()

    def kill(self) -> None:
        """Kill the process and everything that it started."""
        self._signal(signal.SIGKILL)

    async def reap(self) -> int | None:
        """Return the exit code of a process that has closed its stdout; kill it if it lingers."""
        await self._wait(_AFTER_EXIT_SECONDS)
        # Even if it has exited, since children of it may still run in its group.
        self.kill()
        # With a limit, because a process that left the session may hold stderr open.
        await self._wait(_AFTER_EXIT_SECONDS)
        return self.exit_code

    async def stop(self, timeout_seconds: float) -> None:
        """Ask the process to end, kill it after a while, and close its pipes."""
        try:
            self._signal(signal.SIGTERM)
            await self._wait(timeout_seconds)
        finally:
            self.kill()
            await self._wait(_AFTER_EXIT_SECONDS)
            self._stderr_task.cancel()
            # A process that left the session may still hold the pipes; there is no public way to
            # close our ends of them.
            self._process._transport.close()  # type: ignore[attr-defined] # noqa: SLF001

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    async def _wait(self, timeout_seconds: float) -> None:
        """Wait until the process has ended, and whatever it started that holds its stderr."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._process.wait()
                await asyncio.wait({self._stderr_task})

    async def _read_stderr(self) -> None:
        """Keep the end of stderr, and report its lines."""
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101 - a pipe was asked for
        rest = b""
        while data := await stderr.read(_READ_BYTES):
            self._stderr += data
            del self._stderr[:-_STDERR_KEPT_BYTES]
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _STDERR_LINE_BYTES:
                lines, rest = [*lines, rest], b""
            self._report(lines)
        self._report([rest])

    def _report(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            if line.strip():
                self._on_stderr(line.decode("utf-8", errors="replace").rstrip())
