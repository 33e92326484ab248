"""The page of run logs, a separate one for each tenant."""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_server.settings import ServerSettings
from run_log.view import create_pages

from .access import find_tenant
from .streams import find_watchers


_PATH: Final = "/v1/view"
_OPEN_PAGES: Final = 32  # Those of the tenants who used theirs most recently.


def build_pages(settings: ServerSettings) -> Sequence[BaseRoute]:
    """Return the routes of the page; none if no logs are written."""
    if settings.run_logs is None:
        return []

    @lru_cache(_OPEN_PAGES)
    def open_page(tenant: str) -> ASGIApp:
        return create_pages(settings.tenant_logs(tenant) or "", name=tenant)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        page = open_page(find_tenant(request))
        await _answer_until_stop(page, find_watchers(request).closed, scope, receive, send)

    return [Route(_PATH, _to_folder), Mount(_PATH, answer)]


def _to_folder(_request: Request) -> Response:
    """Redirect a browser to the page's folder, where everything else is found by relative links."""
    return RedirectResponse("view/")


async def _answer_until_stop(
    app: ASGIApp, closed: asyncio.Event, scope: Scope, receive: Receive, send: Send
) -> None:
    """Let an application answer, and end the answer when the server stops, even a stream that would last as long as a run."""
    is_open = False

    async def follow(message: Message) -> None:
        nonlocal is_open
        is_open = message.get("more_body", message["type"] == "http.response.start")
        await send(message)

    async def receive_or_stop() -> Message:
        received = asyncio.ensure_future(receive())
        stopped = asyncio.ensure_future(closed.wait())
        try:
            await asyncio.wait((received, stopped), return_when=asyncio.FIRST_COMPLETED)
            return received.result() if received.done() else {"type": "http.disconnect"}
        finally:
            received.cancel()
            stopped.cancel()

    await app(scope, receive_or_stop, follow)
    if is_open and closed.is_set():
        await send({"type": "http.response.body"})
