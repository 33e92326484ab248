"""The recorder: it stands between a client and one real server, and writes their exchanges to a folder."""

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

import h11
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from gpt5_simulator._arguments import validate_kind, validate_number
from gpt5_simulator._errors import ApiError, StartError
from gpt5_simulator._http.delivery import run_while_wanted
from gpt5_simulator._http.exchanges import ExchangeFolder, read_asked
from gpt5_simulator._http.loopback_server import LoopbackServer
from gpt5_simulator._http.redaction import find_credentials, redact_answer
from gpt5_simulator._http.replay import Recording
from gpt5_simulator._http.upstream import Headers, Upstream, UpstreamAnswer
from gpt5_simulator._json import decoded, encode, object_in
from gpt5_simulator._reply import JSON


_BASE = "/v1"
_BODY = "http.response.body"
_REDIRECTS = range(300, 400)
_DATA = re.compile(rb"^data:(.*)$", re.MULTILINE)
_LAST_EVENTS = frozenset({"response.completed", "response.failed", "response.incomplete", "error"})


class ExchangeRecorder:
    """A server on the loopback interface that forwards every request to one other server, and writes each exchange to a folder.

    Answers are passed on as they arrive. What is written contains no `Authorization`, no cookies and no credential fields, in files that
    only their owner can read; the texts of the conversation stay as they are. An exchange is written when its answer has ended.

    Args:
        upstream: The base URL of the other server, such as `https://api.openai.com/v1`: https, or http on a loopback address.
        folder: Where exchanges are written, for `ResponsesSimulator.replay`.
        port: The port; 0 picks a free one.
        report: Called with a sentence for each exchange that could not be written, in the recorder's thread.

    Raises:
        UpstreamError: If the URL is neither.
        RecordingError: If the folder cannot be created.
        TypeError: If an argument is of the wrong kind.
    """

    def __init__(
        self,
        upstream: str,
        folder: str | Path,
        *,
        port: int = 0,
        report: Callable[[str], object] | None = None,
    ) -> None:
        validate_kind("upstream", upstream, (str,), "a URL")
        validate_kind("folder", folder, (str, Path), "a path")
        validate_number("port", port, least=0, is_whole=True)
        self._port = port
        self._recorder = _Recorder(
            upstream=Upstream.of_url(upstream),
            folder=ExchangeFolder(Path(folder)),
            report=report or _ignore,
        )
        self._server: LoopbackServer | None = None

    @property
    def base_url(self) -> str:
        """Return the URL to give to a client instead of the other server's, `http://127.0.0.1:PORT/v1`.

        Raises:
            StartError: If the recorder does not run.
        """
        if self._server is None:
            raise StartError("the recorder runs only inside its `with` block", port=self._port)
        return self._server.base_url

    def __enter__(self) -> Self:
        """Start the server.

        Raises:
            StartError: If the port is taken or the server does not start.
        """
        stopping = self._recorder.stopping
        self._server = LoopbackServer(self._recorder, port=self._port, stopping=stopping)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server; an answer that is still being sent ends, and is not written."""
        if self._server is not None:
            self._server.stop()
            self._server = None


def _ignore(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exchange:
    """A request that is being answered.

    Attributes:
        name: The name of its files.
        request: The request.
        sent: Its body.
    """

    name: str
    request: Request
    sent: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorder:
    """The ASGI application."""

    upstream: Upstream
    folder: ExchangeFolder
    report: Callable[[str], object]
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        sent = await request.body()
        exchange = _Exchange(name=self.folder.next_name(), request=request, sent=sent)
        await run_while_wanted(self._forward(exchange, send), receive, self.stopping)

    async def _forward(self, exchange: _Exchange, send: Send) -> None:
        request = exchange.request
        try:
            target = _below_base(request)
            asking = self.upstream.ask(request.method, target, request.headers.raw, exchange.sent)
            async with asking as answer:
                if answer.status in _REDIRECTS:
                    raise _bad_gateway("redirects, and redirects are not followed")
                # An answer that breaks off has to break off for the client too: without a last message its connection is dropped.
                with suppress(OSError, h11.RemoteProtocolError):
                    await self._pass_on(exchange, answer, send)
        except (ApiError, OSError, h11.RemoteProtocolError) as error:
            is_ours = isinstance(error, ApiError)
            refusal = error if is_ours else _bad_gateway(f"gave no answer ({error})")
            self.report(f"{exchange.name} was not recorded: {refusal.message}")
            headers = [(b"content-type", JSON.encode())]
            await send(_start(refusal.status, headers))
            await send({"type": _BODY, "body": encode(refusal.envelope())})

    async def _pass_on(self, exchange: _Exchange, answer: UpstreamAnswer, send: Send) -> None:
        """Pass an answer on as it comes, and write the exchange before the client sees the end."""
        await send(_start(answer.status, answer.headers))
        taken = bytearray()
        is_whole = False
        try:
            async for piece in answer.pieces:
                taken += piece
                await send({"type": _BODY, "body": piece, "more_body": True})
            is_whole = True
        finally:
            self._keep(exchange, answer, bytes(taken), is_whole=is_whole)
        await send({"type": _BODY, "body": b""})

    def _keep(
        self, exchange: _Exchange, answer: UpstreamAnswer, body: bytes, *, is_whole: bool
    ) -> None:
        """Write an exchange, or report why it cannot be written."""
        is_stream = answer.header(b"content-type").startswith("text/event-stream")
        obstacle = _find_obstacle(answer, body, is_stream=is_stream, is_whole=is_whole)
        if not obstacle:
            try:
                self._write(exchange, answer.status, body, is_stream=is_stream)
            except (OSError, RecursionError) as error:  # the disk, or JSON that nests very deep
                obstacle = str(error)
        if obstacle:
            self.report(f"{exchange.name} was not recorded: {obstacle}")

    def _write(self, exchange: _Exchange, status: int, body: bytes, *, is_stream: bool) -> None:
        credentials = find_credentials(exchange.request.headers.raw)
        recording = Recording(
            name=exchange.name,
            body=redact_answer(body, credentials, is_stream=is_stream),
            is_stream=is_stream,
            status=status,
        )
        self.folder.write(recording, read_asked(exchange.request, exchange.sent))


def _below_base(request: Request) -> str:
    """Return the path below `/v1`, with the query, as it came.

    Raises:
        ApiError: If it is not below it (status 404).
    """
    path: str = request.scope["raw_path"].decode("latin-1")
    if not path.startswith(f"{_BASE}/"):
        raise ApiError(f"Invalid URL ({request.method} {path})", status=HTTPStatus.NOT_FOUND)
    query = request.scope["query_string"].decode("latin-1")
    return path.removeprefix(_BASE) + (f"?{query}" if query else "")


def _bad_gateway(what: str) -> ApiError:
    text = f"The upstream server {what}."
    return ApiError(text, status=HTTPStatus.BAD_GATEWAY, error_type="server_error")


def _start(status: int, headers: Headers) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def _find_obstacle(
    answer: UpstreamAnswer, body: bytes, *, is_stream: bool, is_whole: bool
) -> str | None:
    """Return why an answer cannot be written; None if it can."""
    # Many clients disconnect after the last event and do not read to the end of the body.
    if not is_whole and not (is_stream and _has_last_event(body)):
        return "the answer was broken off"
    encoding = answer.header(b"content-encoding")
    if encoding not in ("", "identity"):
        return f"its encoding is {encoding}"
    if not is_stream and decoded(body) is None:
        return "it is neither JSON nor a stream of events"
    return None


def _has_last_event(body: bytes) -> bool:
    last = [data.strip() for data in _DATA.findall(body)][-1:]
    return last == [b"[DONE]"] or any(object_in(data).get("type") in _LAST_EVENTS for data in last)
