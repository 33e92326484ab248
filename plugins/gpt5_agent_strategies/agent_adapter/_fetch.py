"""Fetching files by Dify's links: all at once, within seconds, without redirects, and never from a cloud's metadata service."""

import ssl
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import gevent
import httpx

from stream_text.addresses import is_metadata_address, is_metadata_host, plain_host

from ._errors import FetchError


SECONDS = 5.0
# Dify's default limit for an upload, and for a file from a strategy.
MAX_FILE_BYTES = 15 * 1024 * 1024
MAX_BYTES = 32 * 1024 * 1024  # All files that are fetched at once; a plugin has 256 MiB.
_PIECE_BYTES = 64 * 1024  # The limits are checked after each piece.
_HEADERS = {"accept-encoding": "identity"}  # Compressed bytes would be counted too low.


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The result of fetching a link.

    Attributes:
        data: The bytes; None if there are none.
        media_type: Their type according to the server; empty if it does not say.
        problem: Why there are no bytes, as the end of a sentence; empty if there are.
    """

    data: bytes | None = None
    media_type: str = ""
    problem: str = ""


class _Room:
    """The number of bytes that may still be fetched."""

    def __init__(self, size: int) -> None:
        self._left = size

    def take(self, size: int, *, held: int) -> None:
        """Take room for a piece of a file.

        Args:
            size: The size of the piece.
            held: The size of its file so far.

        Raises:
            FetchError: If there is no room left, or the file is too large.
        """
        self._left -= size
        if self._left < 0:
            raise FetchError(f"the files have over {MAX_BYTES // 2**20} MB together")
        if held > MAX_FILE_BYTES:
            raise FetchError(f"it has over {MAX_FILE_BYTES // 2**20} MB")


def fetch_all(urls: Sequence[str], *, seconds: float = SECONDS) -> list[Fetched]:
    """Fetch links, all at the same time, and return the results after `seconds` at the latest."""
    room = _Room(MAX_BYTES)
    jobs: list[Any] = [gevent.spawn(_fetch, url, room) for url in urls]
    gevent.joinall(jobs, timeout=seconds)
    late = Fetched(problem=f"its link did not answer within {seconds:.0f} seconds")
    fetched = [job.value if job.successful() else late for job in jobs]
    # Waiting for them to end could take longer than `seconds`.
    gevent.killall(jobs, block=False)
    return fetched


def is_alive(url: str) -> bool:
    """Return whether a link still leads to something."""

    def look() -> bool:
        try:
            with _open(url):
                return True
        except FetchError:
            return False

    # httpx limits each operation by itself; this limits all of them together.
    job: Any = gevent.spawn(look)
    job.join(timeout=SECONDS)
    is_there = job.successful() and job.value
    job.kill(block=False)
    return is_there


def _fetch(url: str, room: _Room) -> Fetched:
    data = bytearray()
    try:
        with _open(url) as response:
            for piece in response.iter_raw(_PIECE_BYTES):
                data += piece
                room.take(len(piece), held=len(data))
            media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    except FetchError as error:
        return Fetched(problem=str(error))
    except Exception:  # noqa: BLE001 - whatever a server sends, the run goes on
        return Fetched(problem="its link could not be read")
    if not data:
        return Fetched(problem="it is empty")
    return Fetched(data=bytes(data), media_type=media_type)


@contextmanager
def _open(url: str) -> Generator[httpx.Response]:
    """Request a link. Nothing is sent to a metadata service, and no redirect is followed.

    Raises:
        FetchError: If it cannot be reached, leads elsewhere or nowhere, or must not be followed.
    """
    if url.startswith("/"):
        raise FetchError("its link has no address: FILES_URL is not set in Dify")
    if not url.lower().startswith(("https://", "http://")):
        raise FetchError("its link is no http or https address")
    try:
        host = plain_host(urlsplit(url).hostname or "")
    except ValueError:  # Also for a name that cannot be looked up.
        host = ""
    if not host or is_metadata_host(host):
        raise FetchError("its link must not be followed")
    try:
        with (
            httpx.Client(
                timeout=SECONDS, follow_redirects=False, headers=_HEADERS, verify=_trusted()
            ) as client,
            client.stream("GET", url, extensions={"trace": _refuse_metadata}) as response,
        ):
            if response.status_code != HTTPStatus.OK:
                raise FetchError(f"its link is not valid any more (status {response.status_code})")
            yield response
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise FetchError("its link could not be reached") from error


@cache
def _trusted() -> ssl.SSLContext:
    # Loading the certificates takes longer than fetching a small file.
    return httpx.create_ssl_context()


def _refuse_metadata(event: str, info: Mapping[str, Any]) -> None:
    """Check the address of a new connection, before anything is sent.

    Raises:
        FetchError: If it is that of a metadata service.

    Source: https://www.encode.io/httpcore/extensions/#trace, read 2026-11-22.
    """
    if event.endswith(".connect_tcp.complete"):
        peer = info["return_value"].get_extra_info("server_addr")
        if is_metadata_address(str(peer[0])):
            info["return_value"].close()
            raise FetchError("its link must not be followed")
