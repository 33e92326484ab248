"""The response object, built in the same way for streams and for whole bodies.

Source: the keys of recorded GPT-5 responses, and the tools in them.
"""

import json
from pathlib import Path
from urllib.parse import urlsplit

from gpt5_simulator._json import Json, is_object, object_at, objects_in
from gpt5_simulator._request import ModelRequest, plain_type
from gpt5_simulator._responses.output import Output
from gpt5_simulator._responses.usage import build_tool_usage


# The parameters that a response repeats, and the settings of tools, with their values where a request leaves them out.
_DEFAULTS: Json = json.loads(Path(__file__).with_name("defaults.json").read_text("utf-8"))
_ECHOED, _TOOL_DEFAULTS = _DEFAULTS["parameters"], _DEFAULTS["tools"]
_PLACE = {"city": None, "country": None, "region": None, "timezone": None}
_HIDDEN = "<redacted>"


def build_response(
    *, request: ModelRequest, output: Output, response_id: str, created_at: int, usage: Json
) -> Json:
    """Build the final response object."""
    status = "incomplete" if output.is_cut else "completed"
    echoed: Json = {key: _echo(request.body, key) for key in _ECHOED}
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
        "tools": [_echoed_tool(tool) for tool in objects_in(request.body.get("tools"))],
        "usage": usage,
    }
    if request.body.get("prompt_cache_options") is not None:
        echoed["prompt_cache_options"] = request.body["prompt_cache_options"]
    if withheld := _withheld(request):
        echoed["input_transformations"] = withheld
    return head | echoed


def _echo(body: Json, key: str) -> object:
    value: object = body.get(key)
    return _ECHOED[key] if value is None else value


def _tier(request: ModelRequest) -> str:
    """Return the tier that served the request: `fast` is named `priority`, and a model without that serves the request as usual."""
    asked = str(request.body.get("service_tier") or "auto")
    tier = {"fast": "priority", "auto": "default"}.get(asked, asked)
    lacks = tier == "priority" and tier not in request.profile.tiers
    return "default" if lacks else tier


def _reasoning(request: ModelRequest) -> Json:
    """Return the reasoning settings in force; older models have no context and no mode."""
    effort = object_at(request.body, "reasoning").get("effort") or request.profile.default_effort
    echoed: Json = {"effort": effort, "summary": _effective_summary(request.summary)}
    if request.profile.default_context is not None:
        echoed["context"] = _context(request)
    if request.profile.modes:
        echoed["mode"] = object_at(request.body, "reasoning").get("mode") or "standard"
    return echoed


def _context(request: ModelRequest) -> str | None:
    asked = object_at(request.body, "reasoning").get("context")
    return request.profile.default_context if asked in {None, "auto"} else asked


def _withheld(request: ModelRequest) -> list[Json]:
    """Return the reasoning that the model does not read: that of earlier turns, if the context is the current turn.

    Source: `input_transformations` in `response.py` of openai 3.54.0.
    """
    if request.profile.default_context is None or _context(request) != "current_turn":
        return []
    asked = [index for index, item in enumerate(request.items) if item.get("role") == "user"]
    earlier = request.items[: asked[-1] if asked else 0]
    head = {"type": "reasoning", "action": "removed", "reason": "turn_boundary"}
    return [{"id": item.get("id")} | head for item in earlier if item.get("type") == "reasoning"]


def _effective_summary(asked: str | None) -> str | None:
    return "detailed" if asked == "auto" else asked


def _verbosity(request: ModelRequest) -> str:
    return str(object_at(request.body, "text").get("verbosity") or "medium")


def _echoed_tool(tool: Json) -> Json:
    """Return a tool as OpenAI echoes it: with its defaults, without its secrets."""
    kind = plain_type(tool)
    if kind == "function":
        return _echoed_function(tool)
    if kind == "namespace":
        return tool | {"tools": [_echoed_tool(inner) for inner in objects_in(tool.get("tools"))]}
    shown = _TOOL_DEFAULTS.get(kind, {}) | tool
    if kind.startswith("web_search"):
        asked = tool.get("user_location")
        default: Json = {"type": "approximate", "country": "US"}
        shown["user_location"] = _PLACE | (asked if is_object(asked) else default)
    if kind == "mcp":
        shown.pop("authorization", None)
        headers = object_at(tool, "headers")
        shown["headers"] = dict.fromkeys(headers, _HIDDEN) or None
        # The path of an address may be a secret, too.
        if "server_url" in tool:
            place = urlsplit(str(tool["server_url"]))
            shown["server_url"] = f"{place.scheme}://{place.hostname}/{_HIDDEN}"
    return shown


def _echoed_function(tool: Json) -> Json:
    """Return a function as it is echoed: strict by default, and then with a closed schema."""
    strict = tool.get("strict") is not False
    parameters: object = tool.get("parameters")
    if strict and is_object(parameters):
        parameters = parameters | {"additionalProperties": False}
    shown = {"description": tool.get("description"), "parameters": parameters, "strict": strict}
    return tool | shown
