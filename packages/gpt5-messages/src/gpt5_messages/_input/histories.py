"""Histories as the libraries write them, with all messages converted to the one shape that the rest of this package reads.

That shape is the one of chat completions, which Dify has too: `role`, `content`, `tool_calls`, `tool_call_id`,
`opaque_body`. The other shapes are: items of the Responses API, as the official client and openai-agents keep them; a
whole `Completion`; a tool result that is `call_id, content, error`; messages of langchain, whose kind is their `type`;
messages of pydantic-ai, which are lists of parts; messages of Anthropic, and of the AI SDK, whose calls and results are
parts of the content; messages of AG-UI; chat completions from before there were tools (`function_call`, the role
`function`).

Source: histories written by openai-agents 0.24, pydantic-ai-slim 2.68 and langchain-openai 1.7; the types of ai 6.0.326 (npm) and ag-ui-protocol 1.0.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gpt5_messages._completion.values import Completion, Item
from gpt5_messages._media import are_own_parts
from gpt5_messages._members import has_member, wrong_kind
from stream_text import CallIds, MessageError, is_list, is_object, read_member

from .items import MessageItem, OtherItem, ReasoningItem, ToolCallItem, ToolOutputItem
from .messages import iter_results, read_calls, read_content, read_role
from .parts import are_approvals
from .pydantic_ai import iter_part_messages


# langchain's names for the roles; a `chat` message names its role in a field of its own.
_LANGCHAIN_KINDS = frozenset({"human", "ai", "system", "tool", "function", "chat"})
_FURTHER = ("refusal", "function_call", "audio")
_ITEM_VALUES = MessageItem | ReasoningItem | ToolCallItem | ToolOutputItem | OtherItem
_SAID = ("content", "refusal")
# Blocks and parts that the content repeats, or that are thoughts and marks.
_IN_CONTENT = (None, "text", "thinking", "reasoning", "step-start")
_ANSWERED = ("content", "output", "error")
_MADE = ("tool_calls", "toolCalls", "function_call", "opaque_body", "audio", "images")
_CALL_ID = ("tool_call_id", "toolCallId", "call_id")
# AG-UI's thoughts, and what it shows of a run: neither is said.
_UNSAID = ("reasoning", "activity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A message, or an item that goes out as it is.

    Attributes:
        field: Its place, such as `messages[1]`.
        item: An item of the Responses API; None for a message.
        role: The role of the message.
        content: Its content, in parts of any shape.
        calls: Its tool calls, as items that may lack a name.
        loose: The ids that were made for calls without one of their own; results answer them in their order.
        call_id: The call that a tool's message answers, as it was given.
        carrier: The message that may hold an `opaque_body`.
        replaces_earlier: Whether it is a summary of everything before it.
    """

    field: str
    item: Item | None = None
    role: str = "user"
    content: object = None
    calls: tuple[Mapping[str, Any], ...] = ()
    loose: frozenset[str] = frozenset()
    call_id: object = None
    carrier: object = None
    replaces_earlier: bool = False

    @property
    def whole_calls(self) -> list[Mapping[str, Any]]:
        """The calls that came with an id and a name."""
        return [call for call in self.calls if call["name"] and call["call_id"] not in self.loose]


def iter_entries(messages: object) -> Iterator[Entry]:
    """Yield the entries of a history, every message in the one shape.

    Raises:
        MessageError: If they are not a list, or one cannot be read; `field` says which.
    """
    reader = Reader()
    for value in list_messages(messages):
        yield from reader.read(value)


def list_messages(messages: object) -> list[object]:
    """Return the messages of a history.

    Raises:
        MessageError: If they are not a list.
    """
    is_one = isinstance(messages, str | bytes) or is_object(messages)
    if is_one or not isinstance(messages, Iterable):
        raise wrong_kind("messages", "a list of messages", messages)
    return list(cast("Iterable[object]", messages))


