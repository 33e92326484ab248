"""The application, with its routes, middleware and error handlers."""

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from agent_server.engine import RunService
from agent_server.executor import Executor
from agent_server.settings import ServerSettings

from .access import AccessMiddleware
from .pages import build_pages
from .problems import HANDLERS, LastResort
from .routes import build_routes
from .streams import Watchers


def build_app(
    settings: ServerSettings,
    executor: Executor,
    runs: RunService,
    *,
    routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """Build the application of a server.

    Args:
        settings: The settings, with keys and limits.
        executor: The executor, which knows the agents.
        runs: The runs of an open engine.
        routes: Additional routes of the executor, behind the same keys; see the other functions of `agent_server.http`.
    """
    app = Starlette(
        routes=[*build_routes(), *build_pages(settings), *routes],
        middleware=[
            # The first is the outermost, so it also answers for errors of the other.
            Middleware(LastResort),
            Middleware(AccessMiddleware, keys=settings.keys()),
        ],
        exception_handlers=dict(HANDLERS),
    )
    app.router.redirect_slashes = False
    app.state.settings = settings
    app.state.executor = executor
    app.state.runs = runs
    app.state.watchers = Watchers(settings)
    app.state.is_ending = False
    return app
