"""The events of an output item that is neither a message nor reasoning.

Source: the order and the fields of recorded streams, which `_item_kinds.py` holds.
"""

from collections.abc import Iterator

from gpt5_simulator._json import Json, object_at, objects_in
from gpt5_simulator._responses.deltas import iter_text_events
from gpt5_simulator._responses.encrypted import begin_token
from gpt5_simulator._responses.item_kinds import kind_of, text_of, with_text


_TOKENS = ("encrypted_content", "fingerprint")
_PICTURE = ("background", "output_format", "quality", "size")


def opened_item(item: Json) -> Json:
    """Return an item as `output_item.added` shows it."""
    kind = kind_of(item)
    shown = {key: item[key] for key in ("id", "type")} if kind.is_bare else with_text(item, "")
    shown = shown | kind.opened
    tokens = {name: begin_token(item[name]) for name in _TOKENS if isinstance(item.get(name), str)}
    return shown | tokens | ({} if kind.status[0] is None else {"status": kind.status[0]})


def iter_item_events(item: Json, where: Json, *, tools: list[Json]) -> Iterator[Json]:
    """Yield the events between `output_item.added` and `output_item.done`.

    Args:
        item: The item when it is done.
        where: Its id and its index.
        tools: The tools of the response, of which image generation says how many pictures are sent on the way.
    """
    kind = kind_of(item)
    for step in kind.steps:
        match step:
            case "text":
                text = text_of(item)
                if kind.text is not None and text is not None:
                    name, (*_, key) = kind.text
                    yield from iter_text_events(name, text, where, key=key)
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


def _ending(item: Json) -> str | None:
    if item.get("error") is not None and item["type"] in {"mcp_call", "mcp_list_tools"}:
        return "failed"
    return "completed" if item.get("status", "completed") == "completed" else None


def _command_events(item: Json, where: Json) -> Iterator[Json]:
    for index, command in enumerate(object_at(item, "action").get("commands") or ()):
        path = {"output_index": where["output_index"], "command_index": index}
        yield {"type": "response.shell_call_command.added", **path, "command": ""}
        yield from iter_text_events("shell_call_command", str(command), path, key="command")


def _output_events(item: Json, where: Json) -> Iterator[Json]:
    for index, output in enumerate(objects_in(item["output"])):
        path = where | {"command_index": index}
        said = {name: output[name] for name in ("stdout", "stderr") if output.get(name)}
        if said:
            yield {"type": "response.shell_call_output_content.delta", **path, "delta": said}
        yield {"type": "response.shell_call_output_content.done", **path, "output": [output]}


def _picture_events(item: Json, where: Json, tools: list[Json]) -> Iterator[Json]:
    if not item.get("result"):
        return
    shown = {name: item[name] for name in _PICTURE if name in item}
    asked = (tool.get("partial_images") for tool in tools if tool["type"] == "image_generation")
    for index in range(next(asked, None) or 0):
        picture = {"partial_image_index": index, "partial_image_b64": item["result"]}
        kind = "response.image_generation_call.partial_image"
        yield {"type": kind, **where, **picture, **shown}
