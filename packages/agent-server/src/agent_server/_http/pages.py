"""The page of run logs, each tenant's for itself."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from agent_server.settings import ServerSettings
from run_log.view import create_pages

from .access import find_tenant


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
    """The pages of the tenants that were asked for last.

    Args:
        settings: Where the logs are.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._pages: OrderedDict[str, Any] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tenant = find_tenant(Request(scope))
        page = self._pages.pop(tenant, None)
        if page is None:
            page = create_pages(self._settings.tenant_logs(tenant) or "", name=tenant)
        self._pages[tenant] = page
        while len(self._pages) > _OPEN_PAGES:
            self._pages.popitem(last=False)
        await page(scope, receive, send)
