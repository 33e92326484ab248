"""A script's process: its lines as they come, and its end, within limits."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_runner._errors import refusing_os_errors
from stream_text import LineSplitter

from .guard import Guard
from .sweep import kill_marked


type Source = Literal["stdout", "stderr"]
type StopReason = Literal["exited", "timed_out", "output_limit"]

_MIB = 1024 * 1024
# The size of a pipe on Linux, so that one read can empty it.
_CHUNK_BYTES = 64 * 1024
_WAITING_CHUNKS = 16  # Read ahead of a slow consumer; beyond that, the script waits, too.
_DRAIN_SECONDS = 1.0  # For processes that outlive the script and still hold its pipes.


@dataclass(kw_only=True, eq=False, repr=False)
class ProcessLimits:
    """The limits of a process.

    Attributes:
        timeout_seconds: The time from start to exit.
        terminate_seconds: The time from SIGTERM to SIGKILL.
        max_line_bytes: The bytes of one line.
        max_output_bytes: The bytes of stdout and stderr together.
        max_output_lines: The lines of stdout and stderr together; a line costs more to keep than its bytes.
    """

    timeout_seconds: float = 600.0
    terminate_seconds: float = 5.0
    # Our choices, large because an image comes as base64 in one line.
    max_line_bytes: int = 32 * _MIB
    max_output_bytes: int = 64 * _MIB
    max_output_lines: int = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The command, folder, environment and input of a process.

    Attributes:
        command: Program and arguments.
        folder: Working directory.
        environment: All environment variables.
        stdin: The pieces of what stands on stdin, which are let go once they are written: they may be large, and the process may run for long.
        marker: The variable, as `NAME=value`, by which the attempt's processes are found wherever they hide.
        scratch: The attempt's own folder, if it has one, which is deleted with it.
    """

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    stdin: list[bytes]
    marker: str
    scratch: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Lines that arrived together, without their line ends."""

    source: Source
    lines: list[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of the process; `exit_code` is negative if a signal ended it."""

    exit_code: int
    stop_reason: StopReason


async def run_process(launch: Launch, limits: ProcessLimits) -> AsyncGenerator[Lines | Ended]:
    """Run a process and yield its lines, and finally its end.

    Closing the generator, or cancelling the task that iterates over it, ends the process, too.

    Raises:
        ConfigurationError: If the command cannot be started.
    """
    pipes = [await _Pipe.open("stdout"), await _Pipe.open("stderr")]
    # Started before the script, so that no script is ever without a guard.
    guard = Guard(launch.marker, launch.scratch)
    try:
        process = await _start(launch, pipes)
    except BaseException:
        guard.dismiss()
        for pipe in pipes:
            pipe.close()
        raise
    finally:
        for pipe in pipes:
            # The script has its own copy by now. With ours open, the pipes would never end.
            os.close(pipe.write_end)
    # The script leads a session of its own, so its process group has the same number.
    guard.watch(process.pid)
    supervisor = _Supervisor(process, pipes, limits, launch.marker, guard)
    supervision = asyncio.create_task(supervisor.supervise())
    try:
        while True:
            event = await supervisor.events.get()
            yield event
            if isinstance(event, Ended):
                return
    finally:
        supervision.cancel()
        # Not awaited directly, which would raise its cancellation here.
        await asyncio.wait({supervision})


async def _start(launch: Launch, pipes: Sequence["_Pipe"]) -> asyncio.subprocess.Process:
    # A file instead of a pipe, so that a script that never reads cannot block the runner.
    with tempfile.TemporaryFile() as stdin:
        stdin.writelines(launch.stdin)
        launch.stdin.clear()
        stdin.seek(0)
        with refusing_os_errors("command", f"{launch.command[0]!r} cannot be started"):
            return await asyncio.create_subprocess_exec(
                *launch.command,
                cwd=launch.folder,
                env=launch.environment,
                stdin=stdin,
                stdout=pipes[0].write_end,
                stderr=pipes[1].write_end,
                start_new_session=True,
            )


@dataclass(slots=True)
class _Pipe:
    """The reading end of a pipe.

    With asyncio's own pipes, `Process.wait()` would wait for every process that holds them.
    """

    source: Source
    write_end: int
    _reader: asyncio.StreamReader
    _transport: asyncio.ReadTransport
    is_idle: bool = False

    @classmethod
    async def open(cls, source: Source) -> "_Pipe":
        read_end, write_end = os.pipe()
        reader = asyncio.StreamReader(limit=_CHUNK_BYTES)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
        )
        return cls(source, write_end, reader, transport)

    async def read(self) -> bytes:
        self.is_idle = True
        chunk = await self._reader.read(_CHUNK_BYTES)
        self.is_idle = False
        return chunk

    def close(self) -> None:
        """Close the reading end; a pending read gets the end of the stream."""
        self._transport.close()


