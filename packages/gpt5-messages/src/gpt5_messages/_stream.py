"""The events of one response stream, decoded into blocks and items.

Built for what servers really send: items are told apart by `output_index` because some servers rotate the ids; text that
never came as a delta is filled in from the `done` events or the terminal response; what a server sends twice or leaves open
does no harm.

Source: https://platform.openai.com/docs/api-reference/responses-streaming, read 2026-11-21, and recorded traffic.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ._blocks import OpenItem
from ._events import (
    BlockKind,
    ItemDone,
    ResponseEnded,
    ResponseFailure,
    ResponseStarted,
    StreamEvent,
    UnknownEvent,
    UsageReported,
)
from ._json import iter_mappings, mapping, text_or_none, type_of
from ._order import EventOrder
from ._read import read_response
from ._values import Completion


_PREVIEW_CHARACTERS = 512
_PART_KINDS: dict[str, BlockKind] = {
    "output_text": "text",
    "refusal": "refusal",
    "reasoning_text": "reasoning_text",
    "summary_text": "summary_text",
}
_QUIET = ("response.in_progress", "response.queued")


class StreamDecoder:
    """A decoder of the events of one response.

    Feed it the JSON events in the order in which they came; it answers with what they mean. It never raises for
    what a server sends. A response that was not streamed is the same to it as a stream of one terminal event:
    `feed({"type": "response.completed", "response": body})`.

    Example:
        >>> decoder = StreamDecoder()
        >>> body = {"status": "completed", "output": []}
        >>> decoder.feed({"type": "response.completed", "response": body})
        [ResponseEnded(status='completed', reason=None)]
    """

    def __init__(self) -> None:
        self._items: dict[int, OpenItem] = {}
        self._index_by_id: dict[str, int] = {}
        self._block_count = 0
        self._order = EventOrder()
        self._started: Mapping[str, Any] = {}
        self._final: Mapping[str, Any] | None = None
        self._is_over = False

    def feed(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        """Decode one event; nothing that comes after the end counts."""
        if self._is_over or self._order.is_repeat(event):
            return []
        handler = self._HANDLERS.get(type_of(event))
        if handler is not None:
            return handler(self, event)
        return [] if type_of(event) in _QUIET else [_unknown(event)]

    def close(self) -> list[StreamEvent]:
        """Take in that the bytes have ended: closes what is open, and is a failure unless the response has ended too."""
        if self._is_over:
            return []
        self._is_over = True
        message = "the stream ended before the response was complete"
        return [*self._stop_all(), ResponseFailure(code="stream_ended_early", message=message)]

    @property
    def is_over(self) -> bool:
        """Whether the response has ended, so that nothing more needs to be read."""
        return self._is_over

    @property
    def completion(self) -> Completion:
        """What the response has said so far, or in all once it has ended.

        Items come from the terminal response, or from the stream where a server leaves them out there.
        """
        body: dict[str, Any] = {**self._started, **(self._final or {"status": "in_progress"})}
        if not body.get("output"):
            body["output"] = [self._items[at].to_item() for at in sorted(self._items)]
        return read_response(body)

    def _on_created(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        self._started = mapping(event.get("response"))
        return [
            ResponseStarted(
                response_id=text_or_none(self._started.get("id")),
                model=text_or_none(self._started.get("model")),
            )
        ]

    def _on_item_added(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        return self._item(event).add(mapping(event.get("item")))

    def _on_item_done(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        item = mapping(event.get("item"))
        return _finish(self._item(event), item)

    def _on_part_added(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        part = mapping(event.get("part"))
        kind = _PART_KINDS.get(type_of(part))
        return [] if kind is None else self._item(event).open_part(kind, _part_index(event))

    def _on_part_done(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        part = mapping(event.get("part"))
        kind = _PART_KINDS.get(type_of(part))
        if kind is None:
            return []
        item, index = self._item(event), _part_index(event)
        return [*item.fill_part(kind, index, _full_text(kind, part)), *item.stop_part(kind, index)]

    def _on_part_delta(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        kind = _DELTA_KINDS[type_of(event)]
        return self._item(event).grow_part(kind, _part_index(event), event.get("delta"))

    def _on_part_text_done(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        kind = _DONE_KINDS[type_of(event)]
        return self._item(event).fill_part(kind, _part_index(event), _full_text(kind, event))

    def _on_call_delta(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        return self._item(event).grow_call(event.get("delta"))

    def _on_call_done(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        full = event.get("arguments", event.get("input"))
        return self._item(event).fill_call(full)

    def _on_terminal(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        """Fill the gaps from the terminal response, close every block, and say how it ended."""
        response = mapping(event.get("response"))
        status = type_of(event).removeprefix("response.")
        self._final = {**response, "status": response.get("status") or status}
        shown = self._shown_text()
        events = [*self._fill_from_output(response), *self._stop_all()]
        self._is_over = True
        completion = self.completion
        if self._order.is_disordered and not completion.text.startswith(shown):
            message = "events came out of order, and the text shown is not the text of the response"
            return [*events, ResponseFailure(code="inconsistent_stream", message=message)]
        if completion.usage is not None:
            events.append(UsageReported(usage=completion.usage))
        if completion.status == "failed":
            events.append(_error(completion.error or {}, fallback="response failed"))
        events.append(ResponseEnded(status=completion.status, reason=completion.incomplete_reason))
        return events

    def _on_error(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        """End at an error event, whose details stand inside `error` on the wire and beside it in the documentation."""
        self._is_over = True
        details = mapping(event.get("error")) or event
        self._final = {"status": "failed", "error": details}
        return [*self._stop_all(), _error(details, fallback="the stream reported an error")]

    def _item(self, event: Mapping[str, Any]) -> OpenItem:
        """Find or open the item that an event belongs to, also for servers that leave `output_index` out."""
        item_id = text_or_none(event.get("item_id") or mapping(event.get("item")).get("id"))
        index = event.get("output_index")
        if not isinstance(index, int):
            is_new = type_of(event) == "response.output_item.added"
            latest = max(self._items, default=-1)
            index = self._index_by_id.get(item_id or "", latest + 1 if is_new else max(latest, 0))
        if item_id:
            self._index_by_id.setdefault(item_id, index)
        return self._open(index)

    def _open(self, index: int) -> OpenItem:
        if index not in self._items:
            self._items[index] = OpenItem(output_index=index, next_block=self._next_block)
        return self._items[index]

    def _next_block(self) -> int:
        self._block_count += 1
        return self._block_count - 1

    def _fill_from_output(self, response: Mapping[str, Any]) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for index, item in enumerate(iter_mappings(response.get("output"))):
            opened = self._counterpart(index, item)
            if opened is not None:
                events += _finish(opened, item)
        return events

    def _counterpart(self, index: int, item: Mapping[str, Any]) -> OpenItem | None:
        """Find the streamed item that a terminal item is, by id or else by index; None if it can't be told."""
        by_id = self._index_by_id.get(text_or_none(item.get("id")) or "")
        if by_id is not None:
            return self._items[by_id]
        if index not in self._items:
            return self._open(index)
        return self._items[index] if self._items[index].is_of(item.get("type")) else None

    def _shown_text(self) -> str:
        return "".join(self._items[at].shown_text() for at in sorted(self._items))

    def _stop_all(self) -> list[StreamEvent]:
        return [event for at in sorted(self._items) for event in self._items[at].stop_all()]

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
        "response.output_text.delta": _on_part_delta,
        "response.output_text.done": _on_part_text_done,
        "response.refusal.delta": _on_part_delta,
        "response.refusal.done": _on_part_text_done,
        "response.reasoning_text.delta": _on_part_delta,
        "response.reasoning_text.done": _on_part_text_done,
        "response.reasoning_summary_text.delta": _on_part_delta,
        "response.reasoning_summary_text.done": _on_part_text_done,
        "response.function_call_arguments.delta": _on_call_delta,
        "response.function_call_arguments.done": _on_call_done,
        "response.custom_tool_call_input.delta": _on_call_delta,
        "response.custom_tool_call_input.done": _on_call_done,
        "response.completed": _on_terminal,
        "response.incomplete": _on_terminal,
        "response.failed": _on_terminal,
        "error": _on_error,
    }