class Reader:
    """A reader of the messages of one history, where results may belong to calls only by their order."""

    def __init__(self) -> None:
        self._count = 0
        self._call_ids: set[str] = set()
        # Name and id of the calls whose results are known by their order: those that had no id, and those that share one.
        self._open: list[tuple[str, str]] = []
        self._shared: dict[str, list[tuple[str, str]]] = {}

    def read(self, value: object) -> Iterator[Entry]:
        """Yield the entries of the next message."""
        field = f"messages[{self._count}]"
        self._count += 1
        if (item := _read_item(value)) is not None:
            if item.get("type") == "message":
                read_role(item, field=field)
            self._call_ids.add(str(item.get("call_id")))
            yield Entry(field=field, item=item)
            return
        messages: Iterable[object] = (value,)
        if isinstance(value, Completion):
            messages = (_from_completion(value),)
        elif read_member(value, "role") is None:
            if (parts := read_member(value, "parts")) is not None:
                messages = iter_part_messages(parts, field)
            elif (role := _langchain_role(value)) is not None:
                messages = (_from_langchain(value, role),)
            else:
                messages = (self._with_role(value, field),)
        for message in messages:
            yield from self._iter_entries(message, field)

    def _with_role(self, value: object, field: str) -> dict[str, Any]:
        """Return a message without a role with the role that its members imply."""
        is_named = bool(self._own_id(value)) and has_member(value, *_ANSWERED)
        if is_named or read_member(value, *_CALL_ID) is not None:
            role = "tool"
        elif any(read_member(value, name) for name in _MADE):
            role = "assistant"
        else:
            raise wrong_kind(field, "a message with role and content", value)
        names = (*_SAID, *_MADE, *_ANSWERED, *_CALL_ID, "id", "name")
        members = {name: read_member(value, name) for name in names if has_member(value, name)}
        return {"role": role, **members}

    def _iter_entries(self, message: object, field: str) -> Iterator[Entry]:
        if read_member(message, "role") in _UNSAID:
            return
        _validate_blocks(message, field)
        role, content = read_role(message, field=field), read_content(message)
        results = list(iter_results(content, field, role))
        for call_id, result in results:
            yield Entry(field=field, role="tool", content=result, call_id=call_id)
        if role == "tool":
            if results or are_approvals(content):
                return
            if not has_member(message, *_ANSWERED):
                raise wrong_kind(f"{field}.content", "what the tool has answered", None)
            if not content:
                content = read_member(message, "output", "error") or content
            call_id = self._find_answered(message)
            yield Entry(field=field, role=role, content=content, call_id=call_id)
            return
        has_made = role == "assistant" and any(read_member(message, name) for name in _MADE)
        if not has_made and not has_member(message, *_SAID):
            raise wrong_kind(f"{field}.content", "a text or a list of parts", None)
        calls, loose = self._take_calls(read_calls(message, field=field), field)
        if calls and role != "assistant":
            place = f"{field}.tool_calls"
            raise MessageError(f"{place}: expected the role assistant, got {role}", field=place)
        yield Entry(
            field=field,
            role=role,
            content=content,
            calls=calls,
            loose=loose,
            carrier=message,
            replaces_earlier=read_member(message, "replaces_earlier") is True,
        )

    def _own_id(self, message: object) -> str:
        """Return the `id` of a message if it is the id of a call; it may also be the message's own."""
        own = read_member(message, "id")
        return own if isinstance(own, str) and own in self._call_ids else ""

    def _take_calls(
        self, calls: list[dict[str, Any]], field: str
    ) -> tuple[tuple[dict[str, Any], ...], frozenset[str]]:
        """Return the calls, each once and with an id, and the ids that were made here."""
        if not calls:
            return (), frozenset()
        given_ids = {call["call_id"].strip() for call in calls} - {""}
        if len(given_ids) == len(calls):  # nearly always
            self._open, self._shared = [], {}
            self._call_ids |= {call["call_id"] for call in calls}
            return tuple(calls), frozenset()
        taken: list[dict[str, Any]] = []
        made: set[str] = set()
        # No result answers a call of an earlier message by its order.
        self._open, ids = [], CallIds(field)
        shared: dict[str, list[tuple[str, str]]] = {}
        for number, call in enumerate(calls):
            given = call["call_id"].strip()
            arguments = str(call.get("arguments", call.get("input")) or "")
            if (call_id := ids.take(call["call_id"], call["name"], arguments)) is None:
                continue
            if call_id.strip() != given:
                call_id = f"call_{field.removeprefix('messages')[1:-1]}_{number}"
                made.add(call_id)
            waiting = shared.setdefault(given, []) if given else self._open
            waiting.append((call["name"], call_id))
            taken.append({**call, "call_id": call_id})
        self._shared = {given: same for given, same in shared.items() if len(same) > 1}
        self._call_ids |= {call["call_id"] for call in taken}
        return tuple(taken), frozenset(made)

    def _find_answered(self, message: object) -> object:
        """Return the id of the call that a tool's message answers: its own, or else that of the next call without one; None if there is none."""
        named: object = read_member(message, *_CALL_ID) or self._own_id(message)
        shared = self._shared.get(named.strip(), []) if isinstance(named, str) else []
        name = read_member(message, "name", "tool_name")
        waiting = shared if named else self._open
        for place, (called, call_id) in enumerate(waiting):
            if name in (None, "", called):
                del waiting[place]
                return call_id
        return named or None