class _Supervisor:
    """A supervisor, which reads a process's pipes into `events` and makes sure that the process ends."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        pipes: Sequence[_Pipe],
        limits: ProcessLimits,
        marker: str,
        guard: Guard,
    ) -> None:
        # The pumps fill `events`, count the output, and set `_overflow` if it is too much; only
        # `supervise` ends anything. A full queue blocks the pumps and, through the pipes, the script.
        self.events = asyncio.Queue[Lines | Ended](maxsize=_WAITING_CHUNKS)
        self._process = process
        self._limits = limits
        self._marker = marker
        self._guard = guard
        self._received_bytes = 0
        self._received_lines = 0
        self._overflow = asyncio.Event()
        self._exit = asyncio.create_task(process.wait())
        self._pumps = {asyncio.create_task(self._pump(pipe)): pipe for pipe in pipes}

    async def supervise(self) -> None:
        """Wait for the end, force it if a limit is reached, and report it."""
        try:
            reason = await self._wait()
            await self._terminate()
            await self._drain()
            # Checked again, because the rest in the pipes may exceed the limit.
            if self._overflow.is_set():
                reason = "output_limit"
            await self.events.put(Ended(exit_code=self._exit.result(), stop_reason=reason))
        except asyncio.CancelledError:
            await self._terminate()
            raise
        finally:
            self._release()

    async def _wait(self) -> StopReason:
        overflow = asyncio.create_task(self._overflow.wait())
        try:
            done, _ = await asyncio.wait(
                {self._exit, overflow},
                timeout=self._limits.timeout_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            overflow.cancel()
        if self._exit in done:
            return "exited"
        return "output_limit" if overflow in done else "timed_out"

    async def _terminate(self) -> None:
        """End the script if it is still running: by SIGTERM, then by SIGKILL."""
        if self._exit.done():
            return
        self._signal_group(signal.SIGTERM)
        await asyncio.wait({self._exit}, timeout=self._limits.terminate_seconds)
        # Even if SIGTERM was enough for the script: other processes of its group may be left.
        self._signal_group(signal.SIGKILL)
        await asyncio.wait({self._exit})

    async def _drain(self) -> None:
        """Read the rest of the output, without waiting for processes that keep a pipe open but write nothing."""
        pumps = set(self._pumps)
        _, pumps = await asyncio.wait(pumps, timeout=_DRAIN_SECONDS)
        self._kill_rest()
        # A busy pump has a slow consumer and is waited for; an idle one has read everything.
        while pumps:
            _, pumps = await asyncio.wait(pumps, timeout=_DRAIN_SECONDS)
            for pump in pumps:
                # Whether one of them is busy at this moment is chance.
                if self._pumps[pump].is_idle:  # pragma: no branch
                    self._pumps[pump].close()

    async def _pump(self, pipe: _Pipe) -> None:
        splitter = LineSplitter(max_line_bytes=self._limits.max_line_bytes)
        while chunk := await pipe.read():
            self._received_bytes += len(chunk)
            lines = splitter.feed(chunk)
            self._received_lines += len(lines)
            await self._report(pipe.source, lines)
            if splitter.overflowed or self._is_too_much():
                # Nothing more is read: a script that goes on writing blocks until it is ended.
                self._overflow.set()
                return
        await self._report(pipe.source, splitter.close())

    def _is_too_much(self) -> bool:
        return (
            self._received_bytes > self._limits.max_output_bytes
            or self._received_lines > self._limits.max_output_lines
        )

    async def _report(self, source: Source, lines: list[bytes]) -> None:
        if lines:
            await self.events.put(Lines(source=source, lines=lines))

    def _signal_group(self, number: signal.Signals) -> None:
        # Group and process have the same number, which stays taken while any process of the group is left.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _kill_rest(self) -> None:
        self._signal_group(signal.SIGKILL)
        kill_marked(self._marker)

    def _release(self) -> None:
        """Clean everything up, without awaiting, so that a second cancellation cannot interrupt it."""
        self._kill_rest()
        self._guard.dismiss()
        for pump, pipe in self._pumps.items():
            pump.cancel()
            pipe.close()
