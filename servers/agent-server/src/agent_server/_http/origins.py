"""Requests from pages in a browser: those of other sites may not act, but for the origins that the operator names.

Source: https://fetch.spec.whatwg.org/#http-cors-protocol, and #origin-header.
"""

from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .bodies import is_json
from .problems import ProblemError, build_problem


_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_API: Final = "/v1/"
_METHODS: Final = "GET, POST, DELETE"
_SHOWN: Final = "Location, Retry-After"
_PREFLIGHT_SECONDS: Final = "600"


class OriginMiddleware:
    """A middleware that refuses what pages of other origins ask a server to do.

    A browser says with each request that may act from which origin its page is. Nothing else does, so requests without one pass.

    Args:
        app: The application that answers allowed requests.
        allowed: The origins of pages elsewhere that may call `/v1/`, and may read what it answers.
    """

    def __init__(self, app: ASGIApp, *, allowed: frozenset[str]) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is allowed."""
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        origin = headers.get("origin")
        if origin is None:
            await self._app(scope, receive, send)
            return
        is_allowed = origin in self._allowed and scope["path"].startswith(_API)
        app = self._app
        if is_allowed and scope["method"] == "OPTIONS":
            app = Response(status_code=204, headers=_answer_preflight(headers))
        elif scope["method"] not in _READING:
            try:
                _check(scope["method"], headers, is_friend=is_allowed or _is_own(origin, headers))
            except ProblemError as error:
                app = build_problem(error)
        await app(scope, receive, _with_origin(send, origin) if is_allowed else send)


def _check(method: str, headers: Headers, *, is_friend: bool) -> None:
    if not is_friend:
        raise ProblemError(
            403, "Expected a page of this server, or of an origin that --allow-origin names."
        )
    # No form can send this one, and no page of another origin without having been allowed to.
    if method == "POST" and not is_json(headers):
        raise ProblemError(415, "Expected 'Content-Type: application/json'.")


def _is_own(origin: str, headers: Headers) -> bool:
    """Return whether a page is this server's own: the scheme may be that of a proxy."""
    scheme, _, place = origin.partition("://")
    host = headers.get("host", "").lower().removesuffix(_PORTS.get(scheme, ""))
    return bool(host) and place == host


_PORTS: Final = {"http": ":80", "https": ":443"}


def _answer_preflight(headers: Headers) -> Mapping[str, str]:
    return {
        "Access-Control-Allow-Methods": _METHODS,
        # Those of clients such as the openai package; which key comes with them is checked later.
        "Access-Control-Allow-Headers": headers.get("access-control-request-headers", ""),
        "Access-Control-Max-Age": _PREFLIGHT_SECONDS,
    }


def _with_origin(send: Send, origin: str) -> Send:
    """Let pages of an origin read what is sent, without what a browser knows of its user."""

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = _SHOWN
            headers.add_vary_header("Origin")
        await send(message)

    return answer
