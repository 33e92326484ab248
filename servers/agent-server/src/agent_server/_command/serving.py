"""Starting a server, and stopping it on a signal."""

import asyncio
import ctypes
import gc
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from tempfile import TemporaryFile
from types import FrameType
from typing import Final, cast

import typer
import uvicorn
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from agent_server._app import build_app
from agent_server._engine.base import make_up_name
from agent_server._http.server import Server
from agent_server.engine import StorageError, open_engine
from agent_server.executor import Executor
from agent_server.settings import ServerSettings

from .listening import BAD_USAGE, refuse
from .log_lines import set_up_log


_logger = logging.getLogger("agent_server")

# With Python's default, a burst of a thousand streams looks like garbage in the making, and the
# whole heap is searched each time.
_ALLOCATIONS_BEFORE_SEARCH: Final = 20_000
_M_MMAP_THRESHOLD: Final = -3
_LARGE_BYTES: Final = 128 * 1024


def serve(
    executor: Executor,
    settings: ServerSettings,
    *,
    routes: Sequence[BaseRoute],
    listener: socket.socket,
) -> None:
    """Serve an agent system as `agent_server.command.serve` says.

    Raises:
        Exit: If the database cannot be used, or the server's name is taken.
    """
    gc.set_threshold(_ALLOCATIONS_BEFORE_SEARCH)
    gc.freeze()  # What was imported lives as long as the process and need not be searched.
    # Once some megabytes were freed, glibc would keep as much in each thread, for good. Other C libraries do not.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
    _make_logs_folder(settings)
    name = settings.server_name or make_up_name()
    set_up_log(settings, server=name)
    settings = settings.model_copy(update={"server_name": name})
    asyncio.run(_serve(executor, settings, routes, listener))


async def _serve(
    executor: Executor,
    settings: ServerSettings,
    routes: Sequence[BaseRoute],
    listener: socket.socket,
) -> None:
    with _Stop().installed() as stop:
        try:
            async with (
                _tracing(executor, settings) as trace,
                open_engine(settings, executor) as runs,
            ):
                app = build_app(settings, executor, runs, routes=routes)
                trace(app)
                server = Server(app, settings)
                stop.server = server
                host, port = listener.getsockname()[:2]
                where = f"[{host}]" if ":" in host else host
                typer.echo(f"{executor.name} listens on http://{where}:{port}")
                await server.serve(sockets=[listener])
        except StorageError as error:
            if settings.log_format == "json":
                # Who reads objects gets one of why it does not start, too.
                _logger.critical("%s", error)
                raise typer.Exit(BAD_USAGE) from None
            refuse(str(error))
        except asyncio.CancelledError:
            return  # A signal came before the server was started.


@asynccontextmanager
async def _tracing(
    executor: Executor, settings: ServerSettings
) -> AsyncGenerator[Callable[[Starlette], None]]:
    if settings.traces:
        # What it imports is an extra.
        from .traces import trace_requests, tracing  # noqa: PLC0415

        async with tracing(service=executor.name):
            yield trace_requests
    else:
        yield lambda _: None


class _Stop:
    """A signal handler that stops the server gracefully, or cancels its start.

    Attributes:
        server: The server, once there is one.
    """

    def __init__(self) -> None:
        self.server: uvicorn.Server | None = None

    @contextmanager
    def installed(self) -> Generator["_Stop"]:
        """Handle signals within the context.

        While it serves, uvicorn handles most of them itself, and raises each again once it has stopped: that must not end the process
        before the engine has put its runs back into the queue.
        """
        loop = asyncio.get_running_loop()
        task = cast("asyncio.Task[None]", asyncio.current_task())

        def stop(_number: int, _frame: FrameType | None) -> None:
            if self.server is not None:
                self.server.should_exit = True
            else:
                # The handler may interrupt the loop anywhere, so the loop does this itself.
                loop.call_soon_threadsafe(task.cancel)

        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, stop) for number in numbers}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _make_logs_folder(settings: ServerSettings) -> None:
    """Make the folder for run logs now: if that fails, the start should fail, not each run."""
    if settings.run_logs is None:
        return
    try:
        settings.run_logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        TemporaryFile(dir=settings.run_logs).close()
    except OSError as error:
        refuse(f"run_logs: expected a folder that can be written to: {error.strerror}")
