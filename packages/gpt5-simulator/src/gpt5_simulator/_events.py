"""A response object as the events that would have led to it.

Source: the order and the fields of recorded GPT-5 streams.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator

from gpt5_simulator._encrypted import begin_token
from gpt5_simulator._json import Json, dump, objects_in


_PIECE = re.compile(r"\s*\S{1,8}|\s+")
_PAD_TO = 16
_TERMINAL = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "failed": "response.failed",
}


def iter_events(response: Json, *, obfuscate: bool = True) -> Iterator[Json]:
    """Yield the events of a response, numbered.

    Args:
        response: The final response object.
        obfuscate: Whether deltas carry padding that hides their length.
    """
    for number, event in enumerate(_events(response)):
        numbered = event | {"sequence_number": number}
        if obfuscate and "delta" in event:
            numbered["obfuscation"] = _padding(number, event["delta"])
        yield numbered


def encode(value: Json) -> bytes:
    """Write a JSON object as bytes; what UTF-8 cannot hold, a lone surrogate, stays a JSON escape."""
    return dump(value).encode(errors="backslashreplace")


def encode_event(event: Json) -> bytes:
    """Write an event as one server-sent event."""
    return b"event: %b\ndata: %b\n\n" % (str(event["type"]).encode(), encode(event))


def begun(response: Json) -> Json:
    """Return the response as it was before anything was said."""
    early: Json = {"status": "in_progress", "output": [], "usage": None, "completed_at": None}
    return response | early | {"error": None, "incomplete_details": None, "service_tier": "auto"}


def _events(response: Json) -> Iterator[Json]:
    start = begun(response)
    yield {"type": "response.created", "response": start}
    yield {"type": "response.in_progress", "response": start}
    for index, item in enumerate(objects_in(response["output"])):
        yield from _item_events(item, index)
    yield {"type": _TERMINAL[response["status"]], "response": response}


def _item_events(item: Json, index: int) -> Iterator[Json]:
    yield {"type": "response.output_item.added", "output_index": index, "item": _opened(item)}
    where = {"item_id": item["id"], "output_index": index}
    match item["type"]:
        case "reasoning":
            yield from _summary_events(item, where)
        case "message":
            yield from _message_events(item, where)
        case "function_call":
            yield from _text_events("function_call_arguments", item, where, "arguments")
        case _:
            yield from _text_events("custom_tool_call_input", item, where, "input")
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _opened(item: Json) -> Json:
    """Return an item as `output_item.added` shows it."""
    early: Json = {"status": "in_progress"}
    match item["type"]:
        case "reasoning":
            token: str | None = item.get("encrypted_content")
            early = {} if token is None else {"encrypted_content": begin_token(token)}
            early["summary"] = []
        case "message":
            early["content"] = []
        case "function_call":
            early["arguments"] = ""
        case _:
            early["input"] = ""
    return item | early


def _summary_events(item: Json, where: Json) -> Iterator[Json]:
    for index, part in enumerate(objects_in(item["summary"])):
        path = where | {"summary_index": index}
        empty = part | {"text": ""}
        yield {"type": "response.reasoning_summary_part.added", **path, "part": empty}
        yield from _text_events("reasoning_summary_text", part, path, "text")
        yield {"type": "response.reasoning_summary_part.done", **path, "part": part}


def _message_events(item: Json, where: Json) -> Iterator[Json]:
    for index, part in enumerate(objects_in(item["content"])):
        path = where | {"content_index": index}
        key = "refusal" if part["type"] == "refusal" else "text"
        yield {"type": "response.content_part.added", **path, "part": part | {key: ""}}
        name = "refusal" if key == "refusal" else "output_text"
        extra: Json = {} if key == "refusal" else {"logprobs": []}
        yield from _text_events(name, part, path | extra, key)
        yield {"type": "response.content_part.done", **path, "part": part}


def _text_events(name: str, source: Json, where: Json, key: str) -> Iterator[Json]:
    for piece in _pieces(source[key]):
        yield {"type": f"response.{name}.delta", **where, "delta": piece}
    yield {"type": f"response.{name}.done", **where, key: source[key]}


def _pieces(text: str) -> Iterable[str]:
    return _PIECE.findall(text)


def _padding(number: int, delta: str) -> str:
    wanted = _PAD_TO - len(delta) % _PAD_TO
    return hashlib.sha256(str(number).encode()).hexdigest()[:wanted]
