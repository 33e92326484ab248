"""One response, read by blocking calls; its request is sent when it is first read."""

import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from gpt5_messages import Completion, StreamEvent
from gpt5_responses._calls.fallback_requests import Whole
from gpt5_responses._calls.left_out import Fallback
from gpt5_responses._calls.transport import TRANSPORT, SentRequest, Transport
from gpt5_responses._errors import ResponsesError
from gpt5_responses._settings.connection import Connection

from .body_reads import iter_batches
from .deadline import within
from .reader import ResponseReader, StreamFacts
from .time_limits import TimeLimits
from .waiting import Pause


if TYPE_CHECKING:
    from gpt5_responses._calls.socket_session import SocketSession


class ResponseStream(StreamFacts):
    """The events of one response. The request is sent when the first event is read, or by `open`.

    Opening takes as long as the whole answer if the server does not stream, and longer if it has to be asked again.
    Reading in another thread spares the caller that time, too.

    Use it as a context manager, or call `close`; a stream that has been read to its end is closed. Iterating raises a `ResponsesError` when the
    server cannot be reached, refuses the request or reports a failure, or when the connection breaks, after every event that came before.

    Args:
        connection: Where to send the request.
        request: The request body, as `gpt5_payloads.build_request` makes it.
        transport: The transport to send it through; the process's own by default.
        flex_fallback: Whether a request for the flex tier that finds no capacity there (429) is sent again for the default one, which costs more;
            `left_out` then says `without_flex`.
        whole: Returns the request's input without compactions, and is called if the server refuses them; `left_out` then says
            `without_compaction`. Without it the refusal stands, because nobody else knows what a compaction replaces.
        session: The session whose socket it goes by; None for HTTP.

    Attributes:
        left_out: The parts that the server refused, left out of the request.
    """

    def __init__(  # noqa: PLR0913 - settings, each with a default
        self,
        connection: Connection,
        request: Mapping[str, Any],
        *,
        transport: Transport = TRANSPORT,
        flex_fallback: bool = False,
        whole: Whole | None = None,
        session: "SocketSession | None" = None,
    ) -> None:
        self._connection = connection
        self._session = session
        self._request = request
        self._whole = whole
        self._flex_fallback = flex_fallback
        self._transport = transport
        model = str(request.get("model"))
        self._reader = ResponseReader(request, connection)
        self._made_by = connection.reasoning_mark(model)
        self._limits = TimeLimits(connection)
        self._lock = threading.Lock()  # `close` may come from another thread while this opens
        self._reading = threading.RLock()  # held while the connection is read from
        self._sent: SentRequest | None = None
        self._is_closed = False
        self._events: Iterator[StreamEvent] | None = None
        self.left_out: tuple[Fallback, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[StreamEvent]:
        # Made only when needed: it refers to the stream, which would wait for the garbage collector.
        if self._events is None:
            self._events = chain.from_iterable(self.batches())
        return self._events

    def open(self) -> None:
        """Send the request, unless it has been sent or the stream is closed.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or answers with something else.
        """
        if self._sent is not None or self._is_closed:
            return
        sent = self._within(self._send, drop=lambda sent: sent.close())
        if not self._hold(sent):
            sent.close()
            return
        self.left_out = sent.left_out
        try:
            self._reader.begin_answer(sent.answer)
        except ResponsesError as error:
            self.close()
            self._name(error)
            raise

    def close(self) -> None:
        """Close the connection, even while the response is arriving or the connection is still being opened."""
        # Marked first, under the lock, so that `open` closes a request that is just being sent.
        with self._lock:
            self._is_closed, sent = True, self._sent
        if sent is not None:
            sent.wake()
        self._release()

    def _send(self) -> SentRequest:
        return self._transport.send(
            self._connection,
            self._request,
            flex_fallback=self._flex_fallback,
            whole=self._whole,
            session=self._session,
        )

    def _within[T](self, do: Callable[[], T], *, drop: Callable[[T], object] = lambda _: None) -> T:
        """Call a function within the time that is left; what comes too late is dropped."""
        try:
            return within(self._limits.seconds_left, do, drop=drop)
        except TimeoutError:
            raise self._took_too_long() from None

    def _hold(self, sent: SentRequest) -> bool:
        """Keep the answer being read, so that `close` from another thread finds it; return False if the stream is closed."""
        with self._lock:
            if not self._is_closed:
                self._sent = sent
            return not self._is_closed

    def batches(self, pause: Pause | None = None) -> Iterator[list[StreamEvent]]:
        """Yield the events in lists, each with what has arrived together; some are empty.

        Args:
            pause: Called when everything that has arrived has been yielded; returns whether to look once more before waiting.

        Raises:
            ResponsesError: If iterating over the stream would raise it.
        """
        self.open()
        sent = self._sent
        if sent is None or self._is_closed:
            return
        try:
            yield from self._read(iter_batches(sent.answer, self._reader, self._limits, pause))
        except ResponsesError as error:
            self._name(error)
            raise
        finally:
            self.close()

    def _read(self, batches: Generator[list[StreamEvent]]) -> Iterator[list[StreamEvent]]:
        """Yield an answer's batches; if another thread closes the stream meanwhile, this reader closes the connection."""
        with closing(batches):
            while True:
                with self._reading:
                    batch = next(batches, None)
                if batch is None:
                    return
                if self._is_closed:
                    self._release()
                yield batch

    def _release(self) -> None:
        """Close the connection, unless another thread is reading from it: that one then closes it.

        The number of a closed socket could serve the next one at once.
        """
        if not self._reading.acquire(blocking=False):
            return
        try:
            with self._lock:
                sent, self._sent = self._sent, None
            if sent is not None:
                sent.close()
        finally:
            self._reading.release()


def open_stream(
    connection: Connection,
    request: Mapping[str, Any],
    *,
    transport: Transport = TRANSPORT,
    flex_fallback: bool = False,
) -> ResponseStream:
    """Send a request and return its response as a stream of events.

    Retries, with back-off and as long as `retry-after` says, happen before the stream has begun and never after. A response
    that the server does not stream comes as the same events, all at once.

    Args:
        connection: Where to send it.
        request: The request body, as `gpt5_payloads.build_request` makes it.
        transport: The transport to send it through; the process's own by default.
        flex_fallback: As for `ResponseStream`.

    Raises:
        ResponsesError: If the server cannot be reached, refuses the request, or answers with something else.
    """
    stream = ResponseStream(connection, request, transport=transport, flex_fallback=flex_fallback)
    stream.open()
    return stream


def create(
    connection: Connection,
    request: Mapping[str, Any],
    *,
    transport: Transport = TRANSPORT,
    flex_fallback: bool = False,
) -> Completion:
    """Send a request and return the whole answer, streamed or not.

    Args:
        connection: Where to send it.
        request: The request body, as `gpt5_payloads.build_request` makes it.
        transport: The transport to send it through; the process's own by default.
        flex_fallback: As for `ResponseStream`.

    Raises:
        ResponsesError: If the server cannot be reached, refuses the request, or fails underway.
    """
    with open_stream(
        connection, request, transport=transport, flex_fallback=flex_fallback
    ) as stream:
        for _ in stream:
            pass
        return stream.completion
