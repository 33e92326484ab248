"""Both plugins as real processes, and a server on a raw socket that answers them in whatever way a property wants."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

from hypothesis import assume
from hypothesis import strategies as st
from wire import Wire

from dify_plugin_host import Notice, PluginInvokeError, PluginProcess
from scripted_dify import ScriptedDify
from shapes import BODIES, ROOT, cuts, event_lists, frame, is_deeper_than, mutated, wires


KEY = "sk-Sesame0penNow+42/x"
_MOST_SECONDS = 10


@dataclass(frozen=True)
class Reply:
    """An HTTP answer, as bytes in pieces, and whether the connection breaks before its end."""

    head: bytes
    pieces: tuple[bytes, ...]
    is_cut: bool = False


class Answering:
    """What a server does with each request: whatever `reply` is at that time."""

    def __init__(self) -> None:
        self.reply = Reply(b"HTTP/1.1 200 OK\r\n\r\n", ())

    def __call__(self, peer: socket.socket) -> None:
        reply = self.reply
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in (reply.head, *reply.pieces):
            if piece:
                peer.sendall(piece)
                time.sleep(0)
        with suppress(OSError):
            peer.shutdown(socket.SHUT_RDWR)


@contextmanager
def answering_server() -> Iterator[tuple[Wire, Answering]]:
    """Run a server and give it out with what decides its answers."""
    answering = Answering()
    with Wire(answering) as wire:
        yield wire, answering


@dataclass
class Called:
    """What one call of a plugin came to."""

    items: list[dict[str, Any]]
    error: PluginInvokeError | None

    @property
    def told(self) -> Any:
        """All that was told, for whoever looks for something in it."""
        return self.items, vars(self.error) if self.error else None


class Caller:
    """A plugin's process, called from ordinary tests. A call that takes longer than it may is a finding."""

    def __init__(self, folder: str, runner: asyncio.Runner, **environment: str) -> None:
        self.notices: list[Notice] = []
        self.dify = ScriptedDify()
        self._runner = runner
        self._process = PluginProcess(
            ROOT / "plugins" / folder,
            backwards=self.dify.answer,
            on_notice=self.notices.append,
            environment={"PATH": "/usr/bin:/bin", **environment},
        )

    def __enter__(self) -> Self:
        self._runner.run(self._process.start())
        return self

    def __exit__(self, *exception: object) -> None:
        self._runner.run(self._process.stop())

    def call(self, kind: str, action: str, data: dict[str, Any]) -> Called:
        """Call the plugin, and hold what holds for any call: it ends, in the protocol's words, and the process lives on."""
        # Dify has no halves of characters, and the SDK's reader no more than 200 levels: it drops such a line, and nobody learns of it.
        data = json.loads(json.dumps(data, ensure_ascii=False).encode(errors="replace"))
        assume(not is_deeper_than(data, 150))
        self.notices.clear()
        pid = self._process.pid
        called = self._runner.run(self._collect(kind, action, data))
        assert self._process.protocol_errors == 0
        assert self._process.pid == pid
        return called

    async def _collect(self, kind: str, action: str, data: dict[str, Any]) -> Called:
        called = Called([], None)
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                async for item in self._process.invoke(kind, action, data):
                    called.items.append(item)
        except PluginInvokeError as error:
            called.error = error
        return called


@contextmanager
def running_plugin(folder: str, **environment: str) -> Iterator[Caller]:
    """Run a plugin's process."""
    with asyncio.Runner() as runner, Caller(folder, runner, **environment) as caller:
        yield caller


STATUSES = st.sampled_from(
    ["200 OK"] * 6
    + [
        "201 Created",
        "204 No Content",
        "301 Moved",
        "400 Bad",
        "401 No",
        "403 No",
        "404 No",
        "408 T",
        "409 C",
        "413 L",
        "422 U",
        "429 Slow",
        "500 Oops",
        "503 Busy",
        "529 Full",
        "999 ?",
    ]
)
TYPES = st.sampled_from(
    ["text/event-stream"] * 4
    + [
        "text/event-stream; charset=utf-8",
        "application/json",
        "application/json; charset=latin-1",
        "text/html",
        "",
        "application/x-ndjson",
    ]
)
_ERRORS = st.sampled_from(
    [
        {
            "error": {
                "message": f"Incorrect API key provided: {KEY}",
                "type": "invalid_request_error",
                "param": "model",
                "code": "invalid_api_key",
            }
        }
    ]
)


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    """Return an answer: a stream, a whole response or an error, changed, under a head that may have nothing to do with it."""
    is_stream = draw(st.sampled_from([True, True, False]))
    if is_stream:
        body = draw(wires() | event_lists().map(lambda events: b"".join(map(frame, events))))
    else:
        value = draw(st.sampled_from(BODIES).flatmap(mutated) | _ERRORS.flatmap(mutated) | _ERRORS)
        body = frame(value)[6:-2]
    media_type = (
        draw(TYPES)
        if draw(st.integers(0, 3)) == 0
        else ("text/event-stream" if is_stream else "application/json")
    )
    status = draw(STATUSES)
    extra = draw(
        st.sampled_from(
            [
                "",
                "",
                f"x-request-id: {KEY}\r\n",
                "retry-after: 0\r\n",
                "content-encoding: gzip\r\n",
                "content-encoding: br\r\n",
                "location: http://127.0.0.1:9/\r\n",
                "x-request-id: req_1\r\nset-cookie: a=b\r\n",
            ]
        )
    )
    framing = draw(st.sampled_from(["chunked", "length", "close", "long", "wrong"]))
    is_cut = draw(st.booleans())
    pieces = draw(cuts(body))
    match framing:
        case "chunked":
            extra += "transfer-encoding: chunked\r\n"
            pieces = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece] + [
                b"" if is_cut else b"0\r\n\r\n"
            ]
        case "length":
            extra += f"content-length: {len(body)}\r\n"
        case "long":
            extra += f"content-length: {len(body) + 10}\r\n"
        case "wrong":
            extra += "transfer-encoding: chunked\r\n"
        case _:
            pass
    head = f"HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\nconnection: close\r\n{extra}\r\n"
    return Reply(head.encode(), tuple(pieces), is_cut)


def assert_secret_kept(*told: Any) -> None:
    """The key is in nothing that was told, in no way of writing it."""
    text = repr(told)
    assert "Sesame0pen" not in text, text
