"""The response object, built in one way for streams and for whole bodies."""

from typing import Any

from gpt5_simulator._echoed_tools import echoed_tool
from gpt5_simulator._json import Json, object_at, objects_in
from gpt5_simulator._output import Output
from gpt5_simulator._request import ModelRequest
from gpt5_simulator._usage import build_tool_usage


_ECHOED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "prompt_cache_retention": None,
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
        "background": bool(request.body.get("background")),
        "completed_at": None if output.is_cut else created_at,
        "error": None,
        "frequency_penalty": 0.0,
        "incomplete_details": {"reason": "max_output_tokens"} if output.is_cut else None,
        "model": request.profile.snapshot,
        "moderation": None,
        "output": list(output.items),
        "presence_penalty": 0.0,
        "reasoning": _reasoning(request),
        "service_tier": _tier(request),
        "text": {"format": request.text_format, "verbosity": _verbosity(request)},
        "tool_usage": build_tool_usage(output.items),
        "tools": [echoed_tool(tool) for tool in objects_in(request.body.get("tools"))],
        "usage": usage,
    }
    options: Json | None = request.body.get("prompt_cache_options")
    return head | echoed | ({} if options is None else {"prompt_cache_options": options})


def _echo(body: Json, key: str) -> object:
    value: object = body.get(key)
    return _ECHOED[key] if value is None else value


def _tier(request: ModelRequest) -> str:
    """Return the tier that served the request: fast is called priority, which a model that lacks it serves as usual."""
    asked = str(request.body.get("service_tier") or "auto")
    tier = {"fast": "priority", "auto": "default"}.get(asked, asked)
    lacks = tier == "priority" and tier not in request.profile.tiers
    return "default" if lacks else tier


def _reasoning(request: ModelRequest) -> Json:
    """Return the reasoning settings in force; older models know no context and no mode."""
    asked = object_at(request.body, "reasoning")
    context, mode = asked.get("context"), asked.get("mode")
    profile = request.profile
    echoed: Json = {"effort": request.effort, "summary": _effective_summary(request.summary)}
    if profile.default_context is not None:
        echoed["context"] = profile.default_context if context in {None, "auto"} else context
    if profile.modes:
        echoed["mode"] = mode or "standard"
    return echoed


def _effective_summary(asked: str | None) -> str | None:
    return "detailed" if asked == "auto" else asked


def _verbosity(request: ModelRequest) -> str:
    return str(object_at(request.body, "text").get("verbosity") or "medium")
