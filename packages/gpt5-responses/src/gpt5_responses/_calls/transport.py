"""The HTTP clients of a process, one for each connection, kept between calls with what their servers have refused or announced."""

import asyncio
import atexit
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, override

from gpt5_responses._http.client import HttpAnswer, HttpClient, Steps, aplay, play
from gpt5_responses._http.steps import Asynchronous
from gpt5_responses._settings.connection import Connection

from .calls import Call, make
from .fallback_requests import FallbackClient, Whole
from .left_out import Fallback


if TYPE_CHECKING:
    from .socket_session import SocketSession

# How often connections that nobody uses are looked at, as long as there are any.
_LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request with its answer.

    Attributes:
        answer: Its answer, whose body has not been read yet.
        close: Closes the connection, at any time.
        left_out: The parts that the server refused, left out of the request.
        wake: Ends a read that waits in another thread. That thread closes the connection itself, since the number of a
            closed socket could serve another one while it is still read from.
    """

    answer: HttpAnswer
    close: Callable[[], None]
    left_out: tuple[Fallback, ...]
    wake: Callable[[], None]


class _Client(FallbackClient):
    """A client with the shutdown dates of its server's models and the number of calls that use it."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.shutdown_dates: Mapping[str, str | None] = {}
        self.users = 0
        self.is_retired = False

    def close_if_unused(self) -> None:
        """Close the client's sockets if it has left the pool and no call uses it."""
        if self.is_retired and not self.users:
            play(self.close())


class AsyncClient(FallbackClient):
    """An asynchronous client, which looks at the connections that nobody uses as a transport does."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, Asynchronous)
        self._looks_in: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Task[None] | None = None

    @override
    def end(self, answer: HttpAnswer) -> Steps[None]:
        yield from super().end(answer)
        self._look_later()

    def _look_later(self) -> None:
        loop = asyncio.get_running_loop()
        if self._looks_in is not loop:
            self._looks_in = loop
            loop.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._looks_in = None
        self._closing = asyncio.get_running_loop().create_task(self._close_old())

    async def _close_old(self) -> None:
        if await aplay(self.close_old()):
            self._look_later()


class Transport:
    """The HTTP clients of a process, one for each connection.

    They share the trusted certificates and nothing else: neither connections nor cookies pass from one to another. A
    client that leaves the pool is closed when the last response that it is reading is closed. Safe to use from several
    threads.

    Args:
        max_clients: The most clients to keep, from 1.
    """

    def __init__(self, *, max_clients: int = 256) -> None:
        self._max_clients = max_clients
        # The least recently used first. A connection is its own key: those that differ in a secret share nothing.
        self._clients: OrderedDict[Connection, _Client] = OrderedDict()
        # Also guards the users of each client, so that none is closed while a new call takes it.
        self._lock = threading.Lock()
        self._look: threading.Timer | None = None

    def send(
        self,
        connection: Connection,
        request: Mapping[str, Any],
        *,
        flex_fallback: bool = False,
        whole: Whole | None = None,
        session: "SocketSession | None" = None,
    ) -> SentRequest:
        """Send a request until the server accepts it, asking for less where that is known to help.

        Args:
            connection: Where to send it.
            request: The request body.
            flex_fallback: Whether the default tier may replace flex.
            whole: Returns the input without compactions, should the server refuse those.
            session: The session whose socket it goes by.

        Raises:
            ResponsesError: If the server cannot be reached, or refuses the request.
        """
        return self._open(
            connection,
            lambda client: client.post(
                request, flex_fallback=flex_fallback, whole=whole, session=session
            ),
        )

    def resume(self, connection: Connection, path: str) -> SentRequest:
        """Resume a stream.

        Args:
            connection: Where it is.
            path: Its path below the base URL, with the query.

        Raises:
            ResponsesError: If the server cannot be reached, or does not stream it.
        """
        return self._open(connection, lambda client: client.resume(path))

    def ask[T](self, connection: Connection, call: Call[T]) -> T:
        """Make a call other than `POST /responses` and return its result.

        Args:
            connection: Where the server is.
            call: The call.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the call, or answers with something else.
        """
        with self.lend(connection) as client:
            return play(make(client, call))

    @contextmanager
    def lend(self, connection: Connection) -> Generator[FallbackClient]:
        """Lend the HTTP client of a connection, for calls that are not responses.

        Raises:
            ResponsesError: If the machine's settings of proxies or certificates are not usable.
        """
        client = self._take(connection)
        try:
            yield client
        finally:
            self._give_back(client)

    def learn_shutdown_dates(self, connection: Connection, dates: Mapping[str, str | None]) -> None:
        """Remember when a connection's server shuts its models down, for as long as its client is kept."""
        with self._lock:
            if connection in self._clients:
                self._clients[connection].shutdown_dates = dates

    def shutdown_dates(self, connection: Connection) -> Mapping[str, str | None]:
        """Return the days on which a connection's server shuts models down, as far as they have been learnt."""
        with self._lock:
            client = self._clients.get(connection)
            return {} if client is None else client.shutdown_dates

    def release(self, connection: Connection) -> None:
        """Close the client of a connection; if it is in use, with its responses. The next call opens another."""
        with self._lock:
            if connection in self._clients:
                self._retire(self._clients.pop(connection))

    def close(self) -> None:
        """Close all clients; those in use are closed with their responses."""
        with self._lock:
            while self._clients:
                self._retire(self._clients.popitem(last=False)[1])
            if self._look is not None:
                self._look.cancel()
                self._look = None

    def _open(
        self,
        connection: Connection,
        steps: Callable[[_Client], Steps[tuple[HttpAnswer, tuple[Fallback, ...]]]],
    ) -> SentRequest:
        client = self._take(connection)
        try:
            answer, left_out = play(steps(client))
        except BaseException:
            self._give_back(client)
            raise

        def close() -> None:
            # A reader in another thread wakes first: only then may its socket's number be reused.
            client.end_reading(answer)
            play(client.end(answer))
            self._give_back(client)

        return SentRequest(answer, close, left_out, lambda: client.end_reading(answer))

    def _take(self, connection: Connection) -> _Client:
        with self._lock:
            client = self._clients.pop(connection, None) or _Client(connection)
            self._clients[connection] = client  # to the end: most recently used
            client.users += 1
            while len(self._clients) > self._max_clients:
                self._retire(self._clients.popitem(last=False)[1])
            return client

    def _give_back(self, client: _Client) -> None:
        with self._lock:
            client.users -= 1
            client.close_if_unused()
            self._look_later()

    def _look_later(self) -> None:
        # A fork has none of its parent's threads.
        if self._look is None or not self._look.is_alive():
            self._look = threading.Timer(_LOOK_SECONDS, self._close_old)
            # It must not keep a process alive.
            self._look.daemon = True
            with suppress(RuntimeError):  # There are no new threads once the interpreter ends.
                self._look.start()

    def _close_old(self) -> None:
        """Close the connections that nobody has used for a while, in all clients."""
        with self._lock:
            self._look = None
            clients = list(self._clients.values())
        have_others = [play(client.close_old()) for client in clients]
        if any(have_others):
            with self._lock:
                self._look_later()

    @staticmethod
    def _retire(client: _Client) -> None:
        client.is_retired = True
        client.close_if_unused()


TRANSPORT = Transport()
"""The transport of this process, shared by all calls; it is closed when the process ends."""
atexit.register(TRANSPORT.close)


def prepare_transport() -> None:
    """Load certificates and HTTP classes now, so that the first call need not wait for them.

    Raises:
        ResponsesError: If no client can be made.
    """
    HttpClient(Connection(api_key="none"))  # connects to nothing
