"""A server that listens; needs the extra `server`."""

import signal
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import typer
import uvicorn

from ._app import build_app
from ._engine import RunEngine
from ._run import AgentRunner
from ._settings import EngineSettings


_LAST_ANSWERS_SECONDS = 5


def serve_http(  # noqa: PLR0913 - all that a server is made of
    agents: Mapping[str, Path],
    runner: AgentRunner,
    settings: EngineSettings,
    listener: socket.socket,
    *,
    api_key: str | None,
    hosts: list[str],
) -> None:
    """Serve agents on a socket until the process is asked to stop.

    Raises:
        ConfigurationError: If the database cannot be opened.
    """
    with RunEngine(agents, runner, settings) as engine:
        app = build_app(engine, api_key=api_key, hosts=hosts)
        config = uvicorn.Config(
            app, log_level="warning", timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS
        )
        server = uvicorn.Server(config)
        with _stopped_by_signals(server):
            _announce(agents, listener)
            server.run(sockets=[listener])


@contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Generator[None]:
    """Stop the server in good order when a signal asks the process to end, also before the server has started.

    While it serves, uvicorn obeys most of them by itself, and raises each again once it has stopped: that must not
    end us before our own work is done.
    """

    def stop(_: int, __: FrameType | None) -> None:
        server.should_exit = True

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _announce(agents: Mapping[str, Path], listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    where = f"[{host}]" if ":" in host else host
    typer.echo(f"agent-runner: serving {', '.join(agents)} on http://{where}:{port}", err=True)
