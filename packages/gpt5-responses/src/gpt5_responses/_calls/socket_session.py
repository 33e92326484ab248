"""Sessions: the requests of one run over one WebSocket, each with what is new alone.

The server remembers its newest response for as long as the socket is open. Whenever that is not sure to be what the
next request continues from, the request is whole, so that any other connection, and HTTP, may carry it as well.

Source: docs/contracts/responses-scheme.md, D35 and D37 to D39; docs/decisions/0037-sessions.md.
"""

import json
import logging
import marshal
import re
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import httpcore

from gpt5_messages import (
    Completion,
    ResponseFailure,
    StreamDecoder,
    mark_open_reasoning,
    parse_object,
    replayable_items,
)
from gpt5_payloads import wire_item
from gpt5_responses._http.client import FAILURES, UNSENT, HttpAnswer, Steps
from gpt5_responses._http.connection_errors import NoAnswerError, SocketError
from gpt5_responses._http.error_answer import ErrorAnswer
from gpt5_responses._http.request_body import RequestBody, write_body
from gpt5_responses._http.web_socket import (
    TOO_BIG,
    NoSocketError,
    SocketResponse,
    WebSocket,
    open_socket,
)
from stream_text import GrowingMap

from .fallback_requests import FallbackClient


_LOGGER = logging.getLogger("gpt5_responses")
_PATH = "/responses"
_NO_SOCKET_SECONDS = 600.0
_REFUSED = 400  # what an error without a status would have
_NOT_FOUND: Final = "previous_response_not_found"
_LIMIT: Final = "websocket_connection_limit_reached"
# Other words for it, and for what a server that has forgotten it, or keeps nothing, refuses.
_OF_PARENT = re.compile(r"(?i)\bprevious[ _]response|\bno tool (?:call|output) found\b")
# Ends after which a server says no more of a response.
_ENDS = ("response.completed", "response.incomplete", "response.done")


@dataclass(frozen=True, slots=True)
class _Chain:
    """The response that a socket's server remembers.

    Attributes:
        response_id: Its id.
        settings: The request that it answers, without the input.
        marks: That input, and behind it the response as it goes back, each item by its mark.
    """

    response_id: str
    settings: Mapping[str, Any]
    marks: list[object]

    @classmethod
    def of(
        cls,
        body: Mapping[str, Any],
        marks: list[object],
        completion: Completion,
        client: FallbackClient,
    ) -> Self | None:
        """Return what a server remembers of a response; None if that is nothing to continue from."""
        if completion.status != "completed" or not completion.response_id:
            return None
        model = str(body.get("model"))
        made_by = client.connection.reasoning_mark(model)
        made = replayable_items(mark_open_reasoning(completion.items, made_by), made_by=made_by)
        said = client.readable({"input": [wire_item(item) for item in made]}, model)["input"]
        return cls(completion.response_id, _settings(body), [*marks, *map(_mark, said)])

    def begins(self, body: Mapping[str, Any], marks: list[object]) -> bool:
        """Return whether a request continues from the response."""
        known = len(self.marks)
        is_longer = len(marks) > known and marks[:known] == self.marks
        return is_longer and _settings(body) == self.settings


