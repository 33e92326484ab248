"""The output items that may go back as input.

The API refuses a reasoning item that it cannot decrypt, a reasoning item without the item that followed it, a call
without its output, and everything of a generated image except the image itself. A call's arguments are a text, whatever
a server has made of them. Failed calls of the server's tools are of no use to it. Everything else goes back verbatim
and in order.

Source: docs/evidence/responses-api.md, R4 to R10, R36 and R37.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from gpt5_messages._completion.values import Item, argument_text
from gpt5_messages._json import text_at, text_or_none, type_of
from gpt5_messages._kinds import CALL_ARGUMENTS, CALL_OUTPUTS, KINDS, OUTPUT_TYPES, types_run_by
from stream_text import is_marked_reasoning, render_omission

from .items import ConversationItem
from .kept import KeptInput, build_kept
from .open_reasoning import returned_reasoning


_IMAGE = "image_generation_call"
_IMAGE_KEYS = ("id", "type", "status", "result")
_SERVER_CALLS = types_run_by("server")
# The states in which a call of the server's tools is of use to it.
_WHOLE = (None, "completed", "searching")


def replayable_items(
    items: Iterable[Item],
    *,
    answered: Collection[str] | None = None,
    made_by: str | None = None,
) -> list[dict[str, Any]]:
    """Return the items that may be sent back, as new dictionaries.

    Args:
        items: The output items of one response, or a whole conversation, in order.
        answered: The call ids whose outputs are in the request too, besides outputs after their calls among the items;
            other calls are left out. None keeps every call.
        made_by: The mark of the connection and model that these items are for: open reasoning with another mark, or
            with none, is left out. None for OpenAI, which gets none.
    """
    replay = _Replay(made_by)
    replay.feed(list(items), answered)
    return replay.kept


def build_items(
    items: Sequence[Item | ConversationItem],
    *,
    made_by: str | None = None,
    kept: KeptInput | None = None,
) -> list[dict[str, Any]]:
    """Turn a conversation that is kept as items into input items.

    Those of `replayable_items`, with every call that has its output anywhere among them.

    Args:
        items: Item values, or items as on the wire, oldest first.
        made_by: As for `replayable_items`.
        kept: What is kept of the conversation's last request, so that only what is new is built.
    """
    return build_kept(kept, "items", items, made_by, lambda: _ItemBuilder(made_by))


class _Replay:
    """The items that may be sent back, from the first to those that were fed last.

    Attributes:
        kept: They, as new dictionaries.
        left_out: What pairs items that were left out with their outputs.
    """

    def __init__(self, made_by: str | None) -> None:
        self.kept: list[dict[str, Any]] = []
        self.left_out: set[str | None] = set()
        self._made_by = made_by
        self._waiting: list[dict[str, Any]] = []  # reasoning that needs the next item to be kept

    def feed(self, items: Sequence[Item], answered: Collection[str | None] | None) -> None:
        """Take the next items, with the call ids whose outputs are elsewhere in the request; None for all."""
        ids = (pair_id(item) for item in items if _is_output(item))
        # The outputs that are still to come: one that stands before its call does not answer it.
        ahead: Counter[str | None] = Counter(
            filter(None, ids)
        )  # an id that is no text answers nothing
        for item in items:
            of = pair_id(item)
            if type_of(item) == "reasoning":
                if (reasoning := returned_reasoning(item, self._made_by)) is not None:
                    self._waiting.append(reasoning)
                continue
            if _is_input(item):
                ahead[of] -= _is_output(item)
                self.kept.append(dict(item))
            elif _may_be_sent(
                item, is_answered=answered is None or of in answered or ahead[of] > 0
            ):
                self.kept += [*self._waiting, _as_input(item)]
            else:
                self.left_out.add(of)
            self._waiting = []


class _ItemBuilder:
    """The builder of a conversation that is kept as items."""

    def __init__(self, made_by: str | None) -> None:
        self._replay = _Replay(made_by)
        self._answered: set[str | None] = set()

    def add(self, values: Sequence[Item | ConversationItem]) -> bool:
        """Take the next items; return False if they answer what was left out."""
        wire = [value if isinstance(value, Mapping) else value.to_wire() for value in values]
        answered = {
            text_or_none(item.get("call_id"))
            for item in wire
            if type_of(item).endswith("_call_output")
        }
        outputs = {pair_id(item) for item in wire if _is_output(item)}
        if not self._replay.left_out.isdisjoint(answered | outputs):
            return False
        self._answered |= answered - {None}
        self._replay.feed(wire, self._answered)
        return True

    def built(self) -> list[dict[str, Any]]:
        """Return the input so far."""
        return list(self._replay.kept)


def without_reasoning(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return a request's input without its reasoning and the calls of hosted tools, for a server that did not make them.

    The ids of the remaining output items are removed too: with `store=false` they only refer to items that are gone.
    """
    return [
        {key: value for key, value in item.items() if key != "id" or "role" not in item}
        if type_of(item) == "message"
        else {key: value for key, value in item.items() if key not in ("id", "caller")}
        for item in items
        if type_of(item) != "reasoning" and type_of(item) not in _SERVER_CALLS
    ]


