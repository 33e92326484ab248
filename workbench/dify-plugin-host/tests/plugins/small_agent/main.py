"""A strategy that asks the model, runs the tools that it calls at the same time, and asks again.

The query `params` shows the parameters; `raw TYPE JSON` makes one backwards call and shows the replies; `pieces JSON`
and `logs JSON` say what is given; `fetch` tells what is behind the links of the files, `upload JSON` uploads a file,
`tool JSON` calls a tool with the files and shows what comes, `give JSON` hands on messages; `ask` waits for approval
and shows what it belongs to; `attach`, `die` and `odd` do just that.
"""

import itertools
import sys
import time

import wire
from wire import json


numbers = itertools.count(1)


def message(request, kind, content):
    wire.stream(request, {"type": kind, "message": content, "meta": None})


def text(request, content):
    message(request, "text", {"text": content})


def log(request, label, status, *, log_id=None, parent=None, data=None, error=None):
    log_id = log_id or f"log-{next(numbers)}"
    content = {"id": log_id, "label": label, "parent_id": parent, "status": status}
    content |= {"error": error, "data": data or {}, "metadata": {"started_at": time.perf_counter()}}
    message(request, "log", content)
    return log_id


def params(request):
    return request["data"]["agent_strategy_params"]


def ask(request, messages):
    """Call the model; show its text as it comes; return its tool calls and usage."""
    model = params(request)["model"]
    payload = {key: model[key] for key in ("provider", "model", "model_type", "mode")}
    payload |= {"completion_params": model["completion_params"], "prompt_messages": messages}
    wire.call(request, "llm", {**payload, "tools": None, "stop": [], "stream": True})
    calls, usage = [], None
    for reply in wire.replies():
        if reply["event"] == "error":
            raise RuntimeError(reply["message"])
        if reply["event"] == "response":
            delta = reply["data"]["delta"]
            calls += delta["message"]["tool_calls"]
            usage = delta["usage"] or usage
            if delta["message"]["content"]:
                text(request, delta["message"]["content"])
    return calls, usage


def run_tools(request, calls, parent):
    """Start all calls, then wait for all; return each one's observation."""
    started, logs = {}, {}
    for call in calls:
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        payload = {"tool_type": "builtin", "provider": "host", "tool": name}
        request_id = wire.call(request, "tool", {**payload, "tool_parameters": arguments})
        started[request_id] = call
        data = {"input": {"tool_call_name": name, "tool_call_args": arguments}}
        logs[request_id] = log(request, f"CALL {name}", "start", parent=parent, data=data)
    observed = dict.fromkeys(started, "")
    failed = {}
    for reply in wire.replies(len(calls)):
        request_id = reply["backwards_request_id"]
        if reply["event"] == "error":
            failed[request_id] = reply["message"]
        elif reply["event"] == "response":
            content = reply["data"]["message"]
            observed[request_id] += content.get("text") or json.dumps(content)
    for request_id, call in started.items():
        error = failed.get(request_id)
        data = {"output": {"tool_response": observed[request_id] or error}}
        status = "error" if error else "success"
        label = f"CALL {call['function']['name']}"
        log(request, label, status, log_id=logs[request_id], parent=parent, data=data, error=error)
    return [observed[key] or failed.get(key, "") for key in started]


def steps(request):
    query = params(request)["query"]
    messages = [{"role": "user", "content": query}]
    total = 0
    for number in range(1, int(params(request)["maximum_iterations"]) + 1):
        round_log = log(request, f"ROUND {number}", "start")
        thought = log(request, "echo Thought", "start", parent=round_log)
        calls, usage = ask(request, messages)
        total += usage["total_tokens"]
        log(request, "echo Thought", "success", log_id=thought, parent=round_log)
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        for call, result in zip(calls, run_tools(request, calls, round_log), strict=True):
            messages.append({"role": "tool", "content": result, "tool_call_id": call["id"]})
        log(request, f"ROUND {number}", "success", log_id=round_log)
        if not calls:
            break
    metadata = {"total_tokens": total, "total_price": "0.00004", "currency": "USD"}
    metadata |= {"latency": 1.5, "rounds": number, "stop_reason": "answered"}
    message(request, "json", {"json_object": {"execution_metadata": metadata}})


