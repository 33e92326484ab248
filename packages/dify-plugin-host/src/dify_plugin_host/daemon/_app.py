"""The plugin daemon's HTTP API for some plugins, as an ASGI application.

Source: `internal/server` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

import contextlib
import importlib.metadata
import secrets
from collections.abc import AsyncGenerator, Generator, Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as HttpRoute
from starlette.types import Send

from dify_plugin_host._errors import PluginHostError
from dify_plugin_host._json import JsonObject
from dify_plugin_host.process import PluginProcess

from ._dispatch import ROUTES, DispatchRequest, RequestError, Route, iter_answer, parse_request
from ._envelope import FailureType, encode, failure, failure_of, frame, success
from ._listing import ToolListing


_LARGEST_PAGE = 256


class _RefusalError(PluginHostError):
    """A request that is refused, with a status and a reason, before any plugin sees it."""

    def __init__(self, status: int, error_type: FailureType, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.error_type: FailureType = error_type


class DaemonApp:
    """The daemon's API over some plugins.

    Args:
        plugins: The plugins, by `author/name`.
        tools: What there is to say of their tools.
        api_key: The key that callers must show.
    """

    def __init__(
        self, plugins: Mapping[str, PluginProcess], tools: ToolListing, *, api_key: str
    ) -> None:
        self._plugins = plugins
        self._tools = tools
        self._api_key = api_key
        self._active_dispatches = 0

    def build(self) -> Starlette:
        """Build the ASGI application."""
        prefix = "/plugin/{tenant_id}"
        return Starlette(
            routes=[
                HttpRoute("/health/check", self._check_health, methods=["GET"]),
                HttpRoute(f"{prefix}/dispatch/{{path:path}}", self._dispatch, methods=["POST"]),
                HttpRoute(f"{prefix}/management/tools", self._list_tools, methods=["GET"]),
                HttpRoute(f"{prefix}/management/tool", self._show_tool, methods=["GET"]),
            ],
            exception_handlers={
                404: _no_route,
                405: _no_route,
                _RefusalError: _refuse,
                RequestError: _refuse_request,
            },
        )

    async def _check_health(self, _: Request) -> Response:
        return _json(
            {
                "status": "ok",
                "version": importlib.metadata.version("dify-plugin-host"),
                "platform": "local",
                "active_dispatch_requests": self._active_dispatches,
            }
        )

    async def _dispatch(self, request: Request) -> Response:
        route = ROUTES.get(request.path_params["path"])
        if route is None:
            return await _no_route(request, None)
        self._validate_key(request)
        process = self._find(request.headers.get("x-plugin-id", ""))
        parsed = await _parse(route, request, process)
        if route.is_streamed:
            return _EventStream(self._frames(process, route, parsed))
        return await self._single(process, route, parsed)

    def _find(self, plugin_id: str) -> PluginProcess:
        if not plugin_id:
            raise _RefusalError(400, "PluginDaemonBadRequestError", "plugin_id is required")
        if plugin_id not in self._plugins:
            raise _RefusalError(404, "PluginNotFoundError", "plugin not found")
        return self._plugins[plugin_id]

    async def _frames(
        self, process: PluginProcess, route: Route, request: DispatchRequest
    ) -> AsyncGenerator[bytes]:
        with self._counted():
            try:
                async with contextlib.aclosing(iter_answer(process, route, request)) as items:
                    async for item in items:
                        yield frame(success(item))
            except PluginHostError as error:
                yield frame(failure_of(error))

    async def _single(
        self, process: PluginProcess, route: Route, request: DispatchRequest
    ) -> Response:
        """Answer with the last object that comes, as the daemon does for slow model calls."""
        with self._counted():
            try:
                items = [item async for item in iter_answer(process, route, request)]
            except PluginHostError as error:
                return _json(failure_of(error), status=500)
        if not items:
            problem = "no polling result received from plugin"
            raise _RefusalError(500, "PluginInvokeError", problem)
        return _json(success(items[-1]))

    @contextlib.contextmanager
    def _counted(self) -> Generator[None]:
        self._active_dispatches += 1
        try:
            yield
        finally:
            self._active_dispatches -= 1

    async def _list_tools(self, request: Request) -> Response:
        self._validate_key(request)
        query = request.query_params
        try:
            page, size = int(query.get("page", "")), int(query.get("page_size", ""))
        except ValueError:
            page = size = 0
        if page < 1 or not 1 <= size <= _LARGEST_PAGE:
            problem = f"expected 'page' from 1 and 'page_size' from 1 to {_LARGEST_PAGE}"
            raise _RefusalError(400, "PluginDaemonBadRequestError", problem)
        listed = await self._tools.entries(request.path_params["tenant_id"])
        return _json(success(listed[(page - 1) * size : page * size]))

    async def _show_tool(self, request: Request) -> Response:
        self._validate_key(request)
        wanted = request.query_params.get("plugin_id"), request.query_params.get("provider")
        for entry in await self._tools.entries(request.path_params["tenant_id"]):
            if (entry["plugin_id"], entry["provider"]) == wanted:
                return _json(success(entry))
        # The daemon answers so with status 200: its management routes tell failures in the envelope alone.
        raise _RefusalError(200, "PluginNotFoundError", "plugin not found")

    def _validate_key(self, request: Request) -> None:
        shown = request.headers.get("x-api-key", "")
        if not secrets.compare_digest(shown.encode(), self._api_key.encode()):
            raise _RefusalError(401, "PluginDaemonUnauthorizedError", "unauthorized")


class _EventStream(StreamingResponse):
    """A response that sends frames as they come, and lets go of their source when the caller goes away."""

    def __init__(self, frames: AsyncGenerator[bytes]) -> None:
        # Named here, for Starlette would add a charset to it, which the daemon does not.
        super().__init__(frames, headers={"content-type": "text/event-stream"})
        self._frames = frames

    async def stream_response(self, send: Send) -> None:
        async with contextlib.aclosing(self._frames):
            await super().stream_response(send)


async def _parse(route: Route, request: Request, process: PluginProcess) -> DispatchRequest:
    if request.headers.get("content-type") != "application/json":
        # The daemon compares texts, too: with a charset after it the body would not be read as JSON.
        raise RequestError("Content-Type: expected exactly application/json")
    return parse_request(route, await request.body(), process.settings.rules)


async def _no_route(_: Request, __: Exception | None) -> Response:
    return _json({"code": "not_found", "message": "route not found"}, status=404)


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, _RefusalError)  # noqa: S101 - registered for nothing else
    return _json(failure(error.error_type, str(error)), status=error.status)


async def _refuse_request(_: Request, error: Exception) -> Response:
    return _json(failure("PluginDaemonBadRequestError", str(error)), status=400)


def _json(content: JsonObject, *, status: int = 200) -> Response:
    headers = {"content-type": "application/json; charset=utf-8"}
    return Response(encode(content), status_code=status, headers=headers)
