"""The guard of the page: it answers only requests that have the key and address this server by its own name."""

import hmac
from typing import Final

from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ._files import HEADERS


_NAMES: Final = ("127.0.0.1", "localhost")
_HEADERS: Final = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """A guard in front of an application: it passes on requests that have the key, and cuts the key off their path.

    A page of another site cannot guess the key. Nor can it read an answer by giving this machine a name of its own: the
    header `Host` has to be this server's.

    Args:
        app: The application.
        key: The first part of each path.
        port: The server's port; None for a caller's tests, which have none.
    """

    def __init__(self, app: ASGIApp, *, key: str, port: int | None) -> None:
        self._app = app
        self._key = key.encode()
        ends = [""] if port is None else [f":{port}"]
        self._hosts = {f"{name}{end}".encode() for name in _NAMES for end in ends}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given, _, rest = scope["path"].removeprefix("/").partition("/")
        # In a time that does not tell how much of the key was right.
        is_known = hmac.compare_digest(given.encode(), self._key)
        answer: ASGIApp = self._app
        if headers.get(b"host", b"").lower() not in self._hosts:
            # A name that somebody else has made lead here (DNS rebinding).
            answer = PlainTextResponse("This server answers to 127.0.0.1 only.", 421)
        elif not is_known:
            answer = PlainTextResponse("Open the address that the command has printed.", 404)
        elif scope["method"] == "POST" and not self._is_own(headers):
            answer = PlainTextResponse("This is for the page itself.", 403)
        elif scope["path"] == f"/{given}":  # What the page asks for is relative to its folder.
            answer = RedirectResponse(f"/{given}/")
        inner = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "root_path": ""}
        await with_headers(answer)(inner, receive, send)

    def _is_own(self, headers: dict[bytes, bytes]) -> bool:
        """Return whether a request that acts comes from the page: with this server's origin, and as JSON, which no form can send."""
        origin = headers.get(b"origin", b"")
        kind = headers.get(b"content-type", b"").split(b";")[0].strip()
        return origin.removeprefix(b"http://") in self._hosts and kind == b"application/json"


def with_headers(app: ASGIApp) -> ASGIApp:
    """Return an application whose answers may load, and be loaded by, nothing but the page itself."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        async def wrapped(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in _HEADERS}  # those of the application give way
                kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in own]
                message = {**message, "headers": [*kept, *_HEADERS]}
            await send(message)

        await app(scope, receive, wrapped)

    return guarded
