"""The events that each kind of item in a response's output consists of.

Source: the order and the fields of recorded streams of the Responses API; openai 3.51.0, `types/responses/response_output_item.py`.
"""

import json
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from agent_server.executor import JsonObject


type Status = Literal["completed", "incomplete"]


class Say(Protocol):
    """A function that emits an event of the response."""

    def __call__(self, type_: str, **data: Any) -> None:
        """Emit an event, of a type without `response.`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in a response's output.

    Attributes:
        id: The id of the item that stands there.
        index: Its `output_index`.
        say: Emits an event.
    """

    id: str
    index: int
    say: Say

    def add(self, item: JsonObject) -> None:
        """Say that the item begins."""
        self.say("output_item.added", output_index=self.index, item=item)

    def tell(self, type_: str, **data: Any) -> None:
        """Say something of the item."""
        self.say(type_, item_id=self.id, output_index=self.index, **data)

    def end(self, item: JsonObject) -> JsonObject:
        """Say that the item has ended, and return it."""
        self.say("output_item.done", output_index=self.index, item=item)
        return item


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForm:
    """The form in which an item of text is told.

    Attributes:
        kind: The item's type.
        head: Its members beside its text.
        member: The member with its one part.
        part: The part, without its text.
        part_events: The events of the part, without `.added` and `.done`.
        text_events: The events of its text, without `.delta` and `.done`.
        where: The part's place in them.
        more: More members of the latter.
    """

    kind: str
    head: JsonObject
    member: str
    part: JsonObject
    part_events: str
    text_events: str
    where: JsonObject
    more: JsonObject


MESSAGE: Final = TextForm(
    kind="message",
    head={"role": "assistant"},
    member="content",
    part={"type": "output_text", "annotations": [], "logprobs": []},
    part_events="content_part",
    text_events="output_text",
    where={"content_index": 0},
    more={"logprobs": []},
)
"""An answer, or a part of one."""

REASONING: Final = TextForm(
    kind="reasoning",
    head={},
    member="summary",
    part={"type": "summary_text"},
    part_events="reasoning_summary_part",
    text_events="reasoning_summary_text",
    where={"summary_index": 0},
    more={},
)
"""A summary of what the model thinks."""


class TextItem:
    """An item whose text comes in pieces.

    Args:
        form: How it is told.
        place: Where it stands.

    Attributes:
        form: How it is told.
        place: Where it stands.
    """

    def __init__(self, form: TextForm, place: Place) -> None:
        self.form = form
        self.place = place
        self._pieces: list[str] = []
        place.add(self._build("in_progress", []))
        place.tell(f"{form.part_events}.added", **form.where, part=form.part | {"text": ""})

    def add(self, text: str) -> None:
        """Add a piece."""
        self._pieces.append(text)
        form = self.form
        self.place.tell(f"{form.text_events}.delta", **form.where, delta=text, **form.more)

    def end(self, status: Status) -> JsonObject:
        """End the item, and return it."""
        form, text = self.form, "".join(self._pieces)
        part = form.part | {"text": text}
        self.place.tell(f"{form.text_events}.done", **form.where, text=text, **form.more)
        self.place.tell(f"{form.part_events}.done", **form.where, part=part)
        return self.place.end(self._build(status, [part]))

    def _build(self, status: str, parts: list[JsonObject]) -> JsonObject:
        form = self.form
        head = {"id": self.place.id, "type": form.kind, "status": status}
        return head | form.head | {form.member: parts}


class McpItem:
    """A call of a tool of the agent's own: as if its server had called it, so that no client tries to.

    Args:
        place: Where it stands.
        call: The call, with `name` and `arguments`.
        server: The name of the server.
        approval: The id of the item that asked whether it may be made; None for none.

    Attributes:
        index: Its `output_index`.
    """

    def __init__(self, place: Place, call: JsonObject, server: str, approval: str | None) -> None:
        self.index = place.index
        self._place = place
        self._item: JsonObject = {
            "id": place.id,
            "type": "mcp_call",
            "status": "in_progress",
            "name": call["name"],
            "server_label": server,
            "arguments": call["arguments"],
            "approval_request_id": approval,
            "output": None,
            "error": None,
        }
        place.add(self._item | {"arguments": ""})
        place.tell("mcp_call.in_progress")
        place.tell("mcp_call_arguments.delta", delta=call["arguments"])
        place.tell("mcp_call_arguments.done", arguments=call["arguments"])

    def end(self, ended: JsonObject) -> JsonObject:
        """End it with the data of `tool_ended`, and return it."""
        if ended["error"] is None:
            self._place.tell("mcp_call.completed")
            result = {"status": "completed", "output": ended["output"]}
        else:
            self._place.tell("mcp_call.failed")
            content = [{"type": "text", "text": ended["error"]}]
            error = {"type": "mcp_tool_execution_error", "content": content}
            result = {"status": "failed", "error": error}
        return self._place.end(self._item | result)

    def cut(self) -> None:
        """End it without its result, which the response does not see."""
        self._place.end(self._item | {"status": "incomplete"})


def put_text(place: Place, text: str) -> JsonObject:
    """Put out a whole message, and return it."""
    item = TextItem(MESSAGE, place)
    if text:
        item.add(text)
    return item.end("completed")


def put_function_call(place: Place, call: JsonObject) -> JsonObject:
    """Put out a call of a function of the client, and return it."""
    item: JsonObject = {
        "id": place.id,
        "type": "function_call",
        "status": "completed",
        "call_id": call["call_id"],
        "name": call["name"],
        "arguments": call["arguments"],
    }
    place.add(item | {"status": "in_progress", "arguments": ""})
    place.tell("function_call_arguments.delta", delta=call["arguments"])
    place.tell("function_call_arguments.done", name=call["name"], arguments=call["arguments"])
    return place.end(item)


def put_approval_request(place: Place, call: JsonObject, server: str) -> JsonObject:
    """Put out a question whether a call may be made, and return it."""
    item: JsonObject = {
        "id": place.id,
        "type": "mcp_approval_request",
        "name": call["name"],
        "server_label": server,
        "arguments": call["arguments"],
    }
    place.add(item)
    return place.end(item)


def put_image(place: Place, data: str, form: str) -> JsonObject:
    """Put out an image, and return it.

    Args:
        place: Where it stands.
        data: The image in base64.
        form: Its form, such as `png`.
    """
    head: JsonObject = {"id": place.id, "type": "image_generation_call"}
    place.add(head | {"status": "in_progress", "result": None})
    place.tell("image_generation_call.completed")
    return place.end(head | {"status": "completed", "result": data, "output_format": form})


def dump_text(value: Any) -> str:
    """Return an answer as text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
