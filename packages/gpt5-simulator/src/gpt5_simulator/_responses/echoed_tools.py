"""Tools as the response repeats them: with their defaults, without their secrets.

Source: the tools in recorded response objects.
"""

from urllib.parse import urlsplit

from gpt5_simulator._json import Json, is_object, object_at, objects_in
from gpt5_simulator._request import plain_type


_USUAL: dict[str, Json] = {
    "web_search": {
        "return_token_budget": "default",
        "search_content_types": ["text"],
        "search_context_size": "medium",
    },
    "web_search_preview": {"search_content_types": ["text"], "search_context_size": "medium"},
    "file_search": {
        "filters": None,
        "max_num_results": 20,
        "ranking_options": {"ranker": "auto", "score_threshold": 0.0},
    },
    "image_generation": {
        "background": "auto",
        "moderation": "auto",
        "n": 1,
        "output_compression": 100,
        "output_format": "png",
        "quality": "auto",
        "size": "auto",
    },
    "mcp": {"allowed_tools": None, "headers": None, "require_approval": "always"},
    "tool_search": {"description": None, "parameters": None},
}
_PLACE = {"city": None, "country": None, "region": None, "timezone": None}
_HIDDEN = "<redacted>"


def echoed_tool(tool: Json) -> Json:
    """Return a tool as OpenAI echoes it."""
    kind = plain_type(tool)
    if kind == "function":
        return _echoed_function(tool)
    if kind == "namespace":
        return tool | {"tools": [echoed_tool(inner) for inner in objects_in(tool.get("tools"))]}
    shown = _USUAL.get(kind, {}) | tool
    if kind.startswith("web_search"):
        asked = tool.get("user_location")
        default: Json = {"type": "approximate", "country": "US"}
        shown["user_location"] = _PLACE | (asked if is_object(asked) else default)
    if kind == "mcp":
        shown.pop("authorization", None)
        headers = object_at(tool, "headers")
        shown["headers"] = dict.fromkeys(headers, _HIDDEN) or None
        if "server_url" in tool:
            place = urlsplit(str(tool["server_url"]))
            shown["server_url"] = f"{place.scheme}://{place.hostname}/{_HIDDEN}"
    return shown


def _echoed_function(tool: Json) -> Json:
    """Return a function as it is echoed: strict unless told otherwise, and then with a closed schema."""
    strict = tool.get("strict") is not False
    parameters: object = tool.get("parameters")
    if strict and is_object(parameters):
        parameters = parameters | {"additionalProperties": False}
    shown = {"description": tool.get("description"), "parameters": parameters, "strict": strict}
    return tool | shown