def drop_orphan_outputs(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return the input without outputs whose call is missing, as in a history that was cut at the front."""
    kept: list[dict[str, Any]] = []
    called: set[tuple[str, str]] = set()
    for item in items:
        item_type, of_call = type_of(item), pair_id(item)
        if item_type in CALL_OUTPUTS and of_call is not None:
            called.add((CALL_OUTPUTS[item_type], of_call))
        if not _is_output(item) or (item_type, of_call) in called:
            kept.append(dict(item))
    return kept


def fit_items(items: Iterable[Item], *, max_bytes: int) -> list[dict[str, Any]]:
    """Return items to carry along, with a sentence in place of each generated image for which there is no room; the latest images stay.

    The reasoning right before such an image is removed with it. If that is not enough, open reasoning is removed, the oldest first.

    Args:
        items: The output items of one response, in order.
        max_bytes: How many bytes of JSON they may have. Other items stay, however large they are.
    """
    kept = [dict(item) for item in items]
    images = [index for index, item in enumerate(kept) if type_of(item) == _IMAGE]
    thoughts = [index for index, item in enumerate(kept) if is_marked_reasoning(item)]
    if not (images or thoughts):
        return kept
    room = max_bytes - sum(map(_size, kept))
    dropped: set[int] = set()
    for index in images:
        if room >= 0:
            break
        sentence = _sentence(kept[index])
        room += _size(kept[index]) - _size(sentence)
        kept[index] = sentence
        before = index - 1
        while before >= 0 and type_of(kept[before]) == "reasoning":  # which led to the image
            dropped.add(before)
            before -= 1
    for index in thoughts:
        if room < 0 and index not in dropped:
            room += _size(kept[index])
            dropped.add(index)
    return [item for index, item in enumerate(kept) if index not in dropped]


def _size(item: Item) -> int:
    return len(json.dumps(item, ensure_ascii=False).encode(errors="surrogatepass"))


def _sentence(image: Item) -> dict[str, Any]:
    size = len(text_at(image, "result"))
    text = render_omission("image", reason=f"{size} characters are too many to be carried along")
    return {"type": "message", "role": "assistant", "content": text}


def _is_output(item: Item) -> bool:
    """Return whether an item answers a call; the output of the server's own search for tools has no id to pair it by."""
    is_own_search = type_of(item) == "tool_search_output" and item.get("call_id") is None
    return type_of(item) in OUTPUT_TYPES and not is_own_search


def pair_id(item: Item) -> str | None:
    """Return the id that pairs a call with its output; None if it is not a text."""
    kind = KINDS.get(type_of(item))
    return text_or_none(item.get("call_id" if kind is None else kind.id_key))


def _is_input(item: Item) -> bool:
    """Return whether an item comes from the caller, so that no reasoning can have led to it."""
    kind = KINDS.get(type_of(item))
    is_setting = kind is not None and kind.is_setting
    return is_setting or item.get("role") in ("user", "system", "developer") or _is_output(item)


def _may_be_sent(item: Item, *, is_answered: bool) -> bool:
    kind = type_of(item)
    if kind == _IMAGE:
        return bool(text_or_none(item.get("result"))) and item.get("status") != "failed"
    if kind in _SERVER_CALLS and (item.get("error") or item.get("status") not in _WHOLE):
        return False
    is_own_search = kind == "tool_search_call" and item.get("call_id") is None
    return kind not in CALL_OUTPUTS or is_own_search or is_answered


def _as_input(item: Mapping[str, Any]) -> dict[str, Any]:
    key = CALL_ARGUMENTS.get(type_of(item), "")
    if key and not isinstance(item.get(key), str):
        nothing = "{}" if key == "arguments" else ""
        return {**item, key: argument_text(item.get(key)) or nothing}
    if type_of(item) != _IMAGE:
        return dict(item)
    # Azure still calls a whole image `generating`. Source: docs/evidence/responses-api.md, R33 and R36.
    return {key: item[key] for key in _IMAGE_KEYS if key in item} | {"status": "completed"}
