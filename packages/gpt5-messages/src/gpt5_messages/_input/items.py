"""Input and output items as values, lossless in both directions.

An item holds the documented values of its type in fields, and everything else from the wire in `extra`: turned back, it is
what it was, and a message says its type. A value that does not fit its type stays as it is, in an `OtherItem`.

Source: https://platform.openai.com/docs/api-reference/responses/create (`input`), read 2026-11-21, and recorded traffic.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from gpt5_messages._json import iter_mappings, type_of


type _Wire = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageItem:
    """A message of the user, the operator or the model.

    Attributes:
        role: The role of the speaker.
        content: A text, or content parts exactly as on the wire.
        extra: Further fields of the wire, such as `id`, `status` and `phase`.
    """

    role: Literal["user", "system", "developer", "assistant"]
    content: str | tuple[_Wire, ...]
    extra: _Wire = field(default_factory=dict[str, Any])

    @classmethod
    def of_text(cls, role: Literal["user", "system", "developer", "assistant"], text: str) -> Self:
        """Make a message: a plain text for the assistant, an `input_text` part for everyone else.

        An assistant's parts go back only with their server's id.
        """
        is_answer = role == "assistant"
        return cls(
            role=role, content=text if is_answer else ({"type": "input_text", "text": text},)
        )

    @property
    def text(self) -> str:
        """All text of the message, refusals included."""
        if isinstance(self.content, str):
            return self.content
        texts = (part.get("text", part.get("refusal", "")) for part in self.content)
        return "".join(text for text in texts if isinstance(text, str))

    def to_wire(self) -> dict[str, Any]:
        """Return the item as the API takes it."""
        content = self.content if isinstance(self.content, str) else list(self.content)
        return {"type": "message", **self.extra, "role": self.role, "content": content}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningItem:
    """The reasoning of the model, as far as the server reveals it, to return with the next request.

    Attributes:
        text: Raw reasoning; most servers never send it.
        summary: The summary's parts.
        encrypted_content: The reasoning itself, which only the server can read.
        extra: Further fields of the wire, such as `id` and `status`.
    """

    text: str = ""
    summary: tuple[str, ...] = ()
    encrypted_content: str | None = None
    extra: _Wire = field(default_factory=dict[str, Any])

    def to_wire(self) -> dict[str, Any]:
        """Return the item as the API takes it, always with `summary`, which the API demands even if it is empty."""
        summary = [{"type": "summary_text", "text": part} for part in self.summary]
        item: dict[str, Any] = {**self.extra, "type": "reasoning", "summary": summary}
        if self.text:
            item["content"] = [{"type": "reasoning_text", "text": self.text}]
        if self.encrypted_content is not None:
            item["encrypted_content"] = self.encrypted_content
        return item


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallItem:
    """A call of a function or of a custom tool.

    Attributes:
        type: The kind of tool that is called.
        call_id: Pairs the call with its output.
        name: The tool's name.
        arguments: JSON text for a function, raw text for a custom tool.
        extra: Further fields of the wire, such as `id` and `status`.
    """

    type: Literal["function_call", "custom_tool_call"] = "function_call"
    call_id: str
    name: str
    arguments: str
    extra: _Wire = field(default_factory=dict[str, Any])

    def to_wire(self) -> dict[str, Any]:
        """Return the item as the API takes it."""
        key = "arguments" if self.type == "function_call" else "input"
        call = {"type": self.type, "call_id": self.call_id, "name": self.name, key: self.arguments}
        return {**self.extra, **call}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutputItem:
    """The output of a tool for a call.

    Attributes:
        type: The kind of tool that was called.
        call_id: The call that this answers.
        output: A text, or content parts exactly as on the wire.
        extra: Further fields of the wire.
    """

    type: Literal["function_call_output", "custom_tool_call_output"] = "function_call_output"
    call_id: str
    output: str | tuple[_Wire, ...]
    extra: _Wire = field(default_factory=dict[str, Any])

    def to_wire(self) -> dict[str, Any]:
        """Return the item as the API takes it."""
        output = self.output if isinstance(self.output, str) else list(self.output)
        return {**self.extra, "type": self.type, "call_id": self.call_id, "output": output}


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherItem:
    """An item that is kept as it was: a hosted tool's call, or one of an unknown type."""

    wire: _Wire

    def to_wire(self) -> dict[str, Any]:
        """Return the item as it was."""
        return dict(self.wire)


type ConversationItem = MessageItem | ReasoningItem | ToolCallItem | ToolOutputItem | OtherItem
"""One entry of a conversation."""


def read_item(wire: _Wire) -> ConversationItem:
    """Read an item of the wire; `read_item(wire).to_wire()` equals `wire`, whatever it holds, but for the type of a message that has none."""
    kind = type_of(wire) or ("message" if "role" in wire else "")
    read = _READERS.get(kind)
    item = read(wire) if read else None
    # Turned back as a check: an item that comes out different, such as reasoning with an empty
    # `content`, is kept whole.
    is_same = item is not None and item.to_wire() == {"type": kind, **wire}
    return item if item is not None and is_same else OtherItem(wire=wire)


def _read_message(wire: _Wire) -> MessageItem | None:
    role, content = wire.get("role"), _texts_or_parts(wire.get("content"))
    if role not in ("user", "system", "developer", "assistant") or content is None:
        return None
    return MessageItem(role=role, content=content, extra=_rest(wire, "type", "role", "content"))


def _read_reasoning(wire: _Wire) -> ReasoningItem:
    return ReasoningItem(
        text="".join(_part_texts(wire.get("content"))),
        summary=tuple(_part_texts(wire.get("summary"))),
        encrypted_content=wire.get("encrypted_content"),
        extra=_rest(wire, "type", "summary", "content", "encrypted_content"),
    )


def _read_call(wire: _Wire) -> ToolCallItem | None:
    kind: Any = wire["type"]
    key = "arguments" if kind == "function_call" else "input"
    call_id, name, arguments = wire.get("call_id"), wire.get("name"), wire.get(key)
    if not (isinstance(call_id, str) and isinstance(name, str) and isinstance(arguments, str)):
        return None
    extra = _rest(wire, "type", "call_id", "name", key)
    return ToolCallItem(type=kind, call_id=call_id, name=name, arguments=arguments, extra=extra)


def _read_output(wire: _Wire) -> ToolOutputItem | None:
    kind: Any = wire["type"]
    call_id, output = wire.get("call_id"), _texts_or_parts(wire.get("output"))
    if not isinstance(call_id, str) or output is None:
        return None
    extra = _rest(wire, "type", "call_id", "output")
    return ToolOutputItem(type=kind, call_id=call_id, output=output, extra=extra)


_READERS: dict[str, Callable[[_Wire], ConversationItem | None]] = {
    "message": _read_message,
    "reasoning": _read_reasoning,
    "function_call": _read_call,
    "custom_tool_call": _read_call,
    "function_call_output": _read_output,
    "custom_tool_call_output": _read_output,
}


def _texts_or_parts(value: object) -> str | tuple[_Wire, ...] | None:
    if isinstance(value, str):
        return value
    parts = tuple(iter_mappings(value))
    return parts if isinstance(value, list) else None


def _part_texts(parts: object) -> list[str]:
    texts = (part.get("text") for part in iter_mappings(parts))
    return [text for text in texts if isinstance(text, str)]


def _rest(wire: _Wire, *known: str) -> dict[str, Any]:
    return {key: value for key, value in wire.items() if key not in known}
