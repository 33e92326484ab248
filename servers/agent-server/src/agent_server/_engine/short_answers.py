"""Network connections that an answer is read from only so far: a server can send informational answers (1xx) without end before its own."""

from typing import Any, cast, override

import httpcore


_BACKEND: httpcore.AsyncNetworkBackend = cast("Any", httpcore.AnyIOBackend)()
_MOST_BYTES = 32 * 1024  # far more than the heads of answers have


class ShortAnswers(httpcore.AsyncNetworkBackend):
    """The network of a client that wants no more of an answer than its status."""

    @override
    async def connect_tcp(self, *args: Any, **options: Any) -> Any:
        return _ShortStream(await _BACKEND.connect_tcp(*args, **options))


class _ShortStream:
    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._left = _MOST_BYTES

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as the library has it
        if not self._left:
            raise httpcore.RemoteProtocolError("too much before the end of the answer's head")
        data = await self._stream.read(min(max_bytes, self._left), timeout)
        self._left -= len(data)
        return data

    async def start_tls(self, *args: Any, **options: Any) -> Any:
        return _ShortStream(await self._stream.start_tls(*args, **options))
