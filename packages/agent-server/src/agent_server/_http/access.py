"""Access control: by a tenant's key or, without keys, only for this machine under its own names."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_server.settings import DEFAULT_TENANT, LOOPBACK_HOSTS

from .problems import ProblemError, build_problem


_OPEN: Final = frozenset({"/health", "/ready"})
_PAGES: Final = "/v1/view"
_TENANT: Final = "agent_server.tenant"


class AccessMiddleware:
    """A middleware that finds the tenant of each request.

    Args:
        app: The application that answers allowed requests.
        keys: The tenant of each key; empty if no key is needed.
    """

    def __init__(self, app: ASGIApp, *, keys: Mapping[str, str]) -> None:
        self._app = app
        self._tenants = [(_digest(key.encode()), tenant) for key, tenant in keys.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is allowed."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            scope[_TENANT] = self._find_tenant(scope)
        except ProblemError as error:
            await build_problem(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _find_tenant(self, scope: Scope) -> str:
        headers = Headers(scope=scope)
        if not self._tenants:
            # Only this stops a web page with a name that resolves to 127.0.0.1 (DNS rebinding).
            if _host_name(headers.get("host", "")) not in LOOPBACK_HOSTS:
                raise ProblemError(
                    400, "Expected the header Host to name this machine, such as 127.0.0.1."
                )
            return DEFAULT_TENANT
        if scope["path"] in _OPEN:
            return DEFAULT_TENANT
        is_page = scope["path"].startswith(_PAGES) and scope["method"] in {"GET", "HEAD"}
        given = _digest(_read_key(headers, basic=is_page))
        # All are compared, so that the time reveals nothing.
        found = [tenant for digest, tenant in self._tenants if hmac.compare_digest(digest, given)]
        if not found:
            raise ProblemError(
                401,
                "Expected a key of this server as 'Authorization: Bearer …' or 'X-Api-Key: …'.",
                headers={
                    "WWW-Authenticate": 'Basic realm="key as password"' if is_page else "Bearer"
                },
            )
        return found[0]


def find_tenant(request: Request) -> str:
    """Return the tenant of a request, by its key; `default` if the server needs no keys."""
    return request.scope[_TENANT]


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def _read_key(headers: Headers, *, basic: bool) -> bytes:
    given = headers.get("authorization")
    if given is None:
        return headers.get("x-api-key", "").encode()
    scheme, _, token = given.partition(" ")
    if scheme.lower() == "bearer":
        return token.strip().encode()
    # A browser asks its user for the password and then sends it with every request of a page. Only pages
    # that read accept it: requests that act must not be authorised by a browser on its own.
    if basic and scheme.lower() == "basic":
        with suppress(ValueError):
            return base64.b64decode(token, validate=True).partition(b":")[2]
    return b""


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
