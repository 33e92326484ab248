"""The simulator as a context manager: an ASGI server in a thread of its own, on the loopback interface."""

import asyncio
import socket
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

import uvicorn

from gpt5_simulator._answer import Responder
from gpt5_simulator._arguments import entries_of, validate_kind, validate_number, wrong_kind
from gpt5_simulator._errors import StartError
from gpt5_simulator._faults.fault_queue import FaultQueue
from gpt5_simulator._faults.faults import Fault
from gpt5_simulator._http.app import Api
from gpt5_simulator._http.recorded import RecordedRequest, RequestLog
from gpt5_simulator._http.replay import Recording, ReplayQueue, read_recordings
from gpt5_simulator._lifetimes import Lifetimes
from gpt5_simulator._model.demo_model import DemoModel
from gpt5_simulator._model.hosted_results import HostedResults, read_hosted_results
from gpt5_simulator._model.turn import Model
from gpt5_simulator._reply import ChunkSizes
from gpt5_simulator._stored.store import BackgroundCounts


SIMULATOR_KEY = "sk-simulator-any-key"
"""A key for clients of a simulator, which accepts any. It looks like a key, so that programs which remove it from texts remove nothing else."""

_HOST = "127.0.0.1"
_START_SECONDS = 30.0
_STOP_SECONDS = 10.0
_GRACE_SECONDS = 1.0  # for a model object that blocks; whatever is being sent ends at once
_IDLE_SECONDS = 75  # longer than clients keep idle connections; else a request may arrive on one that is being closed
_TICK_SECONDS = 1.0  # how often uvicorn makes the date header anew
_POLL_SECONDS = 0.001