def _read_item(value: object) -> Item | None:
    """Return an item of the Responses API, whether it is a mapping, one of this package's values or one of the official client's."""
    if isinstance(value, _ITEM_VALUES):
        return value.to_wire()
    kind = read_member(value, "type")
    if not isinstance(kind, str) or not _is_plain(value) or _langchain_role(value) is not None:
        return None
    if kind == "message" and not are_own_parts(read_member(value, "content")):
        return None
    # Each has a role, too: reasoning has one behind LiteLLM.
    has_role = kind in ("message", "reasoning", "additional_tools")
    if not has_role and has_member(value, "role", "tool_calls"):
        return None
    if is_object(value):
        return value
    dump: Callable[..., Item] | None = getattr(value, "model_dump", None)
    # Without the fields that the official client fills in itself, which never were on the wire.
    return dump(mode="json", exclude_unset=True) if callable(dump) else None


def _is_plain(value: object) -> bool:
    """Return whether the type of a value is not the name of a class, as in messages of other libraries: no item's type has capitals."""
    kind = read_member(value, "type")
    return not isinstance(kind, str) or kind == kind.lower()


def _validate_blocks(message: object, field: str) -> None:
    """Refuse a message of llama-index, or of a page of the AI SDK, with blocks or parts that are not in its content.

    Raises:
        MessageError: If it has an image, a file or a call among its blocks, or only parts.
    """
    if read_member(message, "content") is None and (parts := read_member(message, "parts")):
        expected = "`content` for models, as the AI SDK's convertToModelMessages makes it"
        raise wrong_kind(f"{field}.parts", expected, parts)
    for name, kind_name in (("blocks", "block_type"), ("parts", "type")):
        blocks = read_member(message, name)
        for index, block in enumerate(blocks if is_list(blocks) else ()):
            if read_member(block, kind_name) not in _IN_CONTENT:
                raise wrong_kind(f"{field}.{name}[{index}]", "a text, or a part of content", block)


def _from_completion(completion: Completion) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": completion.text,
        "tool_calls": completion.tool_calls,
        "opaque_body": completion.opaque_body,
    }


def _langchain_role(message: object) -> str | None:
    """Return the role of a message of langchain, by a name that `read_role` knows, or of a streamed piece of one."""
    kind = read_member(message, "type")
    role = kind.removesuffix("MessageChunk").lower() if isinstance(kind, str) else None
    return role if role in _LANGCHAIN_KINDS else None


def _from_langchain(message: object, role: str) -> dict[str, Any]:
    dumped = read_member(message, "data")
    held = dumped if is_object(dumped) else message
    names = ("content", "tool_calls", "tool_call_id", "name")
    members = {name: read_member(held, name) for name in names if has_member(held, name)}
    # langchain keeps the further fields of chat completions here, as they came.
    further = read_member(held, "additional_kwargs")
    members |= {name: kept for name in _FURTHER if (kept := read_member(further, name)) is not None}
    broken = read_member(held, "invalid_tool_calls")
    if is_list(broken) and broken:
        # Calls whose arguments langchain could not parse.
        members["tool_calls"] = [*(members.get("tool_calls") or ()), *broken]
    return {"role": read_member(held, "role") or role, **members}
