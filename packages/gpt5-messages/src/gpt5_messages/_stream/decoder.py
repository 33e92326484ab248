"""The events of one response stream, decoded into blocks and items.

It is built for the streams of real servers: items are distinguished by `output_index` because some servers rotate the ids; text that
never came as a delta is filled in from the `done` events or the terminal response; events that a server sends twice and blocks that it leaves open
do no harm.

Source: https://platform.openai.com/docs/api-reference/responses-streaming, read 2026-11-21, and recorded traffic.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from gpt5_messages._completion.events import (
    BlockKind,
    HostedProgress,
    ItemDone,
    ResponseEnded,
    ResponseFailure,
    ResponseStarted,
    StreamEvent,
    UnknownEvent,
    UsageReported,
)
from gpt5_messages._completion.failures import (
    error_details,
    error_failure,
    event_details,
    outer_details,
    to_failure,
    untyped_failure,
)
from gpt5_messages._completion.reading import (
    iter_answer,
    iter_output,
    read_usage,
    to_completion,
    with_parts,
)
from gpt5_messages._completion.validation import check_calls, validate_item, validate_response
from gpt5_messages._completion.values import Completion
from gpt5_messages._json import (
    mapping,
    text_at,
    text_or_none,
    type_of,
)
from gpt5_messages._kinds import KINDS
from gpt5_messages._text import whole_characters
from stream_text import MessageError, read_count

from .blocks import BlockLog
from .item_index import ItemIndex
from .open_item import OpenItem
from .order import EventOrder
from .sse import PARSE_ERROR


_PREVIEW_CHARACTERS = 512
_PART_KINDS: dict[str, BlockKind] = {
    "output_text": "text",
    "refusal": "refusal",
    "reasoning_text": "reasoning_text",
    "summary_text": "summary_text",
}
_CONTENT_KINDS: tuple[BlockKind, ...] = ("text", "refusal", "reasoning_text")
_ENDED_EARLY = ResponseFailure(
    code="stream_ended_early", message="the stream ended before the response was complete"
)
_EMPTY = ResponseFailure(
    code="empty_response", message="the response was completed without any output"
)
_CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
_INCONSISTENT = ResponseFailure(
    code="inconsistent_stream",
    message="events came out of order or not at all, and the text shown is not known to be the text of the response",
)
# Events without anything that the whole items do not have: code, arguments and patches in pieces, and
# previews of images, each of which is a whole picture.
_QUIET = frozenset(
    f"response.{name}"
    for name in (
        *("in_progress", "queued", "output_text.annotation.added"),
        *("code_interpreter_call_code.delta", "code_interpreter_call_code.done"),
        *("mcp_call_arguments.delta", "mcp_call_arguments.done"),
        *("shell_call_command.added", "shell_call_command.delta", "shell_call_command.done"),
        *("shell_call_output_content.delta", "shell_call_output_content.done"),
        *("apply_patch_call_operation_diff.delta", "apply_patch_call_operation_diff.done"),
        "image_generation_call.partial_image",
    )
)
_HOSTED = {
    f"response.{item_type}.{stage}": (item_type, stage)
    for item_type, item_kind in KINDS.items()
    for stage in item_kind.stages
}
_TEXT_EVENTS: dict[str, BlockKind] = {
    "response.output_text": "text",
    "response.refusal": "refusal",
    "response.reasoning_text": "reasoning_text",
    "response.reasoning_summary_text": "summary_text",
}
_DELTA_KINDS: dict[str, BlockKind] = {f"{name}.delta": kind for name, kind in _TEXT_EVENTS.items()}
_DONE_KINDS: dict[str, BlockKind] = {f"{name}.done": kind for name, kind in _TEXT_EVENTS.items()}
_TERMINAL = ("response.completed", "response.incomplete", "response.cancelled", "response.done")
# States of a response that a failed one cannot have.
_UNFINISHED = ("completed", "in_progress", "queued")
_ENDED = ("completed", "incomplete", "failed", "cancelled")
_ERRORS = ("response.error", "error")
_ENDS = frozenset({*_TERMINAL, *_ERRORS, "response.failed"})


class StreamDecoder:
    """A decoder of the events of one response.

    A completed response with no item at all is a failure, `empty_response`.

    Feed it the JSON events in the order in which they came; it returns their meaning. It never raises because of
    a server. Feed it a response that was not streamed as a stream of one terminal event:
    `feed({"type": "response.completed", "response": body})`.

    Args:
        may_be_empty: Whether a completed response may hold nothing, as that to a request with `generate: false` does.
        max_output_tokens: The limit that the request asked for, where the server may call an answer completed that this
            has cut: one that used up the limit counts as incomplete. None trusts the server.

    Example:
        >>> decoder = StreamDecoder()
        >>> body = {"status": "completed", "output": [{"type": "reasoning", "id": "rs_1"}]}
        >>> decoder.feed({"type": "response.completed", "response": body})[-1]
        ResponseEnded(status='completed', reason=None)
    """

    def __init__(self, *, may_be_empty: bool = False, max_output_tokens: int | None = None) -> None:
        self._may_be_empty = may_be_empty
        self._max_output_tokens = max_output_tokens
        self._log = BlockLog()
        self._items = ItemIndex(self._log)
        self._order = EventOrder()
        self._damage: ResponseFailure | None = None  # why a frame could not be read
        self._started: Mapping[str, Any] = {}
        self._final: Mapping[str, Any] | None = None
        self._unexplained: Mapping[str, Any] | None = None  # a failure that does not say why
        self._is_over = False
        # What was read of the whole response: several ask for it, and it does not change any more.
        self._read: tuple[Mapping[str, Any], Completion] | None = None

    def feed(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        """Decode one event; events after the end are ignored."""
        if self._is_over or self._is_repeat(event):
            return []
        handler = self._HANDLERS.get(type_of(event), StreamDecoder._on_other)
        try:
            # Whatever comes now, the response has failed; an error event would say why.
            if self._unexplained is not None:
                return self._end_unexplained(event)
            return handler(self, event)
        except MessageError as error:
            return self._fail(
                ResponseFailure(code=PARSE_ERROR, message=str(error), param=error.field)
            )

    def close(self) -> list[StreamEvent]:
        """Note that the bytes have ended: close all open blocks, and fail unless the response has ended too.

        Some servers never send its end. Then it counts as ended if every item has ended and the last is a message or a call.
        """
        if self._is_over:
            return []
        if self._unexplained is not None:
            return self._end_unexplained({})
        if self._damage is None and self._items.are_whole:
            return self._on_terminal({"type": "response.completed"})
        self._is_over = True
        return [*self._items.stop_all(), self._damage or _ENDED_EARLY]

    @property
    def is_over(self) -> bool:
        """Whether the response has ended, so that nothing more needs to be read."""
        return self._is_over

    @property
    def completion(self) -> Completion:
        """The content of the response so far, or all of it once it has ended.

        Items come from the terminal response, or from the stream if a server leaves them out there.
        """
        if self._read is not None and self._read[0] is self._final:
            return self._read[1]
        body: dict[str, Any] = {**self._started, **(self._final or {"status": "in_progress"})}
        if not body.get("output"):
            is_completed = body["status"] == "completed"
            body["output"] = [
                item.to_item(is_completed=is_completed) for item in self._items.in_order()
            ]
        completion = to_completion(body, seed=self._log.call_ids.seed)
        if self._is_over and self._final is not None:
            self._read = self._final, completion
        return completion

    def _is_repeat(self, event: Mapping[str, Any]) -> bool:
        """Return whether an event has come before; one that ends the response has not, whatever its number, since nothing follows it."""
        is_known = self._order.is_repeat(event)
        return is_known and (type_of(event) not in _ENDS or event == self._unexplained)

    def _on_created(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        self._started = mapping(event.get("response"))
        self._log.call_ids.seed = text_at(self._started, "id")
        return [
            ResponseStarted(
                response_id=text_or_none(self._started.get("id")),
                model=text_or_none(self._started.get("model")),
            )
        ]

    def _on_item_added(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        item = mapping(event.get("item"))
        opened = self._items.find(event)
        validate_item(item, opened.output_index)
        return opened.add(item)

    def _on_item_done(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        item = mapping(event.get("item"))
        opened = self._items.find(event)
        validate_item(item, opened.output_index)
        return _finish(opened, with_parts(item))

    def _on_part_added(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        part = mapping(event.get("part"))
        if (kind := _PART_KINDS.get(type_of(part))) is None:
            return []
        announced = _full_text(kind, part)
        return self._items.find(event).open_part(kind, _part_index(event), announced)

    def _on_part_done(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        """Fill and close a part's block; if the part itself is missing, close every block that can be meant."""
        part, index = mapping(event.get("part")), _part_index(event)
        item = self._items.find(event)
        kind = _PART_KINDS.get(type_of(part))
        if kind is None and type_of(event) == "response.reasoning_summary_part.done":
            kind = "summary_text"
        if kind is not None:
            filled = item.fill_part(kind, index, _full_text(kind, part))
            return [*filled, *item.stop_part(kind, index)]
        kinds = () if type_of(part) else _CONTENT_KINDS
        return [stop for kind in kinds for stop in item.stop_part(kind, index)]

    def _on_part_delta(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        kind = _DELTA_KINDS[type_of(event)]
        return self._items.find(event).grow_part(kind, _part_index(event), event.get("delta"))

    def _on_part_text_done(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        kind = _DONE_KINDS[type_of(event)]
        return self._items.find(event).fill_part(kind, _part_index(event), _full_text(kind, event))

    def _on_call_delta(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        return self._items.find(event).grow_call(event.get("delta"))

    def _on_call_done(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        full = event.get("arguments", event.get("input"))
        return self._items.find(event).fill_call(full)

    def _on_terminal(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        """Fill the gaps from the terminal response, close every block, and say how it ended."""
        response = _read_terminal(event)
        validate_response(response)
        ids = self._log.call_ids
        ids.seed = ids.seed or text_at(response, "id")
        status = response["status"]
        told = list(map(with_parts, iter_output(response)))
        events, output = self._take_output(told, is_completed=status == "completed")
        # From here on `completion` is that of the whole response.
        self._is_over = True
        error = error_details(response) or outer_details(event)
        self._final = {**response, "error": error, "output": output}
        if self._is_at_limit(response):
            self._final |= _CUT
        completion = self.completion
        failure = self._failure(completion, str(status))
        if failure is None and self._is_doubtful(completion, told):
            return [*events, *self._fail(self._damage or _INCONSISTENT)]
        if completion.usage is not None:
            events.append(UsageReported(usage=completion.usage))
        if failure is None and (useless := self._find_useless(completion)) is not None:
            return [*events, *self._fail(useless)]
        if failure is not None:
            events.append(failure)
        events.append(ResponseEnded(status=completion.status, reason=completion.incomplete_reason))
        return events

    def _on_failed(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        """End at a failure, or wait for the event after it if it does not say why.

        Source: docs/evidence/responses-api.md, R24.
        """
        response = mapping(event.get("response"))
        validate_response(response)
        is_explained = error_details(response) or outer_details(event)
        if is_explained or response.get("status") not in ("failed", *_UNFINISHED):
            return self._on_terminal(event)
        self._unexplained = event
        return []

    def _end_unexplained(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        failed, self._unexplained = self._unexplained or {}, None
        details = event_details(event) if type_of(event) == "error" else None
        return self._on_terminal({**failed, "error": details})

    def _on_error(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        """End at an error event, or note that a frame was lost."""
        if event.get("code") == PARSE_ERROR:
            # A frame was lost. That does no harm if the response has its whole text later.
            self._damage = to_failure(event, fallback="a frame could not be read")
            return []
        return self._fail(error_failure(event))

    def _on_other(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        kind = type_of(event)
        if kind in _QUIET:
            return []
        if (progress := _HOSTED.get(kind)) is not None:
            index = event.get("output_index")
            known = index if isinstance(index, int) else -1
            return [HostedProgress(output_index=known, type=progress[0], stage=progress[1])]
        if (failure := untyped_failure(event)) is not None:
            return self._fail(failure)
        response = mapping(event.get("response")) or event
        if not kind and response.get("status") in _ENDED:
            # A gateway may lose the type, and with it the name of the event.
            return self._on_terminal({**event, "response": response})
        return [_unknown(event)]

    def _fail(self, failure: ResponseFailure) -> list[StreamEvent]:
        self._is_over = True
        error = {"code": failure.code, "message": failure.message, "param": failure.param}
        self._final = {**(self._final or {}), "status": "failed", "error": error}
        return [*self._items.stop_all(), failure]

    def _take_output(
        self, told: list[Mapping[str, Any]], *, is_completed: bool
    ) -> tuple[list[StreamEvent], list[Mapping[str, Any]]]:
        """Return the events that the terminal response's items lead to, and all items: those, and what was streamed and they leave out."""
        whole = "".join(iter_answer(told, "output_text", "refusal"))
        shown = "".join(self._log.answer)
        pairs = list(self._items.pair(told, is_shown=bool(whole) and whole == shown))
        events = [event for item, opened in pairs if opened for event in _finish(opened, item)]
        for opened in self._items.in_order():
            events += opened.settle() if opened.is_over or not told else []
        events += self._items.stop_all()
        pairs = [pair for pair in pairs if pair[1] is None or not pair[1].is_repeat]
        output = [opened.complete(item) if opened else item for item, opened in pairs]
        places = [opened.output_index if opened else -1 for _, opened in pairs]
        for opened in self._items.in_order():
            index = opened.output_index
            if index in places or (told and not opened.is_missing_in(whole)):
                continue
            place = next((p for p, other in enumerate(places) if other > index), len(places))
            output.insert(place, opened.to_item(is_completed=is_completed))
            places.insert(place, index)
        return events, output

    def _is_at_limit(self, response: Mapping[str, Any]) -> bool:
        """Return whether an answer that the server calls completed has used up the limit that was asked for."""
        limit = self._max_output_tokens
        if limit is None or response.get("status") != "completed":
            return False
        usage = read_usage(response.get("usage"))
        return usage is not None and usage.output_tokens >= limit

    def _find_useless(self, completion: Completion) -> ResponseFailure | None:
        """Return why a response that is complete is of no use; None if it is."""
        if completion.status == "completed" and not (completion.items or self._may_be_empty):
            return _EMPTY
        if (error := check_calls(completion)) is None:
            return None
        return ResponseFailure(code=PARSE_ERROR, message=str(error), param=error.field)

    def _failure(self, completion: Completion, status: str) -> ResponseFailure | None:
        """Return why a response that has ended has failed; None if it hasn't."""
        if completion.status == "failed":
            state = "" if status == "failed" else f" with the status {status[:100]!r}"
            return to_failure(completion.error or {}, fallback=f"response failed{state}")
        is_unfinished = completion.status in ("cancelled", "queued", "in_progress")
        if is_unfinished and not (completion.text or completion.refusal):
            message = f"the response was {completion.status!r} when it ended, and has no answer"
            return ResponseFailure(code=completion.status, message=message)
        return None

    def _is_doubtful(self, completion: Completion, told: list[Mapping[str, Any]]) -> bool:
        """Return whether an event came late or not at all and the response does not confirm the text that was shown."""
        order = self._order
        # Numbers show by themselves whether the frame that could not be read was an event.
        is_damaged = self._damage is not None and not order.is_numbered
        if not (order.is_disordered or order.has_gap or is_damaged):
            return False
        is_all_done = all(item.done is not None for item in self._items.in_order())
        # Without an output, the ends of all items say as much, unless one of them may be what is missing.
        if not told and (order.has_gap or is_damaged or not is_all_done):
            return True
        whole = "".join(iter_answer(told or completion.items, "output_text", "refusal"))
        return "".join(self._log.answer) != whole

    _HANDLERS: ClassVar[
        dict[str, Callable[["StreamDecoder", Mapping[str, Any]], list[StreamEvent]]]
    ] = {
        "response.created": _on_created,
        "response.output_item.added": _on_item_added,
        "response.output_item.done": _on_item_done,
        "response.content_part.added": _on_part_added,
        "response.content_part.done": _on_part_done,
        "response.reasoning_summary_part.added": _on_part_added,
        "response.reasoning_summary_part.done": _on_part_done,
        **dict.fromkeys(_DELTA_KINDS, _on_part_delta),
        **dict.fromkeys(_DONE_KINDS, _on_part_text_done),
        "response.function_call_arguments.delta": _on_call_delta,
        "response.function_call_arguments.done": _on_call_done,
        "response.custom_tool_call_input.delta": _on_call_delta,
        "response.custom_tool_call_input.done": _on_call_done,
        **dict.fromkeys(_TERMINAL, _on_terminal),
        "response.failed": _on_failed,
        **dict.fromkeys(_ERRORS, _on_error),
    }


def _finish(opened: OpenItem, item: Mapping[str, Any]) -> list[StreamEvent]:
    """Finish an item, but only once: a server may report it at its end and again in the terminal response."""
    if opened.done is not None:
        return []
    events, whole = opened.finish(item)
    return [*events, ItemDone(output_index=opened.output_index, item=whole)]


def _read_terminal(event: Mapping[str, Any]) -> dict[str, Any]:
    """Read the response of the last event, which some servers put beside the event's type, with the state that the two agree on."""
    response = mapping(event.get("response")) or (event if "output" in event else {})
    name = type_of(event).removeprefix("response.")
    ended = name if name in ("failed", "incomplete", "cancelled") else "completed"
    status = response.get("status")
    told_less = {"completed": (), "failed": _UNFINISHED}.get(ended, ("completed",))
    if status in (None, "") or status in told_less:
        status = ended
    return {**response, "status": status}


def _part_index(event: Mapping[str, Any]) -> int:
    """Read a part's index within its item, which has another name in summaries."""
    index = event.get("content_index", event.get("summary_index"))
    return index if type(index) is int else read_count(index) or 0


def _full_text(kind: BlockKind, holder: Mapping[str, Any]) -> object:
    return holder.get("refusal" if kind == "refusal" else "text")


def _unknown(event: Mapping[str, Any]) -> UnknownEvent:
    preview = json.dumps(whole_characters(event), ensure_ascii=False, default=repr)
    preview = preview[:_PREVIEW_CHARACTERS]
    return UnknownEvent(type=str(event.get("type")), preview=preview, event=event)
