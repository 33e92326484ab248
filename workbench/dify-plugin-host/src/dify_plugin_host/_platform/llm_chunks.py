"""Chunks of a model's answer, in the form that Dify hands to a plugin that called back, and what they say as messages of a strategy."""

from collections.abc import Iterator, Sequence
from typing import Any

from dify_plugin_packager.json_access import JsonObject, is_list, is_object


def build_chunk(
    text: str,
    *,
    calls: Sequence[JsonObject] = (),
    usage: JsonObject | None = None,
    reason: str | None = None,
    opaque_body: object = None,
) -> JsonObject:
    """Build a chunk without the model's name; usage and reason belong to the last one."""
    message: JsonObject = {"role": "assistant", "content": text, "tool_calls": list(calls)}
    if opaque_body is not None:
        message["opaque_body"] = opaque_body
    delta = {"index": 0, "message": message, "usage": usage, "finish_reason": reason}
    return {"prompt_messages": [], "system_fingerprint": "", "delta": delta}


def build_tool_call(call_id: Any, name: Any, arguments: Any) -> JsonObject:
    """Build a call of a tool; its arguments are JSON text."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def build_usage(usage: JsonObject) -> JsonObject:
    """Return the usage in a run's log in Dify's form, with other names and prices as texts."""
    counts = {
        "prompt_tokens": usage.get("input_tokens", 0),
        "completion_tokens": usage.get("output_tokens", 0),
        "total_tokens": usage.get("total_tokens", 0),
    }
    prices = {
        f"{theirs}_{name}": str(usage.get(f"{ours}_{name}", 0))
        for theirs, ours in (("prompt", "input"), ("completion", "output"))
        for name in ("unit_price", "price_unit", "price")
    }
    currency = usage.get("currency") or "USD"
    total = str(usage.get("total_price", 0))
    return {**counts, **prices, "total_price": total, "currency": currency, "latency": 0.0}


def content_messages(content: object) -> Iterator[JsonObject]:
    """Yield the content of a model's message as messages: its text, and a blob or a link for each file."""
    if isinstance(content, str) and content:
        yield build_message("text", {"text": content})
    for part in filter(is_object, content if is_list(content) else ()):
        meta = {"mime_type": part.get("mime_type"), "filename": part.get("filename")}
        if part.get("type") == "text":
            yield build_message("text", {"text": str(part.get("data") or "")})
        elif part.get("base64_data"):
            yield {**build_message("blob", {"blob": part["base64_data"]}), "meta": meta}
        else:
            yield build_message("link", {"text": str(part.get("url") or "")})


def build_message(kind: str, content: JsonObject) -> JsonObject:
    """Build a message of a strategy."""
    return {"type": kind, "message": content, "meta": None}
