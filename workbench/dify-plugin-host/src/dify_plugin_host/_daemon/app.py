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
from dify_plugin_packager.declarations import (
    TYPES,
    ShapeError,
    Struct,
    dump_json,
    read_query,
    read_request,
)
from dify_plugin_packager.json_access import JsonObject

from .dispatch import ROUTES, DispatchRequest, Route, iter_answer, parse_body, parse_request
from .envelope import RefusalError, failure, failure_of, frame, success
from .management import BODIES, QUERIES, Management
from .tenants import Tenants


type _Handler = Callable[[Request], Awaitable[Response]]

_JSON = "application/json"


class DaemonApp:
    """The daemon's API over some plugins.

    Args:
        host: The plugins, with Dify's part in between.
        plugins: The plugins, by `author/name`.
        tenants: Who has the plugins.
        api_key: The key that callers must send.
    """

    def __init__(
        self,
        host: PluginHost,
        plugins: Mapping[str, PluginProcess],
        *,
        tenants: Tenants,
        api_key: str,
    ) -> None:
        self._host = host
        self._plugins = plugins
        self._tenants = tenants
        self._management = Management(host, tenants)
        self._api_key = api_key
        self._active_requests = self._active_dispatches = 0

    def build(self) -> Starlette:
        """Build the ASGI application."""
        plugin = "/plugin/{tenant_id}"
        routes = [_route("/health/check", "GET", self._check_health)]
        for path, route in ROUTES.items():
            routes.append(_route(f"{plugin}/dispatch/{path}", "POST", self._dispatching(route)))
        for method, paths in (("GET", QUERIES), ("POST", BODIES)):
            for path, shape in paths.items():
                handler = self._managing(path, shape)
                routes.append(_route(f"{plugin}/management/{path}", method, handler))
        routes.append(_route(f"{plugin}/asset/{{id}}", "GET", self._show_icon))
        routes.append(_route(f"{plugin}/extract-asset/", "GET", self._extract_asset))
        app = Starlette(
            routes=routes,
            exception_handlers={
                404: _no_route,
                405: _no_route,
                ShapeError: _refuse_request,
                RefusalError: _refuse,
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
            tenant_id = request.path_params["tenant_id"]
            process = self._find(tenant_id, request.headers.get("x-plugin-id", ""))
            body = await _read_body(request)
            parsed = parse_request(route, body, self._host, tenant_id=tenant_id)
            if route.is_streamed:
                return _EventStream(self._frames(process, route, parsed))
            return await self._single(process, route, parsed)

        return dispatch

    def _managing(self, path: str, shape: Struct) -> _Handler:
        async def manage(request: Request) -> Response:
            self._validate_key(request)
            if path in QUERIES:
                asked = _read_query(shape, request)
            else:
                asked = read_request(shape, parse_body(await _read_body(request)))
            named = dict(request.path_params)
            tenant_id = named.pop("tenant_id")
            answer = await self._management.answer(path, tenant_id, asked | named)
            return _json(success(answer))

        return manage

    async def _show_icon(self, request: Request) -> Response:
        self._validate_key(request)
        icon = await self._management.find_icon(request.path_params["id"])
        # Of one that it does not have the daemon says nothing.
        return Response() if icon is None else _bytes(icon)

    async def _extract_asset(self, request: Request) -> Response:
        self._validate_key(request)
        return _bytes(await self._management.extract(_read_query(TYPES["_.AssetPath"], request)))

    def _find(self, tenant_id: str, plugin_id: str) -> PluginProcess:
        if not plugin_id:
            problem = "plugin_id is required"
            raise RefusalError("PluginDaemonBadRequestError", problem, status=400)
        if not self._tenants.has_plugins(tenant_id, status=500) or plugin_id not in self._plugins:
            raise RefusalError("PluginNotFoundError", "plugin not found", status=404)
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
            raise RefusalError("PluginInvokeError", problem, status=500)
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
            raise RefusalError("PluginDaemonUnauthorizedError", "unauthorized", status=401)


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


async def _read_body(request: Request) -> bytes:
    """Return the body if the daemon reads it as JSON; it does not use any other body."""
    content_type = request.headers.get("content-type", "").split(";")[0].split(" ")[0]
    return await request.body() if content_type == _JSON else b""


def _read_query(shape: Struct, request: Request) -> JsonObject:
    # With this type the daemon looks into the body instead, for names that nobody writes.
    in_body = request.headers.get("content-type") == _JSON
    query = request.query_params
    return read_query(shape, {} if in_body else {name: query.getlist(name) for name in query})


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
    assert isinstance(error, RefusalError)  # noqa: S101 - registered for nothing else
    return _json(failure(error.error_type, str(error)), status=error.status)


async def _refuse_request(_: Request, error: Exception) -> Response:
    return _json(failure("PluginDaemonBadRequestError", str(error)), status=400)


def _bytes(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream")


def _json(content: JsonObject, *, status: int = 200) -> Response:
    headers = {"content-type": "application/json; charset=utf-8"}
    return Response(dump_json(content), status_code=status, headers=headers)
