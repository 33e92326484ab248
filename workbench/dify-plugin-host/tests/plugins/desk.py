"""A plugin of tools without the SDK.

`say` sends the messages that it is given, `back` makes a backwards call and reports the replies, `die` ends.
"""

import sys

import wire
from wire import json


def text(request, content):
    wire.stream(request, {"type": "text", "message": {"text": content}, "meta": None})


def invoke(request, tool, parameters):
    match tool:
        case "say":
            for message in json.loads(parameters["messages"]):
                wire.stream(request, message)
        case "back":
            wire.call(request, parameters["kind"], json.loads(parameters["request"]))
            text(request, json.dumps(wire.replies()))
        case "ask":
            model = parameters["model"]
            payload = {name: model[name] for name in ("provider", "model", "model_type", "mode")}
            message = {"role": "user", "content": "hello"}
            wire.call(request, "llm", {**payload, "prompt_messages": [message]})
            text(request, json.dumps(wire.replies()))
        case "repeat":
            data = {"json_object": request["data"]}
            wire.stream(request, {"type": "json", "message": data, "meta": None})
        case _:
            text(request, "so far")
            sys.stderr.write(f"the key is {request['data']['credentials']['key']}\n")
            sys.exit("out of ink")


def answer(request):
    data = request["data"]
    match data["action"]:
        case "invoke_tool":
            invoke(request, data["tool"], data["tool_parameters"])
        case "validate_tool_credentials" if data["credentials"]["key"] == "let-me-in, please":
            wire.stream(request, {"result": True})
        case "validate_tool_credentials":
            refused = f"wrong key: {data['credentials']['key']}"
            wire.error(request, "ToolProviderCredentialValidationError", refused)
        case _:
            wire.stream(request, data)


wire.ready()
for each in wire.requests():
    answer(each)
    wire.end(each)
