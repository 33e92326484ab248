"""Turns that a node remembers: its calls, their results, reasoning and answers, in place of the texts that are all Dify's memory has of them.

Dify's storage has no list, no expiry and no compare-and-set, and a value over the quota is stored although storing it
raises. So all turns of one scope (`_storage_scope`) are one entry of bounded size, and the entries lie in a fixed
number of slots: a later conversation overwrites an earlier one in the same slot, and questions for approval always find
room. Whatever is lost costs the memory and never the turn.

A history has no ids. A turn is found again by keyed digests of the messages that it is seen as, from the end of the
history back, and each turn names the one before it. So an edited or regenerated message finds nothing, and two nodes
that share an entry find their own turns.
"""

import hmac
import json
import secrets
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Self

from dify_plugin.entities.model.message import PromptMessage, TextPromptMessageContent

from agent_loop import Message, dump_messages, load_messages
from stream_text import strip_think

from ._storage_scope import StorageScope
from ._turn import Turn


_ALL_BYTES = (
    20_000_000  # Of the 50 MB that the plugin has in a workspace; the rest is for approvals.
)
_MAX_UNPACKED = 16 * 1024 * 1024
_MAX_ROOM = 2 * 1024 * 1024  # Of the 5 MiB that a request to a model may have.
_BYTES_A_TOKEN = 3  # As a run estimates its window.
_UNKNOWN_TOKENS = 32_000  # Our choice, for a model whose size Dify does not say.
_OWNER_BYTES = _SIGNATURE_BYTES = 32
# What reading an entry of another release, or a damaged one, raises.
_UNREADABLE = (ValueError, TypeError, KeyError, RecursionError, zlib.error)
_ANEW = "the model's prompt cache begins anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class _RememberedTurn:
    """A turn as it is stored.

    Attributes:
        name: Its name, which no other turn has.
        before: The name of the turn before it; empty if none is remembered.
        seen_as: The messages that Dify's memory has of it; of each, the digests of the texts that it may have.
        packed: Its messages as the model has had them, compressed.
    """

    name: str
    before: str
    seen_as: Sequence[Sequence[str]]
    packed: bytes

    @classmethod
    def iter_stored(cls, data: bytes) -> Iterator[Self]:
        """Yield the turns of an entry, the newest first."""
        header, _, packed = data.partition(b"\n")
        end = 0
        for name, before, seen_as, size in json.loads(header):
            start, end = end, end + size
            yield cls(name=name, before=before, seen_as=seen_as, packed=packed[start:end])

    def unpack(self) -> tuple[tuple[Message, ...], int]:
        """Return its messages, and how many bytes they have; none if they cannot be read."""
        try:
            text = zlib.decompressobj().decompress(self.packed, _MAX_UNPACKED)
            return load_messages(text.decode()), len(text)
        except _UNREADABLE:
            return (), 0

    def ends(self, history: Sequence[str]) -> bool:
        """Return whether a history with these digests ends with it."""
        shown = history[-len(self.seen_as) :]
        return len(shown) == len(self.seen_as) and all(
            digest in texts for digest, texts in zip(shown, self.seen_as, strict=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A remembered turn that a history has.

    Attributes:
        name: Its name.
        messages: Its messages.
        size: How many bytes they have.
        place: Which messages of the history it takes the place of.
    """

    name: str
    messages: Sequence[Message]
    size: int
    place: slice


class RememberedTurns:
    """The turns that one node remembers in one conversation with one user.

    Args:
        turn: The turn that begins.
    """

    def __init__(self, turn: Turn) -> None:
        rules = turn.parameters.approval_rules
        self._scope = StorageScope.of(turn, rules=rules.text if rules else "")
        self._owner = bytes.fromhex(self._scope.digest)
        self._storage = turn.session.storage
        self._max_bytes = turn.settings.memory_bytes
        slots = max(1, _ALL_BYTES // self._max_bytes)
        self._slot = f"turns-{int(self._scope.digest, 16) % slots}"
        self._is_known = bool(turn.session.conversation_id and turn.strategy.runtime.user_id)
        self._query = turn.parameters.query
        model = turn.parameters.model
        self._model = model.full_name
        tokens = turn.settings.window_tokens or model.input_tokens or _UNKNOWN_TOKENS
        self._room = min(tokens * _BYTES_A_TOKEN // 2, _MAX_ROOM)
        self._history: list[str] = []
        self._before = ""
        self._forgotten: set[str] = set()
        self._notes: list[str] = []
        self._taken = 0

    def take_notes(self) -> tuple[str, ...]:
        """Return the lines for the node's log since the last call."""
        notes, self._taken = tuple(self._notes[self._taken :]), len(self._notes)
        return notes

    def recall(self, prompts: Sequence[PromptMessage]) -> list[PromptMessage | Message]:
        """Return a history in which remembered turns, as messages of a run, stand in place of their texts.

        Args:
            prompts: The history as Dify has sent it.
        """
        self._history = [self._digest(str(one.role.value), _read_text(one)) for one in prompts]
        if not (prompts and self._is_known):
            return [*prompts]
        try:
            return self._recall([*self._read()], prompts)
        except Exception as error:  # noqa: BLE001 - the SDK raises what it likes
            self._note_failure(error)
            return [*prompts]

    def _recall(
        self, turns: Sequence[_RememberedTurn], prompts: Sequence[PromptMessage]
    ) -> list[PromptMessage | Message]:
        found = self._bound([*self._find(turns)])
        recalled: list[PromptMessage | Message] = []
        end = len(prompts)
        for one in found:
            recalled = [*one.messages, *prompts[one.place.stop : end], *recalled]
            end = one.place.start
        self._before = found[0].name if found else ""
        texts = len(prompts) - sum(one.place.stop - one.place.start for one in found)
        if texts and not self._forgotten:
            self._note(
                f"{texts} of {len(prompts)} messages of the history are texts: no remembered turn fits them"
            )
        return [*prompts[:end], *recalled]

    def _find(self, turns: Sequence[_RememberedTurn]) -> Iterator[_Found]:
        """Yield the turns that the history has, the newest first."""
        candidates, end = turns, len(self._history)
        while end:
            turn = next((one for one in candidates if one.ends(self._history[:end])), None)
            messages, size = turn.unpack() if turn else ((), 0)
            if turn is None or not messages:
                end -= 1
                continue
            place = slice(end - len(turn.seen_as), end)
            yield _Found(name=turn.name, messages=messages, size=size, place=place)
            end = place.start
            # Each turn names the one before it, so equal messages are not taken for each other.
            candidates = [one for one in turns if one.name == turn.before]

    def _bound(self, found: Sequence[_Found]) -> Sequence[_Found]:
        """Return all turns if the model has room for them beside the new turn; else only the newest ones.

        Those leave room for some more before it is full again.

        Else a conversation that has outgrown its model would be summed up in each turn, or refused.
        """
        sizes = [*accumulate(one.size for one in found)]
        if not sizes or sizes[-1] <= self._room:
            return found
        kept = [one for one, size in zip(found, sizes, strict=True) if size <= self._room // 2]
        self._forgotten = {one.name for one in found[len(kept) :]}
        self._note(
            f"{len(self._forgotten)} of {len(found)} remembered turns are forgotten: together they take more than half of what the model reads; {_ANEW}"
        )
        return kept

    def keep(
        self,
        messages: Sequence[Message],
        *,
        texts: Sequence[str],
        models: Sequence[str],
        earlier: int,
    ) -> None:
        """Keep the turn that ends.

        Args:
            messages: Its messages: the question, and all that followed; none if its run was compacted.
            texts: The texts that Dify's memory may have of its answer.
            models: The models that it has called.
            earlier: How many messages at the end of the history belong to it, because it has asked for approval.
        """
        if not self._is_known:
            self._note("this run belongs to no conversation of a user, so nothing is remembered")
            return
        kept = _without_sentences(messages)
        if not _can_go_on(kept):
            self._note(f"this turn is not remembered: it was compacted, or has no answer; {_ANEW}")
            return
        if {*models} != {self._model}:  # What a model's client wants back is of no use to another.
            kept = [replace(message, opaque_body=None) for message in kept]
        answers = {*texts, *map(strip_think, texts)}
        seen_as = [
            *([digest] for digest in self._history[max(len(self._history) - earlier, 0) :]),
            [self._digest("user", self._query)],
            sorted(self._digest("assistant", text) for text in answers),
        ]
        try:
            packed = zlib.compress(dump_messages(kept).encode())
            name = secrets.token_hex(8)
            self._write(
                _RememberedTurn(name=name, before=self._before, seen_as=seen_as, packed=packed)
            )
        except Exception as error:  # noqa: BLE001 - the SDK raises what it likes
            self._note_failure(error)

    def _read(self) -> Iterator[_RememberedTurn]:
        """Yield the remembered turns, the newest first.

        Raises:
            Exception: If the storage fails.
        """
        stored = self._storage.get(self._slot) if self._storage.exist(self._slot) else b""
        owner, rest = stored[:_OWNER_BYTES], stored[_OWNER_BYTES:]
        if owner != self._owner:  # Nothing, or the turns of another conversation.
            return
        signature, data = rest[:_SIGNATURE_BYTES], rest[_SIGNATURE_BYTES:]
        try:
            if hmac.compare_digest(signature, self._scope.sign(data)):
                yield from _RememberedTurn.iter_stored(data)
                return
        except _UNREADABLE:  # Another release has written it.
            pass
        self._note("what lay in Dify's storage was changed since, and is left out")

    def _write(self, newest: _RememberedTurn) -> None:
        # Another message may have written meanwhile.
        turns = [newest, *(one for one in self._read() if one.name not in self._forgotten)]
        kept, most = [*turns], self._max_bytes - _OWNER_BYTES - _SIGNATURE_BYTES
        while len(data := _pack(kept)) > most and kept:
            kept.pop()
        if gone := len(turns) - len(kept):
            told = f"{gone} of {len(turns)} turns do" if kept else "this turn does"
            self._note(f"{told} not fit in {self._max_bytes:,} bytes; {_ANEW}")
        if kept:
            self._storage.set(self._slot, self._owner + self._scope.sign(data) + data)

    def _digest(self, role: str, text: str) -> str:
        said = f"{role}\n{text.strip()}".encode(errors="replace")
        return self._scope.sign(said)[:16].hex()

    def _note_failure(self, error: Exception) -> None:
        reason = " ".join(str(error).split())[:300]
        self._note(f"Dify's storage has failed, so turns may not be remembered: {reason}")

    def _note(self, line: str) -> None:
        if line not in self._notes:
            self._notes.append(line)


def _pack(turns: Sequence[_RememberedTurn]) -> bytes:
    header: list[list[Any]] = [
        [one.name, one.before, one.seen_as, len(one.packed)] for one in turns
    ]
    packed = b"".join(one.packed for one in turns)
    return json.dumps(header, separators=(",", ":")).encode() + b"\n" + packed


def _read_text(prompt: PromptMessage) -> str:
    if isinstance(prompt.content, list):
        texts = (one.data for one in prompt.content if isinstance(one, TextPromptMessageContent))
        return "\n".join(texts)
    return prompt.content or ""


def _without_sentences(messages: Sequence[Message]) -> list[Message]:
    """Return the messages of a turn without what its run has told the model by itself.

    About budgets, the schema, or an answer that had to be repaired, which goes too.
    """
    kept = [*messages[:1]]
    for message in messages[1:]:
        if message.role != "user":
            kept.append(message)
        elif kept[-1].role == "assistant":
            kept.pop()
    return kept


def _can_go_on(messages: Sequence[Message]) -> bool:
    """Return whether a request can go on after these messages: APIs refuse calls without results."""
    called = {call.call_id for message in messages for call in message.tool_calls}
    answered = {message.tool_call_id for message in messages}
    is_answer = bool(messages) and messages[-1].role == "assistant" and not messages[-1].tool_calls
    return is_answer and called <= answered
