"""The OpenAPI description of a server.

Source: https://spec.openapis.org/oas/v3.1.0.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from .documents import DESCRIBED, EventsQuery
from .problems import PROBLEM_TYPE
from .queries import RunsQuery


type Json = dict[str, Any]

_REFERENCES: Final = "#/components/schemas/{model}"
_WORDS: Final = {
    400: "The request is not HTTP, calls the server by a name that it does not have, or sets a field that no client may set.",
    401: "The key is missing or unknown.",
    403: "The key may not do this.",
    404: "There is no such run.",
    408: "The body did not arrive in time.",
    409: "The run waits for something else, or has had another answer.",
    413: "The body is too large.",
    415: "The body is not declared as JSON.",
    422: "The request is not valid; `errors` names the fields.",
    429: "Too many runs or streams; `Retry-After` says when to ask again.",
    500: "Something went wrong in the server.",
    503: "The database cannot be reached; `Retry-After` says when to ask again.",
}
_BODY: Final = (408, 413, 415, 422)


def build_description(
    name: str, agents: Sequence[str], *, paths: Mapping[str, Json] | None = None
) -> Json:
    """Return the OpenAPI description of a server.

    Args:
        name: The name of its executor.
        agents: The names of its current agents.
        paths: What it has beside what every server has.
    """
    # Copied, because the cached models are changed below.
    definitions = copy.deepcopy(_build_models())
    request = definitions["RunRequest"]
    # If there is only one agent, a request need not name it.
    is_needed = len(agents) != 1
    request["properties"]["agent"] = {"enum": [*agents, *(() if is_needed else (None,))]}
    request["required"] = ["agent"] if is_needed else []
    return {
        "openapi": "3.1.0",
        "info": {"title": name, "version": "1"},
        "security": [{"bearer": []}, {"header": []}],
        "paths": build_paths(_build_operations()) | dict(paths or {}),
        "components": {
            "schemas": definitions,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
            },
        },
    }


@cache
def _build_models() -> Json:
    _, definitions = models_json_schema(
        [(model, "validation") for model in DESCRIBED], ref_template=_REFERENCES
    )
    return definitions["$defs"]


def build_paths(operations: Mapping[str, Json]) -> dict[str, Json]:
    """Return the paths of operations, which stand under their methods and paths, such as `GET /v1/runs/{run_id}`."""
    paths: dict[str, Json] = {}
    for route, operation in operations.items():
        method, path = route.split()
        names = re.findall(r"{(\w+)}", path)
        whole = {"parameters": [parameter(name, where="path") for name in names]} if names else {}
        paths.setdefault(path, whole)[method.lower()] = operation
    return paths


def _build_operations() -> dict[str, Json]:
    state, run, page = map(_json, ("StateDocument", "RunDocument", "EventsDocument"))
    text = {"schema": {"type": "string"}}
    accepted = run | {"headers": {"Location": {"description": "Path of the run.", **text}}}
    page["content"]["text/event-stream"] = text
    key = parameter(
        "Idempotency-Key", where="header", minLength=1, maxLength=255, pattern="^[ -~]+$"
    )
    last_id = parameter("Last-Event-ID", where="header", pattern="^[0-9]{1,15}$")
    return {
        "GET /health": _operation(
            "tell_health", "Check that the process answers.", {200: state}, (), security=[]
        ),
        "GET /ready": _operation(
            "tell_ready", "Check that runs can be accepted.", {200: state}, (503,), security=[]
        ),
        "GET /metrics": _operation(
            "tell_metrics",
            "Return the metrics for Prometheus.",
            {200: {"description": "The metrics.", "content": {"text/plain": text}}},
            (401,),
        ),
        "GET /v1/agents": _operation(
            "list_agents", "List the agents.", {200: _json("AgentsDocument")}, (401,)
        ),
        "POST /v1/runs": _operation(
            "create_run",
            "Create a run, or return the run of an earlier request with the same `Idempotency-Key`.",
            {202: accepted, 200: accepted},
            (401, 403, *_BODY, 429, 503),
            parameters=[key],
            requestBody={"required": True, "content": _content("RunRequest")},
        ),
        "GET /v1/runs": _operation(
            "list_runs",
            "List the runs, the newest first.",
            {200: _json("RunsDocument")},
            (401, 422, 503),
            parameters=query_parameters(RunsQuery),
        ),
        "GET /v1/runs/{run_id}": _operation("get_run", "Get a run.", {200: run}, (401, 404, 503)),
        "POST /v1/runs/{run_id}/cancel": _operation(
            "cancel_run",
            "Cancel a run; one that has ended stays as it is.",
            {200: run, 202: run},
            (401, 403, 404, *_BODY, 503),
            requestBody={"required": False, "content": _content("CancelRequest")},
        ),
        "POST /v1/runs/{run_id}/input": _operation(
            "answer_run",
            "Answer what a run waits for, or say something to one under way; either may be repeated, a message with the same `Idempotency-Key`.",
            {200: run, 202: run},
            (401, 403, 404, 409, *_BODY, 503),
            parameters=[key],
            requestBody={"required": True, "content": _content("AnswerRequest", "SteerRequest")},
        ),
        "GET /v1/runs/{run_id}/events": _operation(
            "read_events",
            "Read a page of events, or follow them as server-sent events if `Accept` asks for `text/event-stream`.",
            {
                200: page,
                204: {"description": "As a stream: the run has ended, and all was seen."},
            },
            (401, 404, 422, 429, 503),
            parameters=[*query_parameters(EventsQuery), last_id],
        ),
    }


def _operation(
    name: str, summary: str, answers: dict[int, Json], problems: tuple[int, ...], **more: Any
) -> Json:
    problem = _content("ProblemDocument", kind=PROBLEM_TYPE)
    errors = {
        status: {"description": _WORDS[status], "content": problem}
        for status in (400, *problems, 500)
    }
    return {
        "operationId": name,
        "summary": summary,
        "responses": {str(status): answer for status, answer in sorted((answers | errors).items())},
        **more,
    }


def query_parameters(model: type[BaseModel]) -> list[Json]:
    """Return the parameters of a query. None of them can be null: a client leaves out those that it does not need."""
    found: list[Json] = []
    for name, described in model.model_json_schema(ref_template=_REFERENCES)["properties"].items():
        schema = {key: value for key, value in described.items() if key != "title"}
        # For an optional parameter pydantic writes `anyOf`, with null last.
        schema = next(iter(schema.pop("anyOf", ())), schema)
        form = {"style": "deepObject", "explode": True} if name == "metadata" else {}
        found.append({"name": name, "in": "query", "required": False, "schema": schema} | form)
    return found


def parameter(name: str, *, where: str, **schema: Any) -> Json:
    """Return a parameter of text in a path or a header."""
    schema = {"type": "string", **schema}
    return {"name": name, "in": where, "required": where == "path", "schema": schema}


def _json(model: str) -> Json:
    return {"description": f"A {model}.", "content": _content(model)}


def _content(*models: str, kind: str = "application/json") -> Json:
    found = [{"$ref": _REFERENCES.format(model=model)} for model in models]
    return {kind: {"schema": found[0] if len(found) == 1 else {"anyOf": found}}}
