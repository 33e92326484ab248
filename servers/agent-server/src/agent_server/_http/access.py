"""Access control: by a tenant's key or, without keys, only for this machine under its own names."""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_server.executor import InputAnswer
from agent_server.logs import about
from agent_server.settings import DEFAULT_TENANT, LOOPBACK_HOSTS, KeyHolder

from .problems import ProblemError, build_problem


_OPEN: Final = frozenset({"/health", "/ready"})
_OPEN_FILES: Final = "/v1/chat"
_PAGES: Final = "/v1/view"
_CALLER: Final = "agent_server.caller"
_DIGEST_LENGTH: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Sender of a request.

    Attributes:
        holder: The tenant, and what its key is good for.
        key: A digest of the key, by which an operator recognises it; None if the server needs no keys.
    """

    holder: KeyHolder
    key: str | None = None


class AccessMiddleware:
    """A middleware that finds out who has sent each request.

    Args:
        app: The application that answers allowed requests.
        keys: Who holds each key; empty if no key is needed.
        own: The executor's own routes.
    """

    def __init__(
        self, app: ASGIApp, *, keys: Mapping[str, KeyHolder], own: Sequence[BaseRoute]
    ) -> None:
        self._app = app
        self._own = own
        self._holders = [(_digest(key.encode()), holder) for key, holder in keys.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is allowed."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            caller = scope[_CALLER] = self._find_caller(scope)
        except ProblemError as error:
            await build_problem(error)(scope, receive, send)
            return
        with about(tenant=caller.holder.tenant):
            await self._app(scope, receive, send)

    def _find_caller(self, scope: Scope) -> Caller:
        headers = Headers(scope=scope)
        if not self._holders:
            # Only this stops a web page with a name that resolves to 127.0.0.1 (DNS rebinding).
            if _host_name(headers.get("host", "")) not in LOOPBACK_HOSTS:
                raise ProblemError(
                    400, "Expected the header Host to name this machine, such as 127.0.0.1."
                )
            return Caller(holder=KeyHolder(tenant=DEFAULT_TENANT))
        is_read = scope["method"] in {"GET", "HEAD"}
        if scope["path"] in _OPEN or (is_read and _is_within(scope["path"], _OPEN_FILES)):
            return Caller(
                holder=KeyHolder(tenant=DEFAULT_TENANT, may_start=False, may_answer=False)
            )
        is_page = is_read and _is_within(scope["path"], _PAGES)
        # A client that has no place for a key may have it in its URL, `http://:key@host`. On an executor's own paths no browser is asked
        # for a password that it would then send by itself.
        is_own = any(route.matches(scope)[0] is not Match.NONE for route in self._own)
        given = _digest(_read_key(headers, basic=is_page or is_own))
        # All are compared, so that the time reveals nothing.
        found = [holder for digest, holder in self._holders if hmac.compare_digest(digest, given)]
        if not found:
            raise ProblemError(
                401,
                "Expected a key of this server as 'Authorization: Bearer …' or 'X-Api-Key: …'.",
                headers={
                    "WWW-Authenticate": 'Basic realm="key as password"' if is_page else "Bearer"
                },
            )
        return Caller(holder=found[0], key=given.hex()[:_DIGEST_LENGTH])


def find_caller(request: Request) -> Caller:
    """Return who has sent a request."""
    return request.scope[_CALLER]


def is_known(scope: Scope) -> bool:
    """Return whether it is known who has sent a request."""
    return _CALLER in scope


def find_tenant_of(scope: Scope) -> str:
    """Return the tenant of a request by its scope."""
    return scope[_CALLER].holder.tenant


def find_tenant(request: Request) -> str:
    """Return the tenant of a request, by its key; `default` if the server needs no keys."""
    return find_tenant_of(request.scope)


def require_start(request: Request) -> None:
    """Refuse a request whose key may not start runs.

    Raises:
        ProblemError: If it may not (403).
    """
    if not find_caller(request).holder.may_start:
        raise ProblemError(403, "Expected a key that may start runs; this one may answer them.")


def require_right_to(request: Request, answer: InputAnswer) -> None:
    """Refuse a request whose key may not give this answer.

    Who starts a run makes the calls of its own tools; what a person decides needs another right.

    Raises:
        ProblemError: If it may not (403).
    """
    if not answer.approvals and answer.answer is None:
        require_start(request)
    elif not find_caller(request).holder.may_answer:
        raise ProblemError(403, "Expected a key that may answer runs; this one may start them.")


def _is_within(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def _read_key(headers: Headers, *, basic: bool) -> bytes:
    given = headers.get("authorization")
    if given is None:
        return headers.get("x-api-key", "").encode()
    scheme, _, token = given.partition(" ")
    if scheme.lower() == "bearer":
        return token.strip().encode()
    # A browser asks its user for the password and then sends it with every request of a page. Of the server's own
    # paths only pages that read accept it: requests that act must not be authorised by a browser on its own.
    if basic and scheme.lower() == "basic":
        with suppress(ValueError):
            return base64.b64decode(token, validate=True).partition(b":")[2]
    return b""


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
