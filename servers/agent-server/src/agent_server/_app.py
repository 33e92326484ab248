"""The application, with its routes, middleware and error handlers."""

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from ._chat.pages import build_chat
from ._http.access import AccessMiddleware
from ._http.origins import OriginMiddleware
from ._http.pages import build_pages
from ._http.problems import HANDLERS, LastResort
from ._http.refusals import Refusals
from ._http.routes import build_routes
from ._http.streams import Watchers
from ._http.unread import Unread
from ._responses.description import describe_responses
from ._responses.routes import build_responses_routes
from .executor import Conversational, Executor
from .runs import Runs
from .settings import ServerSettings


def build_app(
    settings: ServerSettings,
    executor: Executor,
    runs: Runs,
    *,
    routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """Build the application of a server.

    Args:
        settings: The settings, with keys and limits.
        executor: The executor, which knows the agents.
        runs: The runs of an open engine, such as that of `agent_server.engine.open_engine`.
        routes: Additional routes of the executor, behind the same keys; see the other functions of `agent_server.http`.
    """
    has_responses = settings.responses and isinstance(executor, Conversational)
    faces = [*build_responses_routes(), *build_chat()] if has_responses else ()
    refusals = Refusals()
    app = Starlette(
        routes=[*build_routes(), *faces, *build_pages(settings), *routes],
        middleware=[
            # The first is the outermost, so it also answers for errors of the other.
            Middleware(LastResort, on_error=refusals.count),
            Middleware(OriginMiddleware, allowed=settings.origins()),
            Middleware(AccessMiddleware, keys=settings.keys(), own=routes),
        ],
        exception_handlers=dict(HANDLERS),
    )
    app.router.redirect_slashes = False
    app.state.settings = settings
    app.state.executor = executor
    app.state.runs = runs
    app.state.described = describe_responses() if has_responses else {}
    app.state.watchers = Watchers(settings)
    app.state.unread = Unread()
    app.state.refusals = refusals
    app.state.is_ending = False
    return app
