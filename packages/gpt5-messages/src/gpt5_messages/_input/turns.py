"""Digests that identify a response by the part of it that a conversation shows."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpt5_messages._completion.marked_text import said_text
from gpt5_messages._completion.reading import read_tool_call
from gpt5_messages._completion.values import Item, ToolCall
from gpt5_messages._json import text_at, type_of
from stream_text import canonical_arguments, read_member, without_omissions

from .histories import Entry, iter_entries
from .messages import read_content, read_role
from .parts import read_text


type CallKey = tuple[str, str, str]

_BLANKS = b" \t\n\r\x0b\x0c"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A response as its conversation shows it.

    Attributes:
        call_ids: The ids of its calls.
        digest: A digest of the calls with names and arguments, of the visible text, and of every visible message before them.
        likeness: The same digest without any ids, for platforms that give the calls of a history new ones; empty if it is not known.
        earlier_ids: The ids of the calls before.
    """

    call_ids: tuple[str, ...]
    digest: bytes
    likeness: bytes = b""
    earlier_ids: tuple[str, ...] = ()


class History:
    """A running digest of a conversation, which does not change with the parts that platforms change between two requests.

    White space does not count, nor do an answer's `<think>` blocks, images, files, or the texts in their place. Documents are no
    exception: from one request to the next a platform sends the same one as data, by a signed link that changes, as `[file]`, or not at
    all, so that with it the same conversation would have two digests. Conversations differ by the ids, names and arguments
    of their calls and by all their texts; an id that came with two different lists of items is barred.
    """

    def __init__(self, messages: Iterable[object] = ()) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._likeness = hashlib.blake2b(digest_size=16)  # without ids
        self._call_ids: list[str] = []
        for entry in iter_entries(messages):
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Take the next message or item."""
        if entry.item is None:
            self._add_message(entry)
        else:
            self._add_item(entry.item, entry.field)

    def _add_item(self, item: Item, field: str) -> None:
        """Take the next item by its visible part; reasoning has none, and an item of another type counts by its id and its encrypted content."""
        kind = type_of(item)
        if kind == "message":
            content = read_content(item)
            self._add_message(
                Entry(field=field, role=read_role(item, field=field), content=content)
            )
        elif call := read_tool_call(item):
            calls = ({"call_id": call.call_id, "name": call.name, "arguments": call.arguments},)
            self._add_message(Entry(field=field, role="assistant", calls=calls))
        elif kind.endswith("_call_output"):
            call_id, output = item.get("call_id"), item.get("output")
            entry = Entry(field=field, role="tool", content=output, call_id=call_id)
            self._add_message(entry)
        elif kind != "reasoning":
            marks = (text_at(item, key) for key in ("id", "encrypted_content"))
            framed = _framed("item", kind, *marks)
            self._update(framed, framed)

    def _add_message(self, entry: Entry) -> None:
        """Take the next message; one without anything visible does not count."""
        text = read_text(entry.content, field=entry.field)
        shown = _without_blanks(said_text(text) if entry.role == "assistant" else text)
        calls = [call_key(call) for call in entry.whole_calls]
        answers = entry.call_id.strip() if isinstance(entry.call_id, str) else ""
        if shown or calls or answers:
            words = short_digest(shown)  # so that both go through long texts together
            self._call_ids += [call_id for call_id, _, _ in calls]
            self._update(
                _framed(entry.role, answers, json.dumps(calls)) + words,
                _framed(entry.role, json.dumps([call[1:] for call in calls])) + words,
            )

    def _update(self, visible: bytes, without_ids: bytes) -> None:
        self._hash.update(visible)
        self._likeness.update(without_ids)

    @property
    def digest(self) -> bytes:
        """The digest of the messages so far, 16 bytes."""
        return self._hash.digest()

    def turn(self, calls: Iterable[CallKey], text: str) -> Turn:
        """Return the turn that follows the messages so far with these calls and this visible text."""
        made = list(calls)
        # On a copy: the conversation goes on with the messages that follow.
        digest, likeness = self._hash.copy(), self._likeness.copy()
        words = short_digest(_without_blanks(said_text(text)))
        digest.update(_framed(json.dumps(made)) + words)
        likeness.update(_framed(json.dumps([call[1:] for call in made])) + words)
        return Turn(
            call_ids=tuple(call_id for call_id, _, _ in made),
            digest=digest.digest(),
            likeness=likeness.digest(),
            earlier_ids=tuple(self._call_ids),
        )


def call_key(call: ToolCall | Mapping[str, Any]) -> CallKey:
    """Return a call's id, name and arguments in their normal form.

    Arguments are the same however their JSON is written; id and name lose the blanks that platforms strip.
    """
    call_id, name = (read_member(call, key).strip() for key in ("call_id", "name"))
    return call_id, name, canonical_arguments(read_member(call, "arguments", "input"))


def _without_blanks(text: str) -> bytes:
    return without_omissions(text).strip().encode(errors="surrogatepass").translate(None, _BLANKS)


def short_digest(data: bytes) -> bytes:
    """Return a digest of 16 bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


def _framed(*fields: str | bytes) -> bytes:
    """Join fields so that no two different lists of them look alike."""
    data = [
        field.encode(errors="surrogatepass") if isinstance(field, str) else field
        for field in fields
    ]
    return b"".join(b"%d:%b" % (len(one), one) for one in data)
