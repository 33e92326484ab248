"""The one server that a recorder forwards to, over HTTP/1.1: a connection for each request, no proxies, no redirects."""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self
from urllib.parse import SplitResult, urlsplit

import h11

from gpt5_simulator._errors import UpstreamError


_READ_BYTES = 65_536
_CONNECT_SECONDS = 30.0
_PORTS = {"http": 80, "https": 443}
_USUAL_PATH = "/v1"
_WITHOUT_BODY = ("GET", "HEAD")
_URL = re.compile(
    r"https?://[!\"$->A-~]+", re.IGNORECASE
)  # printable, without a user, a query and a fragment
_EXPECTED = "upstream: expected https://HOST/PATH, or http:// and a loopback address, without user, query and fragment"

# Headers that concern one connection only, and those that each side sets itself.
_OWN_HEADERS = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
        *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect"),
        *(b"host", b"content-length", b"accept-encoding", b"date"),
    }
)

type Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamAnswer:
    """What the server answers.

    Attributes:
        status: The HTTP status.
        headers: The headers without those of the connection, names in lower case.
        pieces: The body as it comes.
    """

    status: int
    headers: Headers
    pieces: AsyncIterator[bytes]

    def header(self, name: bytes) -> str:
        """Return the value of a header; empty if there is none."""
        return next((value.decode("latin-1") for key, value in self.headers if key == name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A server that requests are forwarded to.

    Attributes:
        host: Its name or address.
        port: Its port.
        authority: Both, as a request names them.
        path: What its paths begin with, in place of `/v1`.
        tls: What its certificate is checked with; None for plain HTTP.
    """

    host: str
    port: int
    authority: str
    path: str
    tls: ssl.SSLContext | None

    @classmethod
    def of_url(cls, url: str) -> Self:
        """Return the server of a base URL; one without a path has `/v1`.

        Raises:
            UpstreamError: If it is no https URL and no http URL of a loopback address, or has a user, a query or a fragment.
        """
        try:
            parts = urlsplit(url)
            port = parts.port or _PORTS[parts.scheme]
        except (ValueError, KeyError) as error:
            raise UpstreamError(_EXPECTED) from error
        if not parts.hostname or not _URL.fullmatch(url) or not _is_private(parts):
            raise UpstreamError(_EXPECTED)
        return cls(
            host=parts.hostname,
            port=port,
            authority=parts.netloc,
            path=parts.path.rstrip("/") or _USUAL_PATH,
            tls=ssl.create_default_context() if parts.scheme == "https" else None,
        )

    @asynccontextmanager
    async def ask(
        self, method: str, target: str, headers: Iterable[tuple[bytes, bytes]], body: bytes
    ) -> AsyncGenerator[UpstreamAnswer]:
        """Send a request and yield its answer, which can be read within the block.

        Args:
            method: The HTTP method.
            target: The path below the base path, with the query.
            headers: The headers of the client.
            body: The body.

        Raises:
            OSError: If the server cannot be reached.
            h11.RemoteProtocolError: If the answer breaks off, or is not HTTP.
        """
        async with asyncio.timeout(_CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(self.host, self.port, ssl=self.tls)
        try:
            client = h11.Connection(h11.CLIENT)
            request = h11.Request(
                method=method,
                target=self.path + target,
                headers=[*self._own_headers(method, body), *_without_own(headers)],
            )
            for event in (request, h11.Data(data=body), h11.EndOfMessage()):
                writer.write(client.send(event) or b"")
            await writer.drain()
            head = await _read_head(client, reader)
            yield UpstreamAnswer(
                status=head.status_code,
                headers=_without_own(head.headers),
                pieces=_iter_pieces(client, reader),
            )
        finally:
            writer.transport.abort()

    def _own_headers(self, method: str, body: bytes) -> Headers:
        length = [(b"content-length", str(len(body)).encode())]
        return [
            (b"host", self.authority.encode()),
            (b"accept-encoding", b"identity"),  # a recording holds plain text
            (b"connection", b"close"),
            *(length if body or method not in _WITHOUT_BODY else ()),
        ]


def _is_private(parts: SplitResult) -> bool:
    """Return whether nobody on the network can read along: because of TLS, or because nothing leaves this machine."""
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _without_own(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    return [(name, value) for name, value in headers if name.lower() not in _OWN_HEADERS]


async def _read_head(client: h11.Connection, reader: asyncio.StreamReader) -> h11.Response:
    while True:
        event = client.next_event()
        if isinstance(event, h11.Response):
            return event
        if event is h11.NEED_DATA:
            client.receive_data(await reader.read(_READ_BYTES))


async def _iter_pieces(
    client: h11.Connection, reader: asyncio.StreamReader
) -> AsyncIterator[bytes]:
    while not isinstance(event := client.next_event(), h11.EndOfMessage):
        if isinstance(event, h11.Data):
            yield bytes(event.data)
        else:
            client.receive_data(await reader.read(_READ_BYTES))