class SocketSession:
    """The socket of one run. It opens with the first request."""

    def __init__(self) -> None:
        self._is_left = False
        self._socket: WebSocket | None = None
        self._chain: _Chain | None = None
        self._marks: GrowingMap[Any, object] = GrowingMap()
        self._goes_on = True  # whether the server takes requests that are not whole
        self._is_idle = False  # whether nothing of a response is to come
        self._in_use = threading.Lock()  # from before a request until its response is closed

    @property
    def transport(self) -> Literal["http", "websocket"]:
        """What the next request goes by, as far as is known."""
        return "http" if self._is_left else "websocket"

    def send(
        self,
        client: FallbackClient,
        body: Mapping[str, Any],
        by_http: Callable[[], Steps[HttpAnswer]],
    ) -> Steps[HttpAnswer]:
        """Send a request, and return the answer once its first event is there.

        What cannot go by a socket goes by HTTP: what is made in the background or not streamed, and a request while another one is answered.

        Args:
            client: The client of the connection.
            body: The whole body.
            by_http: Sends it by HTTP.

        Raises:
            ErrorAnswer: If the server answers with an error status.
            NoAnswerError: If no answer comes.
            ResponsesError: If the server's address leads to a metadata service, or the call takes too long in all.
        """
        self._is_left |= time.monotonic() < client.no_socket_until
        is_fit = body.get("stream") is True and not (self._is_left or body.get("background"))
        if not (is_fit and self._in_use.acquire(blocking=False)):
            return (yield from by_http())
        until, answer = client.until(), None

        def attempt(*, may_fail: bool) -> Steps[HttpAnswer]:
            del may_fail  # What may be tried again here is an answer, with an error status.
            return (yield from self._attempt(client, body, until))

        try:
            answer = yield from client.try_often(attempt, until)
        except NoSocketError as error:
            self._leave(client, error)
        finally:
            if answer is None:
                self._in_use.release()
        return answer or (yield from by_http())

    def close(self, client: FallbackClient) -> Steps[None]:
        """Close the socket. A response that is being read breaks off; a later request opens another socket."""
        if self._in_use.acquire(blocking=False):
            try:
                yield from self._drop(client)
            finally:
                self._in_use.release()
        elif (socket := self._socket) is not None:
            socket.is_left = True
            client.end_reading(socket.answer)  # Whoever reads it closes it.

    def _leave(self, client: FallbackClient, error: NoSocketError) -> None:
        """Go on by HTTP, for as long as the reason holds."""
        if error.holds_for == "request":
            return
        self._is_left = True
        if error.holds_for == "connection":
            client.no_socket_until = time.monotonic() + _NO_SOCKET_SECONDS
        host = client.connection.host
        _LOGGER.warning("%s: requests go over HTTP instead of a WebSocket: %s", host, error.why)

    def _attempt(
        self, client: FallbackClient, body: Mapping[str, Any], until: float
    ) -> Steps[HttpAnswer]:
        """Send a request, and once more where the server has said nothing to it, or does not know what it goes on from."""
        why = ""
        for is_last in (False, True):
            socket = yield from self._open(client, until)
            marks = self._marks.map(_mark, body["input"])
            known = self._chain if self._goes_on else None
            chain = known if known and known.begins(body, marks) else None
            content = write_body(_frame(body, chain), skip=len(chain.marks) if chain else 0)
            self._chain, self._is_idle = None, False
            own_id, kind = socket.answer.client_request_id, "going on" if chain else "whole"
            _LOGGER.debug("The request %s by WebSocket: %s, %d bytes", own_id, kind, len(content))
            try:
                begun, event = yield from self._ask(client, socket, content, until)
            except SocketError as error:
                if socket.is_left:  # by who wants no answer: the response ends before it has begun
                    return self._answer(client, socket, [], (body, marks))
                yield from self._drop(client)
                if error.code == TOO_BIG:
                    raise NoSocketError("the request is too large", holds_for="session") from error
                why = error.why
            except (Exception, CancelledError):  # Whatever comes of the request, nobody reads it.
                yield from self._drop(client)
                raise
            else:
                failure = _read_refusal(event, goes_on=chain is not None)
                if failure is None:
                    return self._answer(client, socket, begun, (body, marks))
                is_unknown = chain is not None and _is_of_parent(failure)
                self._is_idle = is_unknown
                self._goes_on &= not is_unknown or failure.code == _NOT_FOUND
                if not is_unknown:
                    yield from self._drop(client)
                if is_last or not (is_unknown or failure.code == _LIMIT):
                    raise _to_answer(failure, socket)
                why = str(failure.code)
            _LOGGER.info("The request %s is sent again, whole: %s", own_id, why)
        raise NoSocketError(why)

    def _open(self, client: FallbackClient, until: float) -> Steps[WebSocket]:
        """Return the open socket, or a new one."""
        socket = self._socket
        if socket is not None:
            yield from socket.look(client)
            if self._is_idle and not socket.is_old and socket.ended is None:
                return socket
            why = socket.ended or "it is too old, or was left in the middle of a response"
            _LOGGER.info("A new WebSocket replaces another: %s", why)
            yield from self._drop(client)
        try:
            self._socket = socket = yield from open_socket(client, _PATH, until)
        except NoAnswerError as error:
            is_reached = not isinstance(error.__cause__, UNSENT)
            holds_for = "connection" if is_reached else "request"
            raise NoSocketError("it did not answer", holds_for=holds_for) from error
        return socket

    def _ask(
        self, client: FallbackClient, socket: WebSocket, content: RequestBody, until: float
    ) -> Steps[tuple[list[bytes], Mapping[str, Any]]]:
        """Send a message; return the messages up to the first event of its response, and that event."""
        own_id, seconds = socket.answer.client_request_id, client.connection.try_seconds
        begun: list[bytes] = []
        silent_at = min(time.monotonic() + seconds, until)
        try:
            yield from socket.send(b"".join(content).decode(), seconds)
            while True:
                # A timeout of 0 would not wait, and fail in another way.
                left = max(silent_at - time.monotonic(), 0.001)
                messages = yield from socket.receive(left)
                begun += messages
                if (event := next(filter(None, map(_read_event, messages)), None)) is not None:
                    return begun, event
        except httpcore.ReadTimeout as error:
            client.validate_time(until)
            is_proxied = socket.answer.network.is_proxied
            raise NoAnswerError(is_proxied=is_proxied, own_id=own_id, is_by_socket=True) from error
        except SocketError:
            raise
        except FAILURES as error:
            raise SocketError("the connection broke off") from error

    def _answer(
        self,
        client: FallbackClient,
        socket: WebSocket,
        begun: list[bytes],
        asked: tuple[Mapping[str, Any], list[object]],
    ) -> HttpAnswer:
        """Return the answer whose first messages are there."""

        def let_go(reader: Any) -> Steps[None]:
            # A response that has failed, or is not over, may be followed by more of it.
            try:
                is_over = socket.ended is None and reader.last_event_type in _ENDS
                if is_over and socket is self._socket:
                    self._is_idle = True
                    self._chain = _Chain.of(*asked, reader.completion, client)
                else:
                    yield from self._drop(client)
            finally:
                self._in_use.release()

        return SocketResponse(socket, begun, let_go, client.connection.try_seconds).answer

    def _drop(self, client: FallbackClient) -> Steps[None]:
        """Close the socket, if there is one."""
        socket, self._socket, self._chain = self._socket, None, None
        # Not `GrowingMap[Any, object]`, which imports something while the interpreter may be ending.
        self._marks = GrowingMap()
        if socket is not None:
            yield from socket.close(client)


