"""A turn as output items, cut where the token budget ends."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import assert_never

from gpt5_simulator._json import Json, dump, objects_in
from gpt5_simulator._model.turn import (
    CustomToolCall,
    FunctionCall,
    OutputItem,
    Reasoning,
    Refusal,
    Text,
    Turn,
    TurnItem,
)
from gpt5_simulator._request import ModelRequest
from gpt5_simulator._responses.encrypted import build_token
from gpt5_simulator._responses.events import annotation_end
from gpt5_simulator._responses.item_kinds import kind_of, text_of, with_text
from gpt5_simulator._responses.usage import CHARS_PER_TOKEN, count_tokens, reasoning_tokens


class IdSource:
    """A source of ids in OpenAI's shape, the same ones for the same material, and of the tokens of items with such ids.

    Args:
        material: The text that ids are made from.
        key: The key that signs tokens.
    """

    def __init__(self, material: str, *, key: bytes = b"") -> None:
        self._material = material
        self._key = key
        self._numbers = count()

    def make(self, prefix: str, length: int = 48) -> str:
        """Return the next id, such as `rs_` and 48 hexadecimal digits."""
        seed = f"{self._material}:{next(self._numbers)}"
        return f"{prefix}_{hashlib.sha256(seed.encode()).hexdigest()[:length]}"

    def encrypt(self, item_id: str) -> str:
        """Return the `encrypted_content` of an item."""
        return build_token(item_id, key=self._key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The output of a turn.

    Attributes:
        items: The output items.
        tokens: All output tokens, including those for reasoning.
        reasoning: The tokens spent on reasoning.
        is_cut: Whether the budget ended before the turn did.
    """

    items: tuple[Json, ...]
    tokens: int
    reasoning: int
    is_cut: bool


def build_output(turn: Turn, *, request: ModelRequest, ids: IdSource) -> Output:
    """Build the output items of a turn.

    Args:
        turn: The model's turn.
        request: The request that it answers, with its token budget.
        ids: The source of ids.
    """
    items: list[Json] = []
    left = request.max_output_tokens
    spent = reasoned = 0
    for position, entry in _allowed(turn, request.max_tool_calls):
        item = _item(entry, request, ids)
        if "phase" in item:
            item["phase"] = item["phase"] or _phase(turn[position + 1 :])
        cost = _cost(entry, item, effort=request.effort)
        room = None if left is None else left - spent
        is_cut = room is not None and cost > room
        if room is not None and is_cut:
            item, cost = _cut(item, room), room
        spent += cost
        reasoned += cost if isinstance(entry, Reasoning) else 0
        items.append(item)
        if is_cut:
            return Output(items=tuple(items), tokens=spent, reasoning=reasoned, is_cut=True)
    return Output(items=tuple(items), tokens=spent, reasoning=reasoned, is_cut=False)


def _allowed(turn: Turn, limit: int | None) -> Iterator[tuple[int, TurnItem]]:
    """Yield the items of a turn with their positions; calls of built-in tools beyond the limit are ignored, as by OpenAI."""
    calls = 0
    for position, entry in enumerate(turn):
        if isinstance(entry, OutputItem) and kind_of(entry.item).is_billed:
            calls += 1
            if limit is not None and calls > limit:
                continue
        yield position, entry


def build_compaction(ids: IdSource) -> Json:
    """Build the item that replaces a conversation."""
    item_id = ids.make("cmp")
    return {"id": item_id, "type": "compaction", "encrypted_content": ids.encrypt(item_id)}


def _item(entry: TurnItem, request: ModelRequest, ids: IdSource) -> Json:
    match entry:
        case Reasoning():
            return _reasoning(entry, request, ids)
        case Text(text=text, phase=phase):
            annotations = [dict(annotation) for annotation in entry.annotations]
            part: Json = {"type": "output_text", "annotations": annotations, "logprobs": []}
            part["text"] = text
            return _message(part, ids) | ({"phase": phase} if request.profile.has_phase else {})
        case Refusal(text=text):
            return _message({"type": "refusal", "refusal": text}, ids)
        case FunctionCall():
            arguments = entry.arguments
            text = arguments if isinstance(arguments, str) else dump(dict(arguments))
            named = {} if entry.namespace is None else {"namespace": entry.namespace}
            return _call(entry, "function_call", "fc", ids) | {"arguments": text} | named
        case CustomToolCall():
            return _call(entry, "custom_tool_call", "ctc", ids) | {"input": entry.input}
        case OutputItem():
            return _hosted(entry, ids)
        case _:
            assert_never(entry)


def _reasoning(entry: Reasoning, request: ModelRequest, ids: IdSource) -> Json:
    item_id = ids.make("rs")
    shown = entry.summary if request.summary else ()
    item: Json = {"id": item_id, "type": "reasoning"}
    item["summary"] = [{"type": "summary_text", "text": text} for text in shown]
    if entry.text:
        item["content"] = [{"type": "reasoning_text", "text": text} for text in entry.text]
    return item | ({"encrypted_content": ids.encrypt(item_id)} if request.encrypted else {})


def _hosted(entry: OutputItem, ids: IdSource) -> Json:
    kind = kind_of(entry.item)
    head: Json = {"id": ids.make(kind.prefix), "type": "", "status": kind.status[1]}
    item = {name: value for name, value in head.items() if value is not None} | kind.defaults
    if kind.is_answered and "call_id" not in entry.item:
        item["call_id"] = ids.make("call", 24)
    if entry.item.get("type") == "compaction":
        item["encrypted_content"] = ids.encrypt(item["id"])
    return item | dict(entry.item)


def _message(part: Json, ids: IdSource) -> Json:
    head: Json = {"id": ids.make("msg"), "type": "message", "status": "completed"}
    return head | {"role": "assistant", "content": [part]}


def _call(entry: FunctionCall | CustomToolCall, kind: str, prefix: str, ids: IdSource) -> Json:
    call_id = entry.call_id or ids.make("call", 24)
    head = {"id": ids.make(prefix), "type": kind, "status": "completed"}
    return head | {"call_id": call_id, "name": entry.name}


def _phase(rest: Turn) -> str:
    calls = any(isinstance(entry, FunctionCall | CustomToolCall | OutputItem) for entry in rest)
    return "commentary" if calls else "final_answer"


def _cost(entry: TurnItem, item: Json, *, effort: str) -> int:
    if isinstance(entry, Reasoning):
        return reasoning_tokens(effort) if entry.tokens is None else entry.tokens
    return count_tokens(_visible(item)) + 1


def _visible(item: Json) -> str:
    if item["type"] == "message":
        part: Json = item["content"][0]
        return str(part.get("text", part.get("refusal")))
    return text_of(item) or ""


def _cut(item: Json, room: int) -> Json:
    """Return an item that ends with the budget, as in recorded traffic: marked as incomplete, but closed."""
    if item["type"] == "reasoning":
        return item | {"summary": []}
    shorter = _visible(item)[: max(room - 1, 0) * CHARS_PER_TOKEN]
    marked = item | ({"status": "incomplete"} if "status" in item else {})
    if item["type"] != "message":
        return with_text(marked, shorter)
    part: Json = item["content"][0]
    if "refusal" in part:
        return marked | {"content": [part | {"refusal": shorter}]}
    made = [one for one in objects_in(part["annotations"]) if annotation_end(one) <= len(shorter)]
    return marked | {"content": [part | {"text": shorter, "annotations": made}]}
