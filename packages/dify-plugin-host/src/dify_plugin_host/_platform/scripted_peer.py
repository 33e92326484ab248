"""A scripted peer for a plugin that runs alone: a model that calls one tool and then answers, and tools that say that they were called."""

import json
import uuid
from collections.abc import AsyncGenerator
from typing import Any

from dify_plugin_host._errors import BackwardsError
from dify_plugin_host._process.session import BackwardsRequest
from dify_plugin_packager.json_access import JsonObject, list_at, object_at, objects_at
from dify_plugin_packager.plugin import PluginFolder

from .llm_chunks import build_chunk, build_tool_call, build_usage
from .rules import validate_permission


ANSWER = ("hello", " world")
"""The pieces of the model's final answer."""

MODEL_VALUE: JsonObject = {
    "provider": "host/scripted/scripted",
    "model": "scripted",
    "model_type": "llm",
    "mode": "chat",
    "completion_params": {},
    "history_prompt_messages": [],
    "entity": None,
}
"""The value of a model-selector that chooses this model."""

_USAGE = build_usage({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2})
_EXAMPLES: dict[str, Any] = {
    "string": "example",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
}


async def answer_scripted(
    folder: PluginFolder, request: BackwardsRequest
) -> AsyncGenerator[JsonObject]:
    """Answer a backwards call of the plugin in `folder`.

    Raises:
        BackwardsError: If the manifest does not allow the call, or this peer cannot answer it.
    """
    if request.caller == "model":
        raise BackwardsError("you can not invoke dify from model")
    validate_permission(request.type, folder)
    match request.type:
        case "llm":
            for chunk in _model_chunks(request.request):
                yield chunk
        case "tool":
            text = f"{request.request.get('tool')} was called"
            yield {"type": "text", "message": {"text": text}, "meta": None}
        case other:
            raise BackwardsError(
                f"this host does not answer {other!r} calls here; it answers llm and tool"
            )


def _model_chunks(payload: JsonObject) -> list[JsonObject]:
    messages, tools = objects_at(payload, "prompt_messages"), objects_at(payload, "tools")
    answered = any(message.get("role") == "tool" for message in messages)
    if tools and not answered:
        arguments = json.dumps(_example_arguments(object_at(tools[0], "parameters")))
        call = build_tool_call(f"call_{uuid.uuid4().hex}", str(tools[0].get("name")), arguments)
        chunks = [build_chunk("", calls=[call], usage=_USAGE, reason="tool_calls")]
    else:
        *early, last = ANSWER
        chunks = [*map(build_chunk, early), build_chunk(last, usage=_USAGE, reason="stop")]
    return [{**chunk, "model": str(payload.get("model"))} for chunk in chunks]


def _example_arguments(schema: JsonObject) -> JsonObject:
    """Return arguments that fit a tool's schema, with an example of each that is required."""
    properties = object_at(schema, "properties")
    return {name: _example(object_at(properties, name)) for name in list_at(schema, "required")}


def _example(schema: JsonObject) -> Any:
    options = list_at(schema, "enum")
    return options[0] if options else _EXAMPLES.get(str(schema.get("type")))
