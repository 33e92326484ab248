"""The models of a run: the one that it begins with, and the one that takes over; what of a conversation goes to the second."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from stream_text import ThinkFilter, read_member

from ._inputs import ModelFailure
from ._messages import Message
from ._window import Window


FILTERED = ModelFailure(
    message="a content filter stopped the answer", is_transient=False, may_pass_elsewhere=True
)
"""What an answer comes to of which a content filter has left nothing."""

_THOUGHTS = frozenset({"reasoning", "reasoning_text", "thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackModel:
    """The model that takes over where an error of the first is one that another may not have.

    Attributes:
        name: What `CallModel.model` calls it.
        has_tool_choice: Whether it knows a tool choice.
        has_answer_format: Whether it takes a schema as the format of its answer.
        window: How much it reads; None for as much as the first.
    """

    name: str
    has_tool_choice: bool = True
    has_answer_format: bool = False
    window: Window | None = None


def without_reasoning(message: Any) -> Any:
    """Return a message without what is for the model that wrote it and for no other: its opaque body, and thoughts in its text.

    A message that is neither a `Message` nor a mapping stays as it is.
    """
    if read_member(message, "role") != "assistant":
        return message
    content: Any = read_member(message, "content")
    if isinstance(message, Message):
        return replace(message, content=_without_thoughts(content), opaque_body=None)
    if isinstance(message, Mapping):
        fields = cast("Mapping[str, Any]", message)
        kept = {key: value for key, value in fields.items() if key != "opaque_body"}
        return kept | {"content": _without_thoughts(content)}
    return message


def _without_thoughts(content: Any) -> Any:
    if isinstance(content, str):
        shown = ThinkFilter(show=False)
        return shown.feed(content) + shown.close()
    if isinstance(content, list | tuple):
        parts = (_part(part) for part in cast("list[Any]", content))
        return type(cast("list[Any]", content))(part for part in parts if part is not None)
    return content


def _part(part: Any) -> Any:
    """Return a part of a content without what is its model's own; None where that is all."""
    if isinstance(part, str):
        return _without_thoughts(part)
    if not isinstance(part, Mapping):
        return part
    fields = cast("Mapping[str, Any]", part)
    if fields.get("type") in _THOUGHTS:
        return None
    kept = {key: value for key, value in fields.items() if key != "opaque_body"}
    for key in ("text", "data"):
        if isinstance(text := kept.get(key), str) and str(kept.get("type", "text")).endswith(
            "text"
        ):
            kept[key] = _without_thoughts(text)
    return kept
