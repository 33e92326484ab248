"""The routes of this face in the OpenAPI description, without the shapes, which are the Responses API's own.

Source: https://spec.openapis.org/oas/v3.1.0.
"""

from typing import Any, Final


type Json = dict[str, Any]

_OBJECT: Final[Json] = {"application/json": {"schema": {"type": "object"}}}
_STREAM: Final[Json] = {"text/event-stream": {"schema": {"type": "string"}}}
_ERROR: Final[Json] = {
    "default": {"description": "An error in the form of the Responses API.", "content": _OBJECT}
}


def describe_responses() -> dict[str, Json]:
    """Return the paths of this face."""
    one = {"parameters": [_parameter("response_id", "path", "string")]}
    return {
        "/v1/models": {"get": _operation("list_models", "List the agents as models.")},
        "/v1/models/{model}": {
            "parameters": [_parameter("model", "path", "string")],
            "get": _operation("get_model", "Get an agent as a model."),
        },
        "/v1/responses": {
            "post": _operation(
                "create_response",
                "Ask an agent, or answer what a response waits for.",
                requestBody={"required": True, "content": _OBJECT},
                parameters=[_parameter("Idempotency-Key", "header", "string")],
                streams=True,
            )
        },
        "/v1/responses/{response_id}": {
            **one,
            "get": _operation(
                "get_response",
                "Get a response, or a stream of its events.",
                parameters=[
                    _parameter("stream", "query", "boolean"),
                    _parameter("starting_after", "query", "integer"),
                    _parameter("include_obfuscation", "query", "boolean"),
                ],
                streams=True,
            ),
            "delete": _operation("delete_response", "Delete a response, with all of its run."),
        },
        "/v1/responses/{response_id}/cancel": {
            **one,
            "post": _operation("cancel_response", "Cancel a response that has not ended."),
        },
        "/v1/responses/{response_id}/input_items": {
            **one,
            "get": _operation(
                "list_input_items",
                "List the items that a response was asked with.",
                parameters=[
                    _parameter("after", "query", "string"),
                    _parameter("limit", "query", "integer"),
                    _parameter("order", "query", "string"),
                ],
            ),
        },
    }


def _operation(name: str, summary: str, *, streams: bool = False, **more: Any) -> Json:
    answer = {"description": "The answer.", "content": _OBJECT | (_STREAM if streams else {})}
    return {"operationId": name, "summary": summary, "responses": {"200": answer} | _ERROR, **more}


def _parameter(name: str, where: str, type_: str) -> Json:
    return {"name": name, "in": where, "required": where == "path", "schema": {"type": type_}}
