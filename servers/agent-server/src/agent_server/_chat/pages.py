"""The files of the page to talk to an agent, and what it has to know of its server.

They hold no secret, so everybody who can reach the server gets them. The page itself asks for a key and sends it with
each request, so no browser authorises one on its own.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from agent_server._http.problems import ProblemError, dump_json
from agent_server.settings import ServerSettings
from run_log.view import HEADERS, answer_file


_STATIC: Final = Path(__file__).with_name("static")


def build_chat() -> Sequence[BaseRoute]:
    """Return the routes of the page."""
    routes = [
        Route("/", _answer_page),
        Route("/about.json", _answer_about),
        Route("/static/{name}", _answer_file),
    ]
    return [Route("/v1/chat", _to_folder), Mount("/v1/chat", routes=routes)]


def _to_folder(_request: Request) -> Response:
    """Redirect a browser to the page's folder, where everything else is found by relative links."""
    return RedirectResponse("chat/")


def _answer_page(_request: Request) -> Response:
    return _serve("index.html")


def _answer_file(request: Request) -> Response:
    return _serve(request.path_params["name"])


def _answer_about(request: Request) -> Response:
    settings: ServerSettings = request.app.state.settings
    about = {"has_keys": bool(settings.keys()), "has_run_logs": settings.run_logs is not None}
    return Response(dump_json(about), headers=HEADERS, media_type="application/json")


def _serve(name: str) -> Response:
    answer = answer_file(name, _STATIC)
    if answer is None:
        raise ProblemError(404, "There is no such file.")
    return answer
