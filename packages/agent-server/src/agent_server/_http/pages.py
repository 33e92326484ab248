"""The page of run logs, separate for each tenant."""

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
_OPEN_PAGES: Final = 32


def build_pages(settings: ServerSettings) -> Sequence[BaseRoute]:
    """Return the routes of the page; none where no logs are written."""
    if settings.run_logs is None:
        return []
    return [Route(_PATH, _to_folder), Mount(_PATH, _Pages(settings))]


def _to_folder(_request: Request) -> Response:
    """Send a browser to the page's folder, from which it asks for everything else."""
    return RedirectResponse("view/")


class _Pages:
    """The pages of the tenants who used theirs most recently.

    Args:
        settings: Where the logs are.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._open = lru_cache(_OPEN_PAGES)(self._create)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = self._open(find_tenant(Request(scope)))
        await _until_stop(page, find_watchers(Request(scope)).closed)(scope, receive, send)

    def _create(self, tenant: str) -> ASGIApp:
        return create_pages(self._settings.tenant_logs(tenant) or "", name=tenant)


def _until_stop(app: ASGIApp, closed: asyncio.Event) -> ASGIApp:
    """Return an application whose answers end when the server stops, even streams that would last as long as a run."""

    async def ending(scope: Scope, receive: Receive, send: Send) -> None:
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

    return ending
