"""One HTTP answer, read without I/O: bytes in, stream events out, errors where they belong in the order."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

from gpt5_messages import (
    Completion,
    ResponseFailure,
    SSEDecoder,
    StreamDecoder,
    StreamEvent,
    find_protocol,
    is_error,
    mark_open_reasoning,
    parse_object,
    protocol_name,
    read_error,
)
from gpt5_responses._errors import (
    ConnectionTimeoutError,
    ResponsesError,
    UnexpectedResponseError,
)
from gpt5_responses._http.bodies import MOST_WHOLE_BYTES, TOO_LARGE, Unpacker
from gpt5_responses._http.client import HttpAnswer
from gpt5_responses._http.error_messages import (
    build_error,
    from_event,
    instead,
    name_request,
    short_fact,
)
from gpt5_responses._pricing import FindPrice, with_price
from gpt5_responses._settings.connection import Connection
from stream_text import InvalidJsonError, is_list, is_object, parse_json

from .time_limits import TimeLimits


_TERMINAL_TYPES = {
    "incomplete": "response.incomplete",
    "failed": "response.failed",
    "cancelled": "response.failed",
}
# Every response has one of them, however little a gateway fills in, unless it reports a failure.
_RESPONSE_FIELDS = ("output", "status")
_MAX_BYTES = 128 * 1024 * 1024  # far beyond any answer, and within a server's memory
_STREAM_STARTS = (b"data:", b"event:")  # how no JSON begins
_CHECK = "Check base_url."
_NO_RESPONSE = f"The server's answer is not a response of the Responses API. {_CHECK}"


class ResponseReader:
    """The reader of one HTTP answer: an event stream, or a JSON body, which counts as one event.

    Call `begin` with the answer's head, `feed` with each piece of its body, and `close` at the body's end.

    Args:
        request: The body of the request.
        connection: The server that answers. Its failures are best told in our words if it is OpenAI's; an answer of any
            other that used up the limit of the request was cut, whatever it is called.

    Attributes:
        request_id: The server's id of the request, once it has answered.
        client_request_id: Our id of it.
        is_by_socket: Whether the answer comes by a WebSocket.
        event_count: How many events the server has streamed so far.
        last_event_type: The type of the last event that the server has streamed.
        progress: A number that grows with what the server says, but not with bytes that only keep a connection alive.
        is_stream: Whether the answer is an event stream.
        decoder: The decoder, which knows everything that the response has said.
    """

    def __init__(self, request: Mapping[str, Any], connection: Connection) -> None:
        self.request_id: str | None = None
        self.client_request_id: str | None = None
        self.is_by_socket = False
        self.event_count = 0
        self.last_event_type: str | None = None
        self.progress = 0
        self._model = str(request.get("model"))
        self._tool_choice = request.get("tool_choice")
        self._connection = connection
        self._secrets = connection.secrets
        self.is_stream = False
        self._has_begun = False  # whether any event was one of a response
        limit = None if connection.is_openai else request.get("max_output_tokens")
        self.decoder = StreamDecoder(
            may_be_empty=_is_warm_up(request),
            max_output_tokens=limit if isinstance(limit, int) else None,
        )

    def begin(self, *, status_code: int, headers: Mapping[str, str]) -> None:
        """Read the answer's head, and forget the bytes of an earlier answer, but not the events in them.

        Args:
            status_code: The answer's HTTP status.
            headers: The answer's headers, found by names in lower case.

        Raises:
            UnexpectedResponseError: If the content type is neither an event stream's nor JSON's, or the body is packed in an unknown way.
        """
        self._size = 0
        self._unpacker: Unpacker | None = None
        self._frames = SSEDecoder(max_frame_bytes=MOST_WHOLE_BYTES)
        self._body: list[bytes] = []
        self.request_id = short_fact(headers.get("x-request-id"), self._secrets)
        content_type = headers.get("content-type", "").partition(";")[0].strip()
        media_type = content_type.lower()
        if media_type not in ("text/event-stream", "application/json"):
            # As it was sent: a secret in lower case would not be recognised.
            shown = short_fact(content_type, self._secrets)
            found = repr(shown) if shown else "no content type"
            raise self._unexpected(
                f"The server answered with {found} where an event stream or JSON was expected. {_CHECK}",
                status_code=status_code,
            )
        self.is_stream = media_type == "text/event-stream"
        # Hardly any event stream is packed, and an unpacker costs time for every delta.
        if encoding := headers.get("content-encoding"):
            self._unpacker = Unpacker(encoding)

    def begin_answer(self, answer: HttpAnswer) -> None:
        """Read an answer's head as `begin` does, and tell it who reads its body."""
        answer.reader = self
        self.client_request_id, self.is_by_socket = answer.client_request_id, answer.is_by_socket
        self.begin(status_code=answer.status_code, headers=answer.headers)

    @property
    def is_over(self) -> bool:
        """Whether the response has ended, so that nothing more needs to be read."""
        return self.decoder.is_over

    @property
    def completion(self) -> Completion:
        """The response so far."""
        return self.decoder.completion

    @property
    def ignored(self) -> tuple[str, ...]:
        """The fields of the request that the server has passed over without a word."""
        completion = self.completion
        is_over = completion.status == "completed" and not completion.refusal
        has_called = completion.tool_calls or completion.hosted_calls
        is_ignored = is_over and not has_called and _wants_call(self._tool_choice)
        return ("tool_choice",) if is_ignored else ()

    def feed(self, data: bytes) -> Iterator[list[StreamEvent]]:
        """Decode the next bytes and yield the completed events in lists.

        Raises:
            ResponsesError: If the server reports a failure, after the events before it, or if its answer is too large.
        """
        for piece in (data,) if self._unpacker is None else self._unpacker.unpack(data):
            self._size += len(piece)
            max_bytes = _MAX_BYTES if self.is_stream else MOST_WHOLE_BYTES
            if self._size > max_bytes:
                raise self._unexpected(TOO_LARGE.format(max_bytes // 1024**2))
            if self.is_stream:
                yield from self._decode(self._frames.feed(piece))
            else:
                self._take_part(piece)
                if self.is_stream:
                    yield from self._decode(self._frames.feed(piece))

    def _take_part(self, piece: bytes) -> None:
        """Take a part of a body that is no stream, unless its first bytes show that some gateway only calls a stream JSON."""
        is_first, start = not self._body, piece.lstrip()
        self.progress += bool(start)
        self.is_stream = is_first and start.startswith(_STREAM_STARTS)
        if start and not self.is_stream:
            self._body.append(piece)

    def close(self) -> Iterator[list[StreamEvent]]:
        """Yield the events that the end of the body completes.

        Raises:
            ResponsesError: If the server reports a failure, or the body ends too early or is no response.
        """
        if self.is_stream:
            yield from self._decode(self._frames.close())
            if not self.is_over and (problem := self._instead_of_events()):
                raise self._unexpected(problem)
        else:
            yield from self.until_failure(self.decoder.feed(self._whole_response()))
        yield from self.until_failure(self.decoder.close())

    def _decode(self, events: list[dict[str, Any]]) -> Iterator[list[StreamEvent]]:
        self.progress += len(events)
        decoded: list[StreamEvent] = []
        for event in events:
            self.note_event(event)
            decoded += self.decoder.feed(event)
            if self.decoder.is_over:
                break
        return self.until_failure(decoded)

    def note_event(self, event: Mapping[str, Any]) -> None:
        """Count an event that the server has streamed."""
        self.event_count += 1
        self.last_event_type = name = event["type"]
        self._has_begun = self._has_begun or name.startswith("response.")

    def until_failure(self, events: list[StreamEvent]) -> Iterator[list[StreamEvent]]:
        """Yield events as they are, up to one that is a failure.

        Raises:
            ResponsesError: If there is one.
        """
        # A failure ends the response, so there is none to look for before it is over.
        if self.decoder.is_over:
            for index, event in enumerate(events):
                if isinstance(event, ResponseFailure):
                    yield events[:index]
                    raise self._failure(event)
        yield events

    def _failure(self, event: ResponseFailure) -> ResponsesError:
        return from_event(
            event, model=self._model, request_id=self.request_id, connection=self._connection
        )

    def _unexpected(self, message: str, *, status_code: int | None = None) -> ResponsesError:
        return build_error(
            UnexpectedResponseError,
            message,
            secrets=self._secrets,
            status_code=status_code,
            request_id=self.request_id,
        )

    def _instead_of_events(self) -> str | None:
        """Return the error message for a stream without any event of a response; None if it had one."""
        last = self.last_event_type
        if self._has_begun or last == "error":
            return None
        if last is not None:
            shown = short_fact(last, self._secrets)
            return instead(f"events of another kind ({shown!r})" if shown else "events of no type")
        return instead("a stream without any event" if self._size else "an empty stream")

    def _whole_response(self) -> dict[str, Any]:
        """Return the whole body as one event."""
        whole = self.read_whole()
        if (error := find_error(whole)) is not None:
            return {"type": "error", "error": error}
        return {"type": terminal_type(whole), "response": whole}

    def read_whole(self) -> dict[str, Any]:
        """Return the body of an answer that is not a stream.

        Raises:
            ResponsesError: If it is neither a response nor an error.
        """
        body = b"".join(self._body)
        if not body.strip():
            raise self._unexpected(instead("an empty body"))
        text = body.decode(errors="replace").removeprefix("\ufeff")  # JSON has no byte order mark
        whole = parse_object(text)
        if whole is None:
            raise self._unexpected(_instead_of_object(text))
        if find_error(whole) is None and whole.keys().isdisjoint(_RESPONSE_FIELDS):
            protocol = protocol_name(find_protocol(whole))
            raise self._unexpected(instead(protocol) if protocol else _NO_RESPONSE)
        return whole


class StreamFacts:
    """The facts that both kinds of stream report about the response that they read."""

    _reader: ResponseReader
    _limits: TimeLimits
    _find_price: FindPrice | None = None
    _made_by: str | None = None  # the mark of the connection and model, for open reasoning

    @property
    def request_id(self) -> str | None:
        """The server's id of the request, once it has answered."""
        return self._reader.request_id

    @property
    def client_request_id(self) -> str | None:
        """Our id of the request, which went out as `X-Client-Request-Id`, once the server has answered."""
        return self._reader.client_request_id

    @property
    def event_count(self) -> int:
        """How many events the server has streamed so far."""
        return self._reader.event_count

    @property
    def last_event_type(self) -> str | None:
        """The type of the last event that the server has streamed."""
        return self._reader.last_event_type

    @property
    def ignored(self) -> tuple[str, ...]:
        """The fields of the request that the server has passed over without a word: `tool_choice` where a tool had to be called and none was."""
        return self._reader.ignored

    @property
    def completion(self) -> Completion:
        """The response so far, or all of it once the events have been read."""
        completion = with_marks(self._reader.completion, self._made_by)
        return with_price(completion, self._find_price) if self._find_price else completion

    def priced_by(self, find_price: FindPrice) -> Self:
        """Include the cost in the usage of `completion`, and return the stream.

        Args:
            find_price: Returns the price of the model that the response names, or None, as `gpt5_prices.price_of` does.
        """
        self._find_price = find_price
        return self

    def _name(self, error: ResponsesError) -> None:
        """Tell an error which request it is about."""
        reader = self._reader
        name_request(
            error,
            reader.client_request_id,
            is_by_socket=reader.is_by_socket,
            response_id=reader.completion.response_id or "",
        )

    def _took_too_long(self) -> ConnectionTimeoutError:
        return self._limits.took_too_long()


def with_marks(completion: Completion, made_by: str | None) -> Completion:
    """Return a response whose open reasoning is marked with the connection and model that made it."""
    marked = () if made_by is None else mark_open_reasoning(completion.items, made_by)
    return replace(completion, items=marked) if marked else completion


def _wants_call(tool_choice: object) -> bool:
    """Return whether a tool choice demands that a tool is called."""
    if not is_object(tool_choice):
        return tool_choice == "required"
    return tool_choice.get("type") != "allowed_tools" or tool_choice.get("mode") == "required"


def _is_warm_up(request: Mapping[str, Any]) -> bool:
    """Return whether a request asks for no answer, only for its beginning to be remembered."""
    options = request.get("prompt_cache_options")
    prewarms = is_object(options) and options.get("prewarm")
    return request.get("generate") is False or prewarms is True


def terminal_type(response: Mapping[str, Any]) -> str:
    """Return the type of the event that would have ended a response."""
    return _TERMINAL_TYPES.get(str(response.get("status")), "response.completed")


def find_error(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the error in an answer with a success status; None if it has none."""
    status = body.get("status")
    is_other = body.keys().isdisjoint(_RESPONSE_FIELDS) and is_error(body)
    # Some gateways fill in an empty `error`.
    if body.get("error") or "error" in (status, body.get("type")) or is_other:
        return {"message": "no reason was given.", **read_error({**body, "type": None})}
    return None


def _instead_of_object(text: str) -> str:
    """Return the error message for a body that is not a JSON object; some servers stream a JSON array of objects."""
    try:
        value = parse_json(text)
    except InvalidJsonError:
        return instead("something other than JSON")
    first = value[0] if is_list(value) and value else None
    code = find_protocol(first) if is_object(first) else None
    return instead(protocol_name(code) or "JSON that is not an object")
