"""A plugin of one tool and of models of all types, spoken without the SDK: it sends back what it got."""

import wire
from wire import json


ANSWERS = {
    "invoke_moderation": {"result": True},
    "invoke_rerank": {"model": "m", "docs": []},
    "invoke_speech2text": {"result": "hello"},
    "invoke_tts": {"result": "00ff"},
    "validate_model_credentials": {"result": True},
    "validate_provider_credentials": {"result": False},
}


def say(request, kind, **content):
    wire.stream(request, {"type": kind, "message": content, "meta": None})


def repeat(request, data):
    parameters = data["tool_parameters"]
    say(request, "text", text="So it is: ")
    say(request, "text", text=data["credentials"].get("key", "")[:3])
    say(request, "text", text=data["credentials"].get("key", "")[3:])
    say(request, "json", json_object=data)
    say(request, "variable", variable_name="count", variable_value=len(parameters), stream=False)
    log = {"id": "1", "label": "look", "data": {}, "status": "error", "error": "not there"}
    say(request, "log", **log)
    say(request, "link", text="https://example.com")
    wire.blob_chunk(request, b"\x89PNG\r\n\x1a\n", sequence=0, total=8, last=False)
    wire.blob_chunk(request, b"", sequence=1, total=8, last=True)


def answer(request):
    data = request["data"]
    match data["action"]:
        case "invoke_tool":
            repeat(request, data)
        case "validate_tool_credentials":
            wire.error(request, "ToolProviderCredentialValidationError", data["credentials"]["key"])
        case "get_ai_model_schemas":
            rules = [{"name": name, "type": name} for name in ("int", "float", "boolean", "string")]
            schema = {"model": data["model"], "features": ["vision"], "parameter_rules": rules}
            wire.stream(request, {"model_schema": schema})
        case "invoke_llm":
            message = {"role": "assistant", "content": json.dumps(data)}
            delta = {"index": 0, "message": message}
            wire.stream(request, {"model": data["model"], "delta": delta})
        case "invoke_text_embedding":
            usage = dict.fromkeys(("unit_price", "price_unit", "total_price"), "0")
            usage |= {"tokens": 1, "total_tokens": 1, "currency": "USD", "latency": 0.0}
            wire.stream(request, {"model": json.dumps(data), "embeddings": [[1.0]], "usage": usage})
        case action:
            wire.stream(request, ANSWERS[action])


wire.ready()
for each in wire.requests():
    answer(each)
    wire.end(each)
