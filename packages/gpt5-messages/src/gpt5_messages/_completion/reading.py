"""A response object of the API, read into a `Completion`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, cast, get_args, runtime_checkable

from gpt5_messages._json import (
    count,
    iter_mappings,
    iter_parts,
    mapping,
    text_at,
    text_or_none,
    type_of,
)
from gpt5_messages._kinds import CALL_ARGUMENTS
from gpt5_messages._members import wrong_kind
from gpt5_messages._text import whole_characters
from stream_text import CallIds, is_object

from .failures import error_details
from .hosted import read_tool_usage
from .validation import USAGE_NAMES, check_calls, validate_response
from .values import (
    Completion,
    FinishReason,
    Item,
    Status,
    ToolCall,
    Usage,
    argument_text,
)


_STATUSES = frozenset(get_args(Status.__value__))
_LATEST = 1e11  # seconds since 1970, beyond which a time is none
_PART_TEXTS = {"output_text": "text", "refusal": "refusal"}


@runtime_checkable
class _Model(Protocol):
    """A pydantic model, as the official SDK returns it."""

    def model_dump(self, *, exclude_unset: bool) -> dict[str, Any]: ...


def read_response(response: Mapping[str, Any] | object) -> Completion:
    """Read a whole response, or the one that a terminal stream event carries.

    Only the fields that are read are validated: most real traffic lacks fields that the official types demand.

    Args:
        response: The response object as a mapping, or as a pydantic model of the official SDK.

    Raises:
        MessageError: If `response` is neither, or a field can't be read: an id or a name of a call that is not a text, an absurd number of
            tokens, endless nesting. Or if it is complete and has nothing but calls that cannot be made.

    Source: https://platform.openai.com/docs/api-reference/responses/object, read 2026-11-21, and recorded traffic.
    """
    body = _as_mapping(response)
    validate_response(body)
    completion = to_completion(body)
    if (error := check_calls(completion)) is not None:
        raise error
    return completion


def to_completion(body: Mapping[str, Any], *, seed: str = "") -> Completion:
    """Read as much of a response as can be read; never raises.

    Args:
        body: The response.
        seed: Of the ids of calls that have none of their own; the response's id by default.
    """
    output = map(with_parts, map(whole_characters, iter_output(body)))
    ids = CallIds(seed or text_at(body, "id"))
    items = tuple(_iter_distinct(map(_with_text_arguments, output), ids))
    status = _status(body)
    # A response that was cut may end within a call, whose arguments can look whole.
    calls = tuple(_iter_tool_calls(items)) if status == "completed" else ()
    thoughts = (part.get("text") for part in iter_parts(items, "reasoning", "summary"))
    reason = text_or_none(mapping(body.get("incomplete_details")).get("reason"))
    return Completion(
        text="".join(iter_answer(items, "output_text")),
        refusal="".join(iter_answer(items, "refusal")),
        reasoning_summaries=tuple(text for text in thoughts if isinstance(text, str) and text),
        tool_calls=calls,
        usage=read_usage(body.get("usage")),
        status=status,
        finish_reason=_finish_reason(status, reason, has_calls=bool(calls)),
        items=items,
        incomplete_reason=reason,
        error=error_details(body),
        response_id=text_or_none(body.get("id")),
        model=text_or_none(body.get("model")),
        service_tier=text_or_none(body.get("service_tier")),
        tool_usage=read_tool_usage(body, items),
        input_transformations=tuple(iter_mappings(body.get("input_transformations"))),
        moderation=mapping(body.get("moderation")) or None,
        cache_diagnostics=mapping(body.get("prompt_cache_diagnostics")) or None,
        created_at=_read_time(body.get("created_at")),
        metadata={
            key: value
            for key, value in mapping(body.get("metadata")).items()
            if isinstance(value, str)
        },
    )


def _read_time(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < _LATEST else None


def read_usage(usage: object) -> Usage | None:
    """Read a `usage` object, in the words of either API; None if the server has counted nothing."""
    counts = mapping(usage)
    total = count(counts, "total_tokens")
    input_tokens, output_tokens = (count(counts, *names) for names in USAGE_NAMES)
    if input_tokens or output_tokens:
        # What is missing is what the total has beside the other.
        input_tokens = input_tokens or max(total - output_tokens, 0)
        output_tokens = output_tokens or max(total - input_tokens, 0)
    elif not total:
        return None
    given, made = (
        mapping(counts.get(f"{name}_details")) or mapping(counts.get(f"{other}_details"))
        for name, other in USAGE_NAMES
    )
    written = mapping(given.get("cache_write_tokens_details"))
    return Usage(
        input_tokens=input_tokens,
        cached_tokens=count(given, "cached_tokens"),
        output_tokens=output_tokens,
        reasoning_tokens=count(made, "reasoning_tokens"),
        total_tokens=total or input_tokens + output_tokens,
        cache_write_tokens=count(given, "cache_write_tokens"),
        cache_write_12h_tokens=count(written, "ttl_12h_tokens"),
    )


def _as_mapping(response: object) -> Mapping[str, Any]:
    if isinstance(response, Mapping):
        return cast("Mapping[str, Any]", response)
    if isinstance(response, _Model):
        return response.model_dump(exclude_unset=True)
    raise wrong_kind("response", "a mapping or an SDK model", response)


def _status(body: Mapping[str, Any]) -> Status:
    """Read the state; a response with an error has failed whatever its state, and so has one with an unknown state."""
    status = body.get("status")
    if error_details(body) or (isinstance(status, str) and status not in _STATUSES):
        return "failed"
    if status in (None, "completed") and text_at(mapping(body.get("incomplete_details")), "reason"):
        return "incomplete"  # whatever else it says
    return cast("Status", status) if isinstance(status, str) else "completed"


def _finish_reason(status: Status, reason: str | None, *, has_calls: bool) -> FinishReason:
    if status == "incomplete":
        return "content_filter" if reason == "content_filter" else "length"
    if status == "completed":
        return "tool_calls" if has_calls else "stop"
    return "error"


def _iter_distinct(items: Iterable[Item], ids: CallIds) -> Iterator[Item]:
    """Yield the items, each call once and under an id of its own."""
    for item in items:
        key, name = CALL_ARGUMENTS.get(type_of(item)), text_at(item, "name")
        if key is None or not name or item.get("status") == "incomplete":
            yield item
        elif call_id := ids.take(text_at(item, "call_id"), name, argument_text(item.get(key))):
            yield item if call_id == item.get("call_id") else {**item, "call_id": call_id}


def _iter_tool_calls(items: Iterable[Item]) -> Iterator[ToolCall]:
    """Yield the calls that can be run: whole ones with a name."""
    for item in items:
        call = read_tool_call(item)
        if call is not None and item.get("status") != "incomplete":
            yield call


def read_tool_call(item: Item) -> ToolCall | None:
    """Read a function call or custom tool call item; None for any other item, or one without id or name."""
    key = CALL_ARGUMENTS.get(type_of(item))
    call_id, name = item.get("call_id"), item.get("name")
    if key is None or not (isinstance(call_id, str) and isinstance(name, str) and call_id and name):
        return None
    return ToolCall(
        call_id=call_id,
        name=name,
        arguments=argument_text(item.get(key)),
        type="function" if key == "arguments" else "custom",
    )


def _with_text_arguments(item: Item) -> Item:
    """Return a call with its arguments as text, as the API takes it back, if they are an object; anything else as it is."""
    key = CALL_ARGUMENTS.get(type_of(item), "")
    return {**item, key: argument_text(item[key]) or "{}"} if is_object(item.get(key)) else item


def iter_output(body: Mapping[str, Any]) -> Iterator[Item]:
    """Yield a response's items; the text that some servers put beside an empty list of them is one."""
    yield from iter_mappings(body.get("output"))
    if not body.get("output") and (text := text_at(body, "output_text")):
        yield {"type": "message", "role": "assistant", "content": text}


def with_parts(item: Item) -> Item:
    """Return a message as the API sends it, where other servers leave out its type, or have a bare text or parts called `text`; any other item as it is."""
    content = item.get("content")
    kind = type_of(item) or {"assistant": "message"}.get(text_at(item, "role"))
    if kind != "message" or not content:
        return item
    parts: list[object] = cast("list[object]", content) if isinstance(content, list) else [content]
    whole = {**item, "type": "message", "content": list(map(_as_part, parts))}
    return item if whole == item else whole


def _as_part(part: object) -> object:
    if isinstance(part, str):
        return {"type": "output_text", "text": part}
    held = mapping(part)
    return {**held, "type": "output_text"} if type_of(held) == "text" else part


def iter_answer(items: Iterable[Item], *part_types: str) -> Iterator[str]:
    """Yield the texts of all messages' parts of these types, in order."""
    for part in iter_parts(items, "message", "content"):
        for part_type in part_types:
            text = part.get(_PART_TEXTS[part_type])
            if type_of(part) in (part_type, "") and isinstance(text, str):
                yield text
