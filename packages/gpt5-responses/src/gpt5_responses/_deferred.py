"""A response that is opened by whoever reads it first.

Opening takes as long as the whole answer where a server does not stream, and longer where it has to be tried again. Read through `pace`,
that happens in the reader's thread, and the silence meanwhile is broken like any other.
"""

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from gpt5_messages import Completion, StreamDecoder, StreamEvent

from ._connection import Connection
from ._stream import ResponseStream, open_stream
from ._transport import TRANSPORT, Transport


class DeferredStream:
    """Send a request when the first event is asked for, and iterate over the events of its response.

    Iterating raises what `open_stream` and the iteration over its stream raise. It ends with the connection closed in any case.

    Args:
        connection: Where to send it.
        request: The request body, as `gpt5_payloads.build_request` makes it.
        transport: Who sends it; the process's own by default.
    """

    def __init__(
        self,
        connection: Connection,
        request: Mapping[str, Any],
        *,
        transport: Transport = TRANSPORT,
    ) -> None:
        self._connection = connection
        self._request = request
        self._transport = transport
        self._lock = threading.Lock()
        self._stream: ResponseStream | None = None
        self._is_closed = False

    def __iter__(self) -> Iterator[StreamEvent]:
        with open_stream(self._connection, self._request, transport=self._transport) as stream:
            with self._lock:
                self._stream = stream
                is_closed = self._is_closed
            if not is_closed:
                yield from stream

    def close(self) -> None:
        """Close the connection, also while the response is still coming, or as soon as it has been opened."""
        with self._lock:
            self._is_closed = True
            stream = self._stream
        if stream is not None:
            stream.close()

    @property
    def request_id(self) -> str | None:
        """The server's id of the request, once it has answered."""
        return self._stream.request_id if self._stream else None

    @property
    def event_count(self) -> int:
        """How many events the server has streamed so far."""
        return self._stream.event_count if self._stream else 0

    @property
    def last_event_type(self) -> str | None:
        """The type of the last event that the server has streamed."""
        return self._stream.last_event_type if self._stream else None

    @property
    def completion(self) -> Completion:
        """What the response has said so far, or in all once the events have been read."""
        return self._stream.completion if self._stream else StreamDecoder().completion