_DELTA_KINDS: dict[str, BlockKind] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reasoning_text",
    "response.reasoning_summary_text.delta": "summary_text",
}
_DONE_KINDS: dict[str, BlockKind] = {
    name.removesuffix("delta") + "done": kind for name, kind in _DELTA_KINDS.items()
}


def _finish(opened: OpenItem, item: Mapping[str, Any]) -> list[StreamEvent]:
    """Finish an item once; a server may report it at its end and again in the terminal response."""
    if opened.is_done:
        return []
    return [*opened.finish(item), ItemDone(output_index=opened.output_index, item=item)]


def _part_index(event: Mapping[str, Any]) -> int:
    """Read a part's index within its item, which goes by another name in summaries."""
    index = event.get("content_index", event.get("summary_index"))
    return index if isinstance(index, int) else 0


def _full_text(kind: BlockKind, holder: Mapping[str, Any]) -> object:
    return holder.get("refusal" if kind == "refusal" else "text")


def _error(details: Mapping[str, Any], *, fallback: str) -> ResponseFailure:
    return ResponseFailure(
        code=text_or_none(details.get("code")) or text_or_none(details.get("type")),
        message=text_or_none(details.get("message")) or fallback,
        param=text_or_none(details.get("param")),
    )


def _unknown(event: Mapping[str, Any]) -> UnknownEvent:
    preview = json.dumps(event, ensure_ascii=False, default=repr)[:_PREVIEW_CHARACTERS]
    return UnknownEvent(type=str(event.get("type")), preview=preview, event=event)
