"""The response object, built in one way for streams and for whole bodies."""

from typing import Any

from gpt5_simulator._json import Json, is_object, object_at
from gpt5_simulator._output import Output
from gpt5_simulator._request import ModelRequest


_TOOL_USAGE = {
    "image_gen": {
        "input_tokens": 0,
        "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"image_tokens": 0, "text_tokens": 0},
        "total_tokens": 0,
    },
    "web_search": {"num_requests": 0},
}
_ECHOED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "tool_choice": "auto",
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


def build_response(
    *, request: ModelRequest, output: Output, response_id: str, created_at: int, usage: Json
) -> Json:
    """Build the final response object.

    Source: the keys of recorded GPT-5 responses.
    """
    status = "incomplete" if output.is_cut else "completed"
    echoed = {key: _echo(request.body, key) for key in _ECHOED}
    head: Json = {
        "id": response_id,
        "object": "response",
        "created_at": created_at,
        "status": status,
        "background": False,
        "completed_at": None if output.is_cut else created_at,
        "error": None,
        "frequency_penalty": 0.0,
        "incomplete_details": {"reason": "max_output_tokens"} if output.is_cut else None,
        "model": request.profile.snapshot,
        "moderation": None,
        "output": list(output.items),
        "presence_penalty": 0.0,
        "prompt_cache_retention": None,
        "reasoning": _reasoning(request),
        "service_tier": "default",
        "text": {"format": request.text_format, "verbosity": _verbosity(request)},
        "tool_usage": _TOOL_USAGE,
        "tools": [_echoed_tool(tool) for tool in request.body.get("tools") or ()],
        "usage": usage,
    }
    return head | echoed


def _echo(body: Json, key: str) -> object:
    value: object = body.get(key)
    return _ECHOED[key] if value is None else value


def _reasoning(request: ModelRequest) -> Json:
    return {"effort": request.effort, "summary": _effective_summary(request.summary)}


def _effective_summary(asked: str | None) -> str | None:
    return "detailed" if asked == "auto" else asked


def _verbosity(request: ModelRequest) -> str:
    return str(object_at(request.body, "text").get("verbosity") or "medium")


def _echoed_tool(tool: Json) -> Json:
    """Return a tool as OpenAI echoes it: strict unless told otherwise, and then with a closed schema."""
    if tool.get("type") != "function":
        return tool
    strict = tool.get("strict") is not False
    parameters: object = tool.get("parameters")
    if strict and is_object(parameters):
        parameters = parameters | {"additionalProperties": False}
    shown = {"description": tool.get("description"), "parameters": parameters, "strict": strict}
    return tool | shown
