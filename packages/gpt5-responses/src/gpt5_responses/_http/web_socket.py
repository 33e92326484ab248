"""WebSockets: the handshake, and frames over the network stream that the HTTP library leaves to whoever has upgraded a connection.

The frames are wsproto's. Nothing reads between two responses, so that no thread and no task belongs to a socket.

Source: RFC 6455; docs/contracts/responses-scheme.md, D35 and D37 to D39.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Literal

import httpcore
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
from wsproto.utilities import generate_accept_token, generate_nonce

from gpt5_responses._errors import UnexpectedResponseError

from .bodies import MOST_WHOLE_BYTES, TOO_LARGE
from .client import FAILURES, HttpAnswer, HttpClient, Steps, aplay, play
from .connection_errors import SocketError


TOO_BIG = 1009
"""The close code of a server that takes no message as large as the last one."""

_UPGRADE_SECONDS = 10.0  # our choice: who speaks WebSocket says so at once
_MOST_SECONDS = 50 * 60.0  # OpenAI closes a connection after 60 minutes
_READ_BYTES = 64 * 1024
_LOOK_SECONDS = 0.001  # for what is there already; 0 would not wait, and fail in another way
_MOST_LOOKS = 100
_REPLY_SECONDS = 1.0
_SWITCHED = 101
_UNAUTHORIZED = 401
_MESSAGES = (TextMessage, BytesMessage)
_NOTHING = b":\n\n"  # a comment of an event stream
# JSON has line breaks only between its values.
_BLANKS = bytes.maketrans(b"\r\n", b"  ")


class NoSocketError(Exception):
    """A server that speaks no WebSocket here and now.

    Attributes:
        why: What happened instead, as the end of a sentence.
        holds_for: For how long that is to be expected: for this request, for the session, or for all of the connection.
    """

    def __init__(
        self, why: str, *, holds_for: Literal["request", "session", "connection"] = "connection"
    ) -> None:
        super().__init__(why)
        self.why = why
        self.holds_for = holds_for


class WebSocket:
    """An open WebSocket.

    Args:
        answer: The answer that has agreed to it.

    Attributes:
        answer: As given.
        read_network: Reads from the network; replaced for a while by a caller that has its own way of waiting.
        read_plainly: Reads from the network, whatever `read_network` is.
        ended: Why no message comes any more; None while some may.
        is_left: Whether its session was closed while somebody read from it.
    """

    def __init__(self, answer: HttpAnswer) -> None:
        self.answer = answer
        self._stream = answer.stream
        self.read_network = self.read_plainly = self._stream.read
        self.ended: Exception | None = None
        self.is_left = False
        self._frames = Connection(ConnectionType.CLIENT)
        self._begun = bytearray()  # of a message
        self._replies = b""
        self._old_at = time.monotonic() + _MOST_SECONDS

    @property
    def is_old(self) -> bool:
        """Whether the server will soon close it for its age."""
        return time.monotonic() >= self._old_at

    def get_extra_info(self, info: str) -> Any:
        """Return a fact about the network stream."""
        return self._stream.get_extra_info(info)

    def send(self, text: str, seconds: float) -> Steps[None]:
        """Send a message, within some seconds."""
        yield self._stream.write(self._frames.send(TextMessage(data=text)), seconds)

    def receive(self, seconds: float | None) -> Steps[list[bytes]]:
        """Return the messages that the next bytes complete, often none.

        Args:
            seconds: How long to wait for those bytes; None for ever.

        Raises:
            SocketError: If none can come any more.
            UnexpectedResponseError: If one is too large.
        """
        if self.ended is not None:
            raise self.ended
        messages = self._take((yield self.read_network(_READ_BYTES, seconds)))
        yield from self._reply()
        return messages

    def look(self, client: HttpClient) -> Steps[None]:
        """Take what has arrived since the last response, without waiting; messages among it are answers to nothing."""
        self._leave_to_others(client)
        for _ in range(_MOST_LOOKS):
            if self.ended is not None or not self.get_extra_info("is_readable"):
                return
            try:
                self._take((yield self._stream.read(_READ_BYTES, _LOOK_SECONDS)))
            except httpcore.ReadTimeout:  # such as a part of TLS that holds no data
                return
            except FAILURES:
                self._take(b"")
            yield from self._reply()
        self.ended = SocketError("the server sends data that was not requested")

    def close(self, client: HttpClient) -> Steps[None]:
        """Say goodbye, if anybody is there, and close the connection."""
        self._leave_to_others(client)
        if self.ended is None:
            self.ended = SocketError("it was closed here")
            self._replies += self._frames.send(CloseConnection(code=1000))
        try:
            yield from self._reply()
        finally:
            yield from client.drop(self.answer)

    def _leave_to_others(self, client: HttpClient) -> None:
        if not client.is_own(self.answer.network):
            self.ended, self._replies = SocketError("it is another process's, or event loop's"), b""

    def _reply(self) -> Steps[None]:
        """Write what frames have to be answered with. Whether that arrives shows when something is read."""
        if self._replies:
            replies, self._replies = self._replies, b""
            with suppress(*FAILURES):
                yield self._stream.write(replies, _REPLY_SECONDS)

    def _take(self, data: bytes) -> list[bytes]:
        if not data:
            self.ended = SocketError("the connection broke off")
            return []
        self._frames.receive_data(data)
        messages: list[bytes] = []
        for event in self._frames.events():
            if isinstance(event, _MESSAGES):
                messages += self._take_piece(event)
            elif isinstance(event, CloseConnection | Ping):
                if isinstance(event, CloseConnection):
                    # wsproto reports a frame that it cannot read as if the server had closed.
                    is_broken = self._frames.state is ConnectionState.OPEN
                    self.ended = _closed(int(event.code), is_broken=is_broken)
                self._replies += self._frames.send(event.response())
            if self.ended is not None:
                break
        return messages

    def _take_piece(self, piece: TextMessage | BytesMessage) -> Iterator[bytes]:
        data = piece.data
        self._begun += data.encode() if isinstance(data, str) else data
        if len(self._begun) > MOST_WHOLE_BYTES:
            self.ended = UnexpectedResponseError(TOO_LARGE.format(MOST_WHOLE_BYTES // 1024**2))
        elif piece.message_finished:
            yield bytes(self._begun)
            self._begun.clear()


class SocketResponse:
    """The messages of one response, in the form of an event stream, as the body of an HTTP answer.

    Args:
        socket: The WebSocket.
        begun: The messages that have been read already.
        let_go: Gives the socket back, with what has read the response.
        seconds: How long a silence may last.

    Attributes:
        answer: The answer that it is the body of.
    """

    def __init__(
        self,
        socket: WebSocket,
        begun: list[bytes],
        let_go: Callable[[Any], Steps[None]],
        seconds: float,
    ) -> None:
        self.extensions = {"network_stream": socket}
        self._socket, self._begun, self._let_go, self._seconds = socket, begun, let_go, seconds
        of = socket.answer
        headers = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        self.answer = HttpAnswer(
            *(200, headers, self, of.connection, of.network, of.client_request_id),
            is_by_socket=True,
        )

    def iter_stream(self) -> Iterator[bytes]:
        """Yield the messages as they arrive, and a comment for what is none."""
        yield _as_stream(self._begun)
        while not self.answer.reader.is_over:
            yield _as_stream(play(self._socket.receive(self._seconds)))

    async def aiter_stream(self) -> AsyncIterator[bytes]:
        """Yield them as `iter_stream` does."""
        yield _as_stream(self._begun)
        while not self.answer.reader.is_over:
            yield _as_stream(await aplay(self._socket.receive(self._seconds)))

    def close(self) -> None:
        """Give the socket back."""
        play(self._let_go(self.answer.reader))

    async def aclose(self) -> None:
        """Give the socket back."""
        await aplay(self._let_go(self.answer.reader))


def open_socket(client: HttpClient, path: str, until: float) -> Steps[WebSocket]:
    """Open a WebSocket.

    Args:
        client: The client of the connection.
        path: The path below the base URL.
        until: When the call is over, by `time.monotonic`.

    Raises:
        ErrorAnswer: If the server does not accept the key.
        NoAnswerError: If it does not answer in 10 seconds, or cannot be reached.
        NoSocketError: If it answers anything else but that it agrees.
        ResponsesError: If the server's address leads to a metadata service, or the call takes too long in all.
    """
    nonce = generate_nonce()
    asked = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": nonce.decode(),
    }
    answer = yield from client.upgrade(path, asked, seconds=_UPGRADE_SECONDS, until=until)
    status = answer.status_code
    if status == _UNAUTHORIZED:
        raise (yield from client.refusal(answer, until))
    told = answer.headers.get("sec-websocket-accept", "").encode()
    if status != _SWITCHED:
        why = f"it answered with the status {status}"
    elif told != generate_accept_token(nonce) or "sec-websocket-extensions" in answer.headers:
        why = "it accepted an option that was not requested"
    else:
        return WebSocket(answer)
    yield from client.drop(answer)
    raise NoSocketError(why)


def _closed(code: int, *, is_broken: bool) -> SocketError:
    if is_broken:
        return SocketError("the server sent a frame that breaks the WebSocket protocol")
    return SocketError(f"the server closed the WebSocket with the code {code}", code)


def _as_stream(messages: Iterable[bytes]) -> bytes:
    parts = (b"data: %b\n\n" % message.translate(_BLANKS) for message in messages)
    return b"".join(parts) or _NOTHING