def _mark(item: Any) -> object:
    """Return what is equal only for an item that says the same. Items share what the caller may change in place, so they cannot be compared later."""
    # Version 2 of marshal writes equal values alike. What it cannot write is like nothing else, and goes out whole.
    with suppress(AttributeError, TypeError, ValueError):
        return hash(marshal.dumps(sorted(item.items()), 2))
    return object()


def _settings(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "input"}


def _frame(body: Mapping[str, Any], chain: _Chain | None) -> dict[str, Any]:
    """Return the message that asks for a response."""
    kept = {name: value for name, value in body.items() if name not in ("stream", "background")}
    before = {"previous_response_id": chain.response_id} if chain else {}
    return {"type": "response.create", **kept, **before}


def _read_event(message: bytes) -> Mapping[str, Any] | None:
    """Return an event of a response; None for what is said beside it, such as `[DONE]` or `codex.rate_limits`."""
    event = parse_object(message.decode(errors="replace"))
    room, dot, _ = str(event and event.get("type")).partition(".")
    return event if event and (room == "response" or not dot) else None


def _read_refusal(event: Mapping[str, Any], *, goes_on: bool) -> ResponseFailure | None:
    """Return the failure in an event that refuses a request as an error status does; None where the event belongs to a response."""
    if event.get("type") not in ("error", "response.failed"):
        return None
    told = StreamDecoder().feed(dict(event))
    failure = next((one for one in told if isinstance(one, ResponseFailure)), None)
    if failure is None or (goes_on and _is_of_parent(failure)):
        return failure
    is_refusal = failure.status is not None or failure.code in (_NOT_FOUND, _LIMIT)
    return failure if is_refusal and event.get("type") == "error" else None


def _is_of_parent(failure: ResponseFailure) -> bool:
    """Return whether it is what a request goes on from that a server refuses."""
    is_named = failure.code == _NOT_FOUND or failure.param == "previous_response_id"
    return is_named or _OF_PARENT.search(failure.message) is not None


def _to_answer(failure: ResponseFailure, socket: WebSocket) -> ErrorAnswer:
    """Return a refusal as the answer that HTTP would have brought."""
    told = {"message": failure.message, "code": failure.code, "param": failure.param}
    body = json.dumps({"error": told}).encode()
    answer = ErrorAnswer(failure.status or _REFUSED, failure.headers, body)
    answer.own_id, answer.is_by_socket = socket.answer.client_request_id, True
    return answer
