"""The server of the page, which only this machine can reach."""

import secrets
import socket
import threading
import time
from pathlib import Path
from typing import Final, Self

import uvicorn

from run_log import list_runs

from ._app import Again, create_app


_HOST: Final = "127.0.0.1"
_START_SECONDS: Final = 10.0
_WAIT_SECONDS: Final = 0.5


class ViewServer:
    """A server on 127.0.0.1 that shows the runs of a folder to everybody who knows its address. As a context manager it runs in a thread.

    Args:
        folder: The folder of the runs; it need not exist yet.
        port: The port; 0 takes a free one.
        again: Runs a run again at the page's request; see `RunAgain`.
        models: The models that the page offers for that.

    Raises:
        OSError: If the port is not available.

    Example:
        >>> with ViewServer("runs") as server:
        ...     address = server.url()
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        port: int = 0,
        again: Again | None = None,
        models: tuple[str, ...] = (),
    ) -> None:
        self._folder = Path(folder)
        # Bound here and not by uvicorn: the guard needs the port, and one that is taken has to raise.
        self._socket = socket.create_server((_HOST, port))
        self.port: int = self._socket.getsockname()[1]
        self._key = secrets.token_urlsafe(24)
        app = create_app(folder, key=self._key, port=self.port, again=again, models=models)
        config = uvicorn.Config(
            app,  # pyright: ignore[reportArgumentType] - uvicorn types scopes more narrowly than ASGI does
            lifespan="off",
            log_level="critical",  # A line of each request would have the key.
            access_log=False,
            timeout_graceful_shutdown=1,  # second: pages that follow a run do not hang up by themselves
            ws="none",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    def url(self, run: str | None = None, *, waits: bool = False) -> str:
        """Return the address of the page. Anybody who knows it can read the logs.

        Args:
            run: The run that it shows; all of them if None.
            waits: Whether it shows the next run that begins.
        """
        place = f"#/run/{run}" if run else ""
        if waits:
            known = list_runs(self._folder) if self._folder.is_dir() else []
            place = f"#/next/{known[0].path.stem if known else ''}"
        return f"http://{_HOST}:{self.port}/{self._key}/{place}"

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        end = time.monotonic() + _START_SECONDS
        while not self._server.started and time.monotonic() < end:
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._server.should_exit = True
        self._thread.join(_START_SECONDS)
        self._socket.close()

    def wait(self) -> None:
        """Wait while it serves: forever, unless interrupted."""
        while self._thread.is_alive():
            self._thread.join(_WAIT_SECONDS)

    def run(self) -> None:
        """Serve in this thread until SIGINT or SIGTERM comes."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()
