"""The plugin daemon's HTTP API for some plugins, as an ASGI application.

Source: `internal/server` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

import contextlib
import importlib.metadata
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match
from starlette.routing import Route as HttpRoute
from starlette.types import Send

from dify_plugin_host._errors import PluginHostError
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._process.plugin_process import PluginProcess
from dify_plugin_packager.go_types import ShapeError, dump_json
from dify_plugin_packager.json_access import JsonObject

from .dispatch import ROUTES, DispatchRequest, Route, iter_answer, parse_request
from .envelope import FailureType, failure, failure_of, frame, success
from .management import PATHS, Management


type _Handler = Callable[[Request], Awaitable[Response]]


class _RefusalError(PluginHostError):
    """A refusal of a request, with a status and a reason, before any plugin sees it."""

    def __init__(self, status: int, error_type: FailureType, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.error_type: FailureType = error_type


class DaemonApp:
    """The daemon's API over some plugins.

    Args:
        host: The plugins, with Dify's part in between.
        plugins: The plugins, by `author/name`.
        api_key: The key that callers must send.
    """

    def __init__(
        self, host: PluginHost, plugins: Mapping[str, PluginProcess], *, api_key: str
    ) -> None:
        self._host = host
        self._plugins = plugins
        self._management = Management(host)
        self._api_key = api_key
        self._active_requests = self._active_dispatches = 0

    def build(self) -> Starlette:
        """Build the ASGI application."""
        plugin = "/plugin/{tenant_id}"
        routes = [_route("/health/check", "GET", self._check_health)]
        for path, route in ROUTES.items():
            routes.append(_route(f"{plugin}/dispatch/{path}", "POST", self._dispatching(route)))
        routes += [
            _route(f"{plugin}/management/{path}", "GET", self._managing(path)) for path in PATHS
        ]
        routes.append(_route(f"{plugin}/asset/{{id}}", "GET", self._show_nothing))
        app = Starlette(
            routes=routes,
            exception_handlers={
                404: _no_route,
                405: _no_route,
                ShapeError: _refuse_request,
                _RefusalError: _refuse,
            },
        )
        # `_no_route` redirects, with the daemon's statuses.
        app.router.redirect_slashes = False
        return app

    async def _check_health(self, _: Request) -> Response:
        return _json(
            {
                "active_dispatch_requests": self._active_dispatches,
                # With this request itself.
                "active_requests": self._active_dispatches + 1,
                "build_time": "",
                "platform": "local",
                "pool_status": {},
                "status": "ok",
                "version": importlib.metadata.version("dify-plugin-host"),
            }
        )

    def _dispatching(self, route: Route) -> _Handler:
        async def dispatch(request: Request) -> Response:
            self._validate_key(request)
            process = self._find(request.headers.get("x-plugin-id", ""))
            tenant_id = request.path_params["tenant_id"]
            body = await request.body() if _is_json(request) else b""
            parsed = parse_request(route, body, self._host, tenant_id=tenant_id)
            if route.is_streamed:
                return _EventStream(self._frames(process, route, parsed))
            return await self._single(process, route, parsed)

        return dispatch

    def _managing(self, path: str) -> _Handler:
        async def manage(request: Request) -> Response:
            self._validate_key(request)
            tenant_id = request.path_params["tenant_id"]
            return _json(await self._management.answer(path, tenant_id, dict(request.query_params)))

        return manage

    async def _show_nothing(self, request: Request) -> Response:
        """Answer as the daemon does for an asset that it does not have."""
        self._validate_key(request)
        return Response()

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
        """Answer with the last object of the plugin, as the daemon does for slow model calls."""
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

    def _validate_key(self, request: Request) -> None:
        shown = request.headers.get("x-api-key", "")
        # As bytes, because `compare_digest` takes only texts of ASCII.
        if not secrets.compare_digest(shown.encode(), self._api_key.encode()):
            raise _RefusalError(401, "PluginDaemonUnauthorizedError", "unauthorized")


class _EventStream(StreamingResponse):
    """A response that sends frames as they come, and closes their source when the caller goes away."""

    def __init__(self, frames: AsyncGenerator[bytes]) -> None:
        # Set here, because Starlette would add a charset, unlike the daemon.
        super().__init__(frames, headers={"content-type": "text/event-stream"})
        self._frames = frames

    async def stream_response(self, send: Send) -> None:
        async with contextlib.aclosing(self._frames):
            await super().stream_response(send)


def _route(path: str, method: str, handler: _Handler) -> HttpRoute:
    route = HttpRoute(path, handler, methods=[method])
    route.methods = {method}  # Starlette would answer HEAD as well, unlike the daemon.
    return route


def _is_json(request: Request) -> bool:
    """Tell whether the daemon reads a body as JSON; it does not use any other body."""
    return request.headers.get("content-type", "").split(";")[0].split(" ")[0] == "application/json"


async def _no_route(request: Request, _: Exception) -> Response:
    path = request.url.path
    other = path.removesuffix("/") if path.endswith("/") else f"{path}/"
    scope = {**request.scope, "path": other}
    app: Starlette = request.scope["app"]
    if any(route.matches(scope)[0] is Match.FULL for route in app.routes):
        query = f"?{request.url.query}" if request.url.query else ""
        status = 301 if request.method == "GET" else 307
        return Response(status_code=status, headers={"location": other + query})
    return _json({"code": "not_found", "message": "route not found"}, status=404)


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, _RefusalError)  # noqa: S101 - registered for nothing else
    return _json(failure(error.error_type, str(error)), status=error.status)


async def _refuse_request(_: Request, error: Exception) -> Response:
    return _json(failure("PluginDaemonBadRequestError", str(error)), status=400)


def _json(content: JsonObject, *, status: int = 200) -> Response:
    headers = {"content-type": "application/json; charset=utf-8"}
    return Response(dump_json(content), status_code=status, headers=headers)
