"""The thread that listens for signals of other servers on PostgreSQL."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from .database import Database
from .sessions import CLIENT_LIMITS, limit
from .signals import ALL_SIGNALS, CHANNEL


_LOOK_SECONDS = 0.5


class Listener:  # pragma: no cover - nox -s postgresql
    """A listening connection. If it breaks, it is opened again, and everything is looked at."""

    def __init__(
        self, database: Database, *, server: str, on_signals: Callable[[set[str]], None]
    ) -> None:
        """Start the thread.

        Args:
            database: The database to listen to.
            server: The name of this server, whose own signals are ignored.
            on_signals: Called on the running loop with the signals of other servers.
        """
        self._url = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._server = server
        self._on_signals = on_signals
        self._loop = asyncio.get_running_loop()
        self._is_closing = threading.Event()
        self._thread = threading.Thread(
            target=self._work, name="agent-server-listener", daemon=True
        )
        self._thread.start()

    async def close(self) -> None:
        """End the thread."""
        self._is_closing.set()
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        from psycopg import Error  # noqa: PLC0415 - a start on SQLite does not wait for it

        while not self._is_closing.is_set():
            with suppress(Error, OSError):
                self._listen()
            self._is_closing.wait(_LOOK_SECONDS)

    def _listen(self) -> None:
        from psycopg import connect  # noqa: PLC0415 - as above

        with connect(self._url, autocommit=True, **CLIENT_LIMITS) as connection:
            limit(connection)
            connection.execute(f"LISTEN {CHANNEL}")
            self._post(set(ALL_SIGNALS))
            while not self._is_closing.is_set():
                heard = [
                    one.payload.rpartition(" ")  # Other programs may send anything.
                    for one in connection.notifies(timeout=_LOOK_SECONDS, stop_after=1)
                ]
                if signals := {signal for server, _, signal in heard if server != self._server}:
                    self._post(signals)

    def _post(self, signals: set[str]) -> None:
        # The loop may be closed already while this server stops.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._on_signals, signals)
