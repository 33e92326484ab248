"""A response object as the events that would have led to it.

Source: the order and the fields of recorded GPT-5 streams.
"""

import hashlib
from collections.abc import Iterator

from gpt5_simulator._json import Json, encode, objects_in
from gpt5_simulator._responses.deltas import iter_text_events
from gpt5_simulator._responses.encrypted import begin_token
from gpt5_simulator._responses.hosted_events import iter_item_events, opened_item
from gpt5_simulator._responses.usage import build_tool_usage


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
        if obfuscate and isinstance(event.get("delta"), str):
            numbered["obfuscation"] = _padding(number, event["delta"])
        yield numbered


def encode_event(event: Json) -> bytes:
    """Write an event as one server-sent event."""
    return b"event: %b\ndata: %b\n\n" % (str(event["type"]).encode(), encode(event))


def begun(response: Json, *, status: str = "in_progress") -> Json:
    """Return the response as it was before anything was said."""
    early: Json = {"status": status, "output": [], "usage": None, "completed_at": None}
    tier = "auto" if response["service_tier"] == "default" else response["service_tier"]
    nothing: Json = {"error": None, "incomplete_details": None, "tool_usage": build_tool_usage()}
    return response | early | nothing | {"service_tier": tier}


def _events(response: Json) -> Iterator[Json]:
    start = begun(response)
    if response["background"]:
        queued = begun(response, status="queued")
        yield {"type": "response.created", "response": queued}
        yield {"type": "response.queued", "response": queued}
    else:
        yield {"type": "response.created", "response": start}
    yield {"type": "response.in_progress", "response": start}
    tools = objects_in(response["tools"])
    for index, item in enumerate(objects_in(response["output"])):
        yield from _item_events(item, index, tools)
    yield {"type": _TERMINAL[response["status"]], "response": response}


def _item_events(item: Json, index: int, tools: list[Json]) -> Iterator[Json]:
    yield {"type": "response.output_item.added", "output_index": index, "item": _opened(item)}
    where = {"item_id": item["id"], "output_index": index}
    match item["type"]:
        case "reasoning":
            yield from _summary_events(item, where)
        case "message":
            yield from _message_events(item, where)
        case _:
            yield from iter_item_events(item, where, tools=tools)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _opened(item: Json) -> Json:
    """Return an item as `output_item.added` shows it."""
    match item["type"]:
        case "reasoning":
            token: str | None = item.get("encrypted_content")
            early: Json = {} if token is None else {"encrypted_content": begin_token(token)}
            return item | early | {"summary": []}
        case "message":
            return item | {"status": "in_progress", "content": []}
        case _:
            return opened_item(item)


def _summary_events(item: Json, where: Json) -> Iterator[Json]:
    for index, part in enumerate(objects_in(item["summary"])):
        path = where | {"summary_index": index}
        empty = part | {"text": ""}
        yield {"type": "response.reasoning_summary_part.added", **path, "part": empty}
        yield from iter_text_events("reasoning_summary_text", part["text"], path, key="text")
        yield {"type": "response.reasoning_summary_part.done", **path, "part": part}


def _message_events(item: Json, where: Json) -> Iterator[Json]:
    for index, part in enumerate(objects_in(item["content"])):
        path = where | {"content_index": index}
        is_refusal = part["type"] == "refusal"
        empty: Json = {"refusal": ""} if is_refusal else {"text": "", "annotations": []}
        yield {"type": "response.content_part.added", **path, "part": part | empty}
        if is_refusal:
            yield from iter_text_events("refusal", part["refusal"], path, key="refusal")
        else:
            yield from _annotated_events(part, path)
        yield {"type": "response.content_part.done", **path, "part": part}


def _annotated_events(part: Json, where: Json) -> Iterator[Json]:
    """Yield the events of a text, each annotation right after the delta that brings the end of what it is about."""
    waiting = list(enumerate(objects_in(part["annotations"])))
    spoken = 0
    texts = iter_text_events("output_text", part["text"], where | {"logprobs": []}, key="text")
    for event in texts:
        is_last = "delta" not in event
        if not is_last:
            yield event
            spoken += len(event["delta"])
        while waiting and (is_last or annotation_end(waiting[0][1]) <= spoken):
            number, annotation = waiting.pop(0)
            kind = "response.output_text.annotation.added"
            path = where | {"annotation_index": number}
            yield {"type": kind, **path, "annotation": annotation}
        if is_last:
            yield event


def annotation_end(annotation: Json) -> int:
    """Return where in the text an annotation is due."""
    return int(annotation.get("end_index", annotation.get("index", 0)))


def _padding(number: int, delta: str) -> str:
    wanted = _PAD_TO - len(delta) % _PAD_TO
    return hashlib.sha256(str(number).encode()).hexdigest()[:wanted]
