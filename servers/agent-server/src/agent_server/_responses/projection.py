"""The events of a response, from those of its run.

Nothing but the run's events decides them, so they are the same in every read and on every server.

Source: docs/contracts/agent-events.md, V1 to V7.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from agent_server.executor import JsonObject
from agent_server.runs import LAST_EVENTS, StoredEvent

from .ids import ResponseId
from .items import (
    MESSAGE,
    REASONING,
    McpItem,
    Place,
    TextForm,
    TextItem,
    dump_text,
    put_approval_request,
    put_function_call,
    put_image,
    put_text,
)


type Show = Callable[[StoredEvent], Sequence[tuple[str, JsonObject]]]
"""A function that returns what an event shows, in types and data of contract V: `Conversational.show`."""

_IMAGES: Final = {
    f"image/{name}": name.partition("+")[0] for name in ("png", "webp", "jpeg", "gif", "svg+xml")
}
_STATUS: Final = {
    "run_succeeded": "completed",
    "run_failed": "failed",
    "run_cancelled": "cancelled",
}


class Projection:
    """A response, projected from the beginning of its run.

    The events of a model call are recorded once the call has ended. If the call is made again, its items were
    in vain: the open one is closed as incomplete, those of the new call come at the next places, and the response
    itself has only what is recorded.

    Args:
        response_id: The response.
        head: What the response says of its request, with `background`, `created_at`, `model` and `tools` among it.
        show: Returns what an event of the executor shows.

    Attributes:
        is_over: Whether the response has ended.
        waiting: What the run waits for at the end of the response, as the data of `run_waiting`; None if it does not wait.
        answers: The items of the response's input, if it answers what the one before it waited for.
    """

    def __init__(self, response_id: ResponseId, head: JsonObject, show: Show) -> None:
        self.is_over = False
        self.waiting: JsonObject | None = None
        self.answers: Sequence[JsonObject] = ()
        self._id = response_id
        self._show = show
        self._response: JsonObject = head | {
            "status": "queued" if head["background"] else "in_progress",
            "completed_at": None,
            "error": None,
        }
        self._functions = {tool["name"] for tool in head["tools"]}
        self._part = 0
        self._events: list[JsonObject] = []
        self._count = 0
        self._has_started = False
        self._next_index = 0
        self._open: TextItem | None = None
        self._is_asked = False  # A call of the model is under way.
        self._unrecorded: dict[int, JsonObject] = {}
        self._recorded: dict[int, JsonObject] = {}
        # A call may be asked for, or begin, in one part and end in a later one.
        self._calls: dict[str, JsonObject] = {}
        self._approvals: dict[str, str] = {}
        self._results: dict[str, str] = {}
        self._running: dict[str, McpItem] = {}
        self._usage: JsonObject | None = None

    @property
    def response(self) -> JsonObject:
        """The response as it is so far, with what is recorded."""
        output = [item for _, item in sorted(self._recorded.items())]
        return self._response | {"output": output, "usage": self._usage}

    def begin(self) -> Sequence[JsonObject]:
        """Return the events of the response that come before any of the run; only a run's first response has some."""
        if self._id.part == 0:
            self._create()
        return self._take()

    def feed(self, event: StoredEvent) -> Sequence[JsonObject]:
        """Return what an event of the run becomes. They have to come in order, from the run's first."""
        if self.is_over:
            return []
        if event.type == "run_waiting":
            self._wait(event)
        elif event.type == "run_answered":
            self._go_on(event)
        elif self._part < self._id.part:
            for type_, data in self._list_shown(event):
                self._note_call(type_, data)
        elif event.type in LAST_EVENTS:
            self._end(event)
        else:
            self._start()
            for type_, data in self._list_shown(event):
                self._tell(type_, data)
        return self._take()

    def _note_call(self, type_: str, data: JsonObject) -> None:
        """Note a call of an earlier part, which may end in this one."""
        if type_ == "tool_started" and not data["path"]:
            self._calls[data["call_id"]] = data
        elif type_ == "tool_ended" and not data["path"]:
            self._forget_call(data["call_id"])

    def _forget_call(self, call_id: str) -> None:
        # A model may count its calls anew: what was approved is this one, and no later one.
        self._calls.pop(call_id, None)
        self._approvals.pop(call_id, None)

    def _list_shown(self, event: StoredEvent) -> Sequence[tuple[str, JsonObject]]:
        if event.type == "run_started":
            return ()
        if not event.shown:
            # Each who watches would build and hold one of its own, and it may be large.
            event.shown.extend(self._show(event))
        return event.shown

    def _take(self) -> Sequence[JsonObject]:
        events, self._events = self._events, []
        return events

    def _say(self, type_: str, **data: Any) -> None:
        head = {"type": f"response.{type_}", "sequence_number": self._count}
        self._events.append(head | data)
        self._count += 1

    def _create(self) -> None:
        self._say("created", response=self.response)
        if self._response["status"] == "queued":
            self._say("queued", response=self.response)

    def _start(self) -> None:
        if not self._has_started:
            self._has_started = True
            self._response["status"] = "in_progress"
            self._say("in_progress", response=self.response)

    def _wait(self, event: StoredEvent) -> None:
        self.waiting = event.data
        own = ResponseId(self._id.run_id, self._part)
        self._results = {call["call_id"]: id_ for call, id_ in own.calls(event.data, "results")}
        for call, item_id in own.calls(event.data, "approvals"):
            self._approvals[call["call_id"]] = item_id
            self._calls[call["call_id"]] = call
        if self._part == self._id.part:
            self._start()
            self._cut()
            self._ask(event.data)
            self._close("completed", event)

    def _ask(self, asked: JsonObject) -> None:
        if asked["question"] is not None:
            self._record(put_text, "message", asked["question"]["text"])
        for call, call_id in self._id.calls(asked, "results"):
            self._record(put_function_call, "function_call", call | {"call_id": call_id})
        for call in asked["approvals"]:
            place = self._take_place(self._approvals[call["call_id"]])
            server = call["server"] or self._response["model"]
            self._recorded[place.index] = put_approval_request(place, call, server)

    def _go_on(self, event: StoredEvent) -> None:
        self._part += 1
        asked, self.waiting = self.waiting or {"question": None}, None
        if self._part == self._id.part:
            self._response["created_at"] = int(event.created_at.timestamp())
            self.answers = self._list_answers(asked, event.data)
            self._create()

    def _list_answers(self, asked: JsonObject, given: JsonObject) -> Sequence[JsonObject]:
        """Return an answer as the items in which it came."""
        items: list[JsonObject] = [
            {
                "type": "function_call_output",
                "call_id": self._results[call_id],
                # Elsewhere than here, any JSON may be given.
                "output": output if isinstance(output, list) else dump_text(output),
            }
            for call_id, output in given["results"].items()
        ]
        items += [
            {
                "type": "mcp_approval_response",
                "approval_request_id": self._approvals[call_id],
                "approve": one["approved"],
                "reason": one["reason"],
            }
            for call_id, one in given["approvals"].items()
        ]
        if asked["question"] is not None:
            content = [{"type": "input_text", "text": dump_text(given["answer"])}]
            items.append({"type": "message", "role": "user", "content": content})
        return items

    def _end(self, event: StoredEvent) -> None:
        self._cut()
        status = _STATUS[event.type]
        if status == "completed":
            self._tell_answer(event.data["output"])
        elif status == "failed":
            kind = event.data["error_type"] or "server_error"
            self._response["error"] = {
                # Some clients read an error only with its type, and some read that instead of the code.
                "type": kind,
                "code": kind,
                "message": event.data["error"] or "The run failed.",
            }
        self._close(status, event)

    def _tell_answer(self, output: Any) -> None:
        """Tell an answer that no model has told last, such as what a tool gave."""
        # A picture that the model has drawn comes behind its words.
        kinds = [item["type"] for _, item in sorted(self._recorded.items())]
        told = [kind for kind in kinds if kind != "image_generation_call"]
        if output is not None and told[-1:] != ["message"]:
            self._record(put_text, "message", dump_text(output))

    def _close(self, status: str, event: StoredEvent) -> None:
        self.is_over = True
        self._response["status"] = status
        self._response["completed_at"] = int(event.created_at.timestamp())
        # The API has no event for a response that was cancelled.
        self._say("completed" if status == "completed" else "failed", response=self.response)

    def _take_place(self, item_id: str) -> Place:
        self._next_index += 1
        return Place(id=item_id, index=self._next_index - 1, say=self._say)

    def _next_place(self, kind: str) -> Place:
        return self._take_place(self._id.item(kind, self._next_index))

    def _record[Value](
        self, put: Callable[[Place, Value], JsonObject], kind: str, value: Value
    ) -> None:
        """Put out a whole item, which is recorded already."""
        place = self._next_place(kind)
        self._recorded[place.index] = put(place, value)

    def _cut(self) -> None:
        """Close all that is open, since no more of it comes in this response."""
        self._settle()
        self._is_asked = False
        for running in self._running.values():
            running.cut()
        self._running.clear()

    def _settle(self) -> None:
        """Record what was put out, or forget it if it is of a call of the model that has not ended."""
        self._close_text("incomplete" if self._is_asked else "completed")
        if not self._is_asked:
            self._recorded |= self._unrecorded
        self._unrecorded.clear()

    def _close_text(self, status: Literal["completed", "incomplete"]) -> None:
        if self._open is not None:
            self._unrecorded[self._open.place.index] = self._open.end(status)
            self._open = None

    def _tell(self, type_: str, data: JsonObject) -> None:
        if type_ == "model_ended" and data["usage"] is not None:
            self._usage = add_usage(self._usage, data["usage"])
        # What an agent says that was called as a tool is not what this one says.
        if not data["path"] and (tell := self._TELL.get(type_)) is not None:
            tell(self, data)

    def _tell_model_started(self, _data: JsonObject) -> None:
        self._settle()
        self._is_asked = True

    def _tell_text(self, data: JsonObject) -> None:
        text: str = data["text"]
        if self._open is None or self._open.form is not MESSAGE:
            # It parts this text from what was shown before, which is another item.
            text = text.removeprefix("\n")
        self._add_text(MESSAGE, text)

    def _tell_reasoning(self, data: JsonObject) -> None:
        self._add_text(REASONING, data["text"])

    def _add_text(self, form: TextForm, text: str) -> None:
        if not text:
            return
        if self._open is None or self._open.form is not form:
            self._close_text("completed")
            self._open = TextItem(form, self._next_place(form.kind))
        self._open.add(text)

    def _tell_file(self, data: JsonObject) -> None:
        # Output has no kind of item for other files.
        if (form := _IMAGES.get(data["media_type"])) is not None:
            self._close_text("completed")
            place = self._next_place("image_generation_call")
            self._unrecorded[place.index] = put_image(place, data["data"], form)

    def _tell_model_ended(self, _data: JsonObject) -> None:
        self._is_asked = False
        self._settle()

    def _tell_tool_started(self, data: JsonObject) -> None:
        # Those that the client makes itself are asked for when the run waits.
        if data["name"] not in self._functions and data["call_id"] not in self._running:
            self._calls[data["call_id"]] = data
            self._begin_call(data["call_id"])

    def _begin_call(self, call_id: str) -> McpItem:
        place = self._next_place("mcp_call")
        approval = self._approvals.get(call_id)
        begun = McpItem(place, self._calls[call_id], self._response["model"], approval)
        self._running[call_id] = begun
        return begun

    def _tell_tool_ended(self, data: JsonObject) -> None:
        call_id = data["call_id"]
        # Those that the client has made itself are not among them.
        if call_id in self._calls:
            running = self._running.get(call_id) or self._begin_call(call_id)
            del self._running[call_id]
            self._forget_call(call_id)
            self._recorded[running.index] = running.end(data)

    _TELL: Final = {
        "model_started": _tell_model_started,
        "text": _tell_text,
        "reasoning": _tell_reasoning,
        "file": _tell_file,
        "model_ended": _tell_model_ended,
        "tool_started": _tell_tool_started,
        "tool_ended": _tell_tool_ended,
    }


def add_usage(total: JsonObject | None, used: JsonObject) -> JsonObject:
    """Return usage in the API's form, with that of a call of a model added.

    Args:
        total: What was used before; None for nothing.
        used: The usage, as in a run's result.
    """
    before: JsonObject = total or {}
    cached = before.get("input_tokens_details", {}).get("cached_tokens", 0)
    reasoning = before.get("output_tokens_details", {}).get("reasoning_tokens", 0)
    input_tokens = before.get("input_tokens", 0) + used["input_tokens"]
    output_tokens = before.get("output_tokens", 0) + used["output_tokens"]
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {
            "cached_tokens": cached + (used["cached_tokens"] or 0),
            "cache_write_tokens": 0,
        },
        "output_tokens": output_tokens,
        "output_tokens_details": {
            "reasoning_tokens": reasoning + (used["reasoning_tokens"] or 0),
        },
        "total_tokens": input_tokens + output_tokens,
    }