class ResponsesSimulator:
    """A server of the Responses API on the loopback interface, which runs while its `with` block does.

    Args:
        port: The port; 0 picks a free one.
        api_keys: The accepted keys; None accepts any that is not empty, such as `SIMULATOR_KEY`.
        model: The model that decides the answers; a `DemoModel` by default.
        hosted_results: The results of the hosted tools of that `DemoModel`; see `read_hosted_results`. None has a few examples.
        replay: Recordings to serve instead of asking the model: paths of `.sse` or `.response.json` files or of folders with them,
            or `Recording` objects. They come in order, streams and bodies separately, and after the last again from the
            first. A request chooses one by name in the header `x-simulator-replay` or as its `model`.
        chunk_bytes: How streams are cut into chunks: bytes per chunk; the sizes of the first chunks, after which the rest comes
            in one; or a function from a chunk's number, from 0, to its size. None sends one event per chunk.
        delay_seconds: The pause before each chunk of a stream, except the first.
        faults: The faults, one per request; None lets a request pass; a fault with `times=None` hits all. A request
            chooses its own in the header `x-simulator-fault`, written as for `parse_fault`.
        models: The model ids that are served; None serves all known ones that are not retired.
        shutdown_dates: Days on which models are shut down, as `YYYY-MM-DD`, by model id, besides the known ones; `GET /v1/models` lists them. From
            that day on (UTC, by `clock`) a model is left out there, and requests for it are answered with 404, like those for a retired model.
            Known days are only listed and not enforced, so that tests do not age.
        background_seconds: How long a background response takes: queued for the first quarter, then in progress. By `clock`.
        models_status: The status of `GET /v1/models`; with 404 or 405 the simulator is like a gateway without that route.
        strict: Whether requests are checked as by a real server.
        seed: A number that goes into every id; the same requests in the same order get the same ids.
        clock: Returns the time in seconds since 1970, for `created_at`.

    Raises:
        RecordingError: If a path to replay is missing or holds no recording.
        ResultsError: If the table of hosted results names an unknown tool or field, or a value of the wrong type.
        TypeError: If an argument is of the wrong kind.
        ValueError: If a day of shutdown is not a date, or a number is out of range.

    Example:
        >>> with ResponsesSimulator() as simulator:
        ...     simulator.base_url.startswith("http://127.0.0.1:")
        True
    """

    def __init__(  # noqa: PLR0913  every switch of the server is an argument of its own, by keyword only
        self,
        *,
        port: int = 0,
        api_keys: Collection[str] | None = None,
        model: Model | None = None,
        hosted_results: dict[str, Any] | HostedResults | None = None,
        replay: Iterable[Recording | str | Path] = (),
        chunk_bytes: ChunkSizes | None = None,
        delay_seconds: float = 0.0,
        faults: Iterable[Fault | None] = (),
        models: Collection[str] | None = None,
        shutdown_dates: Mapping[str, str] | None = None,
        background_seconds: float = 0.0,
        models_status: int = 200,
        strict: bool = True,
        seed: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        served = _read_texts("models", models)
        validate_number("port", port, least=0, is_whole=True)
        validate_number("models_status", models_status, least=200, most=599, is_whole=True)
        validate_number("delay_seconds", delay_seconds, least=0)
        validate_number("background_seconds", background_seconds, least=0)
        validate_kind("strict", strict, (bool,), "True or False")
        validate_kind("shutdown_dates", shutdown_dates, (Mapping,), "a mapping of ids to days")
        if not callable(clock):
            raise wrong_kind("clock", "a function that returns seconds", clock)
        self._port = port
        self._log = RequestLog()
        self._faults = FaultQueue(faults)
        self._responder = Responder(
            model=_chosen_model(model, hosted_results),
            models=served,
            strict=strict,
            lifetimes=Lifetimes(
                {name: date.fromisoformat(day) for name, day in (shutdown_dates or {}).items()},
                clock,
            ),
            seed=seed,
            clock=clock,
            background_seconds=background_seconds,
        )
        # An API for each `with` block, since its event and its threads end with the block.
        self._new_api = partial(
            Api,
            api_keys=_read_texts("api_keys", api_keys),
            models_status=models_status,
            chunk_bytes=_read_chunks(chunk_bytes),
            delay_seconds=delay_seconds,
            responder=self._responder,
            replay=ReplayQueue(read_recordings(replay)),
            faults=self._faults,
            log=self._log,
        )
        self._running: _Server | None = None

    @property
    def base_url(self) -> str:
        """Return the URL to give to a client, `http://127.0.0.1:PORT/v1`.

        Raises:
            StartError: If the server does not run.
        """
        if self._running is None:
            raise StartError("the simulator runs only inside its `with` block", port=self._port)
        return f"http://{_HOST}:{self._running.port}/v1"

    @property
    def requests(self) -> list[RecordedRequest]:
        """Return the requests so far, in the order of arrival; if there are more than 10,000, only the newest."""
        return self._log.snapshot()

    @property
    def background(self) -> BackgroundCounts:
        """Return the number of background responses so far, by their state according to `clock`."""
        return self._responder.store.count_background(self._responder.clock())

    def add_fault(self, fault: Fault | None) -> None:
        """Put a fault at the end of the queue; with `times=None` it hits every request from now on."""
        self._faults.add(fault)

    def __enter__(self) -> Self:
        """Start the server.

        Raises:
            StartError: If the port is taken or the server does not start.
        """
        self._running = _Server(self._new_api(), port=self._port)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server; replies that are still being sent end."""
        if self._running is not None:
            self._running.stop()
            self._running = None


def _chosen_model(
    model: Model | None, hosted_results: dict[str, Any] | HostedResults | None
) -> Model:
    if model is not None and hosted_results is not None:
        raise TypeError("hosted_results: expected no model beside it, for only a DemoModel uses it")
    if model is not None and not callable(getattr(model, "respond", None)):
        raise wrong_kind("model", "an object with a method `respond`", model)
    if hosted_results is None or isinstance(hosted_results, HostedResults):
        return model or DemoModel(hosted_results)
    return DemoModel(read_hosted_results(hosted_results))


def _read_texts(where: str, texts: Collection[str] | None) -> tuple[str, ...] | None:
    if texts is None:
        return None
    found = tuple(entries_of(where, texts))
    for index, text in enumerate(found):
        validate_kind(f"{where}[{index}]", text, (str,), "text")
    return found


def _read_chunks(sizes: ChunkSizes | None) -> ChunkSizes | None:
    if sizes is None or callable(sizes):
        return sizes
    if isinstance(sizes, int):
        validate_number("chunk_bytes", sizes, least=1, is_whole=True)
        return sizes
    found = tuple(entries_of("chunk_bytes", sizes))
    for index, size in enumerate(found):
        validate_number(f"chunk_bytes[{index}]", size, least=1, is_whole=True)
    return found


class _Server(uvicorn.Server):
    """A server that says when it is ready, and that another thread can stop within milliseconds.

    uvicorn checks ten times a second whether to stop, and then waits another tenth of a second. Both are left out here, because they
    add up if each test has a simulator of its own.
    """

    def __init__(self, api: Api, *, port: int) -> None:
        # Here and not in the thread, so that a port that is taken raises at once.
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            api.build_app(),
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,  # or uvicorn would set up the logging of the process that runs the tests
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_keep_alive=_IDLE_SECONDS,
        )
        super().__init__(config)
        self._api = api
        self._ready = Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread(
            target=self._run_here, name=f"gpt5-simulator:{self.port}", daemon=True
        )
        self._thread.start()
        if not self._ready.wait(_START_SECONDS) or not self.started:
            self.stop()
            raise StartError("the simulator did not start", port=port)

    def stop(self) -> None:
        """End all replies that are being sent, close every socket, and wait for the thread."""
        self.should_exit = True
        # An event of asyncio may be set in its own loop only.
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._api.stopping.set)
        self._thread.join(_STOP_SECONDS)
        self._api.workers.shutdown(wait=False, cancel_futures=True)
        self._socket.close()

    def _run_here(self) -> None:
        try:
            self.run(sockets=[self._socket])
        finally:
            self._ready.set()  # also where it failed, so that nobody waits for it

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self._ready.set()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._api.stopping.wait(), _TICK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        del sockets  # those of `servers`
        # As uvicorn does it, but for its pauses: no new connections, then the idle ones, then the replies,
        # which end by `stopping`. What is left after that is a model object that blocks.
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await self._wait_for_silence()
        for task in self.server_state.tasks:
            task.cancel()

    async def _wait_for_silence(self) -> None:
        while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(_POLL_SECONDS)


def _listen(port: int) -> socket.socket:
    # asyncio turns Nagle's algorithm off only where the protocol is named; with it on, answers wait 40 ms for an ACK.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "expected 0 to 65535"
        raise StartError(f"port {port}: {reason}", port=port) from error
    return listener
