"""The HTTP side of a server, and the parts for an executor's own routes."""

from ._app import build_app
from ._http.access import find_tenant, require_start
from ._http.bodies import build_model, read_json, read_model
from ._http.parts import are_parts, read_content
from ._http.problems import ProblemError, refuse, refuse_field, to_problem
from ._http.routes import find_runs, stream_events
from ._http.schemas import check_schemas
from ._http.server import Server
from ._http.streams import build_frame
from ._http.unread import Answer


__all__ = [
    "Answer",
    "ProblemError",
    "Server",
    "are_parts",
    "build_app",
    "build_frame",
    "build_model",
    "check_schemas",
    "find_runs",
    "find_tenant",
    "read_content",
    "read_json",
    "read_model",
    "refuse",
    "refuse_field",
    "require_start",
    "stream_events",
    "to_problem",
]
