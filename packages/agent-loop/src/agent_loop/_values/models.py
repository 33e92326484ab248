"""The models of a run: a model's context window, the fallback model, and what a fallback model gets to read."""

from dataclasses import dataclass, replace
from typing import Any

from stream_text import ThinkFilter, is_list, is_object, read_member

from .errors import InvalidSettingError
from .inputs import ModelFailure
from .messages import Message


FILTERED = ModelFailure(
    message="a content filter stopped the answer", is_transient=False, may_pass_elsewhere=True
)
"""The failure of an answer that a content filter has removed entirely."""

# The types of parts that hold thoughts: OpenAI's two, then Anthropic's.
_THOUGHTS = frozenset({"reasoning", "reasoning_text", "thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The size of a model's context window, and when a run is compacted to fit it.

    Attributes:
        tokens: How many tokens a request may have, at least 1,000.
        compact_at: The share of them from which on the run is compacted, over 0 and at most 1.
        keep: The share of them for the last rounds, which are kept word for word, over 0 and less than `compact_at`.
            The very last round is always kept.

    Raises:
        InvalidSettingError: If one is outside its range.
    """

    tokens: int
    compact_at: float = 0.8
    keep: float = 0.2

    def __post_init__(self) -> None:
        """Check the ranges of the fields."""
        least = 1_000
        if self.tokens < least:
            raise InvalidSettingError("window.tokens", f"at least {least:,}", self.tokens)
        if not 0 < self.compact_at <= 1:
            raise InvalidSettingError("window.compact_at", "over 0 and at most 1", self.compact_at)
        if not 0 < self.keep < self.compact_at:
            raise InvalidSettingError(
                "window.keep", "over 0 and less than window.compact_at", self.keep
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackModel:
    """The model that takes over after an error that another model may not have.

    Attributes:
        name: Its name in `CallModel.model`.
        has_tool_choice: Whether it supports a tool choice.
        has_answer_format: Whether it takes a schema as the format of its answer.
        window: Its context window; None for the same as the first model's.
        lacking_tools: The names of those of the run's `hosted_tools` that it does not have.
    """

    name: str
    has_tool_choice: bool = True
    has_answer_format: bool = False
    window: Window | None = None
    lacking_tools: tuple[str, ...] = ()


def without_reasoning(message: Any) -> Any:
    """Return a message without its opaque body and the thoughts in its text, which only the model that wrote them can use.

    A message that is neither a `Message` nor a mapping stays as it is.
    """
    if read_member(message, "role") != "assistant":
        return message
    content: Any = read_member(message, "content")
    if isinstance(message, Message):
        return replace(message, content=_without_thoughts(content), opaque_body=None)
    if is_object(message):
        kept = {key: value for key, value in message.items() if key != "opaque_body"}
        return kept | {"content": _without_thoughts(content)}
    return message


def _without_thoughts(content: Any) -> Any:
    if isinstance(content, str):
        shown = ThinkFilter(show=False)
        return shown.feed(content) + shown.close()
    if is_list(content):
        parts = [part for part in map(_part, content) if part is not None]
        return parts if isinstance(content, list) else tuple(parts)
    return content


def _part(part: Any) -> Any:
    """Return a content part without what only its own model can use; None if nothing else is left."""
    if isinstance(part, str):
        return _without_thoughts(part)
    if not is_object(part):
        return part
    if part.get("type") in _THOUGHTS:
        return None
    kept = {key: value for key, value in part.items() if key != "opaque_body"}
    is_text = str(kept.get("type", "text")).endswith("text")
    for key in ("text", "data"):
        if is_text and isinstance(text := kept.get(key), str):
            kept[key] = _without_thoughts(text)
    return kept
