"""A scripted peer for a plugin that runs alone: a model that calls one tool and then answers, and tools that say that they were called."""

import json
import uuid
from collections.abc import AsyncGenerator
from typing import Any

from dify_plugin_host._process.session import BackwardsRequest
from dify_plugin_packager.json_access import JsonObject, list_at, object_at, objects_at

from .answers import give
from .llm_chunks import build_chunk, build_tool_call, build_usage


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


def answer_scripted(request: BackwardsRequest) -> AsyncGenerator[JsonObject] | None:
    """Return the answer to a call of a model or a tool; None for any other."""
    match request.type:
        case "llm":
            return give(_model_chunks(request.request))
        case "tool":
            text = f"{request.request.get('tool')} was called"
            return give([{"type": "text", "message": {"text": text}, "meta": None}])
        case _:
            return None


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
