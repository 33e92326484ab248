"""The routes of this face in the OpenAPI description, without the shapes of bodies, which are the Responses API's own.

Source: https://spec.openapis.org/oas/v3.1.0.
"""

from typing import Any, Final

from agent_server._http.openapi import Json, build_paths, parameter, query_parameters

from .routes import ItemsQuery, ReadQuery


_OBJECT: Final[Json] = {"application/json": {"schema": {"type": "object"}}}
_STREAM: Final[Json] = {"text/event-stream": {"schema": {"type": "string"}}}
_ERROR: Final[Json] = {
    "default": {"description": "An error in the form of the Responses API.", "content": _OBJECT}
}


def describe_responses() -> dict[str, Json]:
    """Return the paths of this face."""
    return build_paths(
        {
            "GET /v1/models": _operation("list_models", "List the agents as models."),
            "GET /v1/models/{model}": _operation("get_model", "Get an agent as a model."),
            "POST /v1/responses": _operation(
                "create_response",
                "Ask an agent, or answer what a response waits for.",
                requestBody={"required": True, "content": _OBJECT},
                parameters=[parameter("Idempotency-Key", where="header")],
                streams=True,
            ),
            "GET /v1/responses/{response_id}": _operation(
                "get_response",
                "Get a response, or a stream of its events.",
                parameters=query_parameters(ReadQuery),
                streams=True,
            ),
            "DELETE /v1/responses/{response_id}": _operation(
                "delete_response", "Delete a response, with all of its run."
            ),
            "POST /v1/responses/{response_id}/cancel": _operation(
                "cancel_response", "Cancel a response that has not ended."
            ),
            "GET /v1/responses/{response_id}/input_items": _operation(
                "list_input_items",
                "List the items that a response was asked with.",
                parameters=query_parameters(ItemsQuery),
            ),
        }
    )


def _operation(name: str, summary: str, *, streams: bool = False, **more: Any) -> Json:
    answer = {"description": "The answer.", "content": _OBJECT | (_STREAM if streams else {})}
    return {"operationId": name, "summary": summary, "responses": {"200": answer} | _ERROR, **more}