def ask_approval(request):
    """End the turn as one that waits for somebody's leave; tell the conversation, the user and the turns before."""
    metadata = {"stop_reason": "approval"}
    message(request, "json", {"json_object": {"execution_metadata": metadata}})
    ids = [request["conversation_id"], request["data"]["user_id"]]
    return [*ids, params(request)["model"]["history_prompt_messages"]]


def fetch(file):
    """Tell what a strategy gets of a file, and what is behind its link."""
    import hashlib  # noqa: PLC0415 - few tests need these, and without them it starts in half the time
    import urllib.request  # noqa: PLC0415

    with urllib.request.urlopen(file["url"], timeout=120) as found:
        content, mime_type = found.read(), found.headers["content-type"]
    digest = hashlib.sha256(content).hexdigest()
    return {**file, "sha256": digest, "length": len(content), "served_as": mime_type}


def upload(request, asked):
    """Ask where to, and send the file as the SDK does; tell the status and what was answered."""
    import urllib.error  # noqa: PLC0415
    import urllib.request  # noqa: PLC0415

    wire.call(request, "upload_file", {"filename": asked["name"], "mimetype": asked["type"]})
    (reply, _) = wire.replies()
    sent = {"name": asked["name"], "type": asked["type"], "field": "file", **asked.get("sent", {})}
    head = f'Content-Disposition: form-data; name="{sent["field"]}"; filename="{sent["name"]}"'
    head = f"--b\r\n{head}\r\nContent-Type: {sent['type']}\r\n\r\n".encode()
    body = head + bytes.fromhex(asked["hex"]) + b"\r\n--b--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    url = reply["data"]["url"] + asked.get("suffix", "")
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answered:
            return answered.status, json.loads(answered.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read().decode())


def call_tool(request, payload):
    """Call a tool, the parameters in `fill` filled with the files at hand; return its messages."""
    given = params(request)["files"] or []
    at_hand = {"files": given, "file": given[:1]}
    arguments = {name: at_hand[value] for name, value in payload.pop("fill", {}).items()}
    wire.call(request, "tool", {"tool_type": "builtin", **payload, "tool_parameters": arguments})
    return wire.replies()


def raw(request, rest):
    kind, payload = rest.split(" ", 1)
    wire.call(request, kind, json.loads(payload))
    return wire.replies()


# Words that show what comes back.
SHOWN = {
    "params": lambda request, _: params(request),
    "ask": lambda request, _: ask_approval(request),
    "raw": raw,
    "fetch": lambda request, _: [fetch(file) for file in params(request)["files"]],
    "upload": lambda request, rest: upload(request, json.loads(rest)),
    "tool": lambda request, rest: call_tool(request, json.loads(rest)),
}


MESSAGES = {"attach": ("link", {"text": "https://example.com"}), "odd": ("hologram", {})}


def answer(request):
    word, _, rest = params(request)["query"].partition(" ")
    if word in SHOWN:
        text(request, json.dumps(SHOWN[word](request, rest)))
    elif word == "pieces":
        for piece in json.loads(rest):
            text(request, piece)
    elif word == "logs":
        for label, status, data in json.loads(rest):
            log(request, label, status, log_id="log", data=data)
    elif word == "give":
        for given in json.loads(rest):
            wire.stream(request, given)
    elif word in MESSAGES:
        message(request, *MESSAGES[word])
    elif word == "die":
        sys.exit("out of memory")
    else:
        steps(request)


def main():
    wire.ready()
    for request in wire.requests():
        try:
            answer(request)
        except RuntimeError as failure:
            wire.error(request, "RuntimeError", str(failure))
        wire.end(request)


main()
