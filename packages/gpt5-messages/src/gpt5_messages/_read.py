"""A response object of the API, read into a `Completion`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, cast, get_args, runtime_checkable

from ._errors import MessageError
from ._json import count, iter_mappings, mapping, text_or_none, type_of
from ._text import whole_characters
from ._values import Completion, FinishReason, Item, Status, ToolCall, Usage


_STATUSES = frozenset(get_args(Status.__value__))
_CALL_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}


@runtime_checkable
class _Model(Protocol):
    """A pydantic model, as the official SDK returns it."""

    def model_dump(self, *, exclude_unset: bool) -> dict[str, Any]: ...


def read_response(response: Mapping[str, Any] | object) -> Completion:
    """Read a whole response, or the one that a terminal stream event carries.

    Nothing is validated beyond what is read: most real traffic lacks fields that the official types demand.

    Args:
        response: The response object as a mapping, or as a pydantic model of the official SDK.

    Raises:
        MessageError: If `response` is neither.

    Source: https://platform.openai.com/docs/api-reference/responses/object, read 2026-11-21, and recorded traffic.
    """
    body = _as_mapping(response)
    items = tuple(iter_mappings(whole_characters(body.get("output"))))
    status = _status(body)
    calls = tuple(_iter_tool_calls(items)) if status == "completed" else ()
    reason = text_or_none(mapping(body.get("incomplete_details")).get("reason"))
    return Completion(
        text="".join(_iter_part_texts(items, "message", "output_text", "text")),
        refusal="".join(_iter_part_texts(items, "message", "refusal", "refusal")),
        reasoning_summaries=tuple(_iter_summaries(items)),
        tool_calls=calls,
        usage=read_usage(body.get("usage")),
        status=status,
        finish_reason=_finish_reason(status, reason, has_calls=bool(calls)),
        items=items,
        incomplete_reason=reason,
        error=mapping(body.get("error")) or None,
        response_id=text_or_none(body.get("id")),
        model=text_or_none(body.get("model")),
    )


def read_usage(usage: object) -> Usage | None:
    """Read a `usage` object; None where the server sent nothing that can be counted."""
    counts = mapping(usage)
    if not counts:
        return None
    input_tokens = count(counts, "input_tokens")
    output_tokens = count(counts, "output_tokens")
    return Usage(
        input_tokens=input_tokens,
        cached_tokens=count(counts.get("input_tokens_details"), "cached_tokens"),
        output_tokens=output_tokens,
        reasoning_tokens=count(counts.get("output_tokens_details"), "reasoning_tokens"),
        total_tokens=count(counts, "total_tokens") or input_tokens + output_tokens,
        cache_write_tokens=count(counts.get("input_tokens_details"), "cache_write_tokens"),
    )


def _as_mapping(response: object) -> Mapping[str, Any]:
    if isinstance(response, Mapping):
        return cast("Mapping[str, Any]", response)
    if isinstance(response, _Model):
        return response.model_dump(exclude_unset=True)
    raise MessageError(
        f"response: expected a mapping or an SDK model, got {type(response).__name__}",
        field="response",
    )


def _status(body: Mapping[str, Any]) -> Status:
    """Read the state; a body without one is a finished answer unless it carries an error."""
    status = body.get("status")
    if isinstance(status, str) and status in _STATUSES:
        return cast("Status", status)
    return "failed" if body.get("error") else "completed"


def _finish_reason(status: Status, reason: str | None, *, has_calls: bool) -> FinishReason:
    if status == "incomplete":
        return "content_filter" if reason == "content_filter" else "length"
    if status == "completed":
        return "tool_calls" if has_calls else "stop"
    return "error"


def _iter_tool_calls(items: Iterable[Item]) -> Iterator[ToolCall]:
    """Yield the calls that can be run: whole ones, with an id to answer under and a name."""
    for item in items:
        call = read_tool_call(item)
        if call is not None and item.get("status") != "incomplete":
            yield call


def read_tool_call(item: Item) -> ToolCall | None:
    """Read a function call or custom tool call item; None for any other item, or one without id or name."""
    key = _CALL_ARGUMENTS.get(type_of(item))
    call_id, name = item.get("call_id"), item.get("name")
    if key is None or not (isinstance(call_id, str) and isinstance(name, str) and call_id and name):
        return None
    arguments = item.get(key)
    return ToolCall(
        call_id=call_id,
        name=name,
        arguments=arguments if isinstance(arguments, str) else "",
        type="function" if key == "arguments" else "custom",
    )


def _iter_part_texts(
    items: Iterable[Item], item_type: str, part_type: str, key: str
) -> Iterator[str]:
    for item in items:
        if item.get("type") == item_type:
            for part in iter_mappings(item.get("content")):
                text = part.get(key)
                if part.get("type") == part_type and isinstance(text, str):
                    yield text


def _iter_summaries(items: Iterable[Item]) -> Iterator[str]:
    for item in items:
        if item.get("type") == "reasoning":
            for part in iter_mappings(item.get("summary")):
                text = part.get("text")
                if isinstance(text, str) and text:
                    yield text
