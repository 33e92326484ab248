"""The events that would have led to a response object.

Source: the order and the fields of recorded GPT-5 streams; `item_kinds.py` has the properties of each type of item.
"""

import hashlib
import re
from collections.abc import Iterator

from gpt5_simulator._json import Json, encode, object_at, objects_in
from gpt5_simulator._responses.encrypted import begin_token
from gpt5_simulator._responses.item_kinds import kind_of, text_of, with_text
from gpt5_simulator._responses.usage import build_tool_usage


_PAD_TO = 16
_PIECE = re.compile(r"\s*\S{1,8}|\s+")  # about a word or a part of one, as deltas are
_TOKENS = ("encrypted_content", "fingerprint")
_PICTURE = ("background", "output_format", "quality", "size")
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
    """Return the response as it was before any output."""
    early: Json = {"status": status, "output": [], "usage": None, "completed_at": None}
    # At its beginning a response names the tier that was asked for, at its end the one that served it.
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
    kind = kind_of(item)
    for step in kind.steps:
        match step:
            case "summary":
                yield from _summary_events(item, where)
            case "content":
                yield from _message_events(item, where)
            case "text":
                text = text_of(item)
                if kind.text is not None and text is not None:
                    name, (*_, key) = kind.text
                    yield from _text_events(name, text, where, key=key)
            case "commands":
                yield from _command_events(item, where)
            case "outputs":
                yield from _output_events(item, where)
            case "pictures":
                yield from _picture_events(item, where, tools)
            case _:
                name = _ending(item) if step == "completed" else step
                if name is not None:
                    yield {"type": f"response.{item['type']}.{name}", **where}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _opened(item: Json) -> Json:
    """Return an item as `output_item.added` has it."""
    kind = kind_of(item)
    shown = {key: item[key] for key in ("id", "type")} if kind.is_bare else with_text(item, "")
    shown = shown | kind.opened
    tokens = {name: begin_token(item[name]) for name in _TOKENS if isinstance(item.get(name), str)}
    return shown | tokens | ({} if kind.status[0] is None else {"status": kind.status[0]})


def _summary_events(item: Json, where: Json) -> Iterator[Json]:
    for index, part in enumerate(objects_in(item["summary"])):
        path = where | {"summary_index": index}
        empty = part | {"text": ""}
        yield {"type": "response.reasoning_summary_part.added", **path, "part": empty}
        yield from _text_events("reasoning_summary_text", part["text"], path, key="text")
        yield {"type": "response.reasoning_summary_part.done", **path, "part": part}


def _message_events(item: Json, where: Json) -> Iterator[Json]:
    for index, part in enumerate(objects_in(item.get("content") or [])):
        path = where | {"content_index": index}
        key = "refusal" if part["type"] == "refusal" else "text"
        empty: Json = {key: ""} | ({"annotations": []} if part["type"] == "output_text" else {})
        yield {"type": "response.content_part.added", **path, "part": part | empty}
        if part["type"] in ("refusal", "reasoning_text"):
            yield from _text_events(part["type"], part[key], path, key=key)
        else:
            yield from _annotated_events(part, path)
        yield {"type": "response.content_part.done", **path, "part": part}


def _annotated_events(part: Json, where: Json) -> Iterator[Json]:
    """Yield the events of a text, each annotation right after the delta with the end of its place."""
    waiting = list(enumerate(objects_in(part["annotations"])))
    spoken = 0
    texts = _text_events("output_text", part["text"], where | {"logprobs": []}, key="text")
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


def _ending(item: Json) -> str | None:
    if item.get("error") is not None and item["type"] in {"mcp_call", "mcp_list_tools"}:
        return "failed"
    return "completed" if item.get("status", "completed") == "completed" else None


def _command_events(item: Json, where: Json) -> Iterator[Json]:
    for index, command in enumerate(object_at(item, "action").get("commands") or ()):
        path = {"output_index": where["output_index"], "command_index": index}
        yield {"type": "response.shell_call_command.added", **path, "command": ""}
        yield from _text_events("shell_call_command", str(command), path, key="command")


def _output_events(item: Json, where: Json) -> Iterator[Json]:
    for index, output in enumerate(objects_in(item["output"])):
        path = where | {"command_index": index}
        said = {name: output[name] for name in ("stdout", "stderr") if output.get(name)}
        if said:
            yield {"type": "response.shell_call_output_content.delta", **path, "delta": said}
        yield {"type": "response.shell_call_output_content.done", **path, "output": [output]}


def _picture_events(item: Json, where: Json, tools: list[Json]) -> Iterator[Json]:
    """Yield as many previews of a picture as the tool asks for."""
    if not item.get("result"):
        return
    shown = {name: item[name] for name in _PICTURE if name in item}
    asked = (tool.get("partial_images") for tool in tools if tool["type"] == "image_generation")
    for index in range(next(asked, None) or 0):
        picture = {"partial_image_index": index, "partial_image_b64": item["result"]}
        kind = "response.image_generation_call.partial_image"
        yield {"type": kind, **where, **picture, **shown}


def _text_events(name: str, text: str, where: Json, *, key: str) -> Iterator[Json]:
    """Yield the deltas of a text and the event that ends it.

    Args:
        name: The name of the events, such as `output_text`.
        text: The whole text.
        where: The fields with the place of the text.
        key: The field of the last event with the text.
    """
    for piece in _PIECE.findall(text):
        yield {"type": f"response.{name}.delta", **where, "delta": piece}
    yield {"type": f"response.{name}.done", **where, key: text}


def annotation_end(annotation: Json) -> int:
    """Return the index in the text where an annotation is due."""
    return int(annotation.get("end_index", annotation.get("index", 0)))


def _padding(number: int, delta: str) -> str:
    wanted = _PAD_TO - len(delta) % _PAD_TO
    return hashlib.sha256(str(number).encode()).hexdigest()[:wanted]
