"""The simulator as a context manager: an ASGI server in a thread of its own, on the loopback interface."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from gpt5_simulator._answer import Responder
from gpt5_simulator._arguments import entries_of, validate_kind, validate_number, wrong_kind
from gpt5_simulator._errors import StartError
from gpt5_simulator._faults.fault_queue import FaultQueue
from gpt5_simulator._faults.faults import Fault
from gpt5_simulator._http.app import Api
from gpt5_simulator._http.exchanges import ExchangeQueue
from gpt5_simulator._http.loopback_server import LoopbackServer
from gpt5_simulator._http.recorded import RecordedRequest, RequestLog
from gpt5_simulator._http.replay import Recording, ReplayQueue, read_recordings
from gpt5_simulator._http.sockets import SocketProtocol
from gpt5_simulator._lifetimes import Lifetimes
from gpt5_simulator._likeness import Likeness
from gpt5_simulator._model.demo_model import DemoModel
from gpt5_simulator._model.turn import Model, ScriptableModel, Text, TurnItem
from gpt5_simulator._reply import ChunkSizes
from gpt5_simulator._stored.store import BackgroundCounts


SIMULATOR_KEY = "sk-simulator-any-key"
"""A key for clients of a simulator, which accepts any. It looks like a key, so that programs which remove it from texts remove nothing else."""


class ResponsesSimulator:
    """A server of the Responses API on the loopback interface, which runs while its `with` block does.

    Args:
        port: The port; 0 picks a free one.
        api_keys: The accepted keys; None accepts any that is not empty, such as `SIMULATOR_KEY`.
        model: The model that decides the answers; a `DemoModel` by default.
        replay: Recordings to serve instead of asking the model: paths of `.sse` or `.response.json` files or of folders with them,
            or `Recording` objects. They come in order, streams and bodies separately, and after the last again from the
            first. A request chooses one by name in the header `x-simulator-replay` or as its `model`.
        chunk_bytes: How streams are cut into chunks: bytes per chunk; the sizes of the first chunks, after which the rest comes
            in one; or a function from a chunk's number, from 0, to its size. None sends one event per chunk.
        delay_seconds: The pause before each chunk of a stream, except the first.
        faults: The faults, one per request, as values or as texts for `parse_fault`; None lets a request pass; a fault with `times=None`
            hits all. A request chooses its own in the header `x-simulator-fault`, written as such a text.
        models: The model ids that are served; None serves all known ones that are not retired.
        shutdown_dates: Days on which models are shut down, as `YYYY-MM-DD`, by model id, besides the known ones; `GET /v1/models` lists them. From
            that day on (UTC, by `clock`) a model is left out there, and requests for it are answered with 404, like those for a retired model.
            Known days are only listed and not enforced, so that tests do not age.
        background_seconds: How long a background response takes: queued for the first quarter, then in progress. By `clock`.
        models_status: The status of `GET /v1/models`; with 404 or 405 the simulator is like a gateway without that route.
        strict: Whether requests are checked as by a real server.
        like: The server that it is like, one of `LIKENESSES`, such as `ollama`: what that takes, how it answers and how it refuses. None is OpenAI.
        seed: A number that goes into every id; the same requests in the same order get the same ids.
        clock: Returns the time in seconds since 1970, for `created_at`.

    Raises:
        FaultError: If the text of a fault describes none.
        RecordingError: If a path to replay is missing or holds no recording.
        TypeError: If an argument is of the wrong kind.
        LikenessError: If there is no server with that name to be like.
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
        replay: Iterable[Recording | str | Path] = (),
        chunk_bytes: ChunkSizes | None = None,
        delay_seconds: float = 0.0,
        faults: Iterable[Fault | str | None] = (),
        models: Collection[str] | None = None,
        shutdown_dates: Mapping[str, str] | None = None,
        background_seconds: float = 0.0,
        models_status: int = 200,
        strict: bool = True,
        like: str | None = None,
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
        if model is not None and not callable(getattr(model, "respond", None)):
            raise wrong_kind("model", "an object with a method `respond`", model)
        if not callable(clock):
            raise wrong_kind("clock", "a function that returns seconds", clock)
        likeness = None if like is None else Likeness.read(like)
        self._port = port
        self._log = RequestLog()
        self._faults = FaultQueue(faults)
        self._model = ScriptableModel(DemoModel() if model is None else model)
        self._exchanges = ExchangeQueue()
        self._responder = Responder(
            model=self._model,
            models=served,
            strict=strict and (likeness is None or likeness.table.get("strict", False)),
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
            like=likeness,
            replay=ReplayQueue(read_recordings(replay)),
            exchanges=self._exchanges,
            faults=self._faults,
            log=self._log,
        )
        self._running: tuple[Api, LoopbackServer] | None = None

    @property
    def base_url(self) -> str:
        """Return the URL to give to a client, `http://127.0.0.1:PORT/v1`.

        Raises:
            StartError: If the server does not run.
        """
        if self._running is None:
            raise StartError("the simulator runs only inside its `with` block", port=self._port)
        _, server = self._running
        return server.base_url

    @property
    def requests(self) -> list[RecordedRequest]:
        """Return the requests so far, in the order of arrival; if there are more than 10,000, only the newest."""
        return self._log.snapshot()

    @property
    def background(self) -> BackgroundCounts:
        """Return the number of background responses so far, by their state according to `clock`."""
        return self._responder.store.count_background(self._responder.clock())

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables that point OpenAI's client, and many others, at this server.

        Raises:
            StartError: If the server does not run.
        """
        return {"OPENAI_API_KEY": SIMULATOR_KEY, "OPENAI_BASE_URL": self.base_url}

    def add_fault(self, fault: Fault | str | None) -> None:
        """Put a fault, or the one that a text describes, at the end of the queue; with `times=None` it hits every request from now on.

        Raises:
            FaultError: If the text describes no fault.
            TypeError: If it is not a fault.
        """
        self._faults.add(fault)

    def add_reply(self, *items: TurnItem | str) -> None:
        """Queue the answer to one request; once a reply has been added, nothing but replies answers.

        Args:
            items: The output items of one response, in order; a text is a message.

        Raises:
            TypeError: If something else is among them.
        """
        self._model.add([Text(text=item) if isinstance(item, str) else item for item in items])

    def replay(self, folder: str | Path, *, report: Callable[[str], object] | None = None) -> None:
        """Answer from the exchanges in a folder from now on, each once, and refuse every other request.

        A request gets the answer of the first unused exchange with the same method, path and body. If there is none, it is refused
        (status 400) with its first difference from the first unused exchange.

        Args:
            folder: A folder that `gpt5-simulator record` or an `ExchangeRecorder` has written.
            report: Called with each difference as it occurs, in the server's thread.

        Raises:
            RecordingError: If the folder is missing or holds no exchange.
        """
        self._exchanges.load(Path(folder), report)

    def assert_used(self) -> None:
        """Check that there was a request, that every reply, fault and exchange was used, and that no request differed from its recording.

        Raises:
            AssertionError: If not; it says what is left over, and where requests differed.
        """
        __tracebackhide__ = True  # pytest then shows the test's own line
        left = self._model.unused
        faults = self._faults.find_unused()
        wrong = [
            *([] if self.requests else ["no request came"]),
            *([f"replies not used: {left}"] if left else []),
            *([f"faults not used: {', '.join(faults)}"] if faults else []),
            *self._exchanges.find_faults(),
        ]
        if wrong:
            raise AssertionError("\n".join(["the simulator was not used as planned:", *wrong]))

    def __enter__(self) -> Self:
        """Start the server.

        Raises:
            StartError: If the port is taken or the server does not start.
        """
        api = self._new_api()
        server = LoopbackServer(
            api.build_app(), port=self._port, stopping=api.stopping, sockets=SocketProtocol
        )
        self._running = (api, server)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server; replies that are still being sent end."""
        if self._running is not None:
            api, server = self._running
            server.stop()
            api.workers.shutdown(wait=False, cancel_futures=True)
            self._running = None


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
